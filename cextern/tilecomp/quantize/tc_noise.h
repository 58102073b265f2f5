/* Noise of a tile, from second, third and fifth order differences of neighbours two pixels apart (Stoehr et al. 2007),
 * with the medians, and the slip in the median of the second order, that CFITSIO's writers use: the step of
 * quantization and the scale of HCOMPRESS depend on it to the last bit.  docs/format.rst, "Noise". */
#ifndef TC_NOISE_H
#define TC_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    size_t n_valid;   /* pixels that are not undefined */
    bool has_infinite; /* whether one of them is infinite; then nothing below is meaningful */
    double min, max;  /* over the valid pixels; 0 when there is none */
    double noise2, noise3, noise5;
} tc_noise;

/* Bytes that `scratch` must have (64-byte aligned) for a tile of nx * ny pixels. */
size_t tc_noise_scratch_f32(size_t nx, size_t ny);
size_t tc_noise_scratch_f64(size_t nx, size_t ny);
size_t tc_noise_scratch_i32(size_t nx, size_t ny);

/* NaN pixels are undefined; for integers those equal to `null` where `has_null`. */
tc_noise tc_noise_f32(const float *src, size_t nx, size_t ny, void *scratch);
tc_noise tc_noise_f64(const double *src, size_t nx, size_t ny, void *scratch);
tc_noise tc_noise_i32(const int32_t *src, size_t nx, size_t ny, bool has_null, int32_t null, void *scratch);

/* The same without the three noises, which stay 0. */
tc_noise tc_noise_range_f32(const float *src, size_t n);
tc_noise tc_noise_range_f64(const double *src, size_t n);

/* The three in one: noise3, or the smaller of noise2 and noise5 where they are not 0 and less. */
double tc_noise_sigma(const tc_noise *noise);

#endif
