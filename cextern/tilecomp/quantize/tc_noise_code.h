/* The noise estimate of one CPU level: for each pixel type tc_noise_type.h, and for floats tc_noise_range.h. */
#include <math.h>
#include <string.h>

#include "tc_noise.h"
#include "tc_select_code.h"

#define SPAN 9     /* pixels that one fifth-order difference reaches over; shorter rows are skipped */
#define PADDING 16 /* elements that a vector store may write past the end of a list */

/* The next `nbytes` of scratch, aligned; NULL when only their number is asked for. */
static void *take(char *scratch, size_t *used, size_t nbytes)
{
    void *const part = scratch ? scratch + *used : NULL;

    *used += (nbytes + 63) & ~(size_t)63;
    return part;
}

/* Tiles whose fastest axis is too short for a difference are seen as one row. */
static void reshape(size_t *nx, size_t *ny)
{
    if (*nx < SPAN) {
        *nx *= *ny;
        *ny = 1;
    }
}

/* Median of n row values, none negative; the mean of the two in the middle for an even n; 0 for none. */
static double median_of_rows(const double *values, size_t n, uint64_t *scratch)
{
    uint64_t *const bits = scratch, *const rest = scratch + n;
    uint64_t lower, upper;
    double low, high;

    if (n == 0) return 0;
    memcpy(bits, values, n * sizeof *values);
    lower = LEVEL(tc_select_u64)(bits, n, (n - 1) / 2, rest);
    upper = n % 2 ? lower : LEVEL(tc_select_u64)(bits, n, n / 2, rest);
    memcpy(&low, &lower, sizeof low);
    memcpy(&high, &upper, sizeof high);
    return n % 2 ? low : (low + high) / 2;
}

/* The integer that a pixel marks as undefined with; floats use NaN. */
typedef struct {
    bool exists;
    int32_t value;
} null_mark;

/* ---- float ---- */

static uint32_t magnitude_f32(float difference)
{
    uint32_t bits;

    memcpy(&bits, &difference, sizeof bits);
    return bits & INT32_MAX;
}

static double value_f32(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

#if HAS_AVX512
#define VECTOR __m512
#define LANES 16
#define LOAD(p) _mm512_loadu_ps(p)
#define EQUAL(a, b) (unsigned)_mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ)
#define MAGNITUDES(v) _mm512_castps_si512(_mm512_abs_ps(v))
#elif HAS_AVX2
#define VECTOR __m256
#define LANES 8
#define LOAD(p) _mm256_loadu_ps(p)
#define EQUAL(a, b) (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ))
#define MAGNITUDES(v) _mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(INT32_MAX))
#endif
#define PIXEL float
#define DIFFERENCE float
#define WORD uint32_t
#define NAME(x) x##_f32
#define WORDS(x) x##_u32
#define IS_NULL(pixel, null) isnan(pixel)
#include "tc_noise_type.h"

/* ---- double ---- */

static uint64_t magnitude_f64(double difference)
{
    uint64_t bits;

    memcpy(&bits, &difference, sizeof bits);
    return bits & INT64_MAX;
}

static double value_f64(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

#if HAS_AVX512
#define VECTOR __m512d
#define LANES 8
#define LOAD(p) _mm512_loadu_pd(p)
#define EQUAL(a, b) (unsigned)_mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ)
#define MAGNITUDES(v) _mm512_castpd_si512(_mm512_abs_pd(v))
#endif
#define PIXEL double
#define DIFFERENCE double
#define WORD uint64_t
#define NAME(x) x##_f64
#define WORDS(x) x##_u64
#define IS_NULL(pixel, null) isnan(pixel)
#include "tc_noise_type.h"

/* ---- integers: all differences fit 32 bits where the pixels span less than NARROW ---- */

#define NARROW (1 << 27)

static uint32_t magnitude_narrow(uint32_t difference)
{
    return difference > INT32_MAX ? 0u - difference : difference;
}

static double value_narrow(uint32_t difference)
{
    return difference;
}

static uint64_t magnitude_wide(int64_t difference)
{
    return (uint64_t)(difference < 0 ? -difference : difference);
}

static double value_wide(uint64_t difference)
{
    return (double)difference;
}

#if HAS_AVX512
typedef uint32_t u32x16 __attribute__((vector_size(64)));
#define VECTOR u32x16
#define LANES 16
#define LOAD(p) (u32x16) _mm512_loadu_si512(p)
#define EQUAL(a, b) (unsigned)_mm512_cmpeq_epi32_mask((__m512i)(a), (__m512i)(b))
#define MAGNITUDES(v) _mm512_abs_epi32((__m512i)(v))
#elif HAS_AVX2
typedef uint32_t u32x8 __attribute__((vector_size(32)));
#define VECTOR u32x8
#define LANES 8
#define LOAD(p) (u32x8) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define EQUAL(a, b) (unsigned)_mm256_movemask_ps((__m256)((a) == (b)))
#define MAGNITUDES(v) _mm256_abs_epi32((__m256i)(v))
#endif
#define PIXEL int32_t
#define DIFFERENCE uint32_t
#define WORD uint32_t
#define NAME(x) x##_narrow
#define WORDS(x) x##_u32
#define IS_NULL(pixel, null) ((null).exists && (pixel) == (null).value)
#include "tc_noise_type.h"

#define PIXEL int32_t
#define DIFFERENCE int64_t
#define WORD uint64_t
#define NAME(x) x##_wide
#define WORDS(x) x##_u64
#define IS_NULL(pixel, null) ((null).exists && (pixel) == (null).value)
#include "tc_noise_type.h"

/* ---- the range of the pixels ---- */

#define PIXEL float
#define KEY int32_t
#define KEY_MAX INT32_MAX
#define NAME(x) x##_f32
#include "tc_noise_range.h"

#define PIXEL double
#define KEY int64_t
#define KEY_MAX INT64_MAX
#define NAME(x) x##_f64
#include "tc_noise_range.h"

static tc_noise survey_i32(const int32_t *src, size_t n, null_mark null)
{
    int32_t lowest = INT32_MAX, highest = INT32_MIN;
    size_t n_valid = 0;

    for (size_t i = 0; i < n; i++) {
        const bool valid = !(null.exists & (src[i] == null.value));

        n_valid += valid;
        lowest = (valid & (src[i] < lowest)) ? src[i] : lowest;
        highest = (valid & (src[i] > highest)) ? src[i] : highest;
    }
    return (tc_noise){.n_valid = n_valid, .min = n_valid ? lowest : 0, .max = n_valid ? highest : 0};
}

/* ---- the entries ---- */

size_t LEVEL(tc_noise_scratch_f32)(size_t nx, size_t ny)
{
    return scratch_size_f32(nx, ny);
}

size_t LEVEL(tc_noise_scratch_f64)(size_t nx, size_t ny)
{
    return scratch_size_f64(nx, ny);
}

size_t LEVEL(tc_noise_scratch_i32)(size_t nx, size_t ny)
{
    const size_t narrow = scratch_size_narrow(nx, ny), wide = scratch_size_wide(nx, ny);

    return narrow > wide ? narrow : wide;
}

tc_noise LEVEL(tc_noise_f32)(const float *src, size_t nx, size_t ny, void *scratch)
{
    tc_noise noise = LEVEL(tc_noise_range_f32)(src, nx * ny);

    if (!noise.has_infinite) estimate_f32(src, nx, ny, (null_mark){0}, scratch, &noise);
    return noise;
}

tc_noise LEVEL(tc_noise_f64)(const double *src, size_t nx, size_t ny, void *scratch)
{
    tc_noise noise = LEVEL(tc_noise_range_f64)(src, nx * ny);

    if (!noise.has_infinite) estimate_f64(src, nx, ny, (null_mark){0}, scratch, &noise);
    return noise;
}

tc_noise LEVEL(tc_noise_i32)(const int32_t *src, size_t nx, size_t ny, bool has_null, int32_t null, void *scratch)
{
    const null_mark mark = {has_null, null};
    tc_noise noise = survey_i32(src, nx * ny, mark);

    if (noise.max - noise.min < NARROW) estimate_narrow(src, nx, ny, mark, scratch, &noise);
    else estimate_wide(src, nx, ny, mark, scratch, &noise);
    return noise;
}
