#include "tc_choose.h"
#include "tc_cpu.h"
#include "tc_quantize.h"

/* One loop for each pair of types, plain C that the compiler turns into vector code; it is compiled once for every CPU
 * level.  Without contraction (-ffp-contract=off) all levels give the same bits.  `numbers` is NULL without dithering. */
#define PIECE(LEVEL, TARGET, I, NAME_I, O, NAME_O)                                                                     \
    TARGET static void LEVEL##_##NAME_I##_##NAME_O(const I *src, const float *numbers, size_t n,                       \
                                                   const tc_quantum *quantum, O *dst)                                  \
    {                                                                                                                  \
        const double zscale = quantum->zscale, zzero = quantum->zzero;                                                 \
        const bool marks_zero = quantum->method == TC_DITHER_2, has_zblank = quantum->has_zblank;                      \
        const int32_t zblank = quantum->zblank;                                                                        \
                                                                                                                       \
        for (size_t i = 0; !numbers && i < n; i++) {                                                                   \
            const O value = (O)((double)src[i] * zscale + zzero);                                                      \
                                                                                                                       \
            dst[i] = tc_choose_##NAME_O(has_zblank & (src[i] == zblank), TC_NAN_##NAME_O, value);                      \
        }                                                                                                              \
        for (size_t i = 0; numbers && i < n; i++) {                                                                    \
            O value = (O)(((double)src[i] - (double)numbers[i] + 0.5) * zscale + zzero);                               \
                                                                                                                       \
            value = tc_choose_##NAME_O(marks_zero & TC_MARKS_ZERO((int32_t)src[i]), 0, value);                             \
            dst[i] = tc_choose_##NAME_O(has_zblank & (src[i] == zblank), TC_NAN_##NAME_O, value);                      \
        }                                                                                                              \
    }

#define DEQUANTIZE(I, NAME_I, O, NAME_O)                                                                               \
    PIECE(portable, , I, NAME_I, O, NAME_O)                                                                            \
    PIECE(avx2, TC_TARGET_AVX2, I, NAME_I, O, NAME_O)                                                                  \
    PIECE(avx512, TC_TARGET_AVX512, I, NAME_I, O, NAME_O)                                                              \
                                                                                                                       \
    void tc_dequantize_##NAME_I##_##NAME_O(const I *src, size_t first, size_t n, const tc_quantum *quantum, O *dst)    \
    {                                                                                                                  \
        const tc_cpu level = tc_cpu_level();                                                                           \
        void (*const piece)(const I *, const float *, size_t, const tc_quantum *, O *) =                               \
            level == TC_CPU_AVX512 ? avx512_##NAME_I##_##NAME_O                                                        \
            : level == TC_CPU_AVX2 ? avx2_##NAME_I##_##NAME_O                                                          \
                                   : portable_##NAME_I##_##NAME_O;                                                     \
                                                                                                                       \
        if (quantum->method == TC_NO_DITHER) {                                                                         \
            piece(src, NULL, n, quantum, dst);                                                                         \
            return;                                                                                                    \
        }                                                                                                              \
        tc_dither dither = tc_dither_skip(tc_dither_start(quantum->row, quantum->zdither0), first);                    \
        for (size_t done = 0, count; done < n; done += count) {                                                        \
            const float *numbers = tc_dither_run(&dither, n - done, &count);                                           \
                                                                                                                       \
            piece(src + done, numbers, count, quantum, dst + done);                                                    \
        }                                                                                                              \
    }

DEQUANTIZE(uint8_t, u8, float, f32)
DEQUANTIZE(uint8_t, u8, double, f64)
DEQUANTIZE(int16_t, i16, float, f32)
DEQUANTIZE(int16_t, i16, double, f64)
DEQUANTIZE(int32_t, i32, float, f32)
DEQUANTIZE(int32_t, i32, double, f64)
