#include "tc_quantize.h"

#include <math.h>
#include <string.h>

#include "tc_choose.h"
#include "tc_cpu.h"
#include "tc_noise.h"

/* The lowest ten integers are kept free for marks; where marks may occur the smallest pixel becomes this one. */
#define LOWEST_INTEGER (-2147483637)
#define USABLE_INTEGERS (2147483647.0 - 10)

/* The step between two integers; 0 or NaN when there is none. */
static double choose_step(float q, const tc_noise *noise)
{
    const double sigma = noise->n_valid ? tc_noise_sigma(noise) : 1;

    if (q < 0) return -(double)q;
    return q == 0 ? sigma / 4 : sigma / (double)q;
}

/* The integer nearest to a pixel lies within int32_t for all pixels if it does for the outermost ones: rounding keeps the
 * order, and dithering adds less than one half. */
static bool integers_fit(double min, double max, const tc_quantum *quantum)
{
    const double lowest = (min - quantum->zzero) / quantum->zscale - 1;
    const double highest = (max - quantum->zzero) / quantum->zscale + 1;

    return lowest > -2147483649.0 && highest <= 2147483648.0;
}

/* Choose scale and zero.  `range` is max - min and `sum` max + min, in the type of the pixels. */
static tc_status choose_quantum(const tc_quantize_request *request, const tc_noise *found, double range, double sum,
                                tc_quantum *quantum)
{
    const double step = choose_step(request->q, found);
    const double levels = range / step;

    if (!(step > 0) || isinf(step) || !(levels <= 2 * 2147483647.0 - 10)) return TC_REFUSED;
    quantum->zscale = step;
    if (quantum->has_zblank || request->method == TC_DITHER_2) {
        quantum->zzero = found->min - step * LOWEST_INTEGER;
    } else if (levels < USABLE_INTEGERS) {
        const double whole = found->min / step + 0.5;

        if (!(fabs(whole) < 9223372036854775808.0)) return TC_REFUSED;
        quantum->zzero = (double)(int64_t)whole * step;
    } else {
        quantum->zzero = sum / 2;
    }
    return integers_fit(found->min, found->max, quantum) ? TC_OK : TC_REFUSED;
}

static bool lawful(const tc_quantize_request *request, size_t nx, size_t ny)
{
    const bool known_null = request->zblank == TC_CFITSIO_ZBLANK || request->zblank == INT32_MIN;

    return isfinite(request->q) && known_null && nx > 0 && ny > 0 && ny <= (size_t)INT32_MAX / nx;
}

/* Plain loops that become vector code, compiled once for every CPU level; without contraction all give the same bits.
 * NaN is replaced before it is converted, which would be undefined. */
#define PIECE(LEVEL, TARGET, PIXEL, NAME)                                                                              \
    TARGET static void LEVEL##_##NAME(const PIXEL *src, const float *numbers, size_t n, int32_t zblank,                \
                                      const tc_quantum *quantum, int32_t *dst)                                         \
    {                                                                                                                  \
        const double zscale = quantum->zscale, zzero = quantum->zzero;                                                 \
        const bool marks_zero = quantum->method == TC_DITHER_2;                                                        \
        uint64_t zzero_bits;                                                                                           \
                                                                                                                       \
        memcpy(&zzero_bits, &zzero, sizeof zzero_bits);                                                                \
        for (size_t i = 0; !numbers && i < n; i++) {                                                                   \
            const bool null = src[i] != src[i];                                                                        \
            const double pixel = tc_choose_f64(null, zzero_bits, src[i]);                                              \
            const double level = (pixel - zzero) / zscale;                                                             \
                                                                                                                       \
            dst[i] = tc_choose_i32(null, zblank, (int32_t)(level + copysign(0.5, level)));                             \
        }                                                                                                              \
        for (size_t i = 0; numbers && i < n; i++) {                                                                    \
            const bool null = src[i] != src[i], zero = marks_zero & (src[i] == 0);                                     \
            const double pixel = tc_choose_f64(null, zzero_bits, src[i]);                                              \
            const double level = (pixel - zzero) / zscale + (double)numbers[i] - 0.5;                                  \
            const int32_t integer = (int32_t)(level + copysign(0.5, level));                                           \
                                                                                                                       \
            dst[i] = tc_choose_i32(null, zblank, tc_choose_i32(zero, TC_ZERO_MARKER, integer));                        \
        }                                                                                                              \
    }

#define QUANTIZE(PIXEL, NAME)                                                                                          \
    PIECE(portable, , PIXEL, NAME)                                                                                     \
    PIECE(avx2, TC_TARGET_AVX2, PIXEL, NAME)                                                                           \
    PIECE(avx512, TC_TARGET_AVX512, PIXEL, NAME)                                                                       \
                                                                                                                       \
    static void integers_##NAME(const PIXEL *src, size_t n, int32_t zblank, const tc_quantum *quantum, int32_t *dst)   \
    {                                                                                                                  \
        const tc_cpu level = tc_cpu_level();                                                                           \
        void (*const piece)(const PIXEL *, const float *, size_t, int32_t, const tc_quantum *, int32_t *) =            \
            level == TC_CPU_AVX512 ? avx512_##NAME : level == TC_CPU_AVX2 ? avx2_##NAME : portable_##NAME;             \
                                                                                                                       \
        if (quantum->method == TC_NO_DITHER) {                                                                         \
            piece(src, NULL, n, zblank, quantum, dst);                                                                 \
            return;                                                                                                    \
        }                                                                                                              \
        tc_dither dither = tc_dither_start(quantum->row, quantum->zdither0);                                           \
        for (size_t done = 0, count; done < n; done += count) {                                                        \
            const float *numbers = tc_dither_run(&dither, n - done, &count);                                           \
                                                                                                                       \
            piece(src + done, numbers, count, zblank, quantum, dst + done);                                            \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    size_t tc_quantize_scratch_##NAME(size_t nx, size_t ny)                                                            \
    {                                                                                                                  \
        return tc_noise_scratch_##NAME(nx, ny);                                                                        \
    }                                                                                                                  \
                                                                                                                       \
    tc_status tc_quantize_##NAME(const PIXEL *src, size_t nx, size_t ny, uint64_t row,                                 \
                                 const tc_quantize_request *request, void *scratch, int32_t *dst, tc_quantum *quantum) \
    {                                                                                                                  \
        tc_noise found;                                                                                                \
                                                                                                                       \
        if (!lawful(request, nx, ny)) return TC_BAD_PARAM;                                                             \
        found = request->q < 0 ? tc_noise_range_##NAME(src, nx * ny) : tc_noise_##NAME(src, nx, ny, scratch);          \
        *quantum = (tc_quantum){.method = request->method, .zdither0 = request->zdither0, .row = row,                  \
                                .has_zblank = found.n_valid < nx * ny, .zblank = request->zblank};                     \
        if (found.has_infinite || nx * ny == 1) return TC_REFUSED;                                                     \
        if (found.n_valid == 0 && request->q >= 0) found.max = 1;                                                      \
        TC_TRY(choose_quantum(request, &found, (PIXEL)found.max - (PIXEL)found.min,                                    \
                              (PIXEL)found.min + (PIXEL)found.max, quantum));                                          \
        integers_##NAME(src, nx * ny, request->zblank, quantum, dst);                                                  \
        return TC_OK;                                                                                                  \
    }

QUANTIZE(float, f32)
QUANTIZE(double, f64)
