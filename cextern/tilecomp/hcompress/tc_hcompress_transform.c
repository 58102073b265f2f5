#include "tc_hcompress_transform.h"

#define MAX_SUMMED ((uint64_t)1 << 53) /* the sum below holds no more than 2^10 of it */

/* With D a bound of the rounded differences and H one of h0, a step of level k > 0 gives at most (H + 3 D) / 2 plus its
 * corrections by bits of the level, so that h0 never exceeds max(H, 3 D) of the start; sums stay below that + 3 D.
 * Smoothing multiplies: |up|, |down| <= 16 (2 H + 4 D), plus 64 D. */
bool tc_hcompress_inverse_fits(int word_bits, int n_levels, uint64_t mean, uint64_t largest, int64_t smooth_most)
{
    const uint64_t limit = (uint64_t)1 << (word_bits - 1), most = limit < MAX_SUMMED ? limit : MAX_SUMMED;
    const uint64_t bits = (uint64_t)8 << n_levels;
    uint64_t h0, sum;

    if (bits >= most || mean >= most || largest >= most || (uint64_t)smooth_most >= most) return false;
    largest += (uint64_t)smooth_most + bits;
    h0 = (mean > 3 * largest ? mean : 3 * largest) + bits;
    sum = smooth_most > 0 ? 16 * (2 * h0 + 4 * largest) + 64 * largest : h0 + 3 * largest;
    return sum < limit;
}

/* h0 of level k is at most (largest + k) * 2^(k + 2), k for the rounding; the sums of the last level have twice the h0
 * that comes out of it. */
bool tc_hcompress_forward_fits_int32(int n_levels, const int32_t *src, size_t n)
{
    int32_t bits = 0; /* of the pixels, negative ones inverted: as long as the longest of them */

    for (size_t i = 0; i < n; i++) bits |= src[i] ^ src[i] >> 31;
    return n_levels < 28 && (int64_t)bits + 1 + n_levels < (int64_t)1 << (29 - n_levels);
}

uint64_t tc_hcompress_bits_used(const tc_hcompress_tile *tile, size_t first, size_t n)
{
    uint64_t wide_bits = 0;
    uint32_t bits = 0;

    if (tile->wide)
        for (size_t i = first; i < first + n; i++) wide_bits |= ((const uint64_t *)tile->coef)[i];
    else
        for (size_t i = first; i < first + n; i++) bits |= ((const uint32_t *)tile->coef)[i];
    return wide_bits | bits;
}
