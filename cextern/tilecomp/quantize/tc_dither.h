/* The random numbers of subtractive dithering, FITS 4.0 section 10.2 and appendix I.
 *   s[0] = 1;  s[i + 1] = 16807 s[i] mod (2^31 - 1);  number i = (float)(s[i + 1] / (2^31 - 1.0)),  i = 0 ... 9999
 * A tile starts at a pair (seed, next): seed = (row + ZDITHER0 - 1) mod 10000, next = floor(500 * number[seed]).
 * Every pixel takes number[next++]; at the end of the list seed goes one on and next starts anew from it. */
#ifndef TC_DITHER_H
#define TC_DITHER_H

#include <stdint.h>
#include <stddef.h>

#define TC_DITHER_COUNT 10000
#define TC_DITHER_HUNDRED 100

extern const float tc_dither_numbers[TC_DITHER_COUNT];

/* Pixels of the runs from the seeds 100 i ... 100 i + 99. */
extern const uint32_t tc_dither_hundreds[TC_DITHER_COUNT / TC_DITHER_HUNDRED];

typedef enum {
    TC_NO_DITHER = 0,
    TC_DITHER_1 = 1, /* SUBTRACTIVE_DITHER_1 */
    TC_DITHER_2 = 2  /* SUBTRACTIVE_DITHER_2: pixels that are exactly zero stay so */
} tc_dither_method;

typedef struct {
    uint32_t seed; /* where the current run through the numbers was started from */
    uint32_t next; /* index of the number of the next pixel, 0 ... 9999 */
} tc_dither;

/* The state before the first pixel of the tile in table row `row` (counted from 0).  Any zdither0 is
 * taken modulo 10000; the caller has refused or warned of one outside 1 ... 10000. */
tc_dither tc_dither_start(uint64_t row, int64_t zdither0);

/* The state `n` pixels further on. */
tc_dither tc_dither_skip(tc_dither state, size_t n);

/* The numbers of the next pixels, as many as lie in one piece (at most `n`): their address, their count in
 * `*count`, and `state` moved behind them. */
const float *tc_dither_run(tc_dither *state, size_t n, size_t *count);

#endif
