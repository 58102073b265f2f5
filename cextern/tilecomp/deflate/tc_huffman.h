/* Prefix codes of limited length for a given number of uses of each symbol, in the canonical form of RFC 1951, 3.2.2. */
#ifndef TC_HUFFMAN_H
#define TC_HUFFMAN_H

#include <stddef.h>
#include <stdint.h>

enum {
    TC_HUFFMAN_MAX_SYMBOLS = 288,
    TC_HUFFMAN_MAX_LENGTH = 15
};

/* The lengths of a complete code for n <= TC_HUFFMAN_MAX_SYMBOLS symbols, each of at most `limit` bits; 0 for a symbol
 * without uses.  Counts are below 65536, and 1 << limit is no less than the number of symbols in use.  Optimal unless the
 * limit binds.  A symbol that is alone gets 1 bit. */
void tc_huffman_lengths(const uint32_t *counts, size_t n, unsigned limit, uint8_t *lengths);

/* The codes that belong to the lengths, first bit lowest, as DEFLATE sends them. */
void tc_huffman_codes(const uint8_t *lengths, size_t n, uint16_t *codes);

#endif
