/* The signs of coefficients; a part of tc_hcompress_code.h. */
#include "tc_hcompress_signs.h"

#define COEF int32_t
#define UCOEF uint32_t
#define NAME(x) x##_i32
#include "tc_hcompress_signs_type.h"

#define COEF int64_t
#define UCOEF uint64_t
#define NAME(x) x##_i64
#include "tc_hcompress_signs_type.h"

#if HAS_AVX512

/* ---- 64 coefficients of int32_t at a time ---- */

enum { LANES = 16, STEP = 64 };

static uint64_t reverse_bits(uint64_t x)
{
    x = __builtin_bswap64(x);
    x = (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
    x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
    return (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
}

/* The next 64 bits, the first one lowest. */
static uint64_t next_bits(const tc_bits *in)
{
    const uint8_t *const byte = in->src + in->pos / 8;

    return reverse_bits(tc_load_be64(byte) << in->pos % 8 | byte[8] >> (8 - in->pos % 8));
}

/* As many as 64 coefficients while the stream has bits for all of them; returns how many were done. */
static size_t read_signs_by_vectors(tc_bits *in, int32_t *coef, size_t n, uint32_t scale)
{
    const __m512i factor = _mm512_set1_epi32((int)scale), zero = _mm512_setzero_si512();
    size_t i;

    for (i = 0; i + STEP <= n && tc_bits_left(in) >= 72 + 8; i += STEP) {
        __m512i v[STEP / LANES];
        uint64_t present = 0, negative;

        for (int k = 0; k < STEP / LANES; k++) {
            v[k] = _mm512_loadu_si512(coef + i + LANES * k);
            present |= (uint64_t)_mm512_test_epi32_mask(v[k], v[k]) << (LANES * k);
        }
        negative = _pdep_u64(next_bits(in), present);
        tc_bits_skip(in, (size_t)_mm_popcnt_u64(present));
        for (int k = 0; k < STEP / LANES; k++) {
            if (scale > 1) v[k] = _mm512_mullo_epi32(v[k], factor);
            v[k] = _mm512_mask_sub_epi32(v[k], (__mmask16)(negative >> (LANES * k)), zero, v[k]);
            _mm512_storeu_si512(coef + i + LANES * k, v[k]);
        }
    }
    return i;
}

/* (v +- half) / scale, truncated: exact, for a quotient of such numbers that is no integer is further from one than a
 * double errs. */
static inline __m256i divide(__m256i v, __m512d half, __m512d scale)
{
    const __m512d x = _mm512_cvtepi32_pd(v), toward = _mm512_or_pd(half, _mm512_and_pd(x, _mm512_set1_pd(-0.0)));

    return _mm512_cvttpd_epi32(_mm512_div_pd(_mm512_add_pd(x, toward), scale));
}

static inline __m512i digitize_vector(__m512i v, __m512d half, __m512d scale)
{
    const __m256i low = divide(_mm512_castsi512_si256(v), half, scale);
    const __m256i high = divide(_mm512_extracti64x4_epi64(v, 1), half, scale);

    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

static size_t take_signs_by_vectors(tc_bit_writer *out, int32_t *coef, size_t n, uint32_t scale)
{
    const __m512d divisor = _mm512_set1_pd(scale), half = _mm512_set1_pd((scale + 1) / 2 - 1);
    size_t i;

    for (i = 0; i + STEP <= n; i += STEP) {
        uint64_t present = 0, negative = 0;

        for (int k = 0; k < STEP / LANES; k++) {
            __m512i v = _mm512_loadu_si512(coef + i + LANES * k);

            if (scale > 1) v = digitize_vector(v, half, divisor);
            present |= (uint64_t)_mm512_test_epi32_mask(v, v) << (LANES * k);
            negative |= (uint64_t)_mm512_movepi32_mask(v) << (LANES * k);
            _mm512_storeu_si512(coef + i + LANES * k, _mm512_abs_epi32(v));
        }
        const unsigned count = (unsigned)_mm_popcnt_u64(present), first = count / 2;
        const uint64_t signs = reverse_bits(_pext_u64(negative, present));
        if (first > 0) tc_bits_put(out, signs >> (64 - first), first);
        if (count > 0) tc_bits_put(out, signs << first >> (64 - (count - first)), count - first);
    }
    return i;
}

#endif

tc_status LEVEL(tc_hcompress_read_signs)(tc_bits *in, void *coef, size_t n, bool wide, uint32_t scale)
{
    size_t done = 0;

    if (wide) return read_signs_i64(in, coef, n, scale);
#if HAS_AVX512
    done = read_signs_by_vectors(in, coef, n, scale);
#endif
    return read_signs_i32(in, (int32_t *)coef + done, n - done, scale);
}

size_t LEVEL(tc_hcompress_take_signs)(void *coef, size_t n, bool wide, uint32_t scale, uint8_t *signs)
{
    tc_bit_writer out = tc_bits_create(signs, n / 8 + 16);
    size_t done = 0, nbytes;

#if HAS_AVX512
    if (!wide) done = take_signs_by_vectors(&out, coef, n, scale);
#endif
    if (wide) take_signs_i64(&out, coef, n, scale);
    else take_signs_i32(&out, (int32_t *)coef + done, n - done, scale);
    tc_bits_finish(&out, &nbytes);
    return nbytes;
}
