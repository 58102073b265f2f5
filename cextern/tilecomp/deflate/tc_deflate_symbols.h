/* The symbols of DEFLATE (RFC 1951, 3.2.5), and what its encoder makes a block of: bytes, and matches among them. */
#ifndef TC_DEFLATE_SYMBOLS_H
#define TC_DEFLATE_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

enum {
    TC_DEFLATE_MIN_LENGTH = 3, /* of a match */
    TC_DEFLATE_MAX_LENGTH = 258,
    TC_DEFLATE_MAX_DISTANCE = 32768,

    TC_DEFLATE_END_OF_BLOCK = 256,
    TC_DEFLATE_FIRST_LENGTH = 257,
    TC_DEFLATE_LAST_LENGTH = 285,
    TC_DEFLATE_N_SYMBOLS = 288, /* the last two are never used, but the fixed code has them */
    TC_DEFLATE_N_DISTANCES = 30
};

/* `length` bytes from `start` of the block on equal those that begin `distance` before. */
typedef struct {
    uint32_t start;
    uint16_t length, distance;
} tc_deflate_match;

/* The symbol of a length; it is told apart from others of that symbol by `extra_bits` bits. */
static inline unsigned tc_deflate_length_symbol(unsigned length, unsigned *extra_bits)
{
    const unsigned above = length - TC_DEFLATE_MIN_LENGTH;

    *extra_bits = 0;
    if (length == TC_DEFLATE_MAX_LENGTH) return TC_DEFLATE_LAST_LENGTH;
    if (above >= 8) *extra_bits = 29 - (unsigned)__builtin_clz(above);
    return TC_DEFLATE_FIRST_LENGTH + 4 * *extra_bits + (above >> *extra_bits);
}

/* The same of a distance. */
static inline unsigned tc_deflate_distance_symbol(unsigned distance, unsigned *extra_bits)
{
    const unsigned above = distance - 1;

    *extra_bits = 0;
    if (above >= 4) *extra_bits = 30 - (unsigned)__builtin_clz(above);
    return 2 * *extra_bits + (above >> *extra_bits);
}

#endif
