/* Two, three or four RICE_1 streams side by side, one in each 64-bit lane of a 256-bit register, with AVX2.
 *
 * The streams have the same block size, so their blocks are in step, and the three kinds of block are one: a pixel is
 * a unary part, which only coded blocks have, and `tail` bits, which are code (the final 1 of the unary part and
 * code - 1 low bits), 0 or the bits of a plain pixel.  The folded differences are collected in rows, one register for
 * each pixel, then packed, in each lane 8 bytes of its stream's pixels at a time, and summed up there.
 *
 * Each lane has a window like that of the one-stream decoder.  A block in which some stream needs more than that (it
 * ends, has a code longer than a window, or a fault) is decoded from its start by the one-stream decoder, which so
 * gives the statuses and counts.  Lanes without a stream repeat the last one. */
#ifndef TC_RICE_FOUR_H
#define TC_RICE_FOUR_H

#include "tc_rice_scalar.h"

#define TC_RICE_LANES TC_RICE_LENGTHS_AT_ONCE
#define TC_RICE_ROWS 32
#define TC_RICE_CLAIM 56 /* bits that a window has at least when it was filled */
#define TC_RICE_FEWEST_LANES (HAS_AVX512 ? 2 : 3) /* fewer are as fast one after the other */

/* The windows and the values before, of all lanes; see tc_rice_window. */
typedef struct {
    __m256i bits, count;
    __m256i next, last_word; /* addresses: of the byte after the claimed bits; of the last 8 bytes of the stream */
    __m256i value;           /* in every pixel of a lane */
} tc_rice_lanes;

/* What the pixels of the current block look like, in each lane. */
typedef struct {
    __m256i coded;      /* all ones in lanes with a unary part */
    __m256i tail;       /* bits after it */
    __m256i fs;         /* shift of the unary part */
    __m256i keep;       /* the bits of the tail that are part of the value */
    __m256i most_zeros; /* that a value of the pixel's width can have */
    size_t group;       /* pixels to take from one filling: as many as nearly always fit */
} tc_rice_block;

TC_INLINE __m256i tc_rice_load_lanes(const uint64_t *values)
{
    return _mm256_loadu_si256((const void *)values);
}

TC_INLINE int tc_rice_any(__m256i lanes)
{
    return !_mm256_testz_si256(lanes, lanes);
}

/* 64 or more if all bits are 0; without AVX-512 also where only the first 31 are.  AVX2 has the exponent of these bits as a float, all but
 * the first 1 and a few after it cleared, so that it is not rounded up. */
TC_INLINE __m256i tc_rice_leading_zeros_of_lanes(__m256i bits)
{
#if HAS_AVX512
    return _mm256_lzcnt_epi64(bits);
#else
    const __m256i first = _mm256_andnot_si256(_mm256_srli_epi64(bits, 34), _mm256_srli_epi64(bits, 33));
    const __m256i exponent = _mm256_srli_epi32(_mm256_castps_si256(_mm256_cvtepi32_ps(first)), 23);

    return _mm256_sub_epi64(_mm256_set1_epi64x(30 + 127), exponent);
#endif
}

/* ---- between single streams and lanes ---- */

/* A stream under way. */
typedef struct {
    tc_rice_stream *stream;
    tc_rice_state s;
} tc_rice_run;

/* 8 bytes of pixels of one value, given with bits above that do not count. */
TC_INLINE uint64_t tc_rice_in_every_pixel(tc_rice_width width, uint32_t value)
{
    const uint32_t largest = UINT32_MAX >> (32 - width.bits);

    return (value & largest) * (UINT64_MAX / largest);
}

/* The stream of a lane. */
TC_INLINE const tc_rice_run *tc_rice_run_of_lane(const tc_rice_run *runs, size_t n_runs, size_t lane)
{
    return &runs[lane < n_runs ? lane : n_runs - 1];
}

TC_INLINE tc_rice_lanes tc_rice_to_lanes(tc_rice_width width, const tc_rice_run *runs, size_t n_runs)
{
    uint64_t bits[TC_RICE_LANES], count[TC_RICE_LANES], next[TC_RICE_LANES], last[TC_RICE_LANES], value[TC_RICE_LANES];

    for (size_t k = 0; k < TC_RICE_LANES; k++) {
        const tc_rice_state *const s = &tc_rice_run_of_lane(runs, n_runs, k)->s;
        const uintptr_t first = (uintptr_t)s->in.src, here = first + s->in.pos / 8;
        const unsigned odd = s->in.pos % 8;

        bits[k] = odd ? (uint64_t)s->in.src[s->in.pos / 8] << (56 + odd) : 0;
        count[k] = odd ? 8 - odd : 0;
        next[k] = odd ? here + 1 : here;
        last[k] = first + s->in.len - 8; /* before the first where there are no 8 bytes */
        value[k] = tc_rice_in_every_pixel(width, s->last);
    }
    return (tc_rice_lanes){tc_rice_load_lanes(bits), tc_rice_load_lanes(count), tc_rice_load_lanes(next),
                           tc_rice_load_lanes(last), tc_rice_load_lanes(value)};
}

TC_INLINE void tc_rice_from_lanes(const tc_rice_lanes *v, size_t i, tc_rice_run *runs, size_t n_runs)
{
    uint64_t count[TC_RICE_LANES], next[TC_RICE_LANES], value[TC_RICE_LANES];

    _mm256_storeu_si256((void *)count, v->count);
    _mm256_storeu_si256((void *)next, v->next);
    _mm256_storeu_si256((void *)value, v->value);
    for (size_t k = 0; k < n_runs; k++) {
        tc_rice_state *const s = &runs[k].s;

        s->in.pos = 8 * (size_t)(next[k] - (uintptr_t)s->in.src) - (size_t)count[k];
        s->last = (uint32_t)value[k];
        s->i = i;
    }
}

/* ---- blocks ---- */

/* 8 bytes from each of 4 addresses, as big-endian numbers; faster than a gather instruction. */
TC_INLINE __m256i tc_rice_load_words(__m256i from)
{
    const long long swap_low = 0x0001020304050607, swap_high = 0x08090a0b0c0d0e0f;
    const __m256i swap = _mm256_set_epi64x(swap_high, swap_low, swap_high, swap_low);
    uint64_t address[TC_RICE_LANES] __attribute__((aligned(32)));
    __m128d low, high;

    _mm256_store_si256((void *)address, from);
    __asm__("" : "+m"(address)); /* read them back from memory: moves between registers are slower */
    low = _mm_load_sd((const double *)(uintptr_t)address[0]);
    low = _mm_loadh_pd(low, (const double *)(uintptr_t)address[1]);
    high = _mm_load_sd((const double *)(uintptr_t)address[2]);
    high = _mm_loadh_pd(high, (const double *)(uintptr_t)address[3]);
    return _mm256_shuffle_epi8(_mm256_castpd_si256(_mm256_set_m128d(high, low)), swap);
}

/* Claim TC_RICE_CLAIM bits or more in every lane.  False: some stream has fewer than 8 bytes left. */
TC_INLINE int tc_rice_fill_lanes(tc_rice_lanes *v)
{
    const __m256i missing = _mm256_sub_epi64(_mm256_set1_epi64x(63), v->count);

    if (tc_rice_any(_mm256_cmpgt_epi64(v->next, v->last_word))) return 0;
    v->bits = _mm256_or_si256(v->bits, _mm256_srlv_epi64(tc_rice_load_words(v->next), v->count));
    v->next = _mm256_add_epi64(v->next, _mm256_srli_epi64(missing, 3));
    v->count = _mm256_or_si256(v->count, _mm256_set1_epi64x(TC_RICE_CLAIM));
    return 1;
}

TC_INLINE size_t tc_rice_choose_group(__m256i tail)
{
    static const uint8_t groups[33] = {8, 8, 8, 8, 6, 6, 5, 5, 4, 4, 4, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2,
                                       2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1};
    __m128i most = _mm_max_epu32(_mm256_castsi256_si128(tail), _mm256_extracti128_si256(tail, 1));

    most = _mm_max_epu32(most, _mm_unpackhi_epi64(most, most));
    return groups[_mm_cvtsi128_si32(most)];
}

/* Read the block code of every lane.  False: some stream ends or has a code that the format does not define. */
TC_INLINE int tc_rice_start_block(tc_rice_width width, tc_rice_lanes *v, tc_rice_block *b)
{
    const __m256i one = _mm256_set1_epi64x(1), plain = _mm256_set1_epi64x((int)width.fs_max + 1);
    __m256i code, is_plain, is_equal;

    if (!tc_rice_fill_lanes(v)) return 0;
    code = _mm256_srli_epi64(v->bits, 64 - (int)width.code_bits);
    if (width.bits == 32 && tc_rice_any(_mm256_cmpgt_epi64(code, plain))) return 0;
    v->bits = _mm256_slli_epi64(v->bits, (int)width.code_bits);
    v->count = _mm256_sub_epi64(v->count, _mm256_set1_epi64x((int)width.code_bits));
    is_plain = _mm256_cmpeq_epi64(code, plain);
    is_equal = _mm256_cmpeq_epi64(code, _mm256_setzero_si256());
    b->coded = _mm256_andnot_si256(_mm256_or_si256(is_plain, is_equal), _mm256_set1_epi64x(-1));
    b->tail = _mm256_blendv_epi8(code, _mm256_set1_epi64x((int)width.bits), is_plain);
    b->fs = _mm256_sub_epi64(code, one);
    b->keep = _mm256_or_si256(is_plain, _mm256_sub_epi64(_mm256_sllv_epi64(one, b->fs), one));
    b->most_zeros = _mm256_srlv_epi64(_mm256_set1_epi64x(UINT32_MAX >> (32 - width.bits)), b->fs);
    b->group = tc_rice_choose_group(b->tail);
    return 1;
}

/* The folded difference of the next pixel of every lane; its unary part is counted. */
TC_INLINE __m256i tc_rice_four_pixels(const tc_rice_block *b, __m256i *bits, __m256i *zeros_of_all)
{
    const __m256i zeros = _mm256_and_si256(tc_rice_leading_zeros_of_lanes(*bits), b->coded);
    const __m256i shifted = _mm256_sllv_epi64(*bits, zeros);
    const __m256i low = _mm256_srlv_epi64(shifted, _mm256_sub_epi64(_mm256_set1_epi64x(64), b->tail));

    *bits = _mm256_sllv_epi64(shifted, b->tail);
    *zeros_of_all = _mm256_add_epi64(*zeros_of_all, zeros);
    return _mm256_or_si256(_mm256_sllv_epi64(zeros, b->fs), _mm256_and_si256(low, b->keep));
}

/* Decode `count` pixels of the block into as many rows.  A group of pixels that has not room in a window is done again
 * one by one.  False: that did not help. */
TC_INLINE int tc_rice_four_rows(tc_rice_lanes *lanes, const tc_rice_block *b, __m256i *rows, size_t count)
{
    tc_rice_lanes v = *lanes;
    size_t singly = 0;

    while (count) {
        const size_t some = singly ? 1 : count < b->group ? count : b->group;
        const __m256i tails = _mm256_mul_epu32(b->tail, _mm256_set1_epi64x((long long)some));
        const __m256i room = _mm256_sub_epi64(_mm256_set1_epi64x(TC_RICE_CLAIM), tails);
        __m256i bits, zeros = _mm256_setzero_si256();

        if (!tc_rice_fill_lanes(&v)) return 0;
        bits = v.bits;
        for (size_t k = 0; k < some; k++) _mm256_store_si256(rows + k, tc_rice_four_pixels(b, &bits, &zeros));
        if (tc_rice_any(_mm256_cmpgt_epi32(zeros, _mm256_min_epu32(room, b->most_zeros)))) {
            if (some == 1) return 0;
            singly = some;
            continue;
        }
        v.bits = bits;
        v.count = _mm256_sub_epi64(v.count, _mm256_add_epi64(zeros, tails));
        singly -= singly != 0;
        rows += some;
        count -= some;
    }
    *lanes = v;
    return 1;
}

/* ---- pixels ---- */

TC_INLINE __m256i tc_rice_add_pixels(tc_rice_width width, __m256i a, __m256i b)
{
    return width.bits == 8 ? _mm256_add_epi8(a, b) : width.bits == 16 ? _mm256_add_epi16(a, b) : _mm256_add_epi32(a, b);
}

TC_INLINE __m256i tc_rice_unfold_pixels(tc_rice_width width, __m256i folded)
{
    const uint64_t ones = tc_rice_in_every_pixel(width, 1);
    const uint64_t halves = tc_rice_in_every_pixel(width, UINT32_MAX >> (33 - width.bits));
    const __m256i odd = _mm256_and_si256(folded, _mm256_set1_epi64x((long long)ones));
    const __m256i half = _mm256_and_si256(_mm256_srli_epi64(folded, 1), _mm256_set1_epi64x((long long)halves));
    const __m256i sign = _mm256_sub_epi64(_mm256_slli_epi64(odd, (int)width.bits), odd); /* all ones where odd */

    return _mm256_xor_si256(half, sign);
}

/* In every pixel of a lane, the last of the 8 bytes. */
TC_INLINE __m256i tc_rice_spread_last(tc_rice_width width, __m256i pixels)
{
    const long long low = width.bits == 8    ? 0x0707070707070707
                          : width.bits == 16 ? 0x0706070607060706
                                             : 0x0706050407060504; /* bytes to take */
    const long long high = low + 0x0808080808080808;

    return _mm256_shuffle_epi8(pixels, _mm256_set_epi64x(high, low, high, low));
}

/* The next 8 bytes of pixels, from as many rows as that takes. */
TC_INLINE __m256i tc_rice_sum_rows(tc_rice_width width, const __m256i *rows, __m256i *value)
{
    __m256i pixels = _mm256_setzero_si256();

#pragma GCC unroll 8
    for (size_t k = 64 / width.bits; k-- > 0;)
        pixels = _mm256_or_si256(_mm256_slli_epi64(pixels, (int)width.bits), rows[k]);
    pixels = tc_rice_unfold_pixels(width, pixels);
#pragma GCC unroll 3
    for (unsigned shift = width.bits; shift < 64; shift *= 2)
        pixels = tc_rice_add_pixels(width, pixels, _mm256_slli_epi64(pixels, (int)shift));
    pixels = tc_rice_add_pixels(width, pixels, *value);
    *value = tc_rice_spread_last(width, pixels);
    return pixels;
}

/* Turn rows to pixels and write them from byte `at` on. */
TC_INLINE void tc_rice_write_rows(tc_rice_width width, __m256i *rows, size_t count, __m256i *value, uint8_t *const *dst,
                                  size_t at)
{
    const size_t bytepix = width.bits / 8, at_once = 8 / bytepix;
    uint64_t words[TC_RICE_LANES];
    size_t row = 0;

    for (; count - row >= at_once; row += at_once) {
        const __m256i pixels = tc_rice_sum_rows(width, rows + row, value);
        const __m128d low = _mm_castsi128_pd(_mm256_castsi256_si128(pixels));
        const __m128d high = _mm_castsi128_pd(_mm256_extracti128_si256(pixels, 1));
        const size_t here = at + row * bytepix;

        _mm_storel_pd((double *)(dst[0] + here), low);
        _mm_storeh_pd((double *)(dst[1] + here), low);
        _mm_storel_pd((double *)(dst[2] + here), high);
        _mm_storeh_pd((double *)(dst[3] + here), high);
    }
    if (row == count) return;
    for (size_t k = count; k < row + at_once; k++) rows[k] = _mm256_setzero_si256();
    _mm256_storeu_si256((void *)words, tc_rice_sum_rows(width, rows + row, value));
    for (size_t k = 0; k < TC_RICE_LANES; k++) memcpy(dst[k] + at + row * bytepix, &words[k], (count - row) * bytepix);
}

/* Write pixels equal to the value before, `nbytes` of them from byte `at` on. */
TC_INLINE void tc_rice_write_equal(__m256i value, uint8_t *const *dst, size_t at, size_t nbytes)
{
    uint64_t words[TC_RICE_LANES];

    _mm256_storeu_si256((void *)words, value);
    for (size_t k = 0; k < TC_RICE_LANES; k++) {
        uint8_t *const to = dst[k] + at;
        size_t j = 0;

        for (; nbytes - j >= sizeof words[k]; j += sizeof words[k]) memcpy(to + j, &words[k], sizeof words[k]);
        memcpy(to + j, &words[k], nbytes - j);
    }
}

/* Decode pixels i to `end`, a block.  False: it has to be done by the one-stream decoder. */
TC_INLINE int tc_rice_four_block(tc_rice_width width, tc_rice_lanes *v, size_t i, size_t end, uint8_t *const *dst)
{
    const size_t bytepix = width.bits / 8;
    __m256i rows[TC_RICE_ROWS];
    tc_rice_block block;

    if (!tc_rice_start_block(width, v, &block)) return 0;
    if (!tc_rice_any(block.tail)) {
        tc_rice_write_equal(v->value, dst, i * bytepix, (end - i) * bytepix);
        return 1;
    }
    for (size_t count; i < end; i += count) {
        count = end - i < TC_RICE_ROWS ? end - i : TC_RICE_ROWS;
        if (!tc_rice_four_rows(v, &block, rows, count)) return 0;
        tc_rice_write_rows(width, rows, count, &v->value, dst, i * bytepix);
    }
    return 1;
}

/* ---- whole streams ---- */

/* The one-stream decoder, up to pixel `end`.  False: the stream has a fault. */
static __attribute__((noinline)) int tc_rice_run_alone(tc_rice_run *run, unsigned bits, uint32_t blocksize, size_t end)
{
    tc_rice_stream *const stream = run->stream;

    if (stream->status == TC_OK && bits == 8)
        stream->status = tc_rice_blocks(TC_RICE_WIDTH_8, &run->s, blocksize, stream->dst, end);
    if (stream->status == TC_OK && bits == 16)
        stream->status = tc_rice_blocks(TC_RICE_WIDTH_16, &run->s, blocksize, stream->dst, end);
    if (stream->status == TC_OK && bits == 32)
        stream->status = tc_rice_blocks(TC_RICE_WIDTH_32, &run->s, blocksize, stream->dst, end);
    return stream->status == TC_OK;
}

/* Decode whole blocks side by side, up to pixel `end` or through a block in which some stream has a fault. */
TC_INLINE void tc_rice_run_together(tc_rice_width width, tc_rice_run *runs, size_t n_runs, uint32_t blocksize,
                                    size_t end)
{
    tc_rice_lanes v = tc_rice_to_lanes(width, runs, n_runs);
    uint8_t *dst[TC_RICE_LANES];
    size_t i = runs[0].s.i;

    for (size_t k = 0; k < TC_RICE_LANES; k++) dst[k] = tc_rice_run_of_lane(runs, n_runs, k)->stream->dst;
    for (int good = 1; i < end; i += blocksize) {
        const tc_rice_lanes start = v;

        if (tc_rice_four_block(width, &v, i, i + blocksize, dst)) continue;
        tc_rice_from_lanes(&start, i, runs, n_runs);
        for (size_t k = 0; k < n_runs; k++) good &= tc_rice_run_alone(&runs[k], width.bits, blocksize, i + blocksize);
        if (!good) return;
        v = tc_rice_to_lanes(width, runs, n_runs);
    }
    tc_rice_from_lanes(&v, i, runs, n_runs);
}

/* Let go of streams that have a fault or less than a block left, once that is decoded; returns how many stay. */
TC_INLINE size_t tc_rice_end_runs(tc_rice_width width, tc_rice_run *runs, size_t n_runs, uint32_t blocksize)
{
    size_t n_left = 0;

    for (size_t k = 0; k < n_runs; k++) {
        tc_rice_stream *const stream = runs[k].stream;

        if (stream->n - runs[k].s.i < blocksize) tc_rice_run_alone(&runs[k], width.bits, blocksize, stream->n);
        stream->used = tc_bits_used(&runs[k].s.in);
        stream->done = runs[k].s.i;
        if (stream->status == TC_OK && stream->done < stream->n) runs[n_left++] = runs[k];
    }
    return n_left;
}

/* Up to 4 streams, from their seeds; `used`, `done` and `status` are set.  As long as enough are left they are decoded
 * side by side, up to where the shortest ends. */
TC_INLINE void tc_rice_four(tc_rice_width width, tc_rice_stream *streams, size_t n_streams, uint32_t blocksize)
{
    tc_rice_run runs[TC_RICE_LANES];
    size_t n_runs;

    for (size_t k = 0; k < n_streams; k++) {
        runs[k] = (tc_rice_run){&streams[k], {.in = tc_bits_open(streams[k].src, streams[k].src_len)}};
        streams[k].status = streams[k].n ? tc_bits_get(&runs[k].s.in, width.bits, &runs[k].s.last) : TC_OK;
    }
    n_runs = tc_rice_end_runs(width, runs, n_streams, blocksize);
    while (n_runs >= TC_RICE_FEWEST_LANES) {
        size_t least = runs[0].stream->n;

        for (size_t k = 1; k < n_runs; k++)
            if (runs[k].stream->n < least) least = runs[k].stream->n;
        tc_rice_run_together(width, runs, n_runs, blocksize, least - least % blocksize);
        n_runs = tc_rice_end_runs(width, runs, n_runs, blocksize);
    }
    for (size_t k = 0; k < n_runs; k++) tc_rice_run_alone(&runs[k], width.bits, blocksize, runs[k].stream->n);
    tc_rice_end_runs(width, runs, n_runs, blocksize);
}

#define TC_RICE_FOUR(bits)                                                                                             \
    static __attribute__((noinline)) void tc_rice_four_##bits(                                          \
        tc_rice_stream *streams, size_t n_streams, uint32_t blocksize)                                                 \
    {                                                                                                                  \
        tc_rice_four(TC_RICE_WIDTH_##bits, streams, n_streams, blocksize);                                             \
    }
TC_RICE_FOUR(8)
TC_RICE_FOUR(16)
TC_RICE_FOUR(32)

/* Decode the first streams, up to 4, of any lengths; returns how many. */
static inline size_t tc_rice_first_four(tc_rice_stream *streams, size_t n_streams, uint32_t bytepix, uint32_t blocksize)
{
    const size_t count = n_streams < TC_RICE_LANES ? n_streams : TC_RICE_LANES;

    if (bytepix == 1) tc_rice_four_8(streams, count, blocksize);
    if (bytepix == 2) tc_rice_four_16(streams, count, blocksize);
    if (bytepix == 4) tc_rice_four_32(streams, count, blocksize);
    return count;
}

#endif
