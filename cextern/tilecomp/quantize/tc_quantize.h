/* Floats <-> integers of a quantized tile, FITS 4.0 section 10.2.
 *   value = (integer - r + 0.5) * zscale + zzero     r: the pixel's random number; no dithering: integer * zscale + zzero
 * in double, each operation rounded by itself, then to the type of the image.  Bit for bit what CFITSIO gives. */
#ifndef TC_QUANTIZE_H
#define TC_QUANTIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tc_dither.h"
#include "tc_status.h"

#define TC_ZERO_MARKER (-2147483646)   /* a pixel of exactly 0 under TC_DITHER_2 */
/* FITS 4.0 writes -2147483647 for it; an integer that is ZBLANK is NaN all the same. */
#define TC_MARKS_ZERO(integer) ((uint32_t)TC_ZERO_MARKER - (uint32_t)(integer) <= 1u)
#define TC_CFITSIO_ZBLANK (-2147483647) /* the null CFITSIO writes; the standard recommends INT32_MIN */

/* What turns the integers of one tile into values. */
typedef struct {
    double zscale, zzero;
    tc_dither_method method;
    int64_t zdither0; /* ZDITHER0 of the header */
    uint64_t row;     /* table row of the tile, from 0 */
    bool has_zblank;  /* whether integers equal to `zblank` are undefined, and become NaN */
    int32_t zblank;
} tc_quantum;

/* dst[i] = value of src[i], the pixel `first + i` of the tile in C order, i = 0 ... n - 1.  `dst` may be `src` itself
 * where both have the same width; otherwise they must not overlap. */
void tc_dequantize_u8_f32(const uint8_t *src, size_t first, size_t n, const tc_quantum *quantum, float *dst);
void tc_dequantize_u8_f64(const uint8_t *src, size_t first, size_t n, const tc_quantum *quantum, double *dst);
void tc_dequantize_i16_f32(const int16_t *src, size_t first, size_t n, const tc_quantum *quantum, float *dst);
void tc_dequantize_i16_f64(const int16_t *src, size_t first, size_t n, const tc_quantum *quantum, double *dst);
void tc_dequantize_i32_f32(const int32_t *src, size_t first, size_t n, const tc_quantum *quantum, float *dst);
void tc_dequantize_i32_f64(const int32_t *src, size_t first, size_t n, const tc_quantum *quantum, double *dst);

/* What the user asks of quantization. */
typedef struct {
    float q;                 /* >= 0: noise / q is the step (0: noise / 4); < 0: -q is the step itself */
    tc_dither_method method;
    int64_t zdither0;
    int32_t zblank;          /* the integer that NaN becomes: TC_CFITSIO_ZBLANK or INT32_MIN */
} tc_quantize_request;

/* dst[i] = integer of src[i] for the nx * ny pixels of a tile (nx: fastest axis), with the step, zero and null that were
 * chosen in `*quantum` (has_zblank: whether the tile has undefined pixels, also where it is refused).
 * TC_REFUSED: the tile must be kept lossless (no noise, too large a range, infinite pixels, a single pixel);
 * TC_BAD_PARAM: q is not finite, zblank is neither of the two, or the tile has over 2^31 - 1 pixels.
 * `scratch`: tc_quantize_scratch() bytes, 64-byte aligned. */
size_t tc_quantize_scratch_f32(size_t nx, size_t ny);
size_t tc_quantize_scratch_f64(size_t nx, size_t ny);
tc_status tc_quantize_f32(const float *src, size_t nx, size_t ny, uint64_t row, const tc_quantize_request *request,
                          void *scratch, int32_t *dst, tc_quantum *quantum);
tc_status tc_quantize_f64(const double *src, size_t nx, size_t ny, uint64_t row, const tc_quantize_request *request,
                          void *scratch, int32_t *dst, tc_quantum *quantum);

#endif
