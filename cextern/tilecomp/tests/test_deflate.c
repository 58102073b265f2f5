/* tc_deflate: streams that libdeflate inflates to the same bytes, equal at every CPU level, no longer than their bound. */
#include "tc_deflate.h"

#include <libdeflate.h>

#include "tc_deflate_paths.h"
#include "tc_gzip.h"
#include "tc_huffman.h"
#include "tc_test.h"

enum { ROOM = 200000 };

static uint8_t src[ROOM], dst[2 * ROOM], other[2 * ROOM], back[ROOM];
static struct libdeflate_decompressor *inflater;
static uint64_t seed = 77;

static void check_inflates(const uint8_t *stream, size_t used, size_t n)
{
    uint8_t *const copy = tc_exact_copy(stream, used);
    size_t consumed, nbytes;

    memset(back, 0xaa, n);
    TC_CHECK_EQ(libdeflate_deflate_decompress_ex(inflater, copy, used, back, n, &consumed, &nbytes), LIBDEFLATE_SUCCESS);
    TC_CHECK_EQ(consumed, used);
    TC_CHECK_EQ(nbytes, n);
    TC_CHECK_BYTES(back, src, n);
    free(copy);
}

/* Deflate the first n bytes of src at every level of this machine; the length of the stream. */
static size_t check(size_t n, size_t plane)
{
    uint8_t *const exact = tc_exact_copy(src, n), *const out = malloc(tc_deflate_bound(n));
    size_t used, first_used = 0;

    for (tc_cpu cpu = TC_CPU_PORTABLE; cpu <= tc_cpu_detect(); cpu++) {
        tc_deflate_encoder *const encoder = tc_deflate_encoder_new(cpu);

        TC_CHECK_EQ(tc_deflate(encoder, exact, n, plane, out, tc_deflate_bound(n), &used), TC_OK);
        if (cpu == TC_CPU_PORTABLE) {
            first_used = used;
            memcpy(dst, out, used);
        }
        TC_CHECK_EQ(used, first_used);
        TC_CHECK_BYTES(out, dst, used);
        tc_deflate_encoder_free(encoder);
    }
    free(exact);
    free(out);
    check_inflates(dst, first_used, n);
    return first_used;
}

/* Bytes near `mean`, in a range that `spread` widens: the sum of four uniform numbers. */
static void fill_noise(uint8_t *to, size_t n, unsigned mean, unsigned spread)
{
    for (size_t i = 0; i < n; i++) {
        unsigned sum = 0;

        for (int k = 0; k < 4; k++) sum += (unsigned)(tc_random(&seed) % spread);
        to[i] = (uint8_t)(mean + sum);
    }
}

static void test_noise_comes_back(void)
{
    for (unsigned spread = 1; spread <= 64; spread *= 2)
        for (size_t n = 1024; n < 100000; n = n * 3 + 1) {
            fill_noise(src, n, 200, spread);
            TC_CHECK(check(n, n) > 0);
            TC_CHECK(check(n, 1000) > 0);
        }
}

static void test_noise_is_no_longer_than_libdeflates(void)
{
    struct libdeflate_compressor *const compressor = libdeflate_alloc_compressor(1);

    for (unsigned spread = 2; spread <= 64; spread *= 2) {
        memset(src, 1, 4096);
        fill_noise(src + 4096, 4096, 100, spread);
        const size_t used = check(8192, 4096);

        TC_CHECK(used > 0);
        TC_CHECK(100 * used <= 101 * libdeflate_deflate_compress(compressor, src, 8192, other, sizeof other));
    }
    libdeflate_free_compressor(compressor);
}

static void test_bytes_without_pattern_are_stored(void)
{
    for (size_t n = 1024; n < 150000; n = n * 2 + 1) {
        for (size_t i = 0; i < n; i++) src[i] = (uint8_t)tc_random(&seed);
        for (size_t plane = 512; plane <= 2 * n; plane *= 5) {
            const size_t used = check(n, plane);

            TC_CHECK(used > n && used <= tc_deflate_bound(n));
        }
    }
}

/* Each byte value once in a while, and every length of run that has its own way to be cut. */
static void test_runs_of_every_length(void)
{
    for (size_t length = 1; length < 1100; length += length < 600 ? 1 : 37) {
        size_t n = 0;

        while (n + length < 3000) {
            const uint8_t value = (uint8_t)tc_random(&seed);

            memset(src + n, value, length);
            n += length;
            fill_noise(src + n, 1 + length % 5, value + 1u, 3);
            n += 1 + length % 5;
        }
        fill_noise(src + n, 1500, 0, 64);
        check(n + 1500, 4000);
    }
}

static void test_constant_planes_cost_next_to_nothing(void)
{
    memset(src, 7, 100000);
    TC_CHECK(check(100000, 25000) < 200);
    memset(src + 25000, 8, 25000);
    TC_CHECK(check(100000, 25000) < 200);
    fill_noise(src + 75000, 25000, 3, 30);
    const size_t used = check(100000, 25000);

    memmove(src, src + 75000, 25000);
    TC_CHECK(used < check(25000, 25000) + 150);
}

/* A skewed distribution, in which byte k is half as frequent as byte k - 1, needs longer codes than there are. */
static void test_codes_at_the_limit(void)
{
    for (size_t n = 1024; n < 150000; n = n * 3 + 5) {
        for (size_t i = 0; i < n; i++) src[i] = (uint8_t)__builtin_ctzll(tc_random(&seed) | UINT64_C(1) << 40);
        TC_CHECK(check(n, n) > 0);
        for (size_t i = 0; i < n; i += 1 + n / 300) src[i] = (uint8_t)(i * 167);
        TC_CHECK(check(n, n) > 0);
    }
}

/* Bytes that begin `distance` before, now and then another: about as long as libdeflate's at most, at every distance. */
static void test_matches_are_found(void)
{
    struct libdeflate_compressor *const compressor = libdeflate_alloc_compressor(1);

    for (size_t distance = 1; distance < 40000; distance += 1 + distance / 3) {
        fill_noise(src, distance, 0, 64);
        for (size_t i = distance; i < 100000; i++) src[i] = src[i - distance];
        for (size_t i = distance; i < 100000; i += 1 + tc_random(&seed) % 50) src[i] = (uint8_t)tc_random(&seed);
        for (size_t n = 100; n <= 100000; n *= 10) {
            const size_t theirs = libdeflate_deflate_compress(compressor, src, n, other, sizeof other);

            TC_CHECK(100 * check(n, 0) <= 106 * theirs + 3000);
        }
    }
    libdeflate_free_compressor(compressor);
}

/* Pixels whose first bytes repeat while the last ones are noise: matches of three bytes a pixel before, and no other. */
static void test_short_matches_a_pixel_before(void)
{
    for (size_t i = 0; i < 10000; i++) {
        const uint8_t pixel[4] = {0, 0, (uint8_t)(i / 13), (uint8_t)tc_random(&seed)};

        memcpy(src + 4 * i, pixel, sizeof pixel);
    }
    TC_CHECK(check(40000, 0) < 17000); /* of literals alone: over 20000 */
}

/* A period of the longest distance there is, and of one byte more.  Bytes of what did not pay are not all remembered. */
static void test_the_longest_distance(void)
{
    for (size_t distance = 32760; distance < 32775; distance++) {
        for (size_t i = 0; i < distance; i++) src[i] = (uint8_t)tc_random(&seed);
        for (size_t i = distance; i < 150000; i++) src[i] = src[i - distance];
        const size_t used = check(150000, 0);

        TC_CHECK(distance > 32768 ? used > 140000 : used < 60000);
    }
}

static void test_short_content_comes_back(void)
{
    fill_noise(src, 5000, 0, 64);
    for (size_t n = 0; n <= 300; n++) TC_CHECK(check(n, n) <= n + 5);
    for (size_t n = 0; n <= 300; n++) TC_CHECK(check(n, 0) <= n + 5);
    memset(src, 9, 300);
    for (size_t n = 20; n <= 300; n++) TC_CHECK(check(n, 0) < 8);
    for (size_t plane = 0; plane < 600; plane += 13) check(5000, plane);
}

static void test_nothing_may_be_null(void)
{
    tc_deflate_encoder *const encoder = tc_deflate_encoder_new(tc_cpu_level());
    size_t used;

    TC_CHECK_EQ(tc_deflate(encoder, NULL, 0, 0, dst, tc_deflate_bound(0), &used), TC_OK);
    TC_CHECK_EQ(used, 2);
    check_inflates(dst, used, 0);
    tc_deflate_encoder_free(encoder);
}

static void test_too_little_space_is_told(void)
{
    tc_deflate_encoder *const encoder = tc_deflate_encoder_new(tc_cpu_level());
    size_t used, found;

    fill_noise(src, 5000, 0, 20);
    used = check(5000, 2500);
    for (size_t cap = 0; cap < used + 20; cap += 7) {
        uint8_t *const out = malloc(cap + 1);
        const tc_status status = tc_deflate(encoder, src, 5000, 2500, out, cap, &found);

        TC_CHECK(status == TC_NO_SPACE || (status == TC_OK && found == used && cap >= used));
        free(out);
    }
    tc_deflate_encoder_free(encoder);
}

/* Members of every short length, and of the kinds of content above, through the choice that tc_gzip makes. */
static void test_members_come_back(void)
{
    tc_gzip_encoder *const encoder = tc_gzip_encoder_new(TC_GZIP_PLANES_LEVEL);
    tc_gzip_decoder *const decoder = tc_gzip_decoder_new();

    for (size_t n = 0; n < 40000; n += n < 300 ? 1 : n / 3)
        for (unsigned kind = 0; kind < 4; kind++) {
            size_t used, width, consumed;

            if (kind == 0) memset(src, 3, n);
            else fill_noise(src, n, 9, 1u << 2 * kind);
            TC_CHECK_EQ(tc_gzip_encode(encoder, src, n, n / 2, dst, tc_gzip_bound(n), &used), TC_OK);
            TC_CHECK_EQ(tc_gzip_decode(decoder, dst, used, n, 1, back, &width, &consumed), TC_OK);
            TC_CHECK_EQ(consumed, used);
            TC_CHECK_BYTES(back, src, n);
        }
    tc_gzip_encoder_free(encoder);
    tc_gzip_decoder_free(decoder);
}

/* ---- the codes ---- */

static void check_complete(const uint32_t *counts, size_t n, unsigned limit, uint8_t *lengths)
{
    uint64_t sum = 0;
    size_t in_use = 0;

    tc_huffman_lengths(counts, n, limit, lengths);
    for (size_t symbol = 0; symbol < n; symbol++) {
        TC_CHECK_EQ(lengths[symbol] != 0, counts[symbol] != 0);
        TC_CHECK(lengths[symbol] <= limit);
        if (lengths[symbol]) sum += UINT64_C(1) << (limit - lengths[symbol]);
        in_use += counts[symbol] != 0;
        for (size_t b = 0; b < symbol; b++)
            if (counts[b] > counts[symbol] && counts[symbol]) TC_CHECK(lengths[b] <= lengths[symbol]);
    }
    if (in_use > 1) TC_CHECK_EQ(sum, UINT64_C(1) << limit);
}

static void test_fibonacci_counts_meet_the_limit(void)
{
    uint32_t counts[23] = {1, 1};
    uint8_t lengths[23];

    for (int i = 2; i < 23; i++) counts[i] = counts[i - 1] + counts[i - 2];
    for (unsigned limit = 5; limit <= 15; limit++) check_complete(counts, 23, limit, lengths);
    check_complete(counts, 10, 15, lengths); /* without the limit: one leaf at each depth */
    for (int i = 1; i < 10; i++) TC_CHECK_EQ(lengths[i], 10 - i);
    TC_CHECK_EQ(lengths[0], 9);
}

static void test_codes_of_any_counts(void)
{
    static uint32_t counts[TC_HUFFMAN_MAX_SYMBOLS];
    uint8_t lengths[TC_HUFFMAN_MAX_SYMBOLS];

    for (int round = 0; round < 300; round++) {
        const size_t n = 1 + tc_random(&seed) % TC_HUFFMAN_MAX_SYMBOLS;
        const unsigned bits = (unsigned)(tc_random(&seed) % 17);

        for (size_t i = 0; i < n; i++)
            counts[i] = (uint32_t)((tc_random(&seed) & 0xffff) >> (tc_random(&seed) % 17) >> (16 - bits));
        check_complete(counts, n, 9 + (unsigned)round % 7, lengths);
    }
    memset(counts, 0, sizeof counts);
    check_complete(counts, 19, 7, lengths);
    counts[5] = 3;
    check_complete(counts, 19, 7, lengths);
    TC_CHECK_EQ(lengths[5], 1);
}

/* RFC 1951, 3.2.2, the example: A to H with lengths 3 3 3 3 3 2 4 4; there with the first bit highest. */
static void test_the_example_of_the_rfc(void)
{
    static const uint8_t lengths[8] = {3, 3, 3, 3, 3, 2, 4, 4};
    static const uint16_t first_bit_lowest[8] = {2, 6, 1, 5, 3, 0, 7, 15};
    uint16_t codes[8];

    tc_huffman_codes(lengths, 8, codes);
    TC_CHECK_BYTES(codes, first_bit_lowest, sizeof codes);
}

int main(void)
{
    inflater = libdeflate_alloc_decompressor();
    TC_RUN(test_noise_comes_back);
    TC_RUN(test_noise_is_no_longer_than_libdeflates);
    TC_RUN(test_bytes_without_pattern_are_stored);
    TC_RUN(test_runs_of_every_length);
    TC_RUN(test_constant_planes_cost_next_to_nothing);
    TC_RUN(test_codes_at_the_limit);
    TC_RUN(test_matches_are_found);
    TC_RUN(test_short_matches_a_pixel_before);
    TC_RUN(test_the_longest_distance);
    TC_RUN(test_short_content_comes_back);
    TC_RUN(test_nothing_may_be_null);
    TC_RUN(test_too_little_space_is_told);
    TC_RUN(test_members_come_back);
    TC_RUN(test_fibonacci_counts_meet_the_limit);
    TC_RUN(test_codes_of_any_counts);
    TC_RUN(test_the_example_of_the_rfc);
    libdeflate_free_decompressor(inflater);
    return tc_test_summary();
}
