/* `yes ? other : value` by masks.  A branch, or a conditional the compiler could turn into one, round arithmetic that may
 * trap keeps it from making vector code of a loop. */
#ifndef TC_CHOOSE_H
#define TC_CHOOSE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tc_cpu.h"

#define TC_NAN_f32 0x7fc00000u
#define TC_NAN_f64 0x7ff8000000000000u

TC_INLINE int32_t tc_choose_i32(bool yes, int32_t other, int32_t value)
{
    const int32_t mask = -(int32_t)yes;

    return (value & ~mask) | (other & mask);
}

/* `other` is given by its bits: a constant then needs no conversion. */
TC_INLINE float tc_choose_f32(bool yes, uint32_t other, float value)
{
    const uint32_t mask = 0u - yes;
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    bits = (bits & ~mask) | (other & mask);
    memcpy(&value, &bits, sizeof bits);
    return value;
}

TC_INLINE double tc_choose_f64(bool yes, uint64_t other, double value)
{
    const uint64_t mask = UINT64_C(0) - yes;
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    bits = (bits & ~mask) | (other & mask);
    memcpy(&value, &bits, sizeof bits);
    return value;
}

#endif
