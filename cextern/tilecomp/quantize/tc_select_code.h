/* Selection at one CPU level; a part of tc_noise_code.h. */
#include <stdbool.h>

#include "tc_select.h"

/* A small sample of the list, spread over it, gives a window of values that most likely holds the answer.  One pass keeps
 * the elements inside and counts those below; the rest is the same question about far fewer elements. */
#define FEW 16     /* size of the sample, and of lists that are answered directly */
#define MARGIN 3   /* ranks of the sample on each side of the expected one: 1.5 standard deviations */
#define BLOCK 32   /* elements that a partition looks at without a branch */
#define PADDING 16 /* elements that a vector store may write past the last one that counts */

typedef struct {
    size_t n_below, n_inside;
} window_counts;

/* Words of a vector to a list, all or those that a mask names.  The functions keep_by_vectors_...() do for the first
 * `*done` elements what keep_window() in tc_select_width.h does. */

#if HAS_AVX512

static inline void store_u32(uint32_t *dst, __m512i words)
{
    _mm512_storeu_si512(dst, words);
}

static inline void store_u64(uint64_t *dst, __m512i words)
{
    _mm512_storeu_si512(dst, words);
}

static inline void store_kept_u32(uint32_t *dst, unsigned mask, __m512i words)
{
    _mm512_storeu_si512(dst, _mm512_maskz_compress_epi32((__mmask16)mask, words));
}

static inline void store_kept_u64(uint64_t *dst, unsigned mask, __m512i words)
{
    _mm512_storeu_si512(dst, _mm512_maskz_compress_epi64((__mmask8)mask, words));
}

static window_counts keep_by_vectors_u32(const uint32_t *list, size_t n, uint32_t lowest, uint32_t highest,
                                         uint32_t *out, size_t *done)
{
    const __m512i low = _mm512_set1_epi32((int)lowest), span = _mm512_set1_epi32((int)(highest - lowest));
    window_counts counts = {0, 0};

    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 there = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : (__mmask16)-1;
        const __m512i elements = _mm512_maskz_loadu_epi32(there, list + i);
        const __mmask16 inside = _mm512_mask_cmple_epu32_mask(there, _mm512_sub_epi32(elements, low), span);

        store_kept_u32(out + counts.n_inside, inside, elements);
        counts.n_inside += (size_t)_mm_popcnt_u32(inside);
        counts.n_below += (size_t)_mm_popcnt_u32(_mm512_mask_cmplt_epu32_mask(there, elements, low));
    }
    *done = n;
    return counts;
}

static window_counts keep_by_vectors_u64(const uint64_t *list, size_t n, uint64_t lowest, uint64_t highest,
                                         uint64_t *out, size_t *done)
{
    const __m512i low = _mm512_set1_epi64((long long)lowest), span = _mm512_set1_epi64((long long)(highest - lowest));
    window_counts counts = {0, 0};

    for (size_t i = 0; i < n; i += 8) {
        const __mmask8 there = n - i < 8 ? (__mmask8)((1u << (n - i)) - 1) : (__mmask8)-1;
        const __m512i elements = _mm512_maskz_loadu_epi64(there, list + i);
        const __mmask8 inside = _mm512_mask_cmple_epu64_mask(there, _mm512_sub_epi64(elements, low), span);

        store_kept_u64(out + counts.n_inside, inside, elements);
        counts.n_inside += (size_t)_mm_popcnt_u32(inside);
        counts.n_below += (size_t)_mm_popcnt_u32(_mm512_mask_cmplt_epu64_mask(there, elements, low));
    }
    *done = n;
    return counts;
}

/* The element at index t is the largest one that at most t others are less than. */
static void select_two_u32(const uint32_t *list, size_t n, const size_t at[2], uint32_t selected[2])
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

#elif HAS_AVX2

static inline void store_u32(uint32_t *dst, __m256i words)
{
    _mm256_storeu_si256((__m256i *)(void *)dst, words);
}

/* They are brought to the front by a permutation that the mask gives. */
static inline void store_kept_u32(uint32_t *dst, unsigned mask, __m256i words)
{
    const uint64_t bytes = _pdep_u64(mask, 0x0101010101010101) * 0xff;
    const __m128i order = _mm_cvtsi64_si128((long long)_pext_u64(0x0706050403020100, bytes));

    _mm256_storeu_si256((__m256i *)(void *)dst, _mm256_permutevar8x32_epi32(words, _mm256_cvtepu8_epi32(order)));
}

static window_counts keep_by_vectors_u32(const uint32_t *list, size_t n, uint32_t lowest, uint32_t highest,
                                         uint32_t *out, size_t *done)
{
    const __m256i low = _mm256_set1_epi32((int)lowest), high = _mm256_set1_epi32((int)highest);
    window_counts counts = {0, 0};
    size_t i = 0;

    for (; n - i >= 8; i += 8) {
        const __m256i elements = _mm256_loadu_si256((const __m256i *)(const void *)(list + i));
        const __m256i from_low = _mm256_cmpeq_epi32(_mm256_max_epu32(elements, low), elements);
        const __m256i to_high = _mm256_cmpeq_epi32(_mm256_min_epu32(elements, high), elements);
        const unsigned inside = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_and_si256(from_low, to_high)));

        store_kept_u32(out + counts.n_inside, inside, elements);
        counts.n_inside += (size_t)_mm_popcnt_u32(inside);
        counts.n_below += 8 - (size_t)_mm_popcnt_u32((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(from_low)));
    }
    *done = i;
    return counts;
}

#endif

#define WORD uint32_t
#define NAME(x) x##_u32
#define KEEPS_BY_VECTORS HAS_AVX2
#define HAS_SELECT_TWO HAS_AVX512
#include "tc_select_width.h"

#define WORD uint64_t
#define NAME(x) x##_u64
#define KEEPS_BY_VECTORS HAS_AVX512
#define HAS_SELECT_TWO 0
#include "tc_select_width.h"

#undef FEW
#undef MARGIN
#undef BLOCK
#undef PADDING
