#include "tc_gzip.h"

#include "tc_shuffle.h"
#include "tc_test.h"

static const int16_t pixels[4] = {1, 2, 3, 258};
static const uint8_t big_endian[8] = {0, 1, 0, 2, 0, 3, 1, 2};
static const uint8_t planes[8] = {0, 0, 0, 1, 1, 2, 3, 2};
/* zlib 1.2.13, level 1 */
static const uint8_t member[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3, 0x63, 0x60, 0x64, 0x60, 0x62, 0x60, 0x66,
                                 0x64, 0x02, 0x00, 0x89, 0x69, 0xc6, 0x4c, 8, 0, 0, 0};
static const uint8_t shuffled_member[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3, 0x63, 0x60, 0x60, 0x60, 0x64,
                                          0x64, 0x62, 0x66, 0x02, 0x00, 0x3d, 0x77, 0x59, 0x26, 8, 0, 0, 0};

static tc_gzip_decoder *decoder;

static tc_status decode(const uint8_t *src, size_t src_len, size_t n, size_t max_width, uint8_t *dst, size_t *width,
                        size_t *used)
{
    uint8_t *const copy = tc_exact_copy(src, src_len);
    const tc_status status = tc_gzip_decode(decoder, copy, src_len, n, max_width, dst, width, used);

    free(copy);
    return status;
}

static void test_golden_members(void)
{
    uint8_t bytes[32];
    int16_t found[4];
    size_t width, used;

    TC_CHECK_EQ(decode(member, sizeof member, 4, 8, bytes, &width, &used), TC_OK);
    TC_CHECK_EQ(width, 2);
    TC_CHECK_EQ(used, sizeof member);
    TC_CHECK_BYTES(bytes, big_endian, sizeof big_endian);
    tc_byteswap(bytes, 4, 2, found);
    TC_CHECK_BYTES(found, pixels, sizeof pixels);

    TC_CHECK_EQ(decode(shuffled_member, sizeof shuffled_member, 4, 2, bytes, &width, &used), TC_OK);
    TC_CHECK_BYTES(bytes, planes, sizeof planes);
    tc_unshuffle(bytes, 4, 2, found);
    TC_CHECK_BYTES(found, pixels, sizeof pixels);
}

static void test_width_comes_from_the_length(void)
{
    uint8_t bytes[64];
    size_t width, used;

    TC_CHECK_EQ(decode(member, sizeof member, 8, 8, bytes, &width, &used), TC_OK);
    TC_CHECK_EQ(width, 1);
    TC_CHECK_EQ(decode(member, sizeof member, 2, 8, bytes, &width, &used), TC_OK);
    TC_CHECK_EQ(width, 4);
    TC_CHECK_EQ(decode(member, sizeof member, 1, 8, bytes, &width, &used), TC_OK);
    TC_CHECK_EQ(width, 8);
    TC_CHECK_EQ(decode(member, sizeof member, 3, 8, bytes, &width, &used), TC_SIZE_MISMATCH);
    TC_CHECK_EQ(decode(member, sizeof member, 4, 1, bytes, &width, &used), TC_SIZE_MISMATCH);
    TC_CHECK_EQ(decode(member, sizeof member, 5, 8, bytes, &width, &used), TC_SIZE_MISMATCH);
    TC_CHECK_EQ(decode(member, sizeof member, SIZE_MAX / 2, 8, bytes, &width, &used), TC_BAD_PARAM);
    TC_CHECK_EQ(decode(member, sizeof member, 4, 3, bytes, &width, &used), TC_BAD_PARAM);
}

/* Only the first member counts: what follows is the caller's business. */
static void test_bytes_after_the_member_are_not_used(void)
{
    uint8_t two[2 * sizeof member], bytes[8];
    size_t width, used;

    memcpy(two, member, sizeof member);
    memcpy(two + sizeof member, member, sizeof member);
    TC_CHECK_EQ(decode(two, sizeof two, 4, 2, bytes, &width, &used), TC_OK);
    TC_CHECK_EQ(used, sizeof member);
}

static void check_every_cut(const uint8_t *src, size_t src_len, size_t n)
{
    uint8_t *const bytes = malloc(n);

    for (size_t cut = 0; cut < src_len; cut += 1 + cut / 100) {
        size_t width, used;

        TC_CHECK(decode(src, cut, n, 1, bytes, &width, &used) != TC_OK);
    }
    free(bytes);
}

/* Stored, fixed and dynamic blocks: what libdeflate makes of these at its levels 0 and 1, and with few bytes. */
static void test_every_cut_is_told_as_such(void)
{
    static uint8_t src[3000], dst[4000];
    uint64_t seed = 8;

    for (size_t i = 0; i < sizeof src; i++) src[i] = (uint8_t)(tc_random(&seed) % 5 * (i % 7));
    check_every_cut(member, sizeof member, 8);
    for (int level = 0; level < 2; level++)
        for (size_t n = 20; n <= sizeof src; n *= 12) {
            tc_gzip_encoder *const encoder = tc_gzip_encoder_new(level);
            size_t used;

            TC_CHECK_EQ(tc_gzip_encode(encoder, src, n, n, dst, sizeof dst, &used), TC_OK);
            check_every_cut(dst, used, n);
            tc_gzip_encoder_free(encoder);
        }
}

static void test_every_field_of_the_header_may_be_cut(void)
{
    static const uint8_t full[] = {0x1f, 0x8b, 8, 0x1e, 0, 0, 0, 0, 4, 3, 3, 0, 'a', 'b', 'c', 'n', 'a', 'm', 'e', 0,
                                   'n', 'o', 't', 'e', 0, 0x12, 0x34, 0x03, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    uint8_t bytes[1];
    size_t width, used;

    for (size_t cut = 0; cut < sizeof full; cut++) TC_CHECK(decode(full, cut, 0, 1, bytes, &width, &used) != TC_OK);
    TC_CHECK_EQ(decode(full, sizeof full, 0, 1, bytes, &width, &used), TC_OK);
}

static void test_a_wrong_checksum_is_told_as_such(void)
{
    for (size_t byte = sizeof member - 8; byte < sizeof member; byte++) {
        uint8_t changed[sizeof member], bytes[32];
        size_t width, used;

        memcpy(changed, member, sizeof member);
        changed[byte] ^= 0x10;
        TC_CHECK_EQ(decode(changed, sizeof changed, 4, 8, bytes, &width, &used), TC_CORRUPT);
    }
}

/* A flipped bit shows, save in the bytes of the header that say when and where the member was made. */
static void test_every_flip_is_an_error_or_harmless(void)
{
    for (size_t bit = 0; bit < 8 * sizeof member; bit++) {
        uint8_t flipped[sizeof member], bytes[32];
        size_t width, used;
        tc_status status;

        memcpy(flipped, member, sizeof member);
        flipped[bit / 8] ^= (uint8_t)(1u << bit % 8);
        status = decode(flipped, sizeof flipped, 4, 8, bytes, &width, &used);
        if (status == TC_OK) TC_CHECK_BYTES(bytes, big_endian, sizeof big_endian);
        if (bit / 8 < 2) TC_CHECK_EQ(status, TC_CORRUPT);
        if (bit / 8 >= 20) TC_CHECK(status != TC_OK);
    }
}

static void test_round_trip_at_every_level(void)
{
    enum { N = 5000 };
    static uint8_t src[N], back[N];
    const size_t cap = tc_gzip_bound(N);
    uint8_t *const dst = malloc(cap);
    uint64_t seed = 1;

    for (size_t i = 0; i < N; i++) src[i] = (uint8_t)(tc_random(&seed) % 7);
    for (int level = 0; level <= 12; level++) {
        tc_gzip_encoder *const encoder = tc_gzip_encoder_new(level);
        size_t used, width, consumed;

        TC_CHECK_EQ(tc_gzip_encode(encoder, src, N, N, dst, cap, &used), TC_OK);
        TC_CHECK_BYTES(dst, "\x1f\x8b\x08\0\0\0\0\0", 8); /* no name, time 0 */
        TC_CHECK_EQ(decode(dst, used, N, 1, back, &width, &consumed), TC_OK);
        TC_CHECK_EQ(consumed, used);
        TC_CHECK_BYTES(back, src, N);
        TC_CHECK_EQ(tc_gzip_encode(encoder, src, N, N, dst, used - 8, &consumed), TC_NO_SPACE);
        tc_gzip_encoder_free(encoder);
    }
    free(dst);
    TC_CHECK(tc_gzip_encoder_new(-1) == NULL);
    TC_CHECK(tc_gzip_encoder_new(13) == NULL);
}

int main(void)
{
    decoder = tc_gzip_decoder_new();
    TC_RUN(test_golden_members);
    TC_RUN(test_width_comes_from_the_length);
    TC_RUN(test_bytes_after_the_member_are_not_used);
    TC_RUN(test_every_cut_is_told_as_such);
    TC_RUN(test_every_field_of_the_header_may_be_cut);
    TC_RUN(test_a_wrong_checksum_is_told_as_such);
    TC_RUN(test_every_flip_is_an_error_or_harmless);
    TC_RUN(test_round_trip_at_every_level);
    tc_gzip_decoder_free(decoder);
    return tc_test_summary();
}
