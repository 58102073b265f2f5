/* Sixteen RICE_1 streams side by side, one in each 32-bit lane of an AVX-512 register, or two such sets by turns.
 *
 * All streams of a call have the same number of pixels and the same block size, so their blocks are in step, and the
 * three kinds of block are one: a pixel is a unary part, which only coded blocks have, and `tail` bits, which are
 * code (the final 1 of the unary part and code - 1 low bits), 0 or the bits of a plain pixel.
 *
 * The next bits of each stream are a 64-bit window in two registers, `high` and `low`.  A window is gathered for
 * a group of pixels at once; when a stream turns out to need more bits than it held, the group is done again pixel by
 * pixel (`patient`), and a code longer than any window by the scalar decoder.  Near the end of a stream its lane reads
 * from a copy of the last bytes, followed by zeros.  A stream with a fault leaves: its lane idles, and the scalar
 * decoder takes it up again from the start of the block, so that statuses and counts are the scalar decoder's own.
 * Decoded pixels are collected in `rows`, one register a pixel, and transposed to the streams 32 at a time. */
#include "tc_rice_four.h"
#include "tc_rice_scalar.h"

#define LANES 16
#define ROWS 32
#define FEWEST_LANES 13               /* fewer streams are faster in fours, tc_rice_four.h */
#define LONGEST_STREAM (1u << 28)     /* bytes; bit positions are 32-bit numbers */
#define TAIL_BYTES 24

/* What the pixels of the current block look like, in each lane. */
typedef struct {
    __mmask16 coded;  /* lanes with a unary part */
    __m512i tail;     /* bits after it */
    __m512i drop;     /* 32 - tail */
    __m512i fs;       /* shift of the unary part */
    __m512i keep;     /* the bits of the tail that are part of the value */
} block;

/* The next bits of each lane. */
typedef struct {
    __m512i high, low;
} window;

typedef struct {
    tc_rice_stream *streams;
    size_t n_lanes;
    __mmask16 live;
    __m512i address[2]; /* where bit 0 of the lane's stream is, or would be if the tail's copy had all before it */
    __m512i limit;      /* the largest byte offset at which 8 bytes can be loaded */
    __m512i end;        /* bits in the stream */
    __m512i pos;        /* bits consumed */
    __m512i last;       /* value of the pixel before */
    window window;      /* the bits at pos */
    __m512i origin;     /* pos when the window was filled */
    __m512i start_pos, start_last; /* pos and last at the start of the block */
    size_t start_i;                /* pixels before the block */
    block block;
    tc_rice_state left[LANES]; /* where a stream that left has to be taken up again */
    uint8_t tails[LANES][TAIL_BYTES];
    __m512i rows[ROWS];
} lanes;

/* ---- lanes that need care: rare, one at a time ---- */

static uint32_t get_lane(__m512i vector, unsigned lane)
{
    uint32_t values[LANES];

    _mm512_storeu_si512(values, vector);
    return values[lane];
}

TC_INLINE __m512i set_lane(__m512i vector, unsigned lane, uint32_t value)
{
    return _mm512_mask_set1_epi32(vector, (__mmask16)(1u << lane), (int)value);
}

/* The stream of a lane leaves: to be decoded from the start of this block by the scalar decoder. */
static void leave(lanes *v, unsigned lane)
{
    const tc_rice_stream *const stream = &v->streams[lane];
    tc_rice_state *const s = &v->left[lane];
    const __mmask16 one = (__mmask16)(1u << lane);

    s->in = tc_bits_open(stream->src, stream->src_len);
    s->in.pos = get_lane(v->start_pos, lane);
    s->last = get_lane(v->start_last, lane);
    s->i = v->start_i;
    v->live &= (__mmask16)~one;
    v->block.coded &= (__mmask16)~one;
    v->block.tail = set_lane(v->block.tail, lane, 0);
    v->block.drop = set_lane(v->block.drop, lane, 32);
    v->pos = _mm512_mask_slli_epi32(v->pos, one, v->limit, 3); /* where it may load: the copy of the end has nothing before */
}

static void leave_all(lanes *v, __mmask16 which)
{
    for (unsigned bits = which & v->live; bits; bits &= bits - 1) leave(v, (unsigned)__builtin_ctz(bits));
}

/* First byte of the copy of the stream's end. */
static size_t tail_start(const tc_rice_stream *stream)
{
    return stream->src_len < 7 ? 0 : stream->src_len - 7;
}

/* Let a lane read from the copy of its stream's end from now on. */
static void switch_to_tail(lanes *v, unsigned lane)
{
    const tc_rice_stream *const stream = &v->streams[lane];
    const size_t first = tail_start(stream);
    uint64_t addresses[LANES];

    memset(v->tails[lane], 0, TAIL_BYTES);
    if (stream->src_len) memcpy(v->tails[lane], stream->src + first, stream->src_len - first);
    _mm512_storeu_si512(addresses, v->address[0]);
    _mm512_storeu_si512(addresses + 8, v->address[1]);
    addresses[lane] = (uint64_t)(uintptr_t)v->tails[lane] - first;
    v->address[0] = _mm512_loadu_si512(addresses);
    v->address[1] = _mm512_loadu_si512(addresses + 8);
    v->limit = set_lane(v->limit, lane, (uint32_t)first + TAIL_BYTES - 8);
}

/* Lanes that cannot load 8 bytes where they are: near the end of the stream, or past it. */
static __attribute__((noinline)) void handle_ends(lanes *v, __mmask16 which)
{
    for (unsigned bits = which; bits; bits &= bits - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(bits);
        const size_t limit = get_lane(v->limit, lane);

        if (limit > v->streams[lane].src_len) leave(v, lane); /* it reads the copy already */
        else switch_to_tail(v, lane);
    }
}

/* ---- one pixel of every lane ---- */

TC_INLINE window shift_window(window w, __m512i count) /* by less than 32 */
{
    w.high = _mm512_shldv_epi32(w.high, w.low, count);
    w.low = _mm512_sllv_epi32(w.low, count);
    return w;
}

TC_INLINE __m256i load_4(const uint64_t *addresses)
{
    __m128d low = _mm_load_sd((const double *)(uintptr_t)addresses[0]);
    __m128d high = _mm_load_sd((const double *)(uintptr_t)addresses[2]);

    low = _mm_loadh_pd(low, (const double *)(uintptr_t)addresses[1]);
    high = _mm_loadh_pd(high, (const double *)(uintptr_t)addresses[3]);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_castpd_si128(low)), _mm_castpd_si128(high), 1);
}

/* 8 bytes from each of 8 addresses; faster than a gather instruction. */
TC_INLINE __m512i load_8(__m512i from)
{
    uint64_t addresses[8] __attribute__((aligned(64)));

    _mm512_store_si512(addresses, from);
    __asm__("" : "+m"(addresses)); /* read them back from memory: moves between registers are slower */
    return _mm512_inserti64x4(_mm512_castsi256_si512(load_4(addresses)), load_4(addresses + 4), 1);
}

/* The next TC_BITS_WINDOW bits of every lane, where `pos` is. */
TC_INLINE window load_window(const __m512i address[2], __m512i pos)
{
    const __m512i swap = _mm512_set4_epi32(0x0c0d0e0f, 0x08090a0b, 0x04050607, 0x00010203);
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    const __m512i offset = _mm512_srli_epi32(pos, 3);
    const __m512i from0 = _mm512_add_epi64(address[0], _mm512_cvtepu32_epi64(_mm512_castsi512_si256(offset)));
    const __m512i from1 = _mm512_add_epi64(address[1], _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(offset, 1)));
    const __m512i lanes0 = load_8(from0);
    const __m512i lanes1 = load_8(from1);
    const window w = {_mm512_shuffle_epi8(_mm512_permutex2var_epi32(lanes0, even, lanes1), swap),
                      _mm512_shuffle_epi8(_mm512_permutex2var_epi32(lanes0, odd, lanes1), swap)};

    return shift_window(w, _mm512_and_epi32(pos, _mm512_set1_epi32(7)));
}

/* Fill the window, after a look whether every lane may load. */
TC_INLINE void refill(lanes *v)
{
    __mmask16 beyond;

    while ((beyond = _mm512_cmpgt_epu32_mask(_mm512_srli_epi32(v->pos, 3), v->limit)) != 0) handle_ends(v, beyond);
    v->window = load_window(v->address, v->pos);
    v->origin = v->pos;
}

TC_INLINE __m512i unfold_add(__m512i last, __m512i folded)
{
    const __m512i half = _mm512_srli_epi32(folded, 1);
    const __mmask16 negative = _mm512_test_epi32_mask(folded, _mm512_set1_epi32(1));

    return _mm512_add_epi32(last, _mm512_mask_xor_epi32(half, negative, half, _mm512_set1_epi32(-1)));
}

TC_INLINE __m512i join(__m512i zeros, __m512i tail, const block *b)
{
    return _mm512_ternarylogic_epi32(_mm512_sllv_epi32(zeros, b->fs), tail, b->keep, 0xf8); /* a | (b & c) */
}

/* A pixel with a code too long for a window, by the scalar decoder. */
static __attribute__((noinline)) void decode_long_code(tc_rice_width width, lanes *v, unsigned lane)
{
    const tc_rice_stream *const stream = &v->streams[lane];
    tc_rice_state s = {.in = tc_bits_open(stream->src, stream->src_len), .last = get_lane(v->last, lane), .i = 0};
    uint32_t pixel;

    s.in.pos = get_lane(v->pos, lane);
    if (s.in.pos > 8 * s.in.len || tc_rice_careful(width, &s, get_lane(v->block.fs, lane), &pixel, 1) != TC_OK) {
        leave(v, lane);
    } else {
        v->pos = set_lane(v->pos, lane, (uint32_t)s.in.pos);
        v->last = set_lane(v->last, lane, s.last);
    }
}

/* One pixel, whatever its code. */
static __attribute__((noinline)) void patient_pixel(tc_rice_width width, lanes *v, __m512i *row)
{
    const block *const b = &v->block;
    window w = (refill(v), v->window);
    const __mmask16 far = _mm512_cmpeq_epi32_mask(w.high, _mm512_setzero_si512()) & b->coded; /* 32 zeros and more */
    __m512i zeros = _mm512_maskz_lzcnt_epi32(b->coded, w.high);
    const __m512i folded_zeros = _mm512_mask_add_epi32(zeros, far, zeros, _mm512_lzcnt_epi32(w.low));
    const __m512i used = _mm512_add_epi32(folded_zeros, b->tail);
    __mmask16 long_codes = _mm512_cmpgt_epu32_mask(used, _mm512_set1_epi32(TC_BITS_WINDOW));
    __m512i folded;

    w.high = _mm512_mask_mov_epi32(w.high, far, w.low);
    w.low = _mm512_mask_mov_epi32(w.low, far, _mm512_setzero_si512());
    zeros = _mm512_mask_sub_epi32(folded_zeros, far, folded_zeros, _mm512_set1_epi32(32));
    folded = join(folded_zeros, _mm512_srlv_epi32(_mm512_shldv_epi32(w.high, w.low, zeros), b->drop), b);
    if (width.bits < 32) /* a value too large: let the scalar decoder say so */
        long_codes |= _mm512_test_epi32_mask(folded, _mm512_set1_epi32((int)(~0u << (width.bits % 32))));
    v->pos = _mm512_mask_add_epi32(v->pos, (__mmask16)~long_codes, v->pos, used);
    v->last = _mm512_mask_mov_epi32(unfold_add(v->last, folded), long_codes, v->last);
    for (unsigned bits = long_codes; bits; bits &= bits - 1)
        decode_long_code(width, v, (unsigned)__builtin_ctz(bits));
    *row = v->last;
}

/* ---- blocks ---- */

/* Read the block code of every lane; pixel i is the first of the block. */
TC_INLINE void start_block(tc_rice_width width, lanes *v, size_t i)
{
    const __m512i plain = _mm512_set1_epi32((int)width.fs_max + 1), one = _mm512_set1_epi32(1);
    block *const b = &v->block;
    __m512i code;
    __mmask16 is_plain;

    v->start_pos = v->pos, v->start_last = v->last, v->start_i = i;
    refill(v);
    code = _mm512_maskz_srli_epi32(v->live, v->window.high, 32 - width.code_bits);
    is_plain = _mm512_cmpeq_epi32_mask(code, plain);
    b->coded = _mm512_cmplt_epu32_mask(_mm512_sub_epi32(code, one), _mm512_set1_epi32((int)width.fs_max));
    b->tail = _mm512_mask_mov_epi32(code, is_plain, _mm512_set1_epi32((int)width.bits));
    b->drop = _mm512_sub_epi32(_mm512_set1_epi32(32), b->tail);
    b->fs = _mm512_sub_epi32(code, one);
    b->keep = _mm512_srlv_epi32(_mm512_set1_epi32(-1), _mm512_sub_epi32(_mm512_set1_epi32(33), code));
    b->keep = _mm512_mask_mov_epi32(b->keep, is_plain, _mm512_set1_epi32(-1));
    v->pos = _mm512_mask_add_epi32(v->pos, v->live, v->pos, _mm512_set1_epi32((int)width.code_bits));
    v->window = shift_window(v->window, _mm512_maskz_set1_epi32(v->live, (int)width.code_bits));
    if (width.bits == 32) leave_all(v, _mm512_cmpgt_epu32_mask(code, plain));
}

/* How many pixels to take from one window: as many as nearly always fit. */
TC_INLINE size_t choose_group(__m512i tail)
{
    if (!_mm512_cmpgt_epu32_mask(tail, _mm512_set1_epi32(5)))
        return _mm512_cmpgt_epu32_mask(tail, _mm512_set1_epi32(3)) ? 6 : 8;
    if (!_mm512_cmpgt_epu32_mask(tail, _mm512_set1_epi32(10)))
        return _mm512_cmpgt_epu32_mask(tail, _mm512_set1_epi32(7)) ? 4 : 5;
    return _mm512_cmpgt_epu32_mask(tail, _mm512_set1_epi32(15)) ? 2 : 3;
}

/* A group of pixels of one set of lanes under way. */
typedef struct {
    block block;
    window window;
    __m512i pos, last;
    __m512i lengths, values; /* all that occurred, or-ed */
} group;

TC_INLINE group start_group(const lanes *v)
{
    const __m512i none = _mm512_setzero_si512();

    return (group){v->block, v->window, v->pos, v->last, none, none};
}

TC_INLINE void decode_pixel(group *g, __m512i *row)
{
    const __m512i zeros = _mm512_maskz_lzcnt_epi32(g->block.coded, g->window.high);
    const __m512i shifted = _mm512_shldv_epi32(g->window.high, g->window.low, zeros);
    const __m512i folded = join(zeros, _mm512_srlv_epi32(shifted, g->block.drop), &g->block);
    const __m512i length = _mm512_add_epi32(zeros, g->block.tail);

    g->window = shift_window(g->window, length);
    g->pos = _mm512_add_epi32(g->pos, length);
    g->lengths = _mm512_or_epi32(g->lengths, length);
    g->values = _mm512_or_epi32(g->values, folded);
    g->last = unfold_add(g->last, folded);
    _mm512_store_si512(row, g->last);
}

/* Take over what was decoded, unless some lane needs care: then do the pixels again. */
TC_INLINE void finish_group(tc_rice_width width, lanes *v, const group *g, __m512i *rows, size_t count)
{
    __mmask16 care = _mm512_cmpgt_epu32_mask(_mm512_sub_epi32(g->pos, v->origin), _mm512_set1_epi32(TC_BITS_WINDOW));

    care |= _mm512_cmpgt_epu32_mask(g->lengths, _mm512_set1_epi32(31));
    if (width.bits < 32) care |= _mm512_test_epi32_mask(g->values, _mm512_set1_epi32((int)(~0u << (width.bits % 32))));
    if (care) {
        for (size_t k = 0; k < count; k++) patient_pixel(width, v, rows + k);
    } else {
        v->pos = g->pos;
        v->last = g->last;
    }
}

/* Decode `count` pixels that all lie in the current block, into the rows from the given one on.  One or two sets of
 * lanes: what one waits for, the other fills. */
TC_INLINE void decode_run(tc_rice_width width, lanes *sets, const int n_sets, size_t row, size_t count)
{
    const __m512i tail0 = sets[0].block.tail, tail1 = n_sets > 1 ? sets[1].block.tail : tail0;
    const size_t most = choose_group(_mm512_max_epu32(tail0, tail1));

    if (!_mm512_test_epi32_mask(tail0, tail0) && !_mm512_test_epi32_mask(tail1, tail1)) { /* all pixels are equal */
        for (int i = 0; i < n_sets; i++)
            for (size_t k = 0; k < count; k++) _mm512_store_si512(sets[i].rows + row + k, sets[i].last);
        return;
    }
    for (;;) {
        const size_t some = count < most ? count : most;
        group g0 = start_group(&sets[0]), g1 = start_group(&sets[n_sets - 1]);

        for (size_t k = 0; k < some; k++) {
            decode_pixel(&g0, sets[0].rows + row + k);
            if (n_sets > 1) decode_pixel(&g1, sets[1].rows + row + k);
        }
        finish_group(width, &sets[0], &g0, sets[0].rows + row, some);
        if (n_sets > 1) finish_group(width, &sets[1], &g1, sets[1].rows + row, some);
        row += some;
        count -= some;
        if (count == 0) return;
        for (int i = 0; i < n_sets; i++) refill(&sets[i]);
    }
}

/* ---- from rows to streams ---- */

TC_INLINE void transpose(__m512i r[LANES])
{
    __m512i t[LANES];

#pragma GCC unroll 16
    for (int i = 0; i < LANES; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i += 4) {
        r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i += 8)
#pragma GCC unroll 16
        for (int j = 0; j < 4; j++) {
            t[i + j] = _mm512_shuffle_i32x4(r[i + j], r[i + j + 4], 0x88);
            t[i + j + 4] = _mm512_shuffle_i32x4(r[i + j], r[i + j + 4], 0xdd);
        }
#pragma GCC unroll 16
    for (int j = 0; j < 8; j++) {
        r[j] = _mm512_shuffle_i32x4(t[j], t[j + 8], 0x88);
        r[j + 8] = _mm512_shuffle_i32x4(t[j], t[j + 8], 0xdd);
    }
}

/* Write the first `count` rows to pixels i .. i + count of the streams. */
TC_INLINE void write_rows_32(const lanes *v, size_t i, size_t count)
{
    for (size_t half = 0; half < count; half += LANES) {
        const __mmask16 wanted = (__mmask16)(count - half < LANES ? (1u << (count - half)) - 1 : 0xffff);
        __m512i r[LANES];

#pragma GCC unroll 16
        for (int k = 0; k < LANES; k++) r[k] = _mm512_load_si512(v->rows + half + k);
        transpose(r);
#pragma GCC unroll 16
        for (size_t lane = 0; lane < LANES; lane++)
            if (lane < v->n_lanes)
                _mm512_mask_storeu_epi32((uint32_t *)v->streams[lane].dst + i + half, wanted, r[lane]);
    }
}

/* The same for pixels of 16 bits, or of 8, whose rows are paired first. */
TC_INLINE void write_rows_16(tc_rice_width width, const lanes *v, size_t i, size_t count)
{
    const __mmask32 wanted = count < ROWS ? (1u << count) - 1 : 0xffffffff;
    __m512i r[LANES];

#pragma GCC unroll 16
    for (int k = 0; k < LANES; k++)
        r[k] = _mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_load_si512(v->rows + 2 * k),
                                       _mm512_slli_epi32(_mm512_load_si512(v->rows + 2 * k + 1), 16));
    transpose(r);
#pragma GCC unroll 16
    for (size_t lane = 0; lane < LANES; lane++) {
        if (lane >= v->n_lanes) break;
        if (width.bits == 16) _mm512_mask_storeu_epi16((uint16_t *)v->streams[lane].dst + i, wanted, r[lane]);
        else _mm256_mask_storeu_epi8((uint8_t *)v->streams[lane].dst + i, wanted, _mm512_cvtepi16_epi8(r[lane]));
    }
}

TC_INLINE void write_rows(tc_rice_width width, const lanes *v, size_t i, size_t count)
{
    if (width.bits == 32) write_rows_32(v, i, count);
    else write_rows_16(width, v, i, count);
}

/* ---- whole streams ---- */

static void open_lanes(tc_rice_width width, lanes *v, tc_rice_stream *streams, size_t n_lanes)
{
    uint64_t addresses[LANES] = {0};
    uint32_t ends[LANES] = {0}, limits[LANES] = {0}, lasts[LANES] = {0};

    memset(v, 0, sizeof *v);
    v->streams = streams;
    v->n_lanes = n_lanes;
    v->live = (__mmask16)((1u << n_lanes) - 1);
    for (size_t lane = 0; lane < LANES; lane++) addresses[lane] = (uint64_t)(uintptr_t)v->tails[lane];
    for (size_t lane = 0; lane < n_lanes; lane++) {
        const size_t len = streams[lane].src_len;
        tc_bits in = tc_bits_open(streams[lane].src, len);

        ends[lane] = 8 * (uint32_t)len;
        if (len >= 8) addresses[lane] = (uint64_t)(uintptr_t)streams[lane].src, limits[lane] = (uint32_t)len - 8;
        if (tc_bits_get(&in, width.bits, &lasts[lane]) != TC_OK) v->live &= (__mmask16)~(1u << lane);
        v->left[lane] = (tc_rice_state){.in = in, .last = lasts[lane], .i = 0};
    }
    v->address[0] = _mm512_loadu_si512(addresses);
    v->address[1] = _mm512_loadu_si512(addresses + 8);
    v->limit = _mm512_loadu_si512(limits);
    v->end = _mm512_loadu_si512(ends);
    v->last = _mm512_loadu_si512(lasts);
    v->pos = _mm512_maskz_set1_epi32(v->live, (int)width.bits);
    for (unsigned lane = 0; lane < n_lanes; lane++)
        if (streams[lane].src_len < 8 && v->live >> lane & 1) switch_to_tail(v, lane);
}

/* Say how each stream ended; those that left are decoded on. */
static void close_lanes(tc_rice_width width, lanes *v, uint32_t blocksize, size_t n)
{
    for (unsigned lane = 0; lane < v->n_lanes; lane++) {
        tc_rice_stream *const stream = &v->streams[lane];

        if (v->live >> lane & 1) {
            stream->status = TC_OK;
            stream->done = n;
            stream->used = (get_lane(v->pos, lane) + 7) / 8;
        } else if (stream->src_len < width.bits / 8) {
            stream->status = TC_TRUNCATED; /* not even a seed */
            stream->done = stream->used = 0;
        } else {
            tc_rice_state *const s = &v->left[lane];

            stream->status = tc_rice_blocks(width, s, blocksize, stream->dst, n);
            stream->done = s->i;
            stream->used = tc_bits_used(&s->in);
        }
    }
}

/* Decode one or two sets of streams: n_streams of them, all but the last set complete. */
TC_INLINE void decode_sets(tc_rice_width width, tc_rice_stream *streams, size_t n_streams, uint32_t blocksize,
                           const int n_sets)
{
    const size_t n = streams[0].n;
    size_t row = 0; /* rows that wait to be written */
    unsigned live = 1;
    lanes sets[2];

    for (int k = 0; k < n_sets; k++)
        open_lanes(width, &sets[k], streams + k * LANES, k == n_sets - 1 ? n_streams - (size_t)k * LANES : LANES);
    for (size_t i = 0; i < n && (live || row);) { /* rows of streams that left may still wait */
        const size_t end = tc_rice_block_end(i, blocksize, n);

        for (int k = 0; k < n_sets; k++) start_block(width, &sets[k], i);
        for (;;) {
            const size_t some = end - i < ROWS - row ? end - i : ROWS - row;

            decode_run(width, sets, n_sets, row, some);
            i += some;
            row += some;
            if (row == ROWS || i == n) {
                for (int k = 0; k < n_sets; k++) write_rows(width, &sets[k], i - row, row);
                row = 0;
            }
            if (i == end) break;
            for (int k = 0; k < n_sets; k++) refill(&sets[k]);
        }
        live = 0;
        for (int k = 0; k < n_sets; k++) {
            leave_all(&sets[k], _mm512_cmpgt_epu32_mask(sets[k].pos, sets[k].end));
            live |= sets[k].live;
        }
    }
    for (int k = 0; k < n_sets; k++) close_lanes(width, &sets[k], blocksize, n);
}

#define DECODE_SETS(bits, n_sets)                                                                                      \
    static __attribute__((noinline)) void decode_sets_##bits##_##n_sets(                              \
        tc_rice_stream *streams, size_t n_streams, uint32_t blocksize)                                                 \
    {                                                                                                                  \
        decode_sets(TC_RICE_WIDTH_##bits, streams, n_streams, blocksize, n_sets);                                      \
    }
DECODE_SETS(8, 1)
DECODE_SETS(8, 2)
DECODE_SETS(16, 1)
DECODE_SETS(16, 2)
DECODE_SETS(32, 1) /* two sets write to more places than the cache likes */

/* How many streams from the first on go side by side in sets of LANES; 0 where fours are faster. */
static size_t count_for_sets(const tc_rice_stream *streams, size_t n_streams, size_t most)
{
    size_t count = 0;

    while (count < n_streams && count < most && streams[count].n == streams[0].n && streams[0].n &&
           streams[count].src_len <= LONGEST_STREAM)
        count++;
    if (count < FEWEST_LANES) return 0;
    return count > LANES && count < LANES + FEWEST_LANES ? LANES : count;
}

/* Decode the first streams, as many as go well together; returns how many. */
static size_t tc_rice_first_streams(tc_rice_stream *streams, size_t n_streams, uint32_t bytepix, uint32_t blocksize)
{
    const size_t count = count_for_sets(streams, n_streams, bytepix == 4 ? LANES : 2 * LANES);

    if (count == 0) return tc_rice_first_four(streams, n_streams, bytepix, blocksize);
    if (bytepix == 4) decode_sets_32_1(streams, count, blocksize);
    else if (bytepix == 2) (count > LANES ? decode_sets_16_2 : decode_sets_16_1)(streams, count, blocksize);
    else (count > LANES ? decode_sets_8_2 : decode_sets_8_1)(streams, count, blocksize);
    return count;
}
