/* Matches of the bytes of a block with bytes before them: runs alone, which is soon done, or whatever pays. */
#ifndef TC_DEFLATE_MATCHES_H
#define TC_DEFLATE_MATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tc_deflate_paths.h"
#include "tc_deflate_symbols.h"

enum { TC_DEFLATE_MAX_BLOCK = 65535, TC_DEFLATE_MAX_MATCHES = TC_DEFLATE_MAX_BLOCK / TC_DEFLATE_MIN_LENGTH,
       TC_DEFLATE_SEEN_BITS = 15 };

/* Where three bytes began last, and six the last two times (or others of the same hash): positions in the stream modulo
 * 65536. */
typedef struct {
    uint16_t three[1 << TC_DEFLATE_SEEN_BITS];
    uint32_t six[1 << TC_DEFLATE_SEEN_BITS]; /* the last one in the low half */
    unsigned bits; /* of the slots in use: few for a short stream */
    uint16_t literals[TC_DEFLATE_MAX_BLOCK + 1]; /* bits of all literals before each byte of the block, modulo 65536 */
} tc_deflate_seen;

/* The first byte from `at` on that is not `value`, else `end`. */
size_t tc_deflate_end_of_run(const uint8_t *src, size_t at, size_t end, uint8_t value);

/* The matches of runs: of TC_DEFLATE_MIN_RUN bytes or more that equal the one before; how many.  There is a byte before
 * src unless it `is_first`.  n <= TC_DEFLATE_MAX_BLOCK, and `matches` has room for TC_DEFLATE_MAX_MATCHES. */
size_t tc_deflate_find_runs(tc_deflate_find_run *find_run, const uint8_t *src, size_t n, bool is_first,
                            tc_deflate_match *matches);

/* Begin with a stream of n bytes. */
void tc_deflate_seen_begin(tc_deflate_seen *seen, size_t n);

/* The matches of a block src[from, to) with what was seen since src[0] that cost less than literals, whose bits are given;
 * how many.  The block is added to what was seen. */
size_t tc_deflate_find_matches(tc_deflate_seen *seen, const uint8_t *src, size_t from, size_t to,
                               const uint8_t *literal_bits, tc_deflate_match *matches);

#endif
