/* The two inner loops of the RICE_1 encoder in AVX2: folding 8 differences at once, and joining the codes of 4 pixels to
 * one number. */
#ifndef TC_RICE_EMIT_AVX2_H
#define TC_RICE_EMIT_AVX2_H

#include "tc_rice_emit.h"

/* ---- folding ---- */

/* 8 folded differences from pixel i >= 1 on. */
TC_INLINE __m256i fold_8_pixels(tc_rice_width width, const void *src, size_t i)
{
    __m256i here, before, d;

    if (width.bits == 8) {
        here = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)((const uint8_t *)src + i)));
        before = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)((const uint8_t *)src + i - 1)));
    } else if (width.bits == 16) {
        here = _mm256_cvtepi16_epi32(_mm_loadu_si128((const void *)((const uint16_t *)src + i)));
        before = _mm256_cvtepi16_epi32(_mm_loadu_si128((const void *)((const uint16_t *)src + i - 1)));
    } else {
        here = _mm256_loadu_si256((const void *)((const uint32_t *)src + i));
        before = _mm256_loadu_si256((const void *)((const uint32_t *)src + i - 1));
    }
    d = _mm256_slli_epi32(_mm256_sub_epi32(here, before), 32 - (int)width.bits);
    d = _mm256_xor_si256(_mm256_slli_epi32(d, 1), _mm256_srai_epi32(d, 31));
    return _mm256_srli_epi32(d, 32 - (int)width.bits);
}

TC_INLINE uint64_t tc_rice_fold(tc_rice_width width, const void *src, size_t i, size_t m, uint32_t *folded)
{
    __m256i sums = _mm256_setzero_si256(); /* of 64 bits */
    __m128i two;
    uint64_t sum = 0;
    size_t j = 0;

    if (i == 0) folded[j++] = 0;
    for (; j + 8 <= m; j += 8) {
        const __m256i eight = fold_8_pixels(width, src, i + j);

        _mm256_storeu_si256((void *)(folded + j), eight);
        sums = _mm256_add_epi64(sums, _mm256_add_epi64(_mm256_srli_epi64(eight, 32),
                                                       _mm256_and_si256(eight, _mm256_set1_epi64x(UINT32_MAX))));
    }
    for (; j < m; j++) sum += folded[j] = tc_rice_fold_one(width, src, i + j);
    two = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    return sum + (uint64_t)_mm_cvtsi128_si64(two) + (uint64_t)_mm_extract_epi64(two, 1);
}

/* ---- writing ---- */

/* Numbers with their lengths in bits, to be written one after the other. */
typedef struct {
    __m256i value, length;
} codes;

/* Join neighbours a, b of 64 bits to a << length of b | b; each sum of lengths must stay under 64. */
TC_INLINE codes join_codes(codes a, codes b)
{
    return (codes){_mm256_or_si256(_mm256_sllv_epi64(a.value, b.length), b.value),
                   _mm256_add_epi64(a.length, b.length)};
}

/* The codes of 8 differences, joined two by two. */
TC_INLINE codes make_pairs(const uint32_t *folded, unsigned fs)
{
    const __m256i stop = _mm256_set1_epi32(1 << fs), low_bits = _mm256_set1_epi32((1 << fs) - 1);
    const __m256i first = _mm256_set1_epi64x(UINT32_MAX);
    const __m256i u = _mm256_loadu_si256((const void *)folded);
    const __m256i value = _mm256_or_si256(_mm256_and_si256(u, low_bits), stop);
    const __m256i zeros = _mm256_min_epu32(_mm256_srl_epi32(u, _mm_cvtsi32_si128((int)fs)), _mm256_set1_epi32(255));
    const __m256i length = _mm256_add_epi32(zeros, _mm256_set1_epi32((int)fs + 1)); /* far too long stays so */

    return join_codes((codes){_mm256_and_si256(value, first), _mm256_and_si256(length, first)},
                      (codes){_mm256_srli_epi64(value, 32), _mm256_srli_epi64(length, 32)});
}

TC_INLINE int any_longer(__m256i lengths, int most)
{
    const __m256i longer = _mm256_cmpgt_epi32(lengths, _mm256_set1_epi32(most));

    return !_mm256_testz_si256(longer, longer);
}

/* Append 16 differences of a coded block; the writer was flushed and has 64 bytes of room.  False: some code is so
 * long that they do not fit the quick way, and nothing was written. */
TC_INLINE int put_sixteen(tc_bit_writer *out, const uint32_t *folded, unsigned fs)
{
    const codes a = make_pairs(folded, fs), b = make_pairs(folded + 8, fs);
    const codes even = {_mm256_unpacklo_epi64(a.value, b.value), _mm256_unpacklo_epi64(a.length, b.length)};
    const codes odd = {_mm256_unpackhi_epi64(a.value, b.value), _mm256_unpackhi_epi64(a.length, b.length)};
    const codes fours = join_codes(even, odd);
    uint64_t value[4], length[4];

    if (any_longer(_mm256_max_epu32(a.length, b.length), TC_BITS_WINDOW - 1)) return 0;
    if (!any_longer(fours.length, TC_BITS_WINDOW - 1)) {
        _mm256_storeu_si256((void *)value, fours.value);
        _mm256_storeu_si256((void *)length, fours.length);
        tc_bits_put_quick(out, value[0], (unsigned)length[0]);
        tc_bits_put_quick(out, value[2], (unsigned)length[2]);
        tc_bits_put_quick(out, value[1], (unsigned)length[1]);
        tc_bits_put_quick(out, value[3], (unsigned)length[3]);
        return 1;
    }
    _mm256_storeu_si256((void *)value, a.value);
    _mm256_storeu_si256((void *)length, a.length);
    for (int k = 0; k < 4; k++) tc_bits_put_quick(out, value[k], (unsigned)length[k]);
    _mm256_storeu_si256((void *)value, b.value);
    _mm256_storeu_si256((void *)length, b.length);
    for (int k = 0; k < 4; k++) tc_bits_put_quick(out, value[k], (unsigned)length[k]);
    return 1;
}

/* Append m differences of a coded block. */
static void tc_rice_put_many(tc_bit_writer *writer, const uint32_t *folded, size_t m, unsigned fs)
{
    tc_bit_writer out = *writer; /* in registers: bytes written through out.dst cannot alias it */
    size_t j = 0;

    tc_bits_flush(&out);
    for (; j + 16 <= m && out.cap - out.pos >= 72; j += 16)
        if (!put_sixteen(&out, folded + j, fs)) {
            for (size_t k = j; k < j + 16; k++) tc_rice_put_one(&out, folded[k], fs);
            tc_bits_flush(&out);
        }
    tc_rice_put_coded(&out, folded + j, m - j, fs);
    *writer = out;
}

#endif
