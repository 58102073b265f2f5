#include "tc_deflate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tc_deflate_block.h"
#include "tc_deflate_matches.h"
#include "tc_deflate_paths.h"
#include "tc_deflate_sample.h"

enum {
    PLANE_BLOCK = 32768,  /* bytes of a block at most: in a plane, */
    PIXEL_BLOCK = 16384,  /* and in pixels, whose first bytes tell much and change */
    SHORTEST_PLANE = 512, /* below it, codes of its own would not pay */
    SMALL_GAIN = 256,     /* matches that would save a smaller part of a block are not worth their time */
    FEW_RUNS = 32,        /* bytes for each run, at least, where a sample of what is between them tells enough */
    SHRINKS = 6,          /* content that shrinks by more is so soon deflated that large blocks can be tried as well */
    TRIAL = 4,            /* part of a block of pixels that is searched first, */
    MIN_TRIED = 4096,   /* if it has as many bytes */
    WORD = TC_DEFLATE_WORD
};

/* What differs between CPU levels. */
typedef struct {
    tc_deflate_find_run *find_run;
    tc_deflate_emit *emit;
} path;

static path path_of(tc_cpu cpu)
{
#if TC_CPU_X86
    if (cpu == TC_CPU_AVX512) return (path){tc_deflate_find_run_avx512, tc_deflate_emit_avx512};
    if (cpu == TC_CPU_AVX2) return (path){tc_deflate_find_run_avx2, tc_deflate_emit_avx2};
#endif
    (void)cpu;
    return (path){tc_deflate_find_run_portable, tc_deflate_emit_portable};
}

struct tc_deflate_encoder {
    path with;
    tc_deflate_block runs, matches; /* two ways to encode a block */
    tc_deflate_seen seen;
    bool has_seen; /* since the start of the stream */
    bool paid;     /* whether the last search gave the shorter block */
};

/* How a stream is cut. */
typedef struct {
    size_t plane, largest;
    bool is_plain; /* bytes of one kind: a sample tells whether matches pay */
} cut;

tc_deflate_encoder *tc_deflate_encoder_new(tc_cpu cpu)
{
    tc_deflate_encoder *const encoder = malloc(sizeof *encoder);

    if (encoder) encoder->with = path_of(cpu);
    return encoder;
}

void tc_deflate_encoder_free(tc_deflate_encoder *encoder)
{
    free(encoder);
}

/* Bits that matches would save among the literals of a block, by a sample of them. */
static uint64_t sample_gain(const tc_deflate_block *b)
{
    tc_deflate_sample sample;
    uint64_t gain = 0;
    size_t at = 0;

    tc_deflate_sample_begin(&sample, b->bits, b->n);
    for (size_t i = 0; i < b->n_matches; i++) {
        gain += tc_deflate_sample_gain(&sample, b->src, at, b->matches[i].start, b->lengths.literal);
        at = b->matches[i].start + b->matches[i].length;
    }
    return gain + tc_deflate_sample_gain(&sample, b->src, at, b->n, b->lengths.literal);
}

static bool matches_may_pay(const tc_deflate_block *b)
{
    return b->n_matches > b->n / FEW_RUNS || sample_gain(b) > b->bits / SMALL_GAIN;
}

/* Find the matches of `n` bytes of the block at `start`, in a stream of src_len bytes, and their codes. */
static void search(tc_deflate_encoder *e, const uint8_t *src, size_t src_len, size_t start, size_t n)
{
    tc_deflate_block *const b = &e->matches;

    if (!e->has_seen) tc_deflate_seen_begin(&e->seen, src_len);
    e->has_seen = true;
    b->src = src + start;
    b->n = n;
    b->n_matches = tc_deflate_find_matches(&e->seen, src, start, start + n, e->runs.lengths.literal, b->matches);
    tc_deflate_block_make_codes(b);
}

/* Whether matches are shorter than literals in the first part of a block of pixels. */
static bool trial_pays(tc_deflate_encoder *e, const uint8_t *src, size_t src_len, size_t start)
{
    const size_t n = e->runs.n / TRIAL;
    uint64_t literals = 0;

    search(e, src, src_len, start, n);
    for (size_t i = 0; i < n; i++) literals += e->runs.lengths.literal[src[start + i]];
    return e->matches.bits - e->matches.header_bits < literals;
}

/* Planes are searched if a sample says that it pays; pixels also if it did in the block before, or does in a part. */
static bool is_worth_a_search(tc_deflate_encoder *e, const uint8_t *src, size_t src_len, size_t start, bool is_plain)
{
    if (is_plain) return matches_may_pay(&e->runs);
    return e->paid || e->runs.n < MIN_TRIED || matches_may_pay(&e->runs) || trial_pays(e, src, src_len, start);
}

/* The shorter of the two ways to encode src[start, end). */
static const tc_deflate_block *choose(tc_deflate_encoder *e, const uint8_t *src, size_t src_len, size_t start, size_t end,
                                      bool is_plain)
{
    tc_deflate_block *const runs = &e->runs;

    runs->src = src + start;
    runs->n = end - start;
    runs->n_matches = tc_deflate_find_runs(e->with.find_run, runs->src, runs->n, start == 0, runs->matches);
    tc_deflate_block_make_codes(runs);
    if (!is_worth_a_search(e, src, src_len, start, is_plain)) return runs;
    search(e, src, src_len, start, runs->n);
    e->paid = e->matches.bits < runs->bits;
    return e->paid ? &e->matches : runs;
}

/* Whether a plane is one byte over and over. */
static bool is_constant(const uint8_t *src, size_t n)
{
    return tc_deflate_end_of_run(src, 0, n, src[0]) == n;
}

/* Where the block that starts at `start` ends: with its plane, or where constant planes end, or sooner in equal parts. */
static size_t end_of_block(const uint8_t *src, size_t start, size_t n, const cut *by)
{
    const size_t plane = by->plane, largest = by->largest;
    size_t left = start / plane * plane + plane - start;

    if (left >= n - start) left = n - start;
    if (left < n - start && is_constant(src + start, left))
        while (left <= largest && start + left + plane <= n && left + plane <= largest &&
               is_constant(src + start + left, plane))
            left += plane;
    return start + (left + (left - 1) / largest) / ((left - 1) / largest + 1);
}

static tc_status deflate(tc_deflate_encoder *e, const uint8_t *src, size_t n, const cut *by, uint8_t *dst,
                         size_t dst_cap, size_t *used)
{
    tc_deflate_writer out = {.next = dst};
    size_t start = 0;

    *used = 0;
    e->has_seen = false;
    e->paid = n > by->largest; /* in the first of many blocks a search for the others begins */
    do {
        const size_t end = n ? end_of_block(src, start, n, by) : 0;
        const tc_deflate_block *const b = choose(e, src, n, start, end, by->is_plain);

        if (b->bits / 8 + 1 + WORD > dst_cap - (size_t)(out.next - dst)) return TC_NO_SPACE;
        tc_deflate_block_put(b, end == n, e->with.emit, &out);
        start = end;
    } while (start < n);
    tc_deflate_put(&out, 0, (8 - out.count) % 8);
    *used = (size_t)(out.next - dst);
    return TC_OK;
}

size_t tc_deflate_bound(size_t n)
{
    const size_t n_blocks = n / SHORTEST_PLANE + n / PIXEL_BLOCK + 2;

    return n + TC_DEFLATE_STORED_NBYTES * n_blocks + WORD;
}

tc_status tc_deflate(tc_deflate_encoder *e, const uint8_t *src, size_t n, size_t plane, uint8_t *dst, size_t dst_cap,
                     size_t *used)
{
    const bool is_plain = plane >= SHORTEST_PLANE;
    const cut parts = {is_plain ? plane : n, is_plain ? PLANE_BLOCK : PIXEL_BLOCK, is_plain};
    const cut whole = {n, TC_DEFLATE_MAX_BLOCK, false};
    const uint8_t nothing = 0;
    size_t nbytes;
    tc_status status;

    if (n == 0) src = &nothing; /* it may have been NULL */
    status = deflate(e, src, n, &parts, dst, dst_cap, used);
    if (status != TC_OK || *used >= n / SHRINKS) return status;
    status = deflate(e, src, n, &whole, dst + *used, dst_cap - *used, &nbytes);
    if (status != TC_OK || nbytes >= *used) return TC_OK;
    memmove(dst, dst + *used, nbytes);
    *used = nbytes;
    return TC_OK;
}
