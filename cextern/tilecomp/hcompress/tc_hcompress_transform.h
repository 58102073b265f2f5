/* The HCOMPRESS transform of a tile, both ways; tc_hcompress.c describes it. */
#ifndef TC_HCOMPRESS_TRANSFORM_H
#define TC_HCOMPRESS_TRANSFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    size_t nx, ny;
    int n_levels;   /* ceil(log2(max(nx, ny))) */
    bool wide;      /* coefficients are int64_t, not int32_t */
    void *coef;     /* [ny][nx]: subbands, the coarser ones in the top left quarter */
    void *means[2]; /* room for h0 of even levels, [ceil(ny / 4)][ceil(nx / 4)], and odd ones, twice that each way */
} tc_hcompress_tile;

/* ceil(n / 2) */
static inline size_t tc_half(size_t n)
{
    return n / 2 + n % 2;
}

/* ceil(n / 2^k) for n >= 1 */
static inline size_t tc_halved(size_t n, int k)
{
    return ((n - 1) >> k) + 1;
}

/* The smallest k with 2^k >= n, n >= 1. */
static inline int tc_ceil_log2(size_t n)
{
    return n > 1 ? 64 - __builtin_clzll(n - 1) : 0;
}

/* Pixels from coefficients (which are used up), clipped to low ... high.  Differences are smoothed by at most
 * `smooth_most`; 0 turns smoothing off. */
void tc_hcompress_inverse(const tc_hcompress_tile *tile, int64_t smooth_most, int64_t low, int64_t high, int32_t *dst);

/* Coefficients, not digitized, from pixels. */
void tc_hcompress_forward(const tc_hcompress_tile *tile, const int32_t *src);

/* Whether words of 32 or 64 bits are sure to hold all that the inverse computes, for coefficients up to `largest` and a
 * coefficient (0, 0) up to `mean`, both after multiplication by the scale. */
bool tc_hcompress_inverse_fits(int word_bits, int n_levels, uint64_t mean, uint64_t largest, int64_t smooth_most);

/* Whether int32_t is sure to do for the forward transform of n pixels. */
bool tc_hcompress_forward_fits_int32(int n_levels, const int32_t *src, size_t n);

/* All bits that occur in coefficients [first, first + n) of the array. */
uint64_t tc_hcompress_bits_used(const tc_hcompress_tile *tile, size_t first, size_t n);

#endif
