/* ns per pixel of the RICE_1 kernels on a star field (sky noise, sigma 10, and stars), beside libcfitsio's functions.
 * Every figure is the least processor time of several runs over the image; a result that differs from the image has no figure. */
#include <fitsio2.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "tc_rice.h"
#include "tc_rice_levels.h"

enum { SIDE = 2048, N_PIXELS = SIDE * SIDE, BLOCKSIZE = 32, REPEATS = 9 };

static uint64_t state = 20260101; /* of the random numbers */

static void add_star(double *image, int x, int y, double flux)
{
    for (int dy = -12; dy <= 12; dy++)
        for (int dx = -12; dx <= 12; dx++)
            if (x + dx >= 0 && x + dx < SIDE && y + dy >= 0 && y + dy < SIDE)
                image[(y + dy) * SIDE + x + dx] += flux * exp(-(dx * dx + dy * dy) / (2 * 2.0 * 2.0));
}

static void *allocate(size_t nbytes)
{
    void *const block = aligned_alloc(64, (nbytes + 63) / 64 * 64);

    if (!block) exit(EXIT_FAILURE);
    memset(block, 0, nbytes);
    return block;
}

static double *star_field(void)
{
    double *const image = allocate(N_PIXELS * sizeof *image);

    for (int i = 0; i < N_PIXELS; i++) image[i] = 300 + 10 * normal(&state);
    for (int star = 0; star < SIDE * SIDE / 4000; star++)
        add_star(image, (int)(uniform(&state) * SIDE), (int)(uniform(&state) * SIDE),
                 fmin(20 / pow(uniform(&state), 1.2), 25000));
    return image;
}

/* One case: an image of one pixel width cut into tiles of tile_pixels, each contiguous. */
typedef struct {
    unsigned bytepix;
    size_t tile_pixels, n_tiles;
    uint8_t *pixels, *decoded;
    uint8_t *packed; /* where the encoders write, with room for the longest stream of each tile */
    size_t stride;   /* bytes between the streams in packed */
    uint8_t *heap;   /* where the decoders read, the streams one after the other as in a file */
    tc_rice_stream *streams;
} bench;

typedef void work(const bench *b);

static void decode_cfitsio(const bench *b)
{
    for (size_t i = 0; i < b->n_tiles; i++) {
        const tc_rice_stream *const s = &b->streams[i];

        if (b->bytepix == 1) fits_rdecomp_byte((uint8_t *)s->src, (int)s->src_len, s->dst, (int)s->n, BLOCKSIZE);
        if (b->bytepix == 2) fits_rdecomp_short((uint8_t *)s->src, (int)s->src_len, s->dst, (int)s->n, BLOCKSIZE);
        if (b->bytepix == 4) fits_rdecomp((uint8_t *)s->src, (int)s->src_len, s->dst, (int)s->n, BLOCKSIZE);
    }
}

/* `at_once` streams in a call, as a cutout that touches so many tiles has them. */
#define DECODER(level, name, at_once)                                                                                  \
    static void decode_##name(const bench *b)                                                                          \
    {                                                                                                                  \
        for (size_t i = 0; i < b->n_tiles; i += at_once)                                                               \
            tc_rice_decode_##level(b->streams + i, at_once, b->bytepix, BLOCKSIZE);                                    \
    }
#define ENCODER(level)                                                                                                 \
    static void encode_##level(const bench *b)                                                                         \
    {                                                                                                                  \
        for (size_t i = 0; i < b->n_tiles; i++)                                                                        \
            tc_rice_encode_##level(b->pixels + i * b->tile_pixels * b->bytepix, b->tile_pixels, b->bytepix, BLOCKSIZE, \
                                   b->packed + i * b->stride, b->stride, &b->streams[i].src_len);                      \
    }
DECODER(portable, portable, 1)
ENCODER(portable)
#if TC_CPU_X86
DECODER(avx2, one_avx2, 1)
DECODER(avx2, four_avx2, 4)
DECODER(avx512, two_avx512, 2)
DECODER(avx512, four_avx512, 4)
DECODER(avx512, many_avx512, 32)
ENCODER(avx2)
#endif

static void encode_cfitsio(const bench *b)
{
    for (size_t i = 0; i < b->n_tiles; i++) {
        void *const src = b->pixels + i * b->tile_pixels * b->bytepix;
        uint8_t *const dst = b->packed + i * b->stride;
        const int n = (int)b->tile_pixels, cap = (int)b->stride;

        if (b->bytepix == 1) fits_rcomp_byte(src, n, dst, cap, BLOCKSIZE);
        if (b->bytepix == 2) fits_rcomp_short(src, n, dst, cap, BLOCKSIZE);
        if (b->bytepix == 4) fits_rcomp(src, n, dst, cap, BLOCKSIZE);
    }
}

static void pack_heap(const bench *b)
{
    uint8_t *next = b->heap;

    for (size_t i = 0; i < b->n_tiles; i++) {
        memcpy(next, b->packed + i * b->stride, b->streams[i].src_len);
        b->streams[i].src = next;
        next += b->streams[i].src_len;
    }
}

static double least_ns(const bench *b, work *run)
{
    double least = INFINITY;

    for (int repeat = 0; repeat < REPEATS; repeat++) {
        const double start = now_ns();

        run(b);
        least = fmin(least, now_ns() - start);
    }
    return least / (double)(b->n_tiles * b->tile_pixels);
}

static void report(const bench *b, const char *name, work *run, double yardstick)
{
    double ns;

    memset(b->decoded, 0, N_PIXELS * b->bytepix);
    ns = least_ns(b, run);
    pack_heap(b);
    decode_cfitsio(b); /* after an encoder: what it wrote; after a decoder: only tiles that it left out would differ */
    if (memcmp(b->decoded, b->pixels, N_PIXELS * b->bytepix) != 0) printf("    %-24s wrong result\n", name);
    else printf("    %-24s %6.2f ns/pixel  %5.1fx\n", name, ns, yardstick / ns);
}

static void report_decoder(const bench *b, const char *name, work *run, double yardstick)
{
    memset(b->decoded, 0, N_PIXELS * b->bytepix);
    run(b);
    if (memcmp(b->decoded, b->pixels, N_PIXELS * b->bytepix) != 0) printf("    %-24s wrong result\n", name);
    else report(b, name, run, yardstick);
}

static void cut_into_tiles(const double *image, bench *b, int width, int height)
{
    size_t i = 0;

    for (int y0 = 0; y0 < SIDE; y0 += height)
        for (int x0 = 0; x0 < SIDE; x0 += width)
            for (int y = y0; y < y0 + height; y++)
                for (int x = x0; x < x0 + width; x++, i++) {
                    const double value = fmin(image[y * SIDE + x], 30000);

                    if (b->bytepix == 1) b->pixels[i] = (uint8_t)fmin(value / 2, 255);
                    if (b->bytepix == 2) ((int16_t *)b->pixels)[i] = (int16_t)value;
                    if (b->bytepix == 4) ((int32_t *)b->pixels)[i] = (int32_t)value;
                }
}

static void run_case(const double *image, unsigned bytepix, int width, int height)
{
    bench b = {.bytepix = bytepix, .tile_pixels = (size_t)width * (size_t)height};
    double decode_ns, encode_ns;

    b.n_tiles = N_PIXELS / b.tile_pixels;
    b.stride = tc_rice_bound(b.tile_pixels, bytepix, BLOCKSIZE) + 64;
    b.pixels = allocate(N_PIXELS * bytepix);
    b.decoded = allocate(N_PIXELS * bytepix);
    b.packed = allocate(b.n_tiles * b.stride);
    b.heap = allocate(b.n_tiles * b.stride);
    b.streams = allocate(b.n_tiles * sizeof *b.streams);
    cut_into_tiles(image, &b, width, height);
    for (size_t i = 0; i < b.n_tiles; i++)
        b.streams[i] = (tc_rice_stream){.n = b.tile_pixels, .dst = b.decoded + i * b.tile_pixels * bytepix};
    encode_portable(&b);
    pack_heap(&b);
    printf("%u-byte pixels, tiles of %d x %d\n  decode\n", bytepix, width, height);
    decode_ns = least_ns(&b, decode_cfitsio);
    printf("    %-24s %6.2f ns/pixel\n", "libcfitsio", decode_ns);
    report_decoder(&b, "portable", decode_portable, decode_ns);
#if TC_CPU_X86
    if (tc_cpu_detect() >= TC_CPU_AVX2) {
        report_decoder(&b, "avx2", decode_one_avx2, decode_ns);
        report_decoder(&b, "avx2, four streams", decode_four_avx2, decode_ns);
    }
    if (tc_cpu_detect() >= TC_CPU_AVX512) {
        report_decoder(&b, "avx512, two streams", decode_two_avx512, decode_ns);
        report_decoder(&b, "avx512, four streams", decode_four_avx512, decode_ns);
        report_decoder(&b, "avx512, many streams", decode_many_avx512, decode_ns);
    }
#endif
    encode_ns = least_ns(&b, encode_cfitsio);
    printf("  encode\n    %-24s %6.2f ns/pixel\n", "libcfitsio", encode_ns);
    report(&b, "portable", encode_portable, encode_ns);
#if TC_CPU_X86
    if (tc_cpu_detect() >= TC_CPU_AVX2) report(&b, "avx2", encode_avx2, encode_ns);
#endif
    free(b.pixels);
    free(b.decoded);
    free(b.packed);
    free(b.heap);
    free(b.streams);
}

int main(void)
{
    double *const image = star_field();

    run_case(image, 2, SIDE, 1);
    run_case(image, 2, 256, 256);
    run_case(image, 4, SIDE, 1);
    run_case(image, 4, 256, 256);
    run_case(image, 1, SIDE, 1);
    free(image);
    return 0;
}
