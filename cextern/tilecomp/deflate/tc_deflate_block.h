/* One block of DEFLATE (RFC 1951, 3.2.3): the codes that suit its bytes and matches, and its bits. */
#ifndef TC_DEFLATE_BLOCK_H
#define TC_DEFLATE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tc_deflate_matches.h"
#include "tc_deflate_paths.h"
#include "tc_deflate_symbols.h"

enum {
    TC_DEFLATE_STORED_NBYTES = 5, /* header of a stored block, at most */
    TC_DEFLATE_N_LENGTH_CODES = 19,
    TC_DEFLATE_N_SENT = TC_DEFLATE_N_SYMBOLS + TC_DEFLATE_N_DISTANCES
};

/* Bits of each code. */
typedef struct {
    uint8_t literal[TC_DEFLATE_N_SYMBOLS], distance[TC_DEFLATE_N_DISTANCES];
} tc_deflate_lengths;

/* The lengths as they are sent: symbols with the bits that follow some of them. */
typedef struct {
    uint8_t symbol[TC_DEFLATE_N_SENT], extra[TC_DEFLATE_N_SENT];
    size_t n, n_literals, n_distances; /* symbols; and codes they tell of */
    uint8_t length[TC_DEFLATE_N_LENGTH_CODES];
    size_t n_lengths; /* codes of these symbols that are sent */
} tc_deflate_header;

typedef struct {
    const uint8_t *src;
    size_t n; /* at most TC_DEFLATE_MAX_BLOCK */
    tc_deflate_match matches[TC_DEFLATE_MAX_MATCHES];
    size_t n_matches;

    uint32_t uses[TC_DEFLATE_N_SYMBOLS], distance_uses[TC_DEFLATE_N_DISTANCES];
    tc_deflate_lengths lengths; /* of the codes that would be taken, were it not stored */
    tc_deflate_header header;
    int type;
    uint64_t header_bits; /* of the lengths, 0 where none are sent */
    uint64_t bits;        /* of the whole block; of a stored one, at most */
} tc_deflate_block;

/* Choose the codes and the type for the bytes and matches of a block. */
void tc_deflate_block_make_codes(tc_deflate_block *b);

/* Append the block; it touches no more than TC_DEFLATE_WORD bytes behind b->bits. */
void tc_deflate_block_put(const tc_deflate_block *b, bool is_last, tc_deflate_emit *emit, tc_deflate_writer *out);

#endif
