/* tc_encode: tiles that come back through the decoders, refusals, bounds.  tests/test_encode.py compares the bytes with
 * fpack's. */
#include "tc_encode.h"

#include <math.h>

#include "tc_gzip.h"
#include "tc_hcompress.h"
#include "tc_plio.h"
#include "tc_rice.h"
#include "tc_shuffle.h"
#include "tc_test.h"

enum { NY = 21, NX = 37, TILE_Y = 8, TILE_X = 15, N_TILES = 9 };

static tc_encode_image image_of(const void *pixels, tc_type type, tc_algorithm algorithm)
{
    const int64_t width = (int64_t)tc_type_size(type);

    return (tc_encode_image){
        .pixels = pixels, .type = type, .n_axes = 2, .shape = {NY, NX}, .tile_shape = {TILE_Y, TILE_X},
        .stride = {NX * width, width}, .algorithm = algorithm, .bytepix = (uint32_t)width, .blocksize = 32,
        .gzip_level = 1, .request = {.q = 4, .zblank = INT32_MIN, .zdither0 = 1},
    };
}

static int16_t pixels[NY][NX];

static void make_pixels(void)
{
    uint64_t seed = 9;

    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++) pixels[y][x] = (int16_t)(500 + x + (int)(tc_random(&seed) % 40));
}

static void decode_tile(tc_algorithm algorithm, const uint8_t *src, size_t len, size_t nx, size_t ny, int16_t *found)
{
    const size_t n = nx * ny;
    int32_t wide[TILE_X * TILE_Y];
    int16_t bytes[TILE_X * TILE_Y];
    tc_gzip_decoder *decoder;
    size_t used, done, width;
    void *scratch;

    switch (algorithm) {
    case TC_RICE_1: TC_CHECK_EQ(tc_rice_decode_i16(src, len, 32, found, n, &used, &done), TC_OK); break;
    case TC_PLIO_1: TC_CHECK_EQ(tc_plio_decode_i16(src, len, 0, found, n, &used, &done), TC_OK); break;
    case TC_HCOMPRESS_1:
        scratch = malloc(tc_hcompress_scratch(nx, ny));
        TC_CHECK_EQ(tc_hcompress_decode_i32(src, len, nx, ny, 16, false, wide, scratch, &used), TC_OK);
        for (size_t i = 0; i < n; i++) found[i] = (int16_t)wide[i];
        free(scratch);
        break;
    case TC_GZIP_1:
    case TC_GZIP_2:
        decoder = tc_gzip_decoder_new();
        TC_CHECK_EQ(tc_gzip_decode(decoder, src, len, n, 2, (uint8_t *)bytes, &width, &used), TC_OK);
        TC_CHECK_EQ(width, 2);
        if (algorithm == TC_GZIP_2) tc_unshuffle((const uint8_t *)bytes, n, 2, found);
        else tc_byteswap(bytes, n, 2, found);
        tc_gzip_decoder_free(decoder);
        break;
    case TC_NOCOMPRESS:
        used = len;
        TC_CHECK_EQ(len, 2 * n);
        tc_byteswap(src, n, 2, found);
        break;
    }
    TC_CHECK_EQ(used, len);
}

static void check_tiles(const tc_encode_image *image)
{
    const size_t cap = tc_encode_bound(image, N_TILES);
    uint8_t *const dst = malloc(cap);
    tc_encoded_tile tiles[N_TILES];
    const uint8_t *src = dst;
    size_t used;

    TC_CHECK_EQ(tc_encode_check(image), TC_OK);
    TC_CHECK_EQ(tc_encode_tile_count(image), N_TILES);
    TC_CHECK_EQ(tc_encode_tiles(image, 0, N_TILES, dst, cap, tiles, &used), TC_OK);
    for (int t = 0; t < N_TILES; t++) {
        const int y0 = t / 3 * TILE_Y, x0 = t % 3 * TILE_X;
        const size_t ny = (size_t)(NY - y0 < TILE_Y ? NY - y0 : TILE_Y), nx = (size_t)(NX - x0 < TILE_X ? NX - x0 : TILE_X);
        int16_t found[TILE_X * TILE_Y];

        TC_CHECK_EQ(tiles[t].status, TC_OK);
        TC_CHECK_EQ(tiles[t].column, image->algorithm == TC_NOCOMPRESS ? TC_COLUMN_UNCOMPRESSED : TC_COLUMN_COMPRESSED);
        decode_tile(image->algorithm, src, (size_t)tiles[t].nbytes, nx, ny, found);
        for (size_t y = 0; y < ny; y++) TC_CHECK_BYTES(found + y * nx, &pixels[y0 + (int)y][x0], nx * sizeof *found);
        src += tiles[t].nbytes;
    }
    TC_CHECK_EQ(used, src - dst);
    free(dst);
}

static void test_tiles_come_back(void)
{
    for (int algorithm = TC_RICE_1; algorithm <= TC_NOCOMPRESS; algorithm++) {
        const tc_encode_image image = image_of(pixels, TC_I16, (tc_algorithm)algorithm);

        check_tiles(&image);
    }
}

/* Bytes swapped, unsigned, or backwards in memory: the tiles are the same. */
static void test_other_arrays_of_the_same_pixels(void)
{
    static int16_t swapped[NY][NX], flipped[NY][NX], turned[NY][NX];
    tc_encode_image image = image_of(swapped, TC_I16, TC_RICE_1);

    tc_byteswap(pixels, NY * NX, 2, swapped);
    image.swap = true;
    check_tiles(&image);

    for (int i = 0; i < NY * NX; i++) ((uint16_t *)flipped)[i] = (uint16_t)(((uint16_t *)pixels)[i] ^ 0x8000u);
    image = image_of(flipped, TC_U16, TC_RICE_1);
    check_tiles(&image);

    for (int i = 0; i < NY * NX; i++) ((int16_t *)turned)[NY * NX - 1 - i] = ((int16_t *)pixels)[i];
    image = image_of(&turned[NY - 1][NX - 1], TC_I16, TC_RICE_1);
    image.stride[0] = -image.stride[0];
    image.stride[1] = -image.stride[1];
    check_tiles(&image);
}

static void test_tiles_one_by_one_are_the_same(void)
{
    const tc_encode_image image = image_of(pixels, TC_I16, TC_HCOMPRESS_1);
    uint8_t whole[20000], single[20000];
    tc_encoded_tile tiles[N_TILES], one;
    size_t used, offset = 0, used_one;

    TC_CHECK_EQ(tc_encode_tiles(&image, 0, N_TILES, whole, sizeof whole, tiles, &used), TC_OK);
    for (int t = 0; t < N_TILES; t++) {
        TC_CHECK_EQ(tc_encode_tiles(&image, t, 1, single, sizeof single, &one, &used_one), TC_OK);
        TC_CHECK_EQ(one.nbytes, tiles[t].nbytes);
        TC_CHECK_BYTES(single, whole + offset, used_one);
        offset += used_one;
    }
}

static void test_refused_tiles_are_gzipped_floats(void)
{
    float floats[NY][NX];
    tc_encode_image image = image_of(floats, TC_F32, TC_RICE_1);
    tc_encoded_tile tiles[N_TILES];
    uint8_t dst[30000], bytes[4 * TILE_X * TILE_Y];
    size_t used, width, consumed;

    image.quantized = true;
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++) floats[y][x] = (float)pixels[y][x];
    floats[0][1] = INFINITY;
    floats[0][2] = NAN;
    floats[NY - 1][NX - 1] = NAN;
    TC_CHECK_EQ(tc_encode_check(&image), TC_OK);
    TC_CHECK_EQ(tc_encode_tiles(&image, 0, N_TILES, dst, sizeof dst, tiles, &used), TC_OK);
    for (int t = 0; t < N_TILES; t++) {
        TC_CHECK_EQ(tiles[t].status, TC_OK);
        TC_CHECK_EQ(tiles[t].column, t ? TC_COLUMN_COMPRESSED : TC_COLUMN_GZIP);
        TC_CHECK_EQ(tiles[t].has_null, t == 0 || t == N_TILES - 1);
        TC_CHECK(t ? tiles[t].zscale > 0 : tiles[t].zscale == 0 && tiles[t].zzero == 0);
    }

    tc_gzip_decoder *const decoder = tc_gzip_decoder_new();

    TC_CHECK_EQ(tc_gzip_decode(decoder, dst, (size_t)tiles[0].nbytes, TILE_X * TILE_Y, 4, bytes, &width, &consumed), TC_OK);
    tc_byteswap(bytes, TILE_X * TILE_Y, 4, bytes);
    TC_CHECK_BYTES(bytes, floats[0], TILE_X * sizeof(float));
    tc_gzip_decoder_free(decoder);
}

static void test_a_pixel_out_of_range_spoils_its_tile_only(void)
{
    static int16_t with_negative[NY][NX];
    const tc_encode_image image = image_of(with_negative, TC_I16, TC_PLIO_1);
    tc_encoded_tile tiles[N_TILES];
    uint8_t dst[40000];
    size_t used;

    memcpy(with_negative, pixels, sizeof pixels);
    with_negative[10][20] = -1;
    TC_CHECK_EQ(tc_encode_tiles(&image, 0, N_TILES, dst, sizeof dst, tiles, &used), TC_OK);
    for (int t = 0; t < N_TILES; t++) TC_CHECK_EQ(tiles[t].status, t == 4 ? TC_OUT_OF_RANGE : TC_OK);
    TC_CHECK_EQ(tiles[4].nbytes, 0);
}

/* Random pixels are the worst case; edge tiles of one pixel's width are seen as other planes. */
static void test_bounds_hold(void)
{
    static int32_t noise[NY][NX];
    uint64_t seed = 5;

    for (int i = 0; i < NY * NX; i++) ((int32_t *)noise)[i] = (int32_t)tc_random(&seed);
    for (int algorithm = TC_RICE_1; algorithm <= TC_NOCOMPRESS; algorithm++)
        for (int64_t tile_x = 1; tile_x <= NX; tile_x += 4)
            for (int64_t tile_y = 1; tile_y <= NY; tile_y += 5) {
                tc_encode_image image = image_of(noise, TC_I32, (tc_algorithm)algorithm);
                uint8_t *dst;
                tc_encoded_tile *tiles;
                size_t used, n;

                if (algorithm == TC_PLIO_1) continue;
                image.tile_shape[0] = tile_y;
                image.tile_shape[1] = tile_x;
                image.hcompress_scale = tile_x % 3 == 0 ? 0.01f : 0;
                n = (size_t)tc_encode_tile_count(&image);
                dst = malloc(tc_encode_bound(&image, n));
                tiles = malloc(n * sizeof *tiles);
                TC_CHECK_EQ(tc_encode_tiles(&image, 0, n, dst, tc_encode_bound(&image, n), tiles, &used), TC_OK);
                for (size_t t = 0; t < n; t++) TC_CHECK_EQ(tiles[t].status, TC_OK);
                free(dst);
                free(tiles);
            }
}

static void test_too_little_room(void)
{
    for (int algorithm = TC_RICE_1; algorithm <= TC_NOCOMPRESS; algorithm++) {
        const tc_encode_image image = image_of(pixels, TC_I16, (tc_algorithm)algorithm);
        tc_encoded_tile tiles[N_TILES];
        uint8_t *const dst = malloc(40);
        size_t used;

        TC_CHECK_EQ(tc_encode_tiles(&image, 0, N_TILES, dst, 40, tiles, &used), TC_OK);
        TC_CHECK_EQ(tiles[0].status, TC_NO_SPACE);
        TC_CHECK(used <= 40);
        free(dst);
    }
}

static void test_settings_that_do_not_fit(void)
{
    tc_encode_image image = image_of(pixels, TC_I16, TC_RICE_1);

#define CHECK_SETTING(change, expected)                                                                                \
    do {                                                                                                               \
        const tc_encode_image saved = image;                                                                           \
        change;                                                                                                        \
        TC_CHECK_EQ(tc_encode_check(&image), expected);                                                                \
        image = saved;                                                                                                 \
    } while (0)

    CHECK_SETTING(image.bytepix = 1, TC_BAD_PARAM);
    CHECK_SETTING(image.bytepix = 8, TC_BAD_PARAM);
    CHECK_SETTING(image.bytepix = 4, TC_OK);
    CHECK_SETTING(image.blocksize = 0, TC_BAD_PARAM);
    CHECK_SETTING(image.quantized = true, TC_BAD_PARAM);
    CHECK_SETTING(image.n_axes = 0, TC_BAD_PARAM);
    CHECK_SETTING(image.n_axes = TC_MAX_AXES + 1, TC_BAD_PARAM);
    CHECK_SETTING(image.shape[0] = -1, TC_BAD_PARAM);
    CHECK_SETTING(image.tile_shape[1] = 0, TC_BAD_PARAM);
    CHECK_SETTING(image.shape[0] = image.shape[1] = INT64_MAX, TC_UNSUPPORTED);
    CHECK_SETTING((image.shape[0] = image.tile_shape[0] = 65536, image.shape[1] = image.tile_shape[1] = 65536), TC_UNSUPPORTED);
    CHECK_SETTING(image.type = TC_I64, TC_UNSUPPORTED);
    CHECK_SETTING(image.type = TC_F32, TC_UNSUPPORTED);
    CHECK_SETTING((image.type = TC_F32, image.quantized = true, image.bytepix = 4), TC_OK);
    CHECK_SETTING((image.type = TC_F32, image.quantized = true, image.bytepix = 4, image.request.q = NAN), TC_BAD_PARAM);
    CHECK_SETTING((image.type = TC_F32, image.quantized = true, image.algorithm = TC_NOCOMPRESS), TC_BAD_PARAM);
    CHECK_SETTING(image.hcompress_scale = INFINITY, TC_BAD_PARAM);
    CHECK_SETTING(image.first_row = -1, TC_BAD_PARAM);
}

int main(void)
{
    make_pixels();
    TC_RUN(test_tiles_come_back);
    TC_RUN(test_other_arrays_of_the_same_pixels);
    TC_RUN(test_tiles_one_by_one_are_the_same);
    TC_RUN(test_refused_tiles_are_gzipped_floats);
    TC_RUN(test_a_pixel_out_of_range_spoils_its_tile_only);
    TC_RUN(test_bounds_hold);
    TC_RUN(test_too_little_room);
    TC_RUN(test_settings_that_do_not_fit);
    return tc_test_summary();
}
