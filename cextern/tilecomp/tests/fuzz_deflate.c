/* Any bytes, repeated to a tile: streams of all CPU levels are equal, fit into their bound, and inflate to the bytes. */
#include "tc_deflate.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inflate_and_compare(const uint8_t *stream, size_t used, const uint8_t *src, size_t n)
{
    static struct libdeflate_decompressor *inflater;
    uint8_t *const back = malloc(n);
    size_t consumed, nbytes;

    if (!inflater) inflater = libdeflate_alloc_decompressor();
    if (libdeflate_deflate_decompress_ex(inflater, stream, used, back, n, &consumed, &nbytes) != LIBDEFLATE_SUCCESS) abort();
    if (consumed != used || nbytes != n || memcmp(back, src, n) != 0) abort();
    free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4) return 0;

    /* Short inputs are stretched: each byte is a value and, by its place, a number of times. */
    const size_t times = 1 + data[0] % 40, n = (size - 2) * times, plane = data[1] ? 500 + 16u * data[1] : 0;
    uint8_t *const src = malloc(n), *const first = malloc(tc_deflate_bound(n)), *const out = malloc(tc_deflate_bound(n));
    size_t first_used = 0, used;

    for (size_t i = 0; i < n; i++) src[i] = data[0] & 0x80 ? data[2 + i / times] : (uint8_t)(data[2 + i % (size - 2)] + i / 977);
    for (tc_cpu cpu = TC_CPU_PORTABLE; cpu <= tc_cpu_detect(); cpu++) {
        tc_deflate_encoder *const encoder = tc_deflate_encoder_new(cpu);

        if (tc_deflate(encoder, src, n, plane, out, tc_deflate_bound(n), &used) != TC_OK) abort();
        if (cpu == TC_CPU_PORTABLE) {
            inflate_and_compare(out, used, src, n);
            memcpy(first, out, used);
            first_used = used;
        }
        if (used != first_used || memcmp(out, first, used) != 0) abort();
        if (tc_deflate(encoder, src, n, plane, out, first_used - 1, &used) != TC_NO_SPACE) abort();
        tc_deflate_encoder_free(encoder);
    }
    free(src);
    free(first);
    free(out);
    return 0;
}
