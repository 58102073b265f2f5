/* Arbitrary bytes as a list of any number of pixels, and as pixels that have to survive a round trip. */
#include <stdlib.h>
#include <string.h>

#include "tc_plio.h"

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) abort();                                                                                     \
    } while (0)

/* The three pixel types agree wherever nothing has to be clipped. */
static void fuzz_decode(const uint8_t *data, size_t size, size_t n, int32_t offset)
{
    int32_t *const words = malloc(n * sizeof *words);
    int16_t *const shorts = malloc(n * sizeof *shorts);
    uint8_t *const bytes = malloc(n);
    size_t used, done, done_again;

    const tc_status status = tc_plio_decode_i32(data, size, offset, words, n, &used, &done);
    CHECK(used <= size && done <= n && (status != TC_OK || done == n));
    CHECK(tc_plio_decode_i16(data, size, offset, shorts, n, &used, &done_again) == status && done_again == done);
    CHECK(tc_plio_decode_u8(data, size, offset, bytes, n, &used, &done_again) == status && done_again == done);
    for (size_t i = 0; i < done; i++) {
        CHECK(words[i] != (int16_t)words[i] || shorts[i] == words[i]);
        CHECK(words[i] != (uint8_t)words[i] || bytes[i] == words[i]);
    }
    free(bytes);
    free(shorts);
    free(words);
}

static void fuzz_round_trip(const uint8_t *data, size_t size)
{
    const size_t n = size / 4;
    int32_t *const px = malloc(size + 1), *const again = malloc(size + 1);
    uint8_t *const list = malloc(tc_plio_bound(n));
    size_t len, used, done;

    memcpy(px, data, 4 * n);
    for (size_t i = 0; i < n; i++) px[i] &= TC_PLIO_MAX_VALUE;
    CHECK(tc_plio_encode_i32(px, n, 0, list, tc_plio_bound(n), &len) == TC_OK);
    CHECK(tc_plio_decode_i32(list, len, 0, again, n, &used, &done) == TC_OK && used == len);
    CHECK(memcmp(px, again, 4 * n) == 0);
    free(list);
    free(again);
    free(px);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3) return 0;
    const size_t n = 1u + data[0] + (data[1] == 255 ? 4096u : 0u); /* now and then more than the longest run */

    fuzz_decode(data + 3, size - 3, n, data[2] & 1 ? 32768 : 0);
    fuzz_round_trip(data + 3, size - 3);
    return 0;
}
