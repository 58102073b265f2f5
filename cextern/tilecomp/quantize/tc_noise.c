#include "tc_noise.h"

#include "tc_cpu.h"

static double smaller_unless_zero(double noise, double other)
{
    return other != 0 && other < noise ? other : noise;
}

double tc_noise_sigma(const tc_noise *noise)
{
    return smaller_unless_zero(smaller_unless_zero(noise->noise3, noise->noise2), noise->noise5);
}

TC_BY_LEVEL(size_t, tc_noise_scratch_f32, (size_t nx, size_t ny), (nx, ny))
TC_BY_LEVEL(size_t, tc_noise_scratch_f64, (size_t nx, size_t ny), (nx, ny))
TC_BY_LEVEL(size_t, tc_noise_scratch_i32, (size_t nx, size_t ny), (nx, ny))
TC_BY_LEVEL(tc_noise, tc_noise_range_f32, (const float *src, size_t n), (src, n))
TC_BY_LEVEL(tc_noise, tc_noise_range_f64, (const double *src, size_t n), (src, n))
TC_BY_LEVEL(tc_noise, tc_noise_f32, (const float *src, size_t nx, size_t ny, void *scratch), (src, nx, ny, scratch))
TC_BY_LEVEL(tc_noise, tc_noise_f64, (const double *src, size_t nx, size_t ny, void *scratch), (src, nx, ny, scratch))
TC_BY_LEVEL(tc_noise, tc_noise_i32,
            (const int32_t *src, size_t nx, size_t ny, bool has_null, int32_t null, void *scratch),
            (src, nx, ny, has_null, null, scratch))
