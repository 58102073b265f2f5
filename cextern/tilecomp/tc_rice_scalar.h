/* The RICE_1 decoder for one stream, written once for all pixel widths: every function is inlined with a constant
 * `width`, and into functions built for different instruction sets.  tc_rice.c describes the format. */
#ifndef TC_RICE_SCALAR_H
#define TC_RICE_SCALAR_H

#include "tc_bits.h"
#include "tc_rice.h"

#define TC_RICE_INLINE static inline __attribute__((always_inline))

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

TC_RICE_INLINE void tc_rice_store(tc_rice_width width, void *dst, size_t i, uint32_t value)
{
    if (width.bits == 8) ((uint8_t *)dst)[i] = (uint8_t)value;
    if (width.bits == 16) ((uint16_t *)dst)[i] = (uint16_t)value;
    if (width.bits == 32) ((uint32_t *)dst)[i] = value;
}

TC_RICE_INLINE uint32_t tc_rice_unfold(uint32_t folded)
{
    return (folded >> 1) ^ -(folded & 1);
}

/* Decode pixels with `fs` low bits, one by one with every check, up to `end`. */
TC_RICE_INLINE tc_status tc_rice_careful(tc_rice_width width, tc_rice_state *s, unsigned fs, void *dst, size_t end)
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

/* Decode up to `end`, `group` pixels from each window; a group that does not fit its window goes the careful way. */
TC_RICE_INLINE tc_status tc_rice_groups(tc_rice_width width, tc_rice_state *s, unsigned fs, void *dst, size_t end,
                                        const unsigned group)
{
    size_t pos = s->in.pos, i = s->i;
    uint32_t last = s->last;

    while (end - i >= group && s->in.len - pos / 8 >= 8) {
        uint64_t window = tc_load_be64(s->in.src + pos / 8) << (pos % 8);
        uint64_t seen = 0;
        size_t consumed = 0;
        uint32_t value = last;

        for (unsigned k = 0; k < group; k++) {
            const unsigned zeros = window ? (unsigned)__builtin_clzll(window) : 64;
            const uint64_t rest = window << (zeros % 64); /* its top bit is the one that ends the zeros */
            const uint64_t folded = ((uint64_t)zeros << fs) + (rest >> (63 - fs)) - (1ull << fs);

            window = rest << (fs + 1);
            consumed += zeros + fs + 1;
            seen |= folded;
            value += tc_rice_unfold((uint32_t)folded);
            tc_rice_store(width, dst, i + k, value);
        }
        if (consumed <= TC_BITS_WINDOW && (width.bits == 32 || seen >> width.bits == 0)) {
            pos += consumed;
            last = value;
            i += group;
        } else {
            tc_status status;

            s->in.pos = pos, s->last = last, s->i = i;
            status = tc_rice_careful(width, s, fs, dst, i + group);
            if (status != TC_OK) return status;
            pos = s->in.pos, last = s->last, i = s->i;
        }
    }
    s->in.pos = pos, s->last = last, s->i = i;
    return tc_rice_careful(width, s, fs, dst, end);
}

TC_RICE_INLINE tc_status tc_rice_coded_block(tc_rice_width width, tc_rice_state *s, unsigned fs, void *dst,
                                             size_t end)
{
    if (fs <= 3) return tc_rice_groups(width, s, fs, dst, end, 8);
    if (fs <= 7) return tc_rice_groups(width, s, fs, dst, end, 4);
    return tc_rice_groups(width, s, fs, dst, end, 2);
}

TC_RICE_INLINE tc_status tc_rice_plain_block(tc_rice_width width, tc_rice_state *s, void *dst, size_t end)
{
    for (; s->i < end; s->i++) {
        uint32_t folded;

        TC_TRY(tc_bits_get(&s->in, width.bits, &folded));
        s->last += tc_rice_unfold(folded);
        tc_rice_store(width, dst, s->i, s->last);
    }
    return TC_OK;
}

/* Decode from a block boundary up to pixel n. */
TC_RICE_INLINE tc_status tc_rice_blocks(tc_rice_width width, tc_rice_state *s, uint32_t blocksize, void *dst, size_t n)
{
    while (s->i < n) {
        const size_t end = n - s->i < blocksize ? n : s->i + blocksize; /* never past n, cannot overflow */
        uint32_t code;

        TC_TRY(tc_bits_get(&s->in, width.code_bits, &code));
        if (code == 0) {
            for (; s->i < end; s->i++) tc_rice_store(width, dst, s->i, s->last);
        } else if (code <= width.fs_max) {
            TC_TRY(tc_rice_coded_block(width, s, code - 1, dst, end));
        } else if (code == width.fs_max + 1) {
            TC_TRY(tc_rice_plain_block(width, s, dst, end));
        } else {
            return TC_BAD_CODE;
        }
    }
    return TC_OK;
}

/* A whole stream, from its seed; `used`, `done` and `status` are set. */
TC_RICE_INLINE void tc_rice_one(tc_rice_width width, tc_rice_stream *stream, uint32_t blocksize)
{
    tc_rice_state s = {.in = tc_bits_open(stream->src, stream->src_len)};

    stream->status = stream->n ? tc_bits_get(&s.in, width.bits, &s.last) : TC_OK;
    if (stream->status == TC_OK) stream->status = tc_rice_blocks(width, &s, blocksize, stream->dst, stream->n);
    stream->used = tc_bits_used(&s.in);
    stream->done = s.i;
}

#endif
