/* The signs of HCOMPRESS coefficients: a bit for each that is not 0, in raster order, 1 = negative. */
#ifndef TC_HCOMPRESS_SIGNS_H
#define TC_HCOMPRESS_SIGNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tc_bits.h"
#include "tc_status.h"

/* Give n magnitudes (int32_t, or int64_t if `wide`) the signs that come next in the stream, and multiply them by
 * `scale`.  TC_TRUNCATED. */
tc_status tc_hcompress_read_signs(tc_bits *in, void *coef, size_t n, bool wide, uint32_t scale);

/* Divide n coefficients by `scale`, to the nearest integer, and replace them by their magnitudes; their signs go to
 * `signs`, which has room for n / 8 + 16 bytes.  Returns the bytes that they take. */
size_t tc_hcompress_take_signs(void *coef, size_t n, bool wide, uint32_t scale, uint8_t *signs);

/* One coefficient divided by `scale`. */
static inline int64_t tc_hcompress_digitize(int64_t v, uint32_t scale)
{
    const int64_t half = ((int64_t)scale + 1) / 2 - 1;

    return scale == 1 ? v : (v > 0 ? v + half : v - half) / (int64_t)scale;
}

#endif
