/* libcfitsio behind its bridge against our own kernels: the same streams, pixels, verdicts and counts, whatever comes in. */
#include "tc_cfitsio.h"

#include "tc_hcompress.h"
#include "tc_plio.h"
#include "tc_rice.h"
#include "tc_test.h"

#define MOST_PIXELS 400
#define MOST_BYTES 8000
#define ROUNDS 300
#define SCALE_AT 10 /* in an HCOMPRESS_1 stream */

static uint8_t ours[MOST_BYTES], theirs[MOST_BYTES];
static int32_t pixels[MOST_PIXELS], from_ours[MOST_PIXELS], from_theirs[MOST_PIXELS];
static size_t scratch[(16 * MOST_PIXELS + 4096) / sizeof(size_t)];

static void draw_pixels(uint64_t *seed, size_t n, int bits)
{
    const uint64_t spread = tc_random(seed) % (uint64_t)(bits + 1), level = tc_random(seed);

    for (size_t i = 0; i < n; i++) pixels[i] = (int32_t)(level + (tc_random(seed) & ((1ull << spread) - 1)));
}

/* Damage a stream in one of the ways that happen: cut, or some bits turned over. */
static size_t damage(uint64_t *seed, uint8_t *stream, size_t len)
{
    if (tc_random(seed) % 4 == 0) return tc_random(seed) % (len + 1);
    for (uint64_t flips = 1 + tc_random(seed) % 3; flips > 0; flips--)
        stream[tc_random(seed) % len] ^= (uint8_t)(1u << tc_random(seed) % 8);
    return len;
}

static void compare_rice(const uint8_t *stream, size_t len, uint32_t blocksize, size_t n)
{
    uint8_t *const src = tc_exact_copy(stream, len);
    size_t used = 0, done = 0, their_used = 0, their_done = 0;

    TC_CHECK_EQ(tc_cfitsio_rice_decode_i32(src, len, blocksize, from_theirs, n, &their_used, &their_done),
                tc_rice_decode_i32(src, len, blocksize, from_ours, n, &used, &done));
    TC_CHECK_EQ(their_used, used);
    TC_CHECK_EQ(their_done, done);
    TC_CHECK_BYTES(from_theirs, from_ours, done * sizeof *from_ours);
    free(src);
}

static void test_rice(void)
{
    uint64_t seed = 1;

    for (int round = 0; round < ROUNDS; round++) {
        const size_t n = 1 + tc_random(&seed) % MOST_PIXELS;
        const uint32_t blocksize = 1 + (uint32_t)(tc_random(&seed) % 70);
        size_t used, their_used;

        draw_pixels(&seed, n, 32);
        TC_CHECK_EQ(tc_rice_encode_i32(pixels, n, blocksize, ours, sizeof ours, &used), TC_OK);
        TC_CHECK_EQ(tc_cfitsio_rice_encode_i32(pixels, n, blocksize, theirs, sizeof theirs, &their_used), TC_OK);
        TC_CHECK_EQ(their_used, used);
        TC_CHECK_BYTES(theirs, ours, used);
        TC_CHECK_EQ(tc_cfitsio_rice_encode_i32(pixels, n, blocksize, theirs, used - 1, &their_used), TC_NO_SPACE);
        compare_rice(ours, used, blocksize, n);
        TC_CHECK_BYTES(from_theirs, pixels, n * sizeof *pixels);
        compare_rice(ours, damage(&seed, ours, used), blocksize, n);
    }
    TC_CHECK_EQ(tc_cfitsio_rice_decode_i32(ours, 8, 0, from_theirs, 1, &(size_t){0}, &(size_t){0}), TC_BAD_PARAM);
    TC_CHECK_EQ(tc_cfitsio_rice_encode_i32(pixels, 1, 0, theirs, sizeof theirs, &(size_t){0}), TC_BAD_PARAM);
}

static void test_rice_narrow(void)
{
    uint8_t bytes[MOST_PIXELS], bytes_back[MOST_PIXELS];
    int16_t shorts[MOST_PIXELS], shorts_back[MOST_PIXELS];
    uint64_t seed = 2;

    for (int round = 0; round < ROUNDS; round++) {
        const size_t n = 1 + tc_random(&seed) % MOST_PIXELS;
        size_t used, their_used, done;

        draw_pixels(&seed, n, 16);
        for (size_t i = 0; i < n; i++) {
            bytes[i] = (uint8_t)pixels[i];
            shorts[i] = (int16_t)pixels[i];
        }
        TC_CHECK_EQ(tc_rice_encode_u8(bytes, n, 32, ours, sizeof ours, &used), TC_OK);
        TC_CHECK_EQ(tc_cfitsio_rice_encode_u8(bytes, n, 32, theirs, sizeof theirs, &their_used), TC_OK);
        TC_CHECK_EQ(their_used, used);
        TC_CHECK_BYTES(theirs, ours, used);
        TC_CHECK_EQ(tc_cfitsio_rice_decode_u8(ours, used, 32, bytes_back, n, &their_used, &done), TC_OK);
        TC_CHECK_BYTES(bytes_back, bytes, n);
        TC_CHECK_EQ(tc_rice_encode_i16(shorts, n, 32, ours, sizeof ours, &used), TC_OK);
        TC_CHECK_EQ(tc_cfitsio_rice_encode_i16(shorts, n, 32, theirs, sizeof theirs, &their_used), TC_OK);
        TC_CHECK_EQ(their_used, used);
        TC_CHECK_BYTES(theirs, ours, used);
        TC_CHECK_EQ(tc_cfitsio_rice_decode_i16(ours, used, 32, shorts_back, n, &their_used, &done), TC_OK);
        TC_CHECK_BYTES(shorts_back, shorts, n * sizeof *shorts);
    }
}

static void compare_plio(const uint8_t *stream, size_t len, size_t n)
{
    uint8_t *const src = tc_exact_copy(stream, len);
    size_t used = 0, done = 0, their_used = 0, their_done = 0;

    TC_CHECK_EQ(tc_cfitsio_plio_decode_i32(src, len, 0, from_theirs, n, &their_used, &their_done),
                tc_plio_decode_i32(src, len, 0, from_ours, n, &used, &done));
    TC_CHECK_EQ(their_used, used);
    TC_CHECK_EQ(their_done, done);
    TC_CHECK_BYTES(from_theirs, from_ours, done * sizeof *from_ours);
    free(src);
}

static void test_plio(void)
{
    uint64_t seed = 3;

    for (int round = 0; round < ROUNDS; round++) {
        const size_t n = 1 + tc_random(&seed) % MOST_PIXELS;
        size_t used, their_used;

        draw_pixels(&seed, n, 24);
        for (size_t i = 0; i < n; i++) pixels[i] = tc_random(&seed) % 3 ? 0 : pixels[i] & TC_PLIO_MAX_VALUE;
        TC_CHECK_EQ(tc_plio_encode_i32(pixels, n, 0, ours, sizeof ours, &used), TC_OK);
        TC_CHECK_EQ(tc_cfitsio_plio_encode_i32(pixels, n, 0, theirs, sizeof theirs, &their_used), TC_OK);
        TC_CHECK_EQ(their_used, used);
        TC_CHECK_BYTES(theirs, ours, used);
        compare_plio(ours, used, n);
        TC_CHECK_BYTES(from_theirs, pixels, n * sizeof *pixels);
        compare_plio(ours, damage(&seed, ours, used), n);
    }
    pixels[0] = -1;
    TC_CHECK_EQ(tc_cfitsio_plio_encode_i32(pixels, 1, 0, theirs, sizeof theirs, &(size_t){0}), TC_OUT_OF_RANGE);
    pixels[0] = 1;
    TC_CHECK_EQ(tc_cfitsio_plio_encode_i32(pixels, 1, 0, theirs, 15, &(size_t){0}), TC_NO_SPACE);
}

/* 4095 zeros before a single pixel, which libcfitsio loses. */
static void test_plio_long_gap(void)
{
    enum { N = 3 * 4095 + 9 };
    static int32_t mask[N], back[N];
    static uint8_t list[6 * N + 14];
    size_t used, their_used, done;

    for (size_t gap = 4094; gap <= 2 * 4095 + 1; gap++) {
        if (gap > 4097 && gap < 2 * 4095 - 1) continue;
        memset(mask, 0, sizeof mask);
        mask[gap] = 5;
        TC_CHECK_EQ(tc_cfitsio_plio_encode_i32(mask, N, 0, list, sizeof list, &used), TC_OK);
        TC_CHECK_EQ(tc_cfitsio_plio_decode_i32(list, used, 0, back, N, &their_used, &done), TC_OK);
        TC_CHECK_BYTES(back, mask, sizeof mask);
    }
}

static void compare_hcompress(const uint8_t *stream, size_t len, size_t nx, size_t ny, int bits, bool smooth)
{
    uint8_t *const src = tc_exact_copy(stream, len);
    size_t used = 0, their_used = 0;
    const tc_status status = tc_hcompress_decode_i32(src, len, nx, ny, bits, smooth, from_ours, scratch, &used);

    TC_CHECK_EQ(tc_cfitsio_hcompress_decode_i32(src, len, nx, ny, bits, smooth, from_theirs, scratch, &their_used),
                status);
    TC_CHECK_EQ(their_used, used);
    if (status == TC_OK) TC_CHECK_BYTES(from_theirs, from_ours, nx * ny * sizeof *from_ours);
    free(src);
}

static void test_hcompress(void)
{
    static const int all_bits[] = {8, 16, 32};
    uint64_t seed = 4;

    for (int round = 0; round < ROUNDS; round++) {
        const size_t nx = 1 + tc_random(&seed) % 20, ny = 1 + tc_random(&seed) % 20;
        const int bits = all_bits[tc_random(&seed) % 3];
        const int32_t scale = (int32_t)(tc_random(&seed) % 9) - 1;
        const bool smooth = tc_random(&seed) % 2;
        size_t used = 0, their_used = 0;

        draw_pixels(&seed, nx * ny, bits - 1);
        for (size_t i = 0; i < nx * ny; i++) pixels[i] = bits == 8 ? (uint8_t)pixels[i] : bits == 16 ? (int16_t)pixels[i]
                                                                                                    : pixels[i];
        TC_CHECK_EQ(tc_hcompress_encode_i32(pixels, nx, ny, scale, ours, sizeof ours, scratch, &used), TC_OK);
        TC_CHECK_EQ(tc_cfitsio_hcompress_encode_i32(pixels, nx, ny, scale, theirs, sizeof theirs, scratch, &their_used),
                    TC_OK);
        TC_CHECK_EQ(their_used, used);
        TC_CHECK_BYTES(theirs, ours, used);
        compare_hcompress(ours, used, nx, ny, bits, smooth);
        if (scale <= 1) TC_CHECK_BYTES(from_theirs, pixels, nx * ny * sizeof *pixels);
        compare_hcompress(ours, damage(&seed, ours, used), nx, ny, bits, smooth);
    }
}

/* A scale of 2^29 and more on coefficients of 40 bits: sums of them wrap round, and libcfitsio is compiled as if none did. */
static void test_hcompress_past_64_bits(void)
{
    static const size_t all_sizes[] = {9, 10, 11, 16};
    uint64_t seed = 5;

    for (int round = 0; round < ROUNDS; round++) {
        const size_t nx = all_sizes[tc_random(&seed) % 4], ny = all_sizes[tc_random(&seed) % 4];
        size_t used = 0;

        for (size_t i = 0; i < nx * ny; i++) pixels[i] = tc_random(&seed) % 4 ? 0 : (int32_t)tc_random(&seed);
        TC_CHECK_EQ(tc_hcompress_encode_i32(pixels, nx, ny, 0, ours, sizeof ours, scratch, &used), TC_OK);
        ours[SCALE_AT] = (uint8_t)(tc_random(&seed) % 0x80);
        for (int smooth = 0; smooth < 2; smooth++) compare_hcompress(ours, used, nx, ny, 32, smooth);
    }
}

static void test_version(void)
{
    TC_CHECK(tc_cfitsio_version() >= 40000);
}

int main(void)
{
    TC_RUN(test_version);
    TC_RUN(test_rice);
    TC_RUN(test_rice_narrow);
    TC_RUN(test_plio);
    TC_RUN(test_plio_long_gap);
    TC_RUN(test_hcompress);
    TC_RUN(test_hcompress_past_64_bits);
    return tc_test_summary();
}
