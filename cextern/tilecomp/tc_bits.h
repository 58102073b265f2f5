/* Bounded bit streams, most significant bit first, as RICE_1 and HCOMPRESS_1 store them.
 * The reader never touches a byte outside [src, src + len): bits past the end are seen as zeros by tc_bits_peek()
 * and are an error to tc_bits_get().  The writer never touches a byte outside [dst, dst + cap): what does not fit is
 * dropped, and tc_bits_finish() then says TC_NO_SPACE.  State lives in the caller's struct: safe on many threads. */
#ifndef TC_BITS_H
#define TC_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tc_status.h"

/* How many bits of a window from tc_bits_peek() are sure to be stream bits (or zeros past its end). */
#define TC_BITS_WINDOW 57

static inline uint64_t tc_load_be64(const uint8_t *src)
{
    uint64_t word;

    memcpy(&word, src, sizeof word);
    return __builtin_bswap64(word);
}

static inline void tc_store_be64(uint8_t *dst, uint64_t word)
{
    word = __builtin_bswap64(word);
    memcpy(dst, &word, sizeof word);
}

/* The number of bits needed to write `value`; 0 for 0. */
static inline unsigned tc_bit_length(uint64_t value)
{
    return value ? 64u - (unsigned)__builtin_clzll(value) : 0;
}

/* ---- reading ---- */

typedef struct {
    const uint8_t *src;
    size_t len; /* bytes in src */
    size_t pos; /* bits consumed, at most 8 * len */
} tc_bits;

static inline tc_bits tc_bits_open(const uint8_t *src, size_t len)
{
    return (tc_bits){src, len, 0};
}

static inline size_t tc_bits_left(const tc_bits *in)
{
    return 8 * in->len - in->pos;
}

/* Bytes that hold the bits consumed so far. */
static inline size_t tc_bits_used(const tc_bits *in)
{
    return in->pos / 8 + (in->pos % 8 != 0);
}

/* The next bits, left-aligned: at least TC_BITS_WINDOW of them, zeros past the end. */
static inline uint64_t tc_bits_peek(const tc_bits *in)
{
    const size_t first = in->pos / 8;
    uint64_t window = 0;

    if (in->len - first >= 8) return tc_load_be64(in->src + first) << (in->pos % 8);
    if (first == in->len) return 0;
    if (in->len >= 8) return tc_load_be64(in->src + in->len - 8) << (in->pos - 8 * (in->len - 8));
    for (size_t i = first; i < in->len; i++) window |= (uint64_t)in->src[i] << (56 - 8 * (i - first));
    return window << (in->pos % 8);
}

/* Consume `count` bits that the caller knows to be there (count <= tc_bits_left()). */
static inline void tc_bits_skip(tc_bits *in, size_t count)
{
    in->pos += count;
}

/* Read an unsigned number of `count` bits, 0 <= count <= TC_BITS_WINDOW; nothing is consumed on error. */
static inline tc_status tc_bits_get64(tc_bits *in, unsigned count, uint64_t *value)
{
    if (tc_bits_left(in) < count) return TC_TRUNCATED;
    *value = count ? tc_bits_peek(in) >> (64 - count) : 0;
    in->pos += count;
    return TC_OK;
}

/* The same for 0 <= count <= 32. */
static inline tc_status tc_bits_get(tc_bits *in, unsigned count, uint32_t *value)
{
    uint64_t wide;

    TC_TRY(tc_bits_get64(in, count, &wide));
    *value = (uint32_t)wide;
    return TC_OK;
}

/* Read zeros up to and with the next one bit.  More than `most` zeros are TC_CORRUPT; no one bit is TC_TRUNCATED.
 * Nothing is consumed on error. */
static inline tc_status tc_bits_unary(tc_bits *in, uint64_t most, uint64_t *zeros)
{
    tc_bits ahead = *in;
    uint64_t count = 0;

    for (;;) {
        const uint64_t window = tc_bits_peek(&ahead);
        const size_t left = tc_bits_left(&ahead);
        const size_t known = left < TC_BITS_WINDOW ? left : TC_BITS_WINDOW;
        const size_t run = window ? (size_t)__builtin_clzll(window) : 64;

        if (run < known) {
            count += run;
            if (count > most) return TC_CORRUPT;
            tc_bits_skip(&ahead, run + 1);
            *in = ahead;
            *zeros = count;
            return TC_OK;
        }
        count += known;
        if (count > most) return TC_CORRUPT;
        if (known == left) return TC_TRUNCATED;
        tc_bits_skip(&ahead, known);
    }
}

/* ---- writing ---- */

typedef struct {
    uint8_t *dst;
    size_t cap;       /* bytes in dst */
    size_t pos;       /* whole bytes written */
    uint64_t pending; /* the last `n_pending` bits put are its lowest ones; the others are stale */
    unsigned n_pending;
    bool full; /* something did not fit */
} tc_bit_writer;

static inline tc_bit_writer tc_bits_create(uint8_t *dst, size_t cap)
{
    return (tc_bit_writer){.dst = dst, .cap = cap};
}

/* Write the whole bytes of the pending bits; fewer than 8 bits are left pending. */
static inline void tc_bits_flush(tc_bit_writer *out)
{
    const size_t whole = out->n_pending / 8;
    const uint64_t word = out->n_pending ? out->pending << (64 - out->n_pending) : 0;

    if (out->cap - out->pos >= 8) {
        tc_store_be64(out->dst + out->pos, word);
        out->pos += whole;
    } else {
        for (size_t i = 0; i < whole; i++) {
            if (out->pos == out->cap) {
                out->full = true;
                break;
            }
            out->dst[out->pos++] = (uint8_t)(word >> (56 - 8 * i));
        }
    }
    out->n_pending %= 8;
}

/* Append the `count` low bits of `value`, whose other bits are 0; 0 <= count <= TC_BITS_WINDOW - 1. */
static inline void tc_bits_put(tc_bit_writer *out, uint64_t value, unsigned count)
{
    if (out->n_pending + count > 64) tc_bits_flush(out);
    out->pending = out->pending << count | value;
    out->n_pending += count;
}

/* Append `count` bits at once, 1 <= count <= TC_BITS_WINDOW - 1, where the caller knows that tc_bits_flush() was called
 * since the last tc_bits_put() and that 8 bytes of room are left. */
static inline void tc_bits_put_quick(tc_bit_writer *out, uint64_t value, unsigned count)
{
    out->pending = out->pending << count | value;
    out->n_pending += count;
    tc_store_be64(out->dst + out->pos, out->pending << (64 - out->n_pending));
    out->pos += out->n_pending / 8;
    out->n_pending %= 8;
}

/* Pad with zeros to a whole byte and write all; `used` is the number of bytes written. */
static inline tc_status tc_bits_finish(tc_bit_writer *out, size_t *used)
{
    tc_bits_flush(out);
    if (out->n_pending) {
        tc_bits_put(out, 0, 8 - out->n_pending);
        tc_bits_flush(out);
    }
    *used = out->pos;
    return out->full ? TC_NO_SPACE : TC_OK;
}

#endif
