/* Byte order and byte planes at one CPU level: plain loops that the compiler turns into vector code. */
#include <string.h>

#include "tc_shuffle.h"

#define WORD uint16_t
#define NAME(x) x##_16
#define SWAPPED(word) __builtin_bswap16(word)
#include "tc_shuffle_width.h"

#define WORD uint32_t
#define NAME(x) x##_32
#define SWAPPED(word) __builtin_bswap32(word)
#include "tc_shuffle_width.h"

#define WORD uint64_t
#define NAME(x) x##_64
#define SWAPPED(word) __builtin_bswap64(word)
#include "tc_shuffle_width.h"

void LEVEL(tc_byteswap)(const void *src, size_t n, size_t width, void *dst)
{
    if (width == 1 && src != dst && n) memcpy(dst, src, n);
    else if (width == 2) src == dst ? byteswap_in_place_16(dst, n) : byteswap_16(src, n, dst);
    else if (width == 4) src == dst ? byteswap_in_place_32(dst, n) : byteswap_32(src, n, dst);
    else if (width == 8) src == dst ? byteswap_in_place_64(dst, n) : byteswap_64(src, n, dst);
}

void LEVEL(tc_shuffle)(const void *src, size_t n, size_t width, uint8_t *dst)
{
    if (width == 1 && n) memcpy(dst, src, n);
    else if (width == 2) shuffle_16(src, n, dst);
    else if (width == 4) shuffle_32(src, n, dst);
    else if (width == 8) shuffle_64(src, n, dst);
}

void LEVEL(tc_unshuffle)(const uint8_t *src, size_t n, size_t width, void *dst)
{
    if (width == 1 && n) memcpy(dst, src, n);
    else if (width == 2) unshuffle_16(src, n, dst);
    else if (width == 4) unshuffle_32(src, n, dst);
    else if (width == 8) unshuffle_64(src, n, dst);
}
