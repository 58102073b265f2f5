#include "tc_noise.h"

#include <math.h>
#include <string.h>

#include "tc_choose.h"
#include "tc_cpu.h"
#include "tc_select.h"

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
    lower = tc_select_u64(bits, n, (n - 1) / 2, rest);
    upper = n % 2 ? lower : tc_select_u64(bits, n, n / 2, rest);
    memcpy(&low, &lower, sizeof low);
    memcpy(&high, &upper, sizeof high);
    return n % 2 ? low : (low + high) / 2;
}

static double smaller_unless_zero(double noise, double other)
{
    return other != 0 && other < noise ? other : noise;
}

double tc_noise_sigma(const tc_noise *noise)
{
    return smaller_unless_zero(smaller_unless_zero(noise->noise3, noise->noise2), noise->noise5);
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

#define PIXEL float
#define DIFFERENCE float
#define WORD uint32_t
#define NAME(x) x##_f32
#define SELECT(x) x##_u32
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

#define PIXEL double
#define DIFFERENCE double
#define WORD uint64_t
#define NAME(x) x##_f64
#define SELECT(x) x##_u64
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

#define PIXEL int32_t
#define DIFFERENCE uint32_t
#define WORD uint32_t
#define NAME(x) x##_narrow
#define SELECT(x) x##_u32
#define IS_NULL(pixel, null) ((null).exists && (pixel) == (null).value)
#include "tc_noise_type.h"

#define PIXEL int32_t
#define DIFFERENCE int64_t
#define WORD uint64_t
#define NAME(x) x##_wide
#define SELECT(x) x##_u64
#define IS_NULL(pixel, null) ((null).exists && (pixel) == (null).value)
#include "tc_noise_type.h"

/* ---- differences by vectors ---- */

#if TC_CPU_X86
#include <immintrin.h>

typedef uint32_t u32x16 __attribute__((vector_size(64)));
typedef uint32_t u32x8 __attribute__((vector_size(32)));

/* The words of a vector that the mask names, to the front. */
TC_TARGET_AVX2 static void avx2_store_kept(uint32_t *dst, unsigned mask, __m256i words)
{
    const uint64_t bytes = _pdep_u64(mask, 0x0101010101010101) * 0xff;
    const __m128i order = _mm_cvtsi64_si128((long long)_pext_u64(0x0706050403020100, bytes));

    _mm256_storeu_si256((__m256i *)(void *)dst, _mm256_permutevar8x32_epi32(words, _mm256_cvtepu8_epi32(order)));
}

#define LEVEL(x) avx512_##x##_f32
#define TARGET TC_TARGET_AVX512
#define NAME(x) x##_f32
#define PIXEL float
#define WORD uint32_t
#define LANES 16
#define VECTOR __m512
#define LOAD(p) _mm512_loadu_ps(p)
#define EQUAL(a, b) (unsigned)_mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ)
#define STORE(p, v) _mm512_storeu_si512(p, _mm512_castps_si512(_mm512_abs_ps(v)))
#define STORE_KEPT(p, mask, v)                                                                                         \
    _mm512_storeu_si512(p, _mm512_maskz_compress_epi32((__mmask16)(mask), _mm512_castps_si512(_mm512_abs_ps(v))))
#include "tc_noise_vector.h"

#define LEVEL(x) avx512_##x##_f64
#define TARGET TC_TARGET_AVX512
#define NAME(x) x##_f64
#define PIXEL double
#define WORD uint64_t
#define LANES 8
#define VECTOR __m512d
#define LOAD(p) _mm512_loadu_pd(p)
#define EQUAL(a, b) (unsigned)_mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ)
#define STORE(p, v) _mm512_storeu_si512(p, _mm512_castpd_si512(_mm512_abs_pd(v)))
#define STORE_KEPT(p, mask, v)                                                                                         \
    _mm512_storeu_si512(p, _mm512_maskz_compress_epi64((__mmask8)(mask), _mm512_castpd_si512(_mm512_abs_pd(v))))
#include "tc_noise_vector.h"

#define LEVEL(x) avx512_##x##_narrow
#define TARGET TC_TARGET_AVX512
#define NAME(x) x##_narrow
#define PIXEL int32_t
#define WORD uint32_t
#define LANES 16
#define VECTOR u32x16
#define LOAD(p) (u32x16) _mm512_loadu_si512(p)
#define EQUAL(a, b) (unsigned)_mm512_cmpeq_epi32_mask((__m512i)(a), (__m512i)(b))
#define STORE(p, v) _mm512_storeu_si512(p, _mm512_abs_epi32((__m512i)(v)))
#define STORE_KEPT(p, mask, v)                                                                                         \
    _mm512_storeu_si512(p, _mm512_maskz_compress_epi32((__mmask16)(mask), _mm512_abs_epi32((__m512i)(v))))
#include "tc_noise_vector.h"

#define LEVEL(x) avx2_##x##_f32
#define TARGET TC_TARGET_AVX2
#define NAME(x) x##_f32
#define PIXEL float
#define WORD uint32_t
#define LANES 8
#define VECTOR __m256
#define LOAD(p) _mm256_loadu_ps(p)
#define EQUAL(a, b) (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ))
#define ABSOLUTE(v) _mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(INT32_MAX))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), ABSOLUTE(v))
#define STORE_KEPT(p, mask, v) avx2_store_kept(p, mask, ABSOLUTE(v))
#include "tc_noise_vector.h"
#undef ABSOLUTE

#define LEVEL(x) avx2_##x##_narrow
#define TARGET TC_TARGET_AVX2
#define NAME(x) x##_narrow
#define PIXEL int32_t
#define WORD uint32_t
#define LANES 8
#define VECTOR u32x8
#define LOAD(p) (u32x8) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define EQUAL(a, b) (unsigned)_mm256_movemask_ps((__m256)((a) == (b)))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), _mm256_abs_epi32((__m256i)(v)))
#define STORE_KEPT(p, mask, v) avx2_store_kept(p, mask, _mm256_abs_epi32((__m256i)(v)))
#include "tc_noise_vector.h"

static differences_f32 *differences_of_f32(tc_cpu level)
{
    return level == TC_CPU_AVX512 ? avx512_differences_f32
           : level == TC_CPU_AVX2 ? avx2_differences_f32
                                  : portable_differences_f32;
}

static differences_f64 *differences_of_f64(tc_cpu level)
{
    return level == TC_CPU_AVX512 ? avx512_differences_f64 : portable_differences_f64;
}

static differences_narrow *differences_of_narrow(tc_cpu level)
{
    return level == TC_CPU_AVX512 ? avx512_differences_narrow
           : level == TC_CPU_AVX2 ? avx2_differences_narrow
                                  : portable_differences_narrow;
}

#else

static differences_f32 *differences_of_f32(tc_cpu level)
{
    return level == TC_CPU_PORTABLE ? portable_differences_f32 : NULL;
}

static differences_f64 *differences_of_f64(tc_cpu level)
{
    return level == TC_CPU_PORTABLE ? portable_differences_f64 : NULL;
}

static differences_narrow *differences_of_narrow(tc_cpu level)
{
    return level == TC_CPU_PORTABLE ? portable_differences_narrow : NULL;
}

#endif

static differences_wide *differences_of_wide(tc_cpu level)
{
    (void)level; /* pixels that differ so much are rare */
    return portable_differences_wide;
}

/* ---- what all pixels together tell ---- */

/* Floats are compared as integers that order as they do: such loops become vector code, compiled once for every CPU level.
 * Only where infinity or NaN turn up, each pixel is looked at. */
#define KEY_RANGE(LEVEL, TARGET, NAME, PIXEL, KEY, KEY_MAX)                                                            \
    TARGET static void LEVEL##_key_range_##NAME(const PIXEL *src, size_t n, KEY *lowest, KEY *highest)                 \
    {                                                                                                                  \
        KEY low = KEY_MAX, high = -KEY_MAX;                                                                            \
                                                                                                                       \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const KEY key = key_##NAME(src[i]);                                                                        \
                                                                                                                       \
            low = key < low ? key : low;                                                                               \
            high = key > high ? key : high;                                                                            \
        }                                                                                                              \
        *lowest = low;                                                                                                 \
        *highest = high;                                                                                               \
    }

#define SURVEY(NAME, PIXEL, KEY, KEY_MAX)                                                                              \
    TC_INLINE KEY key_##NAME(PIXEL pixel)                                                                              \
    {                                                                                                                  \
        KEY bits;                                                                                                      \
                                                                                                                       \
        memcpy(&bits, &pixel, sizeof bits);                                                                            \
        return bits < 0 ? bits ^ KEY_MAX : bits;                                                                       \
    }                                                                                                                  \
                                                                                                                       \
    static PIXEL pixel_##NAME(KEY key)                                                                                 \
    {                                                                                                                  \
        PIXEL pixel;                                                                                                   \
                                                                                                                       \
        key = key < 0 ? key ^ KEY_MAX : key;                                                                           \
        memcpy(&pixel, &key, sizeof pixel);                                                                            \
        return pixel;                                                                                                  \
    }                                                                                                                  \
                                                                                                                       \
    KEY_RANGE(portable, , NAME, PIXEL, KEY, KEY_MAX)                                                                   \
    KEY_RANGE(avx2, TC_TARGET_AVX2, NAME, PIXEL, KEY, KEY_MAX)                                                         \
    KEY_RANGE(avx512, TC_TARGET_AVX512, NAME, PIXEL, KEY, KEY_MAX)                                                     \
                                                                                                                       \
    static tc_noise survey_defined_##NAME(const PIXEL *src, size_t n)                                                  \
    {                                                                                                                  \
        tc_noise found = {0};                                                                                          \
                                                                                                                       \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const double pixel = src[i];                                                                               \
                                                                                                                       \
            if (isnan(pixel)) continue;                                                                                \
            if (found.n_valid++ == 0) found.min = found.max = pixel;                                                   \
            found.has_infinite |= isinf(pixel) != 0;                                                                   \
            if (pixel < found.min) found.min = pixel;                                                                  \
            if (pixel > found.max) found.max = pixel;                                                                  \
        }                                                                                                              \
        return found;                                                                                                  \
    }                                                                                                                  \
                                                                                                                       \
    static tc_noise survey_##NAME(const PIXEL *src, size_t n)                                                          \
    {                                                                                                                  \
        const tc_cpu level = tc_cpu_level();                                                                           \
        KEY lowest, highest;                                                                                           \
                                                                                                                       \
        (level == TC_CPU_AVX512 ? avx512_key_range_##NAME                                                              \
         : level == TC_CPU_AVX2 ? avx2_key_range_##NAME                                                                \
                                : portable_key_range_##NAME)(src, n, &lowest, &highest);                               \
        if (n == 0 || lowest <= key_##NAME(-(PIXEL)INFINITY) || highest >= key_##NAME((PIXEL)INFINITY))                \
            return survey_defined_##NAME(src, n);                                                                      \
        return (tc_noise){.n_valid = n, .min = (double)pixel_##NAME(lowest), .max = (double)pixel_##NAME(highest)};    \
    }

SURVEY(f32, float, int32_t, INT32_MAX)
SURVEY(f64, double, int64_t, INT64_MAX)

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

size_t tc_noise_scratch_f32(size_t nx, size_t ny)
{
    return scratch_size_f32(nx, ny);
}

size_t tc_noise_scratch_f64(size_t nx, size_t ny)
{
    return scratch_size_f64(nx, ny);
}

size_t tc_noise_scratch_i32(size_t nx, size_t ny)
{
    const size_t narrow = scratch_size_narrow(nx, ny), wide = scratch_size_wide(nx, ny);

    return narrow > wide ? narrow : wide;
}

tc_noise tc_noise_range_f32(const float *src, size_t n)
{
    return survey_f32(src, n);
}

tc_noise tc_noise_range_f64(const double *src, size_t n)
{
    return survey_f64(src, n);
}

tc_noise tc_noise_f32(const float *src, size_t nx, size_t ny, void *scratch)
{
    tc_noise noise = survey_f32(src, nx * ny);

    if (!noise.has_infinite) estimate_f32(src, nx, ny, (null_mark){0}, scratch, &noise);
    return noise;
}

tc_noise tc_noise_f64(const double *src, size_t nx, size_t ny, void *scratch)
{
    tc_noise noise = survey_f64(src, nx * ny);

    if (!noise.has_infinite) estimate_f64(src, nx, ny, (null_mark){0}, scratch, &noise);
    return noise;
}

tc_noise tc_noise_i32(const int32_t *src, size_t nx, size_t ny, bool has_null, int32_t null, void *scratch)
{
    const null_mark mark = {has_null, null};
    tc_noise noise = survey_i32(src, nx * ny, mark);

    if (noise.max - noise.min < NARROW) estimate_narrow(src, nx, ny, mark, scratch, &noise);
    else estimate_wide(src, nx, ny, mark, scratch, &noise);
    return noise;
}
