#include "tc_select.h"

#include <stdbool.h>

#include "tc_cpu.h"

/* A small sample of the list, spread over it, gives a window of values that most likely holds the answer.  One pass keeps
 * the elements inside and counts those below; the rest is the same question about far fewer elements. */
#define FEW 16     /* size of the sample, and of lists that are answered directly */
#define MARGIN 3   /* ranks of the sample on each side of the expected one: 1.5 standard deviations */
#define BLOCK 32   /* elements that a partition looks at without a branch */
#define PADDING 16 /* elements that a vector store may write past the last one that counts */

typedef struct {
    size_t n_below, n_inside;
} window_counts;

#define WORD uint32_t
#define NAME(x) x##_u32
#include "tc_select_width.h"
#undef WORD
#undef NAME

#define WORD uint64_t
#define NAME(x) x##_u64
#include "tc_select_width.h"

#if TC_CPU_X86
#include <immintrin.h>

/* ---- AVX-512: a mask says which elements a register keeps ---- */

TC_TARGET_AVX512 static window_counts avx512_keep_window_u32(const uint32_t *list, size_t n, uint32_t lowest,
                                                             uint32_t highest, uint32_t *out)
{
    const __m512i low = _mm512_set1_epi32((int)lowest), span = _mm512_set1_epi32((int)(highest - lowest));
    window_counts counts = {0, 0};

    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 there = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : (__mmask16)-1;
        const __m512i elements = _mm512_maskz_loadu_epi32(there, list + i);
        const __mmask16 inside = _mm512_mask_cmple_epu32_mask(there, _mm512_sub_epi32(elements, low), span);

        _mm512_storeu_si512(out + counts.n_inside, _mm512_maskz_compress_epi32(inside, elements));
        counts.n_inside += (size_t)_mm_popcnt_u32(inside);
        counts.n_below += (size_t)_mm_popcnt_u32(_mm512_mask_cmplt_epu32_mask(there, elements, low));
    }
    return counts;
}

TC_TARGET_AVX512 static window_counts avx512_keep_window_u64(const uint64_t *list, size_t n, uint64_t lowest,
                                                             uint64_t highest, uint64_t *out)
{
    const __m512i low = _mm512_set1_epi64((long long)lowest), span = _mm512_set1_epi64((long long)(highest - lowest));
    window_counts counts = {0, 0};

    for (size_t i = 0; i < n; i += 8) {
        const __mmask8 there = n - i < 8 ? (__mmask8)((1u << (n - i)) - 1) : (__mmask8)-1;
        const __m512i elements = _mm512_maskz_loadu_epi64(there, list + i);
        const __mmask8 inside = _mm512_mask_cmple_epu64_mask(there, _mm512_sub_epi64(elements, low), span);

        _mm512_storeu_si512(out + counts.n_inside, _mm512_maskz_compress_epi64(inside, elements));
        counts.n_inside += (size_t)_mm_popcnt_u32(inside);
        counts.n_below += (size_t)_mm_popcnt_u32(_mm512_mask_cmplt_epu64_mask(there, elements, low));
    }
    return counts;
}

/* The element at index t is the largest one that at most t others are less than. */
TC_TARGET_AVX512 static void avx512_select_two_u32(const uint32_t *list, size_t n, const size_t at[2],
                                                   uint32_t selected[2])
{
    const __mmask16 there = (__mmask16)((1u << n) - 1);
    const __m512i elements = _mm512_mask_loadu_epi32(_mm512_set1_epi32(-1), there, list);
    __m512i n_less = _mm512_setzero_si512();

    for (int i = 0; i < 16; i++) {
        const __m512i one = _mm512_permutexvar_epi32(_mm512_set1_epi32(i), elements);
        const __mmask16 less = _mm512_cmplt_epu32_mask(one, elements);

        n_less = _mm512_mask_add_epi32(n_less, less, n_less, _mm512_set1_epi32(1));
    }
    for (int i = 0; i < 2; i++) {
        const __mmask16 candidates = _mm512_mask_cmple_epu32_mask(there, n_less, _mm512_set1_epi32((int)at[i]));

        selected[i] = _mm512_mask_reduce_max_epu32(candidates, elements);
    }
}

/* ---- AVX2: the kept elements are brought to the front by a permutation that their mask gives ---- */

TC_TARGET_AVX2 static window_counts avx2_keep_window_u32(const uint32_t *list, size_t n, uint32_t lowest,
                                                         uint32_t highest, uint32_t *out)
{
    const __m256i low = _mm256_set1_epi32((int)lowest), high = _mm256_set1_epi32((int)highest);
    window_counts counts = {0, 0}, last;
    size_t i = 0;

    for (; n - i >= 8; i += 8) {
        const __m256i elements = _mm256_loadu_si256((const __m256i *)(const void *)(list + i));
        const __m256i from_low = _mm256_cmpeq_epi32(_mm256_max_epu32(elements, low), elements);
        const __m256i to_high = _mm256_cmpeq_epi32(_mm256_min_epu32(elements, high), elements);
        const unsigned inside = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_and_si256(from_low, to_high)));
        const uint64_t bytes = _pdep_u64(inside, 0x0101010101010101) * 0xff;
        const __m128i order = _mm_cvtsi64_si128((long long)_pext_u64(0x0706050403020100, bytes));
        const __m256i kept = _mm256_permutevar8x32_epi32(elements, _mm256_cvtepu8_epi32(order));

        _mm256_storeu_si256((__m256i *)(void *)(out + counts.n_inside), kept);
        counts.n_inside += (size_t)_mm_popcnt_u32(inside);
        counts.n_below += 8 - (size_t)_mm_popcnt_u32((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(from_low)));
    }
    last = portable_keep_window_u32(list + i, n - i, lowest, highest, out + counts.n_inside);
    return (window_counts){counts.n_below + last.n_below, counts.n_inside + last.n_inside};
}

static kernels_u32 kernels_of_u32(tc_cpu level)
{
    switch (level) {
    case TC_CPU_AVX512: return (kernels_u32){avx512_keep_window_u32, avx512_select_two_u32};
    case TC_CPU_AVX2: return (kernels_u32){avx2_keep_window_u32, portable_select_two_u32};
    default: return (kernels_u32){portable_keep_window_u32, portable_select_two_u32};
    }
}

static kernels_u64 kernels_of_u64(tc_cpu level)
{
    if (level == TC_CPU_AVX512) return (kernels_u64){avx512_keep_window_u64, portable_select_two_u64};
    return (kernels_u64){portable_keep_window_u64, portable_select_two_u64};
}

#else

static kernels_u32 kernels_of_u32(tc_cpu level)
{
    (void)level;
    return (kernels_u32){portable_keep_window_u32, portable_select_two_u32};
}

static kernels_u64 kernels_of_u64(tc_cpu level)
{
    (void)level;
    return (kernels_u64){portable_keep_window_u64, portable_select_two_u64};
}

#endif
