/* Any bytes as a gzip member for a tile of any size: an answer, within the buffer. */
#include <stdlib.h>

#include "tc_gzip.h"
#include "tc_shuffle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static tc_gzip_decoder *decoder;
    size_t width, used;

    if (!decoder) decoder = tc_gzip_decoder_new();
    if (size < 2) return 0;

    const size_t n = data[0] + 1u, max_width = (size_t)1 << (data[1] & 3);
    uint8_t *const bytes = malloc(n * max_width), *const pixels = malloc(n * max_width);
    const tc_status status = tc_gzip_decode(decoder, data + 2, size - 2, n, max_width, bytes, &width, &used);

    if (used > size - 2 || width > max_width) abort();
    if (status != TC_OK && width != 0) abort();
    if (status == TC_OK) {
        if (width == 0) abort();
        tc_unshuffle(bytes, n, width, pixels);
        tc_byteswap(bytes, n, width, bytes);
    }
    free(bytes);
    free(pixels);
    return 0;
}
