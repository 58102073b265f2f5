/* Arbitrary bytes as a stream of any size up to 256 pixels, and as pixels that have to survive a round trip. */
#include <stdlib.h>
#include <string.h>

#include "tc_hcompress.h"

#define MOST_PIXELS 256u

static void fuzz_decode(const uint8_t *data, size_t size, size_t nx, size_t ny, int bits, bool smooth)
{
    int32_t *const px = malloc(nx * ny * sizeof *px);
    void *const scratch = malloc(tc_hcompress_scratch(nx, ny));
    size_t used;

    if (tc_hcompress_decode_i32(data, size, nx, ny, bits, smooth, px, scratch, &used) == TC_OK && used > size) abort();
    free(scratch);
    free(px);
}

/* The head is made to fit the tile, so that the planes are reached; the rest is as it comes. */
static void fuzz_planes(const uint8_t *data, size_t size, size_t nx, size_t ny, int bits, bool smooth)
{
    const uint8_t head[10] = {0xdd, 0x99, 0, 0, (uint8_t)(ny >> 8), (uint8_t)ny, 0, 0, (uint8_t)(nx >> 8), (uint8_t)nx};
    uint8_t *const stream = malloc(10 + size);

    memcpy(stream, head, 10);
    memcpy(stream + 10, data, size);
    if (size > 14)
        for (int i = 12; i < 15; i++) stream[10 + i] %= 32;
    fuzz_decode(stream, 10 + size, nx, ny, bits, smooth);
    free(stream);
}

static void fuzz_round_trip(const uint8_t *data, size_t size, size_t nx, size_t ny, int32_t scale)
{
    const size_t n = nx * ny, cap = tc_hcompress_bound(nx, ny, 32);
    int32_t *const px = calloc(n, sizeof *px), *const again = malloc(n * sizeof *again);
    uint8_t *const stream = malloc(cap);
    void *const scratch = malloc(tc_hcompress_scratch(nx, ny));
    size_t len, used;

    memcpy(px, data, size < n * sizeof *px ? size : n * sizeof *px);
    if (tc_hcompress_encode_i32(px, nx, ny, scale, stream, cap, scratch, &len) != TC_OK) abort();
    if (tc_hcompress_decode_i32(stream, len, nx, ny, 32, false, again, scratch, &used) != TC_OK || used != len) abort();
    if (scale <= 1 && memcmp(px, again, n * sizeof *px) != 0) abort();
    free(scratch);
    free(stream);
    free(again);
    free(px);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4) return 0;
    const size_t nx = 1 + data[0] % MOST_PIXELS, ny = 1 + data[1] % (MOST_PIXELS / nx);
    const int bits = (int[]){8, 16, 32, 32}[data[2] % 4];
    const bool smooth = data[2] & 4;
    const int32_t scale = data[3];

    data += 4;
    size -= 4;
    fuzz_decode(data, size, nx, ny, bits, smooth);
    fuzz_planes(data, size, nx, ny, bits, smooth);
    fuzz_round_trip(data, size, nx, ny, scale);
    return 0;
}
