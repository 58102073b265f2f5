#include "tc_plio.h"

#include <stdbool.h>

#include "tc_test.h"

#ifdef TC_HAVE_CFITSIO
#include <fitsio2.h>
#endif

#define MOST_PIXELS 20000

static uint8_t *bytes_of(const uint16_t *words, size_t n)
{
    uint8_t *const bytes = malloc(2 * n + 1);

    for (size_t i = 0; i < n; i++) {
        bytes[2 * i] = (uint8_t)(words[i] >> 8);
        bytes[2 * i + 1] = (uint8_t)words[i];
    }
    return bytes;
}

/* Encode into a block of exactly the bound; free() it. */
static uint8_t *encode(const int32_t *px, size_t n, size_t *used)
{
    uint8_t *const list = malloc(tc_plio_bound(n));

    TC_CHECK_EQ(tc_plio_encode_i32(px, n, 0, list, tc_plio_bound(n), used), TC_OK);
    return list;
}

static tc_status decode_words(const uint16_t *words, size_t n_words, int32_t *px, size_t n)
{
    size_t used, done;
    uint8_t *const list = bytes_of(words, n_words), *const exact = tc_exact_copy(list, 2 * n_words);
    const tc_status status = tc_plio_decode_i32(exact, 2 * n_words, 0, px, n, &used, &done);

    if (status == TC_OK) TC_CHECK_EQ(done, n);
    free(exact);
    free(list);
    return status;
}

/* ---- worked examples ---- */

static void check_example(const int32_t *px, size_t n, const uint16_t *instructions, size_t n_instructions)
{
    const size_t n_words = 7 + n_instructions;
    uint16_t words[64] = {0, 7, 0xff9c, (uint16_t)n_words};
    int32_t *const found = malloc((n + 1) * sizeof *found);
    size_t len, used, done;

    memcpy(words + 7, instructions, 2 * n_instructions);
    uint8_t *const expected = bytes_of(words, n_words), *const made = encode(px, n, &len);
    TC_CHECK_EQ(len, 2 * n_words);
    TC_CHECK_BYTES(made, expected, 2 * n_words);
    TC_CHECK_EQ(tc_plio_decode_i32(expected, 2 * n_words, 0, found, n, &used, &done), TC_OK);
    TC_CHECK_EQ(used, 2 * n_words);
    TC_CHECK_EQ(done, n);
    TC_CHECK_BYTES(found, px, n * sizeof *px);
    free(made);
    free(expected);
    free(found);
}

static void test_worked_examples(void)
{
    static const int32_t mixed[13] = {0, 0, 0, 5, 5, 0, 0, 7, 8, 0, 0, 20000, 0};
    static const uint16_t mixed_words[10] = {0x2004, 0x0003, 0x4002, 0x2002, 0x5003,
                                             0x6001, 0x1e20, 0x0004, 0x5003, 0x0001};

    check_example(mixed, 13, mixed_words, 10);
    check_example((int32_t[]){1, 1, 0, 1}, 4, (uint16_t[]){0x4002, 0x5002}, 2);
    check_example((int32_t[]){0, 0, 0, 0}, 4, (uint16_t[]){0x0004}, 1);
    check_example((int32_t[]){3}, 1, (uint16_t[]){0x6002}, 1);
}

/* cfitsio makes 0x6000 of a full run of zeros and a single pixel, and loses the zeros. */
static void test_full_run_of_zeros_before_a_pixel(void)
{
    static const uint16_t words[4] = {0x2004, 0x0fff, 0x4001, 0x0003};
    static const uint16_t twice[5] = {0x2004, 0x0fff, 0x0fff, 0x4001, 0x0003};
    int32_t px[8194] = {0};

    px[4095] = 5;
    check_example(px, 4099, words, 4);
    px[4095] = 0;
    px[8190] = 5;
    check_example(px, 8194, twice, 5);
}

static void test_old_head(void)
{
    int32_t px[5];

    TC_CHECK_EQ(decode_words((uint16_t[]){0, 0, 5, 0x0002, 0x6004}, 5, px, 5), TC_OK);
    TC_CHECK_BYTES(px, ((int32_t[]){0, 0, 5, 0, 0}), sizeof px);
    TC_CHECK_EQ(decode_words((uint16_t[]){0, 0, 6, 0x0002, 0x6004}, 5, px, 5), TC_TRUNCATED);
}

static void test_longer_head(void)
{
    int32_t px[2];

    TC_CHECK_EQ(decode_words((uint16_t[]){0, 9, 0xff9c, 10, 0, 0, 0, 77, 78, 0x4002}, 10, px, 2), TC_OK);
    TC_CHECK_BYTES(px, ((int32_t[]){1, 1}), sizeof px);
}

/* ---- hostile lists ---- */

static void test_refusals(void)
{
    static const struct {
        uint16_t words[10];
        size_t n;
        tc_status expected;
    } cases[] = {
        {{0}, 0, TC_TRUNCATED},
        {{0, 7}, 2, TC_TRUNCATED},
        {{0, 7, 0xff9c, 7, 0, 0}, 6, TC_TRUNCATED},
        {{0, 7, 0xff9c, 8, 0, 0, 0}, 7, TC_TRUNCATED},
        {{0, 7, 0xff9b, 7, 0, 0, 0}, 7, TC_CORRUPT},
        {{0, 7, 0, 7, 0, 0, 0}, 7, TC_CORRUPT},
        {{0, 0xffff, 0xff9c, 7, 0, 0, 0}, 7, TC_CORRUPT},
        {{0, 0, 0xff9c, 7, 0, 0, 0}, 7, TC_CORRUPT},
        {{0, 8, 0xff9c, 7, 0, 0, 0, 0}, 8, TC_CORRUPT},
        {{0, 7, 0xff9c, 0xffff, 0, 0, 0}, 7, TC_CORRUPT},
        {{0, 7, 0xff9c, 8, 0, 0, 0, 0x8001}, 8, TC_BAD_CODE},
        {{0, 7, 0xff9c, 8, 0, 0, 0, 0xf001}, 8, TC_BAD_CODE},
        {{0, 7, 0xff9c, 8, 0, 0, 0, 0x1001}, 8, TC_TRUNCATED},
        {{0, 7, 0xff9c, 9, 0, 0, 0, 0x1001, 0x1000}, 9, TC_OUT_OF_RANGE},
        {{0, 7, 0xff9c, 9, 0, 0, 0, 0x1001, 0xffff}, 9, TC_OUT_OF_RANGE},
        {{0, 7, 0xff9c, 8, 0, 0, 0, 0x3002}, 8, TC_OUT_OF_RANGE},
        {{0, 7, 0xff9c, 10, 0, 0, 0, 0x1fff, 0x0fff, 0x2001}, 10, TC_OUT_OF_RANGE},
    };
    int32_t px[4];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        TC_CHECK_EQ(decode_words(cases[i].words, cases[i].n, px, 4), cases[i].expected);
}

static void test_done_tells_how_far(void)
{
    static const uint16_t words[10] = {0, 7, 0xff9c, 10, 0, 0, 0, 0x4003, 0x8000, 0x4001};
    int32_t px[9] = {0};
    size_t used, done;
    uint8_t *const list = bytes_of(words, 10);

    TC_CHECK_EQ(tc_plio_decode_i32(list, 20, 0, px, 9, &used, &done), TC_BAD_CODE);
    TC_CHECK_EQ(done, 3);
    TC_CHECK_EQ(px[2], 1);
    TC_CHECK_EQ(tc_plio_decode_i32(list, 20, 0, px, 3, &used, &done), TC_OK);
    TC_CHECK_EQ(done, 3);
    free(list);
}

static void test_cuts_and_bit_flips(void)
{
    static const int32_t mixed[13] = {0, 0, 0, 5, 5, 0, 0, 7, 8, 0, 0, 20000, 0};
    int32_t px[13];
    size_t len, used, done;
    uint8_t *const list = encode(mixed, 13, &len);

    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *const part = tc_exact_copy(list, cut);
        TC_CHECK_EQ(tc_plio_decode_i32(part, cut, 0, px, 13, &used, &done), TC_TRUNCATED);
        free(part);
    }
    for (size_t bit = 0; bit < 8 * len; bit++) {
        uint8_t *const flipped = tc_exact_copy(list, len);

        flipped[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
        if (tc_plio_decode_i32(flipped, len, 0, px, 13, &used, &done) == TC_OK) {
            TC_CHECK(used <= len);
            TC_CHECK_EQ(done, 13);
        } else {
            TC_CHECK(done < 13);
        }
        free(flipped);
    }
    free(list);
}

/* ---- types ---- */

static void test_offset_and_clipping(void)
{
    static const int32_t px[7] = {0, 1, 255, 256, 40000, 70000, 0};
    int16_t shorts[7];
    uint8_t bytes[7];
    int32_t words[7];
    size_t len, used, done;
    uint8_t *const list = encode(px, 7, &len);

    TC_CHECK_EQ(tc_plio_decode_i16(list, len, 0, shorts, 7, &used, &done), TC_OK);
    TC_CHECK_BYTES(shorts, ((int16_t[]){0, 1, 255, 256, 32767, 32767, 0}), sizeof shorts);
    TC_CHECK_EQ(tc_plio_decode_i16(list, len, 32768, shorts, 7, &used, &done), TC_OK);
    TC_CHECK_BYTES(shorts, ((int16_t[]){-32768, -32767, -32513, -32512, 7232, 32767, -32768}), sizeof shorts);
    TC_CHECK_EQ(tc_plio_decode_u8(list, len, 0, bytes, 7, &used, &done), TC_OK);
    TC_CHECK_BYTES(bytes, ((uint8_t[]){0, 1, 255, 255, 255, 255, 0}), sizeof bytes);
    TC_CHECK_EQ(tc_plio_decode_i32(list, len, 1, words, 7, &used, &done), TC_OK);
    TC_CHECK_BYTES(words, ((int32_t[]){-1, 0, 254, 255, 39999, 69999, -1}), sizeof words);
    free(list);

    uint8_t moved[64];
    TC_CHECK_EQ(tc_plio_encode_i32((int32_t[]){-32768, 32767}, 2, 32768, moved, sizeof moved, &used), TC_OK);
    TC_CHECK_EQ(tc_plio_decode_i16(moved, used, 32768, shorts, 2, &used, &done), TC_OK);
    TC_CHECK_BYTES(shorts, ((int16_t[]){-32768, 32767}), 4);
}

static void test_encoder_limits(void)
{
    uint8_t list[64];
    size_t used;

    TC_CHECK_EQ(tc_plio_encode_i32((int32_t[]){0, -1}, 2, 0, list, sizeof list, &used), TC_OUT_OF_RANGE);
    TC_CHECK_EQ(tc_plio_encode_i32((int32_t[]){1 << 24}, 1, 0, list, sizeof list, &used), TC_OUT_OF_RANGE);
    TC_CHECK_EQ(tc_plio_encode_i32((int32_t[]){INT32_MAX}, 1, INT32_MAX, list, sizeof list, &used), TC_OUT_OF_RANGE);
    TC_CHECK_EQ(tc_plio_encode_i32((int32_t[]){INT32_MIN}, 1, INT32_MIN, list, sizeof list, &used), TC_OUT_OF_RANGE);
    for (size_t cap = 0; cap < 16; cap++) {
        memset(list, 0xa5, sizeof list);
        TC_CHECK_EQ(tc_plio_encode_i32((int32_t[]){3}, 1, 0, list, cap, &used), TC_NO_SPACE);
        TC_CHECK_EQ(list[cap], 0xa5);
    }
    /* three words a pixel */
    int32_t jumps[100];
    for (int i = 0; i < 100; i++) jumps[i] = i % 2 ? TC_PLIO_MAX_VALUE : 5000;
    free(encode(jumps, 100, &used));
    TC_CHECK_EQ(used, tc_plio_bound(100));
}

/* ---- random masks ---- */

static size_t make_pixels(uint64_t *state, int32_t *px)
{
    const size_t n = 1 + tc_random(state) % MOST_PIXELS;
    const uint64_t longest = (uint64_t)1 << tc_random(state) % 14;
    const unsigned shift = tc_random(state) % 24;

    for (size_t i = 0; i < n;) {
        const int32_t value = tc_random(state) % 2 ? (int32_t)((tc_random(state) & TC_PLIO_MAX_VALUE) >> shift) : 0;

        for (size_t end = i + 1 + tc_random(state) % longest; i < n && i < end; i++) px[i] = value;
    }
    return n;
}

static bool hits_the_bug_of_cfitsio(const int32_t *px, size_t n)
{
    size_t zeros = 0;

    for (size_t i = 0; i < n; i++) {
        if (px[i] != 0 && zeros > 0 && zeros % 4095 == 0 && (i + 1 == n || px[i + 1] != px[i])) return true;
        zeros = px[i] == 0 ? zeros + 1 : 0;
    }
    return false;
}

#ifdef TC_HAVE_CFITSIO
static void compare_with_cfitsio(int32_t *px, size_t n, const uint8_t *list, size_t len)
{
    short *const words = malloc(sizeof *words * (3 * n + 32));
    int32_t *const found = malloc(n * sizeof *found);
    size_t n_different = 0;

    const int n_words = pl_p2li(px, 1, words, (int)n);
    TC_CHECK_EQ(n_words * 2, len);
    for (int i = 0; i < n_words; i++) n_different += words[i] != (short)(list[2 * i] << 8 | list[2 * i + 1]);
    TC_CHECK_EQ(n_different, 0);
    pl_l2pi(words, 1, found, (int)n);
    TC_CHECK_BYTES(found, px, n * sizeof *px);
    free(found);
    free(words);
}
#endif

static void test_random_masks(void)
{
    static int32_t px[MOST_PIXELS], found[MOST_PIXELS];
    uint64_t state = 3;

    for (int repeat = 0; repeat < 400; repeat++) {
        const size_t n = make_pixels(&state, px), part = 1 + tc_random(&state) % n;
        size_t len, used, done;
        uint8_t *const made = encode(px, n, &len), *const list = tc_exact_copy(made, len);

        TC_CHECK_EQ(tc_plio_decode_i32(list, len, 0, found, n, &used, &done), TC_OK);
        TC_CHECK_EQ(used, len);
        TC_CHECK_BYTES(found, px, n * sizeof *px);
        memset(found, 0xa5, sizeof found);
        TC_CHECK_EQ(tc_plio_decode_i32(list, len, 0, found, part, &used, &done), TC_OK);
        TC_CHECK_BYTES(found, px, part * sizeof *px);
        if (part < MOST_PIXELS) TC_CHECK_EQ(found[part], (int32_t)0xa5a5a5a5);
#ifdef TC_HAVE_CFITSIO
        if (!hits_the_bug_of_cfitsio(px, n)) compare_with_cfitsio(px, n, list, len);
#endif
        free(list);
        free(made);
    }
}

int main(void)
{
    TC_RUN(test_worked_examples);
    TC_RUN(test_full_run_of_zeros_before_a_pixel);
    TC_RUN(test_old_head);
    TC_RUN(test_longer_head);
    TC_RUN(test_refusals);
    TC_RUN(test_done_tells_how_far);
    TC_RUN(test_cuts_and_bit_flips);
    TC_RUN(test_offset_and_clipping);
    TC_RUN(test_encoder_limits);
    TC_RUN(test_random_masks);
    return tc_test_summary();
}
