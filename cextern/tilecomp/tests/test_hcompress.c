#include "tc_hcompress.h"

#include "tc_hcompress_transform.h"
#include "tc_test.h"

#ifdef TC_HAVE_CFITSIO
#include <fitsio.h>
#endif

static tc_status decode(const uint8_t *src, size_t src_len, size_t nx, size_t ny, int bits, bool smooth, int32_t *dst,
                        size_t *used)
{
    void *const scratch = malloc(tc_hcompress_scratch(nx, ny));
    const tc_status status = tc_hcompress_decode_i32(src, src_len, nx, ny, bits, smooth, dst, scratch, used);

    free(scratch);
    return status;
}

/* Encode into a block of exactly the bound (for 32-bit pixels); free() it. */
static uint8_t *encode(const int32_t *src, size_t nx, size_t ny, int32_t scale, size_t *used)
{
    const size_t cap = tc_hcompress_bound(nx, ny, 32);
    void *const scratch = malloc(tc_hcompress_scratch(nx, ny));
    uint8_t *const stream = malloc(cap);

    TC_CHECK_EQ(tc_hcompress_encode_i32(src, nx, ny, scale, stream, cap, scratch, used), TC_OK);
    free(scratch);
    return stream;
}

/* Smooth structure, noise of a random strength, now and then a spike. */
static void make_pixels(uint64_t *state, size_t nx, size_t ny, int bits, int32_t *px)
{
    const unsigned noise_bits = (unsigned)(tc_random(state) % (unsigned)bits);
    const int64_t half = bits == 8 ? 0 : (int64_t)1 << (bits - 1), full = (int64_t)1 << bits;
    const int64_t level = (int64_t)(tc_random(state) % (uint64_t)full) >> (tc_random(state) % (unsigned)bits);

    for (size_t i = 0; i < nx * ny; i++) {
        const int64_t noise = (int64_t)(tc_random(state) & (((uint64_t)1 << noise_bits) - 1));
        int64_t v = level + (int64_t)(i % nx + i / nx) + noise;

        if (tc_random(state) % 50 == 0) v = (int64_t)(tc_random(state) % (uint64_t)full);
        px[i] = (int32_t)(v % full - half);
    }
}

/* ---- worked examples ---- */

static const int32_t square[16] = {10, 11, 12, 13, 11, 30, 12, 12, 10, 11, 11, 14, 9, 10, 12, 13};
static const uint8_t square_stream[39] = {
    0xdd, 0x99, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0x1a, 2, 3, 3, 0xf8, 0xfd,
    0xfb, 0xff, 0xbf, 0x9e, 0xff, 0xef, 0x7e, 0xff, 0xef, 0xf8, 0x00, 0xa0};
static const int32_t odd[20] = {1, 2, 3, 4, 5, 2, 3, 4, 5, 6, 3, 4, 50, 6, 7, 4, 5, 6, 7, -8};
static const uint8_t odd_stream[57] = {
    0xdd, 0x99, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 6, 6, 6, 0x06, 0x80,
    0x12, 0xf6, 0x00, 0x4b, 0xd1, 0xff, 0xbc, 0x7f, 0xde, 0x3c, 0x7f, 0xff, 0xf7, 0xb1, 0xe8, 0x80,
    0x90, 0x09, 0x07, 0x57, 0xfd, 0xe3, 0xfe, 0xf1, 0xe3, 0xfe, 0xf0, 0x00, 0x84, 0x86};

static void check_example(const int32_t *px, size_t nx, size_t ny, int32_t scale, const uint8_t *stream, size_t len,
                          const int32_t *decoded)
{
    int32_t found[32];
    size_t used;
    uint8_t *const made = encode(px, nx, ny, scale, &used);

    TC_CHECK_EQ(used, len);
    TC_CHECK_BYTES(made, stream, len);
    free(made);
    for (int bits = 16; bits <= 32; bits += 16)
        for (int smooth = 0; smooth < 2; smooth++) {
            TC_CHECK_EQ(decode(stream, len, nx, ny, bits, smooth, found, &used), TC_OK);
            TC_CHECK_EQ(used, len);
            TC_CHECK_BYTES(found, decoded, nx * ny * sizeof *decoded);
        }
}

static void test_worked_examples(void)
{
    static const int32_t lossy[16] = {10, 12, 12, 12, 12, 30, 12, 12, 10, 10, 11, 13, 10, 10, 11, 13};

    check_example(square, 4, 4, 4, square_stream, sizeof square_stream, lossy);
    check_example(odd, 5, 4, 0, odd_stream, sizeof odd_stream, odd);
}

/* ---- hostile streams ---- */

static void test_cuts(void)
{
    int32_t px[20];
    size_t used;

    for (size_t len = 0; len < sizeof odd_stream; len++) {
        uint8_t *const cut = tc_exact_copy(odd_stream, len);

        TC_CHECK_EQ(decode(cut, len, 5, 4, 16, false, px, &used), TC_TRUNCATED);
        free(cut);
    }
}

static void test_trailing_bytes_are_not_used(void)
{
    uint8_t stream[sizeof odd_stream + 100];
    int32_t px[20];
    size_t used;

    memset(stream, 0xff, sizeof stream);
    memcpy(stream, odd_stream, sizeof odd_stream);
    TC_CHECK_EQ(decode(stream, sizeof stream, 5, 4, 16, false, px, &used), TC_OK);
    TC_CHECK_EQ(used, sizeof odd_stream);
    TC_CHECK_BYTES(px, odd, sizeof odd);
}

/* Each stream is in a block of its own size and gives the same status on every call. */
static void test_bit_flips(void)
{
    for (size_t bit = 0; bit < 8 * sizeof square_stream; bit++) {
        uint8_t *const flipped = tc_exact_copy(square_stream, sizeof square_stream);
        int32_t first[16] = {0}, second[16] = {0};
        size_t used, used_again;

        flipped[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
        const tc_status status = decode(flipped, sizeof square_stream, 4, 4, 32, true, first, &used);
        TC_CHECK_EQ(decode(flipped, sizeof square_stream, 4, 4, 32, true, second, &used_again), status);
        if (status == TC_OK) {
            TC_CHECK_EQ(used, used_again);
            TC_CHECK(used <= sizeof square_stream);
            TC_CHECK_BYTES(first, second, sizeof first);
        }
        if (bit < 16) TC_CHECK_EQ(status, TC_BAD_MAGIC);
        if (bit >= 16 && bit < 80) TC_CHECK_EQ(status, TC_SIZE_MISMATCH);
        free(flipped);
    }
}

static tc_status decode_changed(size_t at, uint8_t value)
{
    uint8_t stream[sizeof square_stream];
    int32_t px[16];
    size_t used;

    memcpy(stream, square_stream, sizeof stream);
    stream[at] = value;
    return decode(stream, sizeof stream, 4, 4, 16, false, px, &used);
}

static void test_refusals(void)
{
    int32_t px[16];
    size_t used;

    TC_CHECK_EQ(decode_changed(22, 16 + 2 + 2), TC_OUT_OF_RANGE);
    TC_CHECK_EQ(decode_changed(24, 255), TC_OUT_OF_RANGE);
    TC_CHECK_EQ(decode_changed(25, 0x78), TC_BAD_CODE);
    TC_CHECK_EQ(decode_changed(37, 0x80), TC_CORRUPT);
    TC_CHECK_EQ(decode(square_stream, sizeof square_stream, 2, 8, 16, false, px, &used), TC_SIZE_MISMATCH);
    TC_CHECK_EQ(decode(square_stream, sizeof square_stream, 4, 4, 12, false, px, &used), TC_BAD_PARAM);
    TC_CHECK_EQ(decode(square_stream, sizeof square_stream, 4, 0, 16, false, px, &used), TC_BAD_PARAM);
    TC_CHECK_EQ(tc_hcompress_scratch((size_t)1 << 32, (size_t)1 << 32), 0);
    TC_CHECK_EQ(tc_hcompress_bound(0, 5, 16), 0);
}

/* Restored values may leave the type: they are clipped. */
static void test_pixels_are_clipped(void)
{
    static const int32_t px[16] = {255, 255, 255, 255, 255, 0, 255, 255, 255, 255, 255, 0, 255, 255, 0, 255};
    int32_t narrow[16], wide[16];
    size_t used, n_outside = 0;
    uint8_t *const stream = encode(px, 4, 4, 100, &used);

    TC_CHECK_EQ(decode(stream, used, 4, 4, 8, false, narrow, &used), TC_OK);
    TC_CHECK_EQ(decode(stream, used, 4, 4, 32, false, wide, &used), TC_OK);
    for (size_t i = 0; i < 16; i++) {
        n_outside += wide[i] < 0 || wide[i] > 255;
        TC_CHECK_EQ(narrow[i], wide[i] < 0 ? 0 : wide[i] > 255 ? 255 : wide[i]);
    }
    TC_CHECK(n_outside > 0);
    free(stream);
}

/* ---- both ways ---- */

static void test_round_trips(void)
{
    static const size_t sizes[][2] = {{1, 1},    {1, 2},   {2, 1},     {1, 37},  {37, 1},    {2, 2},     {3, 3},
                                      {4, 4},    {5, 9},   {31, 33},   {32, 32}, {33, 65},   {64, 64},   {100, 17},
                                      {129, 4},  {7, 300}, {255, 257}, {1000, 16}, {130, 130}, {1, 1000}, {1000, 1}};
    uint64_t state = 1;

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int repeat = 0; repeat < 12; repeat++) {
            const size_t nx = sizes[s][0], ny = sizes[s][1], nbytes = nx * ny * sizeof(int32_t);
            const int bits = (int[]){8, 16, 32}[repeat % 3];
            int32_t *const px = malloc(nbytes), *const found = malloc(nbytes);
            size_t len, used;

            make_pixels(&state, nx, ny, bits, px);
            uint8_t *const made = encode(px, nx, ny, 0, &len);
            uint8_t *const stream = tc_exact_copy(made, len);
            TC_CHECK(len <= tc_hcompress_bound(nx, ny, bits));
            TC_CHECK_EQ(decode(stream, len, nx, ny, bits, repeat % 2, found, &used), TC_OK);
            TC_CHECK_EQ(used, len);
            TC_CHECK_BYTES(found, px, nbytes);
            free(stream);
            free(made);
            free(found);
            free(px);
        }
}

static void test_small_output(void)
{
    uint64_t scratch[1024];
    size_t used;

    for (size_t cap = 0; cap <= sizeof odd_stream; cap++) {
        uint8_t *const dst = malloc(cap + 1);

        dst[cap] = 0xa5;
        TC_CHECK_EQ(tc_hcompress_encode_i32(odd, 5, 4, 0, dst, cap, scratch, &used),
                    cap < sizeof odd_stream ? TC_NO_SPACE : TC_OK);
        TC_CHECK_EQ(dst[cap], 0xa5);
        free(dst);
    }
}

static void test_scratch_is_small(void)
{
    for (size_t nx = 1; nx <= 5000; nx = nx * 5 / 4 + 1)
        for (size_t ny = 1; ny <= 5000; ny = ny * 5 / 4 + 1)
            TC_CHECK(tc_hcompress_scratch(nx, ny) <= 16 * nx * ny + 4096);
}

/* ---- against libcfitsio ---- */

#ifdef TC_HAVE_CFITSIO

static void compare_encoders(const int32_t *px, size_t nx, size_t ny, int bits, int32_t scale, const uint8_t *stream,
                             size_t len)
{
    long nbytes = 16 * (long)(nx * ny) + 1024;
    char *const expected = malloc((size_t)nbytes);
    LONGLONG *const copy = malloc((nx * ny + 1) * sizeof *copy);
    int status = 0;

    if (bits == 32) {
        for (size_t i = 0; i < nx * ny; i++) copy[i] = px[i];
        fits_hcompress64(copy, (int)nx, (int)ny, scale, expected, &nbytes, &status);
    } else {
        memcpy(copy, px, nx * ny * sizeof *px);
        fits_hcompress((int *)copy, (int)nx, (int)ny, scale, expected, &nbytes, &status);
    }
    TC_CHECK_EQ(status, 0);
    TC_CHECK_EQ(len, nbytes);
    TC_CHECK_BYTES(stream, expected, len < (size_t)nbytes ? len : (size_t)nbytes);
    free(copy);
    free(expected);
}

static void compare_decoders(uint8_t *stream, size_t len, size_t nx, size_t ny, int bits, int smooth)
{
    LONGLONG *const expected = malloc(2 * (nx * ny + 16) * sizeof *expected);
    int32_t *const found = malloc(nx * ny * sizeof *found);
    int rows, columns, scale, status = 0;
    size_t used, n_different = 0;

    TC_CHECK_EQ(decode(stream, len, nx, ny, bits, smooth, found, &used), TC_OK);
    TC_CHECK_EQ(used, len);
    if (bits == 32)
        fits_hdecompress64(stream, smooth, expected, &rows, &columns, &scale, &status);
    else
        fits_hdecompress(stream, smooth, (int *)expected, &rows, &columns, &scale, &status);
    TC_CHECK_EQ(status, 0);
    for (size_t i = 0; i < nx * ny; i++) {
        int64_t v = ((int *)expected)[i]; /* 64-bit results are packed into 32 bits */

        if (bits == 16) v = v < INT16_MIN ? INT16_MIN : v > INT16_MAX ? INT16_MAX : v;
        if (bits == 8) v = v < 0 ? 0 : v > UINT8_MAX ? UINT8_MAX : v;
        n_different += v != found[i];
    }
    TC_CHECK_EQ(n_different, 0);
    free(found);
    free(expected);
}

static void compare(uint64_t *state, size_t nx, size_t ny, int bits, int32_t scale)
{
    int32_t *const px = malloc(nx * ny * sizeof *px);
    size_t len;

    /* cfitsio does not clip 32-bit pixels but lets them wrap: keep away from the ends */
    make_pixels(state, nx, ny, bits == 32 ? 31 : bits, px);
    uint8_t *const stream = encode(px, nx, ny, scale, &len);
    compare_encoders(px, nx, ny, bits, scale, stream, len);
    for (int smooth = 0; smooth < 2; smooth++) compare_decoders(stream, len, nx, ny, bits, smooth);
    free(stream);
    free(px);
}

static void test_equal_to_cfitsio(void)
{
    static const size_t large[][2] = {{4096, 16}, {256, 256}, {333, 70}, {16, 500}, {64, 64}};
    uint64_t state = 2;

    for (int repeat = 0; repeat < 3000; repeat++) {
        const size_t nx = 2 + tc_random(&state) % 39, ny = 2 + tc_random(&state) % 39;
        const int bits = (int[]){8, 16, 32}[repeat % 3];
        const int32_t scale = tc_random(&state) % 3 ? (int32_t)(tc_random(&state) % 101) : 0;

        compare(&state, nx, ny, bits, scale);
    }
    for (size_t s = 0; s < sizeof large / sizeof *large; s++)
        for (int repeat = 0; repeat < 6; repeat++)
            compare(&state, large[s][0], large[s][1], (int[]){8, 16, 32}[repeat % 3], repeat < 3 ? 0 : 20 * repeat);
}

/* Streams with a wrong bit that are still streams: the same pixels, where these are inside 32 bits. */
static void test_flipped_streams_equal_to_cfitsio(void)
{
    LONGLONG expected[2 * 144];
    int32_t px[144], found[144];
    uint64_t state = 4;
    size_t n_accepted = 0;

    for (int repeat = 0; repeat < 4000; repeat++) {
        const size_t nx = 4 + tc_random(&state) % 9, ny = 4 + tc_random(&state) % 9;
        const int smooth = repeat % 2;
        int rows, columns, scale, status = 0;
        size_t len, used, n_different = 0;

        make_pixels(&state, nx, ny, 16, px);
        uint8_t *const stream = encode(px, nx, ny, repeat % 3 ? 0 : 50, &len);
        stream[25 + tc_random(&state) % (len - 25)] ^= (uint8_t)(1 << tc_random(&state) % 8);
        if (decode(stream, len, nx, ny, 32, smooth, found, &used) == TC_OK) {
            n_accepted++;
            fits_hdecompress64(stream, smooth, expected, &rows, &columns, &scale, &status);
            TC_CHECK_EQ(status, 0);
            for (size_t i = 0; i < nx * ny; i++)
                n_different += found[i] != ((int *)expected)[i] && found[i] != INT32_MAX && found[i] != INT32_MIN;
            TC_CHECK_EQ(n_different, 0);
        }
        free(stream);
    }
    TC_CHECK(n_accepted > 400);
}

#endif

int main(void)
{
    TC_RUN(test_worked_examples);
    TC_RUN(test_cuts);
    TC_RUN(test_trailing_bytes_are_not_used);
    TC_RUN(test_bit_flips);
    TC_RUN(test_refusals);
    TC_RUN(test_pixels_are_clipped);
    TC_RUN(test_round_trips);
    TC_RUN(test_small_output);
    TC_RUN(test_scratch_is_small);
#ifdef TC_HAVE_CFITSIO
    TC_RUN(test_equal_to_cfitsio);
    TC_RUN(test_flipped_streams_equal_to_cfitsio);
#endif
    return tc_test_summary();
}
