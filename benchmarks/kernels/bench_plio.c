/* ns per pixel of PLIO_1 on a mask (patches round stars and bad columns, so many pixels masked), one thread, beside
 * libcfitsio's functions.  Every figure is the least of several runs over the image, in tiles of one row. */
#include <fitsio2.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "tc_plio.h"

enum { SIDE = 4096, N_PIXELS = SIDE * SIDE, RUNS = 7 };

/* Discs of value 1, 2 or 4, and columns of 8. */
static void make_mask(int32_t *px, int n_discs)
{
    uint64_t state = 7;

    memset(px, 0, N_PIXELS * sizeof *px);
    for (int d = 0; d < n_discs; d++) {
        const int radius = 1 + (int)(8 * uniform(&state) * uniform(&state));
        const int x = 10 + (int)(uniform(&state) * (SIDE - 20)), y = 10 + (int)(uniform(&state) * (SIDE - 20));
        const int32_t value = 1 << (int)(3 * uniform(&state));

        for (int dy = -radius; dy <= radius; dy++)
            for (int dx = -radius; dx <= radius; dx++)
                if (dx * dx + dy * dy <= radius * radius) px[(y + dy) * SIDE + x + dx] = value;
    }
    for (int x = 100; x < SIDE; x += 500)
        for (int y = 0; y < SIDE; y++) px[y * SIDE + x] = 8;
}

typedef struct {
    int32_t *px, *out;
    uint8_t *lists; /* big-endian, one row after the other at distance cap */
    short *words;   /* the same for libcfitsio */
    size_t cap, *len;
} work;

static void encode_ours(work *w)
{
    for (size_t row = 0; row < SIDE; row++) {
        uint8_t *const list = w->lists + row * w->cap;

        if (tc_plio_encode_i32(w->px + row * SIDE, SIDE, 0, list, w->cap, &w->len[row]) != TC_OK) abort();
    }
}

static void encode_theirs(work *w)
{
    for (size_t row = 0; row < SIDE; row++) pl_p2li(w->px + row * SIDE, 1, w->words + row * w->cap / 2, SIDE);
}

static void decode_theirs(work *w)
{
    for (size_t row = 0; row < SIDE; row++) pl_l2pi(w->words + row * w->cap / 2, 1, w->out + row * SIDE, SIDE);
}

#define DEFINE_DECODE(name, T)                                                                                         \
    static void decode_##name(work *w)                                                                                 \
    {                                                                                                                  \
        size_t used, done;                                                                                             \
                                                                                                                       \
        for (size_t row = 0; row < SIDE; row++)                                                                        \
            if (tc_plio_decode_##name(w->lists + row * w->cap, w->len[row], 0, (T *)w->out + row * SIDE, SIDE, &used,  \
                                      &done) != TC_OK)                                                                 \
                abort();                                                                                               \
    }
DEFINE_DECODE(i32, int32_t)
DEFINE_DECODE(i16, int16_t)
DEFINE_DECODE(u8, uint8_t)

static double least_ns(void (*step)(work *), work *w)
{
    double least = INFINITY;

    for (int run = 0; run < RUNS; run++) {
        const double start = now_ns();
        step(w);
        const double spent = (now_ns() - start) / N_PIXELS;
        least = spent < least ? spent : least;
    }
    return least;
}

static void bench(work *w, int n_discs)
{
    size_t nbytes = 0;

    make_mask(w->px, n_discs);
    const double their_encode = least_ns(encode_theirs, w), our_encode = least_ns(encode_ours, w);
    const double their_decode = least_ns(decode_theirs, w), i32 = least_ns(decode_i32, w);
    if (memcmp(w->out, w->px, N_PIXELS * sizeof *w->px) != 0) abort();
    const double i16 = least_ns(decode_i16, w), u8 = least_ns(decode_u8, w);

    for (size_t row = 0; row < SIDE; row++) nbytes += w->len[row];
    printf("%7d discs %6.3f bits/px", n_discs, 8.0 * (double)nbytes / N_PIXELS);
    printf("   decode i32 %5.2f i16 %5.2f u8 %5.2f", i32, i16, u8);
    printf(" against %5.2f (%4.1fx)", their_decode, their_decode / i32);
    printf("   encode %5.2f against %5.2f (%4.1fx)\n", our_encode, their_encode, their_encode / our_encode);
}

int main(void)
{
    const size_t cap = tc_plio_bound(SIDE) + 64;
    work w = {.px = calloc(N_PIXELS, 4), .out = calloc(N_PIXELS, 4), .lists = malloc(SIDE * cap),
              .words = malloc(SIDE * cap), .cap = cap, .len = calloc(SIDE, sizeof(size_t))};

    bench(&w, 0);
    bench(&w, 20000);
    bench(&w, 500000);
    free(w.px);
    free(w.out);
    free(w.lists);
    free(w.words);
    free(w.len);
    return 0;
}
