/* The RICE_1 decoder for one stream, written once for all pixel widths: every function is inlined with a constant
 * `width`.  tc_rice.c describes the format; tc_rice_code.h says how it is compiled. */
#ifndef TC_RICE_SCALAR_H
#define TC_RICE_SCALAR_H

#include "tc_bits.h"
#include "tc_cpu.h"
#include "tc_rice.h"

#define TC_RICE_KEEP_ORDER __asm__ volatile("" ::: "memory")

typedef struct {
    unsigned bits;      /* of a pixel */
    unsigned code_bits; /* of a block code */
    unsigned fs_max;    /* code fs_max + 1 is a block of plain differences */
} tc_rice_width;

#define TC_RICE_WIDTH_8 ((tc_rice_width){8, 3, 6})
#define TC_RICE_WIDTH_16 ((tc_rice_width){16, 4, 14})
#define TC_RICE_WIDTH_32 ((tc_rice_width){32, 5, 25})

/* How far the decoding of a stream has come; `i` pixels are in dst and the next bit is a block code. */
typedef struct {
    tc_bits in;
    uint32_t last; /* value of the pixel before, its upper bits are of no meaning */
    size_t i;
} tc_rice_state;

/* 63 or more if all bits are 0. */
TC_INLINE unsigned tc_rice_leading_zeros(uint64_t bits)
{
#if HAS_AVX2
    return (unsigned)_lzcnt_u64(bits);
#else
    return (unsigned)__builtin_clzll(bits | 1);
#endif
}

TC_INLINE void tc_rice_store(tc_rice_width width, void *dst, size_t i, uint32_t value)
{
    if (width.bits == 8) ((uint8_t *)dst)[i] = (uint8_t)value;
    if (width.bits == 16) ((uint16_t *)dst)[i] = (uint16_t)value;
    if (width.bits == 32) ((uint32_t *)dst)[i] = value;
}

TC_INLINE uint32_t tc_rice_unfold(uint32_t folded)
{
    return (folded >> 1) ^ -(folded & 1);
}

/* Decode pixels with `fs` low bits, one by one with every check, up to `end`. */
TC_INLINE tc_status tc_rice_careful(tc_rice_width width, tc_rice_state *s, unsigned fs, void *dst, size_t end)
{
    const uint64_t most_zeros = (UINT32_MAX >> (32 - width.bits)) >> fs;

    while (s->i < end) {
        tc_bits ahead = s->in;
        uint64_t zeros;
        uint32_t low;

        TC_TRY(tc_bits_unary(&ahead, most_zeros, &zeros));
        TC_TRY(tc_bits_get(&ahead, fs, &low));
        s->in = ahead;
        s->last += tc_rice_unfold((uint32_t)(zeros << fs) | low);
        tc_rice_store(width, dst, s->i++, s->last);
    }
    return TC_OK;
}

TC_INLINE tc_status tc_rice_plain_block(tc_rice_width width, tc_rice_state *s, void *dst, size_t end)
{
    for (; s->i < end; s->i++) {
        uint32_t folded;

        TC_TRY(tc_bits_get(&s->in, width.bits, &folded));
        s->last += tc_rice_unfold(folded);
        tc_rice_store(width, dst, s->i, s->last);
    }
    return TC_OK;
}

TC_INLINE void tc_rice_equal_block(tc_rice_width width, tc_rice_state *s, void *dst, size_t end)
{
    for (; s->i < end; s->i++) tc_rice_store(width, dst, s->i, s->last);
}

/* Where the block that begins at pixel i ends: never past n, and it cannot overflow. */
TC_INLINE size_t tc_rice_block_end(size_t i, uint32_t blocksize, size_t n)
{
    return n - i < blocksize ? n : i + blocksize;
}

/* ---- the quick way: a window of the next bits, filled up 8 bytes at a time while as many are left ---- */

/* `count` bits of the window are claimed, and in.pos is after them and at a byte; the bits below are the stream's, too.
 * With a count of 0 the window is closed, and in.pos is what it always is. */
typedef struct {
    uint64_t bits;
    unsigned count;
} tc_rice_window;

TC_INLINE int tc_rice_word_left(const tc_rice_state *s)
{
    return s->in.len - s->in.pos / 8 >= 8;
}

TC_INLINE void tc_rice_open_window(tc_rice_state *s, tc_rice_window *w)
{
    const unsigned odd = s->in.pos % 8;

    if (!tc_rice_word_left(s)) return;
    w->bits = tc_load_be64(s->in.src + s->in.pos / 8) << odd;
    w->count = 56 - odd;
    s->in.pos += w->count;
}

TC_INLINE void tc_rice_close_window(tc_rice_state *s, tc_rice_window *w)
{
    s->in.pos -= w->count;
    *w = (tc_rice_window){0, 0};
}

/* At least 56 bits afterwards.  The address does not depend on what was decoded since the last time. */
TC_INLINE void tc_rice_fill_window(tc_rice_state *s, tc_rice_window *w)
{
    w->bits |= tc_load_be64(s->in.src + s->in.pos / 8) >> w->count;
    s->in.pos += (63 - w->count) & ~7u;
    w->count |= 56;
}

/* Decode up to `end`, `group` pixels from each filling, or to a group that takes more. */
TC_INLINE void tc_rice_groups(tc_rice_width width, tc_rice_state *state, tc_rice_window *w, unsigned fs, void *dst,
                              size_t end, const unsigned group)
{
    const unsigned most_zeros = (UINT32_MAX >> (32 - width.bits)) >> fs, fixed = group * (fs + 1);
    const unsigned most = most_zeros < 56 - fixed ? most_zeros : 56 - fixed; /* of all pixels, so of each */
    tc_rice_state s = *state; /* in registers: pixels written through dst cannot alias it */
    tc_rice_window window = *w;

    while (end - s.i >= group && tc_rice_word_left(&s)) {
        uint64_t bits;
        unsigned zeros_of_all = 0;
        uint32_t value = s.last;

        tc_rice_fill_window(&s, &window);
        bits = window.bits;
#pragma GCC unroll 8
        for (unsigned k = 0; k < group; k++) {
            const unsigned zeros = tc_rice_leading_zeros(bits);
            const uint64_t rest = bits << (zeros % 64); /* its top bit is the one that ends the zeros */
            const uint32_t folded = (zeros << fs) + (uint32_t)(rest >> (63 - fs)) - (1u << fs);

            bits = rest << (fs + 1);
            zeros_of_all += zeros;
            value += tc_rice_unfold(folded);
            tc_rice_store(width, dst, s.i + k, value);
            TC_RICE_KEEP_ORDER; /* joining neighbours' stores would take more instructions than it saves */
        }
        if (zeros_of_all > most) break;
        window.bits = bits;
        window.count -= zeros_of_all + fixed;
        s.last = value;
        s.i += group;
    }
    *w = window;
    *state = s;
}

/* A function of its own for each width and size of the group: its loop needs every register. */
#define TC_RICE_GROUPS(bits, group)                                                                                    \
    static __attribute__((noinline)) void tc_rice_groups_##bits##_##group(                              \
        tc_rice_state *s, tc_rice_window *w, unsigned fs, void *dst, size_t end)                                       \
    {                                                                                                                  \
        tc_rice_groups(TC_RICE_WIDTH_##bits, s, w, fs, dst, end, group);                                               \
    }
TC_RICE_GROUPS(8, 8)
TC_RICE_GROUPS(8, 4)
TC_RICE_GROUPS(16, 8)
TC_RICE_GROUPS(16, 4)
TC_RICE_GROUPS(16, 2)
TC_RICE_GROUPS(32, 8)
TC_RICE_GROUPS(32, 4)
TC_RICE_GROUPS(32, 2)

TC_INLINE void tc_rice_quick_pixels(tc_rice_width width, tc_rice_state *s, tc_rice_window *w, unsigned fs, void *dst,
                                    size_t end)
{
    if (width.bits == 8 && fs <= 3) tc_rice_groups_8_8(s, w, fs, dst, end);
    if (width.bits == 8 && fs > 3) tc_rice_groups_8_4(s, w, fs, dst, end);
    if (width.bits == 16 && fs <= 3) tc_rice_groups_16_8(s, w, fs, dst, end);
    if (width.bits == 16 && fs > 3 && fs <= 8) tc_rice_groups_16_4(s, w, fs, dst, end);
    if (width.bits == 16 && fs > 8) tc_rice_groups_16_2(s, w, fs, dst, end);
    if (width.bits == 32 && fs <= 3) tc_rice_groups_32_8(s, w, fs, dst, end);
    if (width.bits == 32 && fs > 3 && fs <= 8) tc_rice_groups_32_4(s, w, fs, dst, end);
    if (width.bits == 32 && fs > 8) tc_rice_groups_32_2(s, w, fs, dst, end);
}

TC_INLINE tc_status tc_rice_coded_block(tc_rice_width width, tc_rice_state *s, tc_rice_window *w, unsigned fs,
                                        void *dst, size_t end)
{
    for (;;) {
        tc_rice_quick_pixels(width, s, w, fs, dst, end);
        if (s->i == end) return TC_OK;
        tc_rice_close_window(s, w);
        TC_TRY(tc_rice_careful(width, s, fs, dst, end - s->i < 8 || !tc_rice_word_left(s) ? end : s->i + 8));
        tc_rice_open_window(s, w);
    }
}

/* Decode blocks from a block boundary, up to pixel n or until fewer than 8 bytes are left. */
TC_INLINE tc_status tc_rice_quick_blocks(tc_rice_width width, tc_rice_state *s, tc_rice_window *w, uint32_t blocksize,
                                         void *dst, size_t n)
{
    tc_rice_open_window(s, w);
    while (s->i < n && tc_rice_word_left(s)) {
        const size_t end = tc_rice_block_end(s->i, blocksize, n);
        unsigned code;

        tc_rice_fill_window(s, w);
        code = (unsigned)(w->bits >> (64 - width.code_bits));
        w->bits <<= width.code_bits;
        w->count -= width.code_bits;
        if (code == 0) {
            tc_rice_equal_block(width, s, dst, end);
        } else if (code <= width.fs_max) {
            TC_TRY(tc_rice_coded_block(width, s, w, code - 1, dst, end));
        } else if (code == width.fs_max + 1) {
            tc_rice_close_window(s, w);
            TC_TRY(tc_rice_plain_block(width, s, dst, end));
            tc_rice_open_window(s, w);
        } else {
            return TC_BAD_CODE;
        }
    }
    return TC_OK;
}

/* Decode from a block boundary up to pixel n. */
TC_INLINE tc_status tc_rice_blocks(tc_rice_width width, tc_rice_state *state, uint32_t blocksize, void *dst, size_t n)
{
    tc_rice_state s = *state; /* in registers: pixels written through dst cannot alias it */
    tc_rice_window window = {0, 0};
    tc_status status = tc_rice_quick_blocks(width, &s, &window, blocksize, dst, n);

    tc_rice_close_window(&s, &window);
    while (status == TC_OK && s.i < n) {
        const size_t end = tc_rice_block_end(s.i, blocksize, n);
        uint32_t code;

        status = tc_bits_get(&s.in, width.code_bits, &code);
        if (status != TC_OK) break;
        if (code == 0) tc_rice_equal_block(width, &s, dst, end);
        else if (code <= width.fs_max) status = tc_rice_careful(width, &s, code - 1, dst, end);
        else if (code == width.fs_max + 1) status = tc_rice_plain_block(width, &s, dst, end);
        else status = TC_BAD_CODE;
    }
    *state = s;
    return status;
}

/* A whole stream, from its seed; `used`, `done` and `status` are set. */
TC_INLINE void tc_rice_one(tc_rice_width width, tc_rice_stream *stream, uint32_t blocksize)
{
    tc_rice_state s = {.in = tc_bits_open(stream->src, stream->src_len)};

    stream->status = stream->n ? tc_bits_get(&s.in, width.bits, &s.last) : TC_OK;
    if (stream->status == TC_OK) stream->status = tc_rice_blocks(width, &s, blocksize, stream->dst, stream->n);
    stream->used = tc_bits_used(&s.in);
    stream->done = s.i;
}

#endif
