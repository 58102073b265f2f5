/* ns per byte and bytes of the stream: tc_deflate at each CPU level beside libdeflate at level 1, on byte planes of noise of
 * several widths.  Every figure is the least processor time of several runs; what does not come back has no figure. */
#include <libdeflate.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "tc_deflate.h"
#include "tc_shuffle.h"

enum { N_PIXELS = 1 << 20, N_BYTES = 2 * N_PIXELS, REPEATS = 9 };

static uint64_t state = 20260101; /* of the random numbers */

static int16_t pixels[N_PIXELS];
static uint8_t planes[N_BYTES], stream[2 * N_BYTES], back[N_BYTES];
static struct libdeflate_compressor *compressor;
static struct libdeflate_decompressor *decompressor;
static tc_deflate_encoder *encoder; /* at the CPU level that is measured, else NULL */

/* Deflate one tile; the length of the stream. */
static size_t deflate_tile(const uint8_t *tile, size_t n)
{
    size_t used;

    if (!encoder) return libdeflate_deflate_compress(compressor, tile, n, stream, sizeof stream);
    return tc_deflate(encoder, tile, n, n / 2, stream, sizeof stream, &used) == TC_OK ? used : 0;
}

static int all_come_back(size_t n)
{
    for (size_t at = 0; at < N_BYTES; at += n) {
        const size_t used = deflate_tile(planes + at, n);

        if (libdeflate_deflate_decompress(decompressor, stream, used, back, n, NULL) || memcmp(back, planes + at, n)) return 0;
    }
    return 1;
}

static void report(const char *name, int cpu, size_t n)
{
    double least = INFINITY;
    size_t sum = 0;

    encoder = cpu < 0 ? NULL : tc_deflate_encoder_new((tc_cpu)cpu);

    for (int repeat = 0; repeat < REPEATS; repeat++) {
        const double start = now_ns();

        sum = 0;
        for (size_t at = 0; at < N_BYTES; at += n) sum += deflate_tile(planes + at, n);
        least = fmin(least, now_ns() - start);
    }
    if (!all_come_back(n)) printf("    %-12s wrong result\n", name);
    else printf("    %-12s %6.2f ns/byte  %8zu bytes\n", name, least / N_BYTES, sum);
    tc_deflate_encoder_free(encoder);
}

static void run_case(double mean, double sigma, size_t tile_pixels)
{
    static const char *const names[] = {"portable", "avx2", "avx512"};

    for (size_t i = 0; i < N_PIXELS; i++) pixels[i] = (int16_t)lrint(mean + sigma * normal(&state));
    for (size_t i = 0; i < N_PIXELS; i += tile_pixels) tc_shuffle(pixels + i, tile_pixels, 2, planes + 2 * i);
    printf("int16, mean %g, sigma %g, tiles of %zu pixels\n", mean, sigma, tile_pixels);
    report("libdeflate", -1, 2 * tile_pixels);
    for (int cpu = 0; cpu <= (int)tc_cpu_detect(); cpu++) report(names[cpu], cpu, 2 * tile_pixels);
}

int main(void)
{
    compressor = libdeflate_alloc_compressor(1);
    decompressor = libdeflate_alloc_decompressor();
    run_case(300, 17, 4096);
    run_case(300, 17, 65536);
    run_case(1000, 3, 4096);
    run_case(256, 10, 4096);
    run_case(0, 1000, 4096);
    libdeflate_free_compressor(compressor);
    libdeflate_free_decompressor(decompressor);
    return 0;
}
