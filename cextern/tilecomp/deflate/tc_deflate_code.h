/* What tc_deflate does to many bytes at a time, at one CPU level. */
#include "tc_deflate_paths.h"

enum { MIN_RUN = TC_DEFLATE_MIN_RUN };
_Static_assert(MIN_RUN == 8, "runs are found by words of 8 bytes");

/* ---- runs ---- */

#if HAS_AVX2

/* The bits from which 8 bits are set, in a mask of which bytes equal the one before. */
static inline uint64_t eight_in_a_row(uint64_t equal)
{
    equal &= equal >> 1;
    equal &= equal >> 2;
    return equal & equal >> 4;
}

/* Which of 64 bytes equal the one before, the first in the lowest bit. */
static inline uint64_t equal_to_previous(const uint8_t *src)
{
#if HAS_AVX512
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(src), _mm512_loadu_si512(src - 1));
#else
    const __m256i low = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(const void *)src),
                                          _mm256_loadu_si256((const __m256i *)(const void *)(src - 1)));
    const __m256i high = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(const void *)(src + 32)),
                                           _mm256_loadu_si256((const __m256i *)(const void *)(src + 31)));

    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
#endif
}

#endif

/* By 64 bytes where the level has them; then 8 bytes are compared with the 8 that begin one earlier, and the last one that
 * differs says where to go on. */
size_t LEVEL(tc_deflate_find_run)(const uint8_t *src, size_t from, size_t end)
{
    size_t i = from;

#if HAS_AVX2
    for (; i + 64 <= end; i += 64 - MIN_RUN + 1) {
        const uint64_t starts = eight_in_a_row(equal_to_previous(src + i));

        if (starts) return i + (unsigned)__builtin_ctzll(starts);
    }
#endif
    while (i + MIN_RUN <= end) {
        const uint64_t differ = tc_deflate_load64(src + i) ^ tc_deflate_load64(src + i - 1);

        if (!differ) return i;
        i += MIN_RUN - (unsigned)__builtin_clzll(differ) / 8;
    }
    return end;
}

/* ---- literals ---- */

#if HAS_AVX512

/* A table of 256 bytes in four registers. */
typedef struct {
    __m512i part[4];
} table256;

static inline table256 load_table(const uint8_t *bytes)
{
    table256 table;

    for (int i = 0; i < 4; i++) table.part[i] = _mm512_loadu_si512(bytes + 64 * i);
    return table;
}

static inline __m512i look_up(const table256 *table, __m512i index)
{
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), _mm512_permutex2var_epi8(table->part[0], index, table->part[1]),
                                  _mm512_permutex2var_epi8(table->part[2], index, table->part[3]));
}

/* Codes in the 16-bit lanes of `codes`, their lengths in those of `lengths`: joined by four into 64-bit lanes. */
static inline void join_by_four(__m512i *codes, __m512i *lengths)
{
    const __m512i first16 = _mm512_set1_epi32(0xffff), first32 = _mm512_set1_epi64(0xffffffff);
    const __m512i length16 = _mm512_and_si512(*lengths, first16);
    const __m512i codes32 = _mm512_or_si512(_mm512_and_si512(*codes, first16),
                                            _mm512_sllv_epi32(_mm512_srli_epi32(*codes, 16), length16));
    const __m512i lengths32 = _mm512_add_epi32(length16, _mm512_srli_epi32(*lengths, 16));
    const __m512i length32 = _mm512_and_si512(lengths32, first32);

    *codes = _mm512_or_si512(_mm512_and_si512(codes32, first32),
                             _mm512_sllv_epi64(_mm512_srli_epi64(codes32, 32), length32));
    *lengths = _mm512_add_epi64(length32, _mm512_srli_epi64(lengths32, 32));
}

/* Byte i of a group of 64 goes to the place from which the two halves of unpack give the codes in order. */
static inline __m512i spread(__m512i bytes)
{
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), bytes);
}

/* Whole groups of 64 bytes; how many bytes that are. */
static size_t emit_by_vectors(tc_deflate_writer *to, const uint8_t *src, size_t n, const tc_deflate_literals *literals)
{
    tc_deflate_writer out = *to;
    uint64_t joined[16], count[16];
    uint8_t low[256], high[256];
    size_t i = 0;

    if (n < 128) return 0; /* the tables would not pay */
    for (int symbol = 0; symbol < 256; symbol++) {
        low[symbol] = (uint8_t)literals->code[symbol];
        high[symbol] = (uint8_t)(literals->code[symbol] >> 8);
    }

    const table256 low_table = load_table(low), high_table = load_table(high), lengths = load_table(literals->length);

    for (; i + 64 <= n; i += 64) {
        const __m512i index = spread(_mm512_loadu_si512(src + i)), zero = _mm512_setzero_si512();
        const __m512i code_low = look_up(&low_table, index), code_high = look_up(&high_table, index);
        const __m512i length = look_up(&lengths, index);
        __m512i codes[2] = {_mm512_unpacklo_epi8(code_low, code_high), _mm512_unpackhi_epi8(code_low, code_high)};
        __m512i bits[2] = {_mm512_unpacklo_epi8(length, zero), _mm512_unpackhi_epi8(length, zero)};

        for (int half = 0; half < 2; half++) {
            join_by_four(&codes[half], &bits[half]);
            _mm512_storeu_si512(joined + 8 * half, codes[half]);
            _mm512_storeu_si512(count + 8 * half, bits[half]);
        }
        for (int j = 0; j < 16; j++) tc_deflate_put(&out, joined[j], (unsigned)count[j]);
    }
    *to = out;
    return i;
}

#endif

/* Four codes are joined in pairs, so that only one step in four waits for the one before. */
void LEVEL(tc_deflate_emit)(tc_deflate_writer *to, const uint8_t *src, size_t n, const tc_deflate_literals *literals)
{
    size_t i = 0;

#if HAS_AVX512
    i = emit_by_vectors(to, src, n, literals);
#endif
    tc_deflate_writer out = *to;
    for (; i + 4 <= n; i += 4) {
        const unsigned n0 = literals->length[src[i]], n1 = literals->length[src[i + 1]];
        const unsigned n2 = literals->length[src[i + 2]], n3 = literals->length[src[i + 3]];
        const uint64_t low = literals->code[src[i]] | (uint64_t)literals->code[src[i + 1]] << n0;
        const uint64_t high = literals->code[src[i + 2]] | (uint64_t)literals->code[src[i + 3]] << n2;

        tc_deflate_put(&out, low | high << (n0 + n1), n0 + n1 + n2 + n3);
    }
    for (; i < n; i++) tc_deflate_put(&out, literals->code[src[i]], literals->length[src[i]]);
    *to = out;
}
