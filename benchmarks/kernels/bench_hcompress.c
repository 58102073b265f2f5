/* ns per pixel of HCOMPRESS_1 on a star field (sky noise, sigma 12, and stars), one thread, beside libcfitsio's.  Every
 * figure is the least of several runs over the image; all tiles are decoded into one buffer, as by a reader that then places
 * them in an output of another type. */
#include <fitsio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "tc_hcompress.h"

#define SIDE 2048u
#define RUNS 7

/* A level of 1000 with Gaussian noise of 12, and a star every 5000 pixels. */
static void make_image(int32_t *px)
{
    uint64_t state = 1;

    for (size_t i = 0; i < SIDE * SIDE; i++)
        px[i] = (int32_t)lrint(1000 + 12 * normal(&state));
    for (int star = 0; star < (int)(SIDE * SIDE / 5000); star++) {
        const size_t x = 8 + (size_t)(uniform(&state) * (SIDE - 16)), y = 8 + (size_t)(uniform(&state) * (SIDE - 16));
        const double peak = 30 / uniform(&state);

        for (int dy = -8; dy < 8; dy++)
            for (int dx = -8; dx < 8; dx++) {
                int32_t *const at = &px[(y + (size_t)dy) * SIDE + x + (size_t)dx];
                const double v = *at + peak * exp(-(dx * dx + dy * dy) / 6.0);
                *at = v < 32767 ? (int32_t)v : 32767;
            }
    }
}

typedef struct {
    size_t nx, ny, n_tiles, cap;
    int32_t *px; /* tile after tile */
    uint8_t *streams;
    size_t *len;
    int32_t *out;
    void *scratch;
} work;

static void cut_tiles(const int32_t *image, work *w)
{
    const size_t across = SIDE / w->nx;

    for (size_t t = 0; t < w->n_tiles; t++)
        for (size_t row = 0; row < w->ny; row++)
            memcpy(w->px + (t * w->ny + row) * w->nx, image + (t / across * w->ny + row) * SIDE + t % across * w->nx,
                   w->nx * sizeof *image);
}

static void encode_ours(work *w, int scale)
{
    for (size_t t = 0; t < w->n_tiles; t++)
        if (tc_hcompress_encode_i32(w->px + t * w->nx * w->ny, w->nx, w->ny, scale, w->streams + t * w->cap, w->cap,
                                    w->scratch, &w->len[t]) != TC_OK)
            abort();
}

static void decode_ours(work *w, int smooth)
{
    for (size_t t = 0; t < w->n_tiles; t++) {
        size_t used;
        if (tc_hcompress_decode_i32(w->streams + t * w->cap, w->len[t], w->nx, w->ny, 16, smooth,
                                    w->out, w->scratch, &used) != TC_OK)
            abort();
    }
}

static void encode_theirs(work *w, int scale)
{
    for (size_t t = 0; t < w->n_tiles; t++) {
        long nbytes = (long)w->cap;
        int status = 0;

        memcpy(w->scratch, w->px + t * w->nx * w->ny, w->nx * w->ny * sizeof(int)); /* it works in place */
        fits_hcompress(w->scratch, (int)w->nx, (int)w->ny, scale, (char *)w->streams + t * w->cap, &nbytes, &status);
        w->len[t] = (size_t)nbytes;
    }
}

static void decode_theirs(work *w, int smooth)
{
    for (size_t t = 0; t < w->n_tiles; t++) {
        int nx, ny, scale, status = 0;
        fits_hdecompress(w->streams + t * w->cap, smooth, w->out, &nx, &ny, &scale, &status);
    }
}

static double least_ns(void (*step)(work *, int), work *w, int argument)
{
    double least = INFINITY;

    for (int run = 0; run < RUNS; run++) {
        const double start = now_ns();
        step(w, argument);
        const double spent = (now_ns() - start) / (SIDE * SIDE);
        least = spent < least ? spent : least;
    }
    return least;
}

static void print_pair(const char *what, double ours, double theirs)
{
    printf("   %s %6.2f against %6.2f (%4.1fx)", what, ours, theirs, theirs / ours);
}

static void bench(const int32_t *image, size_t nx, size_t ny, int scale, int smooth)
{
    const size_t n_tiles = SIDE / nx * (SIDE / ny), cap = tc_hcompress_bound(nx, ny, 16) + 64;
    work w = {nx, ny, n_tiles, cap, malloc(SIDE * SIDE * 4), malloc(n_tiles * cap), malloc(n_tiles * sizeof(size_t)),
              malloc(SIDE * SIDE * 4), malloc(tc_hcompress_scratch(nx, ny))};
    size_t nbytes = 0;

    cut_tiles(image, &w);
    const double their_encode = least_ns(encode_theirs, &w, scale), their_decode = least_ns(decode_theirs, &w, smooth);
    const double our_encode = least_ns(encode_ours, &w, scale), our_decode = least_ns(decode_ours, &w, smooth);
    for (size_t t = 0; t < n_tiles; t++) nbytes += w.len[t];
    printf("%4zu x %4zu scale %3d smooth %d", nx, ny, scale, smooth);
    printf("  %5.2f bits/px", 8.0 * (double)nbytes / (SIDE * SIDE));
    print_pair("decode", our_decode, their_decode);
    print_pair("encode", our_encode, their_encode);
    printf("\n");
    free(w.px);
    free(w.streams);
    free(w.len);
    free(w.out);
    free(w.scratch);
}

int main(void)
{
    int32_t *const image = malloc(SIDE * SIDE * sizeof *image);

    make_image(image);
    bench(image, 2048, 16, 0, 0);
    bench(image, 256, 256, 0, 0);
    bench(image, 64, 64, 0, 0);
    bench(image, 256, 256, 30, 0);
    bench(image, 256, 256, 30, 1);
    free(image);
    return 0;
}
