/* RICE_1: worked examples, a bit-by-bit reference, every CPU path against it, cuts and flips, CFITSIO's bytes. */
#include "tc_rice.h"
#include "tc_rice_levels.h"
#include "tc_test.h"

#ifdef TC_HAVE_CFITSIO
#include <fitsio2.h>
#endif

#define MAX_STREAMS 80
#define MOST_PIXELS 3000
#define MOST_BYTES (4 * MOST_PIXELS + 4 + 5 * MOST_PIXELS / 8 + 8) /* blocksize 1, plain differences */

typedef struct {
    const char *name;
    tc_cpu level;
    tc_rice_decoder *decode;
    tc_rice_encoder *encode;
} rice_path;

static const rice_path paths[] = {
    {"portable", TC_CPU_PORTABLE, tc_rice_decode_portable, tc_rice_encode_portable},
#if TC_CPU_X86
    {"avx2", TC_CPU_AVX2, tc_rice_decode_avx2, tc_rice_encode_avx2},
    {"avx512", TC_CPU_AVX512, tc_rice_decode_avx512, tc_rice_encode_avx512},
#endif
};

static size_t n_paths(void)
{
    size_t n = 0;

    while (n < sizeof paths / sizeof *paths && paths[n].level <= tc_cpu_detect()) n++;
    return n;
}

static const unsigned widths[] = {1, 2, 4};

/* ---- a reference that reads one bit at a time ---- */

typedef struct {
    const uint8_t *src;
    size_t n_bits, pos;
} slow_bits;

static int slow_bit(slow_bits *in, int *bit)
{
    if (in->pos == in->n_bits) return 0;
    *bit = in->src[in->pos / 8] >> (7 - in->pos % 8) & 1;
    in->pos++;
    return 1;
}

static tc_status slow_number(slow_bits *in, unsigned count, uint64_t *value)
{
    const size_t start = in->pos;
    int bit;

    *value = 0;
    for (unsigned i = 0; i < count; i++) {
        if (!slow_bit(in, &bit)) return in->pos = start, TC_TRUNCATED;
        *value = *value << 1 | (uint64_t)bit;
    }
    return TC_OK;
}

static tc_status slow_pixel(slow_bits *in, unsigned bits, unsigned code, unsigned fs_max, uint64_t *folded)
{
    const uint64_t most = ((1ull << bits) - 1) >> (code - 1);
    const size_t start = in->pos;
    uint64_t zeros = 0, low;
    int bit;

    if (code == fs_max + 1) return slow_number(in, bits, folded);
    for (;;) {
        if (!slow_bit(in, &bit)) return in->pos = start, TC_TRUNCATED;
        if (bit) break;
        if (++zeros > most) return in->pos = start, TC_CORRUPT;
    }
    if (slow_number(in, code - 1, &low) != TC_OK) return in->pos = start, TC_TRUNCATED;
    *folded = zeros << (code - 1) | low;
    return TC_OK;
}

static void store(void *dst, size_t i, unsigned bytepix, uint64_t value)
{
    if (bytepix == 1) ((uint8_t *)dst)[i] = (uint8_t)value;
    if (bytepix == 2) ((uint16_t *)dst)[i] = (uint16_t)value;
    if (bytepix == 4) ((uint32_t *)dst)[i] = (uint32_t)value;
}

static tc_status slow_blocks(slow_bits *in, unsigned bytepix, size_t blocksize, void *dst, size_t n, size_t *done)
{
    const unsigned bits = 8 * bytepix, code_bits = bytepix == 1 ? 3 : bytepix == 2 ? 4 : 5;
    const unsigned fs_max = bytepix == 1 ? 6 : bytepix == 2 ? 14 : 25;
    uint64_t last, code = 0, folded = 0;

    *done = 0;
    if (n == 0) return TC_OK;
    TC_TRY(slow_number(in, bits, &last));
    for (; *done < n; ++*done) {
        if (*done % blocksize == 0) TC_TRY(slow_number(in, code_bits, &code));
        if (code > fs_max + 1) return TC_BAD_CODE;
        if (code) {
            TC_TRY(slow_pixel(in, bits, (unsigned)code, fs_max, &folded));
            last += folded & 1 ? ~(folded >> 1) : folded >> 1;
        }
        store(dst, *done, bytepix, last);
    }
    return TC_OK;
}

static void slow_decode(tc_rice_stream *s, unsigned bytepix, size_t blocksize)
{
    slow_bits in = {s->src, 8 * s->src_len, 0};

    s->status = slow_blocks(&in, bytepix, blocksize, s->dst, s->n, &s->done);
    s->used = (in.pos + 7) / 8;
}

/* ---- pixels and streams to test with ---- */

enum { CONSTANT, QUIET, NOISE, LOUD, ANY, MIXED, N_KINDS };

static void make_pixels(uint64_t *seed, int kind, unsigned bytepix, void *dst, size_t n)
{
    const unsigned shift = 8 * bytepix - 2;
    uint64_t value = tc_random(seed);
    unsigned spread = 0;

    for (size_t i = 0; i < n; i++) {
        if (kind == QUIET) spread = tc_random(seed) % 8 == 0 ? 2 : 0;
        if (kind == NOISE) spread = 5;
        if (kind == LOUD) spread = tc_random(seed) % 50 == 0 ? shift : 4;
        if (kind == ANY) spread = 64;
        if (kind == MIXED && i % 32 == 0) spread = (unsigned)(tc_random(seed) % (shift + 3));
        if (spread == 64) value = tc_random(seed);
        else if (spread) value += (tc_random(seed) & ((1ull << spread) - 1)) - (1ull << spread >> 1);
        store(dst, i, bytepix, value);
    }
}

static size_t encode_with(const rice_path *path, const void *src, size_t n, unsigned bytepix, uint32_t blocksize,
                          uint8_t *dst)
{
    size_t used = 0;
    const size_t bound = tc_rice_bound(n, bytepix, blocksize);

    TC_CHECK(bound <= MOST_BYTES);
    TC_CHECK_EQ(path->encode(src, n, bytepix, blocksize, dst, bound, &used), TC_OK);
    TC_CHECK(used <= bound);
    return used;
}

static uint32_t pick_blocksize(uint64_t *seed)
{
    static const uint32_t some[] = {32, 32, 32, 32, 16, 1, 2, 7, 31, 33, 64, 100, 300, 5000, 65536};

    return some[tc_random(seed) % (sizeof some / sizeof *some)];
}

/* Decode copies of the streams on every path, in one call and one by one; all must say what the reference says. */
static void check_streams(const tc_rice_stream *streams, size_t n_streams, unsigned bytepix, uint32_t blocksize)
{
    tc_rice_stream *const expected = calloc(n_streams, sizeof *expected);
    tc_rice_stream *const found = calloc(n_streams, sizeof *found);

    for (size_t i = 0; i < n_streams; i++) {
        expected[i] = streams[i];
        expected[i].dst = calloc(streams[i].n + 1, bytepix);
        slow_decode(&expected[i], bytepix, blocksize);
    }
    for (size_t p = 0; p < n_paths(); p++) {
        for (int single = 0; single < 2; single++) {
            for (size_t i = 0; i < n_streams; i++) {
                found[i] = streams[i];
                found[i].dst = calloc(streams[i].n ? streams[i].n : 1, bytepix);
                if (single) paths[p].decode(&found[i], 1, bytepix, blocksize);
            }
            if (!single) paths[p].decode(found, n_streams, bytepix, blocksize);
            for (size_t i = 0; i < n_streams; i++) {
                TC_CHECK_EQ(found[i].status, expected[i].status);
                TC_CHECK_EQ(found[i].done, expected[i].done);
                TC_CHECK_EQ(found[i].used, expected[i].used);
                TC_CHECK_BYTES(found[i].dst, expected[i].dst, bytepix * expected[i].done);
                free(found[i].dst);
            }
        }
    }
    for (size_t i = 0; i < n_streams; i++) free(expected[i].dst);
    free(expected);
    free(found);
}

/* ---- tests ---- */

#define GOLDEN(name, type, ...) static const type name[] = {__VA_ARGS__}
GOLDEN(px_16, int16_t, 10, 12, 11, 11, 40, 41, 39, 38, 100, -5);
GOLDEN(px_equal, uint8_t, 3, 3, 3, 3);
GOLDEN(px_fs0, uint8_t, 3, 4, 4, 2, 3);
GOLDEN(px_plain, uint8_t, 0, 255, 7, 200, 90);
GOLDEN(px_32, int32_t, 1000, 1003, 998, 1001, 1000);
GOLDEN(px_wrap, int32_t, 0, INT32_MAX, INT32_MIN, 5);
GOLDEN(px_blocks, int16_t, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
       7, 9, 9);
GOLDEN(out_16, uint8_t, 0x00, 0x0a, 0x68, 0x24, 0x86, 0x07, 0x51, 0x47, 0x08, 0xf0, 0x0c, 0x40);
GOLDEN(out_equal, uint8_t, 0x03, 0x00);
GOLDEN(out_fs0, uint8_t, 0x03, 0x33, 0x12);
GOLDEN(out_plain, uint8_t, 0x00, 0xe0, 0x00, 0x22, 0x0f, 0xbb, 0x60);
GOLDEN(out_32, uint8_t, 0x00, 0x00, 0x03, 0xe8, 0x14, 0x20, 0xc5, 0x80);
GOLDEN(out_wrap, uint8_t, 0, 0, 0, 0, 0xd0, 0, 0, 0, 0x07, 0xff, 0xff, 0xff, 0xf0, 0, 0, 0, 0x17, 0xff, 0xff, 0xff,
       0xa8);
GOLDEN(out_blocks, uint8_t, 0x00, 0x07, 0x01, 0x86);

static const struct {
    const void *pixels;
    size_t n;
    unsigned bytepix;
    const uint8_t *stream;
    size_t nbytes;
} golden[] = {
#define ROW(pixels, stream) {pixels, sizeof pixels / sizeof *pixels, sizeof *pixels, stream, sizeof stream}
    ROW(px_16, out_16), ROW(px_equal, out_equal), ROW(px_fs0, out_fs0),       ROW(px_plain, out_plain),
    ROW(px_32, out_32), ROW(px_wrap, out_wrap),   ROW(px_blocks, out_blocks),
};
#define N_GOLDEN (sizeof golden / sizeof *golden)

static void test_golden_streams_encode(void)
{
    uint8_t stream[MOST_BYTES];

    for (size_t g = 0; g < N_GOLDEN; g++)
        for (size_t p = 0; p < n_paths(); p++) {
            TC_CHECK_EQ(encode_with(&paths[p], golden[g].pixels, golden[g].n, golden[g].bytepix, 32, stream),
                        golden[g].nbytes);
            TC_CHECK_BYTES(stream, golden[g].stream, golden[g].nbytes);
        }
}

static void test_golden_streams_decode(void)
{
    uint8_t pixels[4 * 64];

    for (size_t g = 0; g < N_GOLDEN; g++)
        for (size_t p = 0; p < n_paths(); p++) {
            tc_rice_stream s = {golden[g].stream, golden[g].nbytes, pixels, golden[g].n, 0, 0, TC_OK};

            paths[p].decode(&s, 1, golden[g].bytepix, 32);
            TC_CHECK_EQ(s.status, TC_OK);
            TC_CHECK_EQ(s.used, golden[g].nbytes);
            TC_CHECK_EQ(s.done, golden[g].n);
            TC_CHECK_BYTES(pixels, golden[g].pixels, golden[g].n * golden[g].bytepix);
        }
}

static void test_public_functions_take_their_types(void)
{
    uint8_t stream[64], u8[4];
    int16_t i16[10];
    int32_t i32[5];
    size_t used, done;

    TC_CHECK_EQ(tc_rice_encode_u8(px_plain, 5, 32, stream, sizeof stream, &used), TC_OK);
    TC_CHECK_BYTES(stream, out_plain, sizeof out_plain);
    TC_CHECK_EQ(tc_rice_encode_i16(px_16, 10, 32, stream, sizeof stream, &used), TC_OK);
    TC_CHECK_BYTES(stream, out_16, sizeof out_16);
    TC_CHECK_EQ(tc_rice_encode_i32(px_32, 5, 32, stream, sizeof stream, &used), TC_OK);
    TC_CHECK_BYTES(stream, out_32, sizeof out_32);
    TC_CHECK_EQ(tc_rice_decode_u8(out_equal, sizeof out_equal, 32, u8, 4, &used, &done), TC_OK);
    TC_CHECK_BYTES(u8, px_equal, sizeof px_equal);
    TC_CHECK_EQ(tc_rice_decode_i16(out_16, sizeof out_16, 32, i16, 10, &used, &done), TC_OK);
    TC_CHECK_BYTES(i16, px_16, sizeof px_16);
    TC_CHECK_EQ(tc_rice_decode_i32(out_32, sizeof out_32, 32, i32, 5, &used, &done), TC_OK);
    TC_CHECK_BYTES(i32, px_32, sizeof px_32);
}

static void test_bad_parameters_are_refused(void)
{
    int16_t pixels[4] = {0};
    uint8_t stream[64] = {0};
    size_t used, done;
    tc_rice_stream s = {stream, sizeof stream, pixels, 4, 0, 0, TC_OK};

    TC_CHECK_EQ(tc_rice_decode_i16(stream, sizeof stream, 0, pixels, 4, &used, &done), TC_BAD_PARAM);
    TC_CHECK_EQ(tc_rice_decode_i16(stream, sizeof stream, 65537, pixels, 4, &used, &done), TC_BAD_PARAM);
    TC_CHECK_EQ(tc_rice_decode_i16(stream, sizeof stream, 65536, pixels, 4, &used, &done), TC_OK);
    TC_CHECK_EQ(tc_rice_decode_streams(&s, 1, 8, 32), TC_BAD_PARAM);
    TC_CHECK_EQ(tc_rice_decode_streams(&s, 1, 0, 32), TC_BAD_PARAM);
    TC_CHECK_EQ(tc_rice_decode_streams(&s, 1, 3, 32), TC_BAD_PARAM);
    TC_CHECK_EQ(tc_rice_encode_i16(pixels, 4, 0, stream, sizeof stream, &used), TC_BAD_PARAM);
    TC_CHECK_EQ(tc_rice_encode_i16(pixels, 4, 65537, stream, sizeof stream, &used), TC_BAD_PARAM);
    TC_CHECK_EQ(tc_rice_encode_i16(pixels, 0, 32, stream, sizeof stream, &used), TC_BAD_PARAM);
    TC_CHECK(tc_rice_bound(SIZE_MAX / 2, 4, 32) == SIZE_MAX);
}

static void test_faults_have_their_status(void)
{
    static const uint8_t code_27[] = {0, 0, 0, 0, 27 << 3, 0}; /* BYTEPIX 4: codes end at 26 */
    static const uint8_t long_run[] = {0, 2 << 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}; /* 141 zeros */
    static const uint8_t only_seed[] = {7};
    uint8_t u8[4];
    int32_t i32[4];
    size_t used, done;

    TC_CHECK_EQ(tc_rice_decode_i32(code_27, sizeof code_27, 32, i32, 4, &used, &done), TC_BAD_CODE);
    TC_CHECK_EQ(done, 0);
    TC_CHECK_EQ(tc_rice_decode_u8(long_run, sizeof long_run, 32, u8, 4, &used, &done), TC_CORRUPT);
    TC_CHECK_EQ(done, 0);
    TC_CHECK_EQ(tc_rice_decode_u8(only_seed, 1, 32, u8, 4, &used, &done), TC_TRUNCATED);
    TC_CHECK_EQ(tc_rice_decode_u8(NULL, 0, 32, u8, 4, &used, &done), TC_TRUNCATED);
    TC_CHECK_EQ(used, 0);
    TC_CHECK_EQ(tc_rice_decode_u8(NULL, 0, 32, NULL, 0, &used, &done), TC_OK);
}

static void test_every_cut_is_noticed(void)
{
    uint8_t pixels[4 * 64];

    for (size_t g = 0; g < N_GOLDEN; g++)
        for (size_t len = 0; len < golden[g].nbytes; len++)
            for (size_t p = 0; p < n_paths(); p++) {
                uint8_t *const cut = tc_exact_copy(golden[g].stream, len);
                tc_rice_stream s = {cut, len, pixels, golden[g].n, 0, 0, TC_OK};

                paths[p].decode(&s, 1, golden[g].bytepix, 32);
                TC_CHECK_EQ(s.status, TC_TRUNCATED);
                TC_CHECK(s.done < golden[g].n);
                TC_CHECK_BYTES(pixels, golden[g].pixels, s.done * golden[g].bytepix);
                free(cut);
            }
}

static void test_every_bit_flip_equals_the_reference(void)
{
    for (size_t g = 0; g < N_GOLDEN; g++)
        for (size_t bit = 0; bit < 8 * golden[g].nbytes; bit++) {
            uint8_t *const flipped = tc_exact_copy(golden[g].stream, golden[g].nbytes);
            const tc_rice_stream s = {flipped, golden[g].nbytes, NULL, golden[g].n, 0, 0, TC_OK};

            flipped[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
            check_streams(&s, 1, golden[g].bytepix, 32);
            free(flipped);
        }
}

static void test_round_trip_of_every_path(void)
{
    static uint32_t pixels[MOST_PIXELS], decoded[MOST_PIXELS];
    static uint8_t expected[MOST_BYTES], stream[MOST_BYTES];
    uint64_t seed = 1;

    for (int round = 0; round < 1500; round++) {
        const unsigned bytepix = widths[round % 3];
        const uint32_t blocksize = pick_blocksize(&seed);
        const size_t n = 1 + tc_random(&seed) % (round % 10 ? 200 : MOST_PIXELS);
        size_t nbytes;

        make_pixels(&seed, (int)(tc_random(&seed) % N_KINDS), bytepix, pixels, n);
        nbytes = encode_with(&paths[0], pixels, n, bytepix, blocksize, expected);
        for (size_t p = 0; p < n_paths(); p++) {
            tc_rice_stream s = {stream, nbytes, decoded, n, 0, 0, TC_OK};

            TC_CHECK_EQ(encode_with(&paths[p], pixels, n, bytepix, blocksize, stream), nbytes);
            TC_CHECK_BYTES(stream, expected, nbytes);
            paths[p].decode(&s, 1, bytepix, blocksize);
            TC_CHECK_EQ(s.status, TC_OK);
            TC_CHECK_EQ(s.used, nbytes);
            TC_CHECK_BYTES(decoded, pixels, n * bytepix);
        }
    }
}

static void test_encoder_keeps_to_its_buffer(void)
{
    uint32_t pixels[100];
    uint8_t stream[MOST_BYTES];
    uint64_t seed = 2;

    for (int round = 0; round < 60; round++) {
        const unsigned bytepix = widths[round % 3];
        size_t nbytes, used;

        make_pixels(&seed, round % N_KINDS, bytepix, pixels, 100);
        nbytes = encode_with(&paths[0], pixels, 100, bytepix, 32, stream);
        for (size_t p = 0; p < n_paths(); p++)
            for (size_t cap = 0; cap <= nbytes; cap++) {
                uint8_t *const tight = malloc(cap ? cap : 1);

                TC_CHECK_EQ(paths[p].encode(pixels, 100, bytepix, 32, tight, cap, &used),
                            cap < nbytes ? TC_NO_SPACE : TC_OK);
                if (cap == nbytes) TC_CHECK_BYTES(tight, stream, nbytes);
                free(tight);
            }
    }
}

static void test_bound_is_reached_by_plain_blocks(void)
{
    uint8_t pixels[128], stream[MOST_BYTES];

    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (i + 1) / 2 % 2 ? 0x80 : 0;
    for (size_t n = 32; n <= sizeof pixels; n += 32)
        TC_CHECK_EQ(encode_with(&paths[0], pixels, n, 1, 32, stream), tc_rice_bound(n, 1, 32));
}

/* What may happen to a stream on its way: nothing, a cut, some flipped bits, bytes from elsewhere, bytes after it. */
static size_t spoil(uint64_t *seed, uint8_t *stream, size_t nbytes)
{
    const uint64_t what = tc_random(seed) % 6;

    if (what == 1) return tc_random(seed) % nbytes;
    if (what == 2)
        for (uint64_t k = 1 + tc_random(seed) % 4; k; k--)
            stream[tc_random(seed) % nbytes] ^= (uint8_t)(1 << tc_random(seed) % 8);
    if (what == 3)
        for (size_t k = tc_random(seed) % nbytes; k < nbytes; k++) stream[k] = (uint8_t)tc_random(seed);
    if (what == 4)
        for (size_t k = tc_random(seed) % nbytes; k < nbytes; k++) stream[k] = 0;
    if (what == 5) {
        for (int k = 0; k < 40; k++) stream[nbytes + (size_t)k] = (uint8_t)tc_random(seed);
        return nbytes + tc_random(seed) % 40;
    }
    return nbytes;
}

static void test_many_streams_equal_the_reference(void)
{
    static uint32_t pixels[MOST_PIXELS];
    static uint8_t stream[MOST_BYTES + 64];
    uint64_t seed = 3;

    for (int round = 0; round < 900; round++) {
        const unsigned bytepix = widths[round % 3];
        const uint32_t blocksize = pick_blocksize(&seed);
        const size_t n_streams = tc_random(&seed) % (round % 2 ? 6 : MAX_STREAMS);
        const size_t n_full = 1 + tc_random(&seed) % 600;
        const size_t n_wanted = tc_random(&seed) % 3 ? n_full : 1 + tc_random(&seed) % n_full;
        const int kind = (int)(tc_random(&seed) % (N_KINDS + 2)), spoilt = tc_random(&seed) % 2;
        const uint64_t rarity = tc_random(&seed) % 4 ? 60 : 2; /* of streams with a length of their own */
        tc_rice_stream streams[MAX_STREAMS];

        for (size_t i = 0; i < n_streams; i++) {
            const size_t n = tc_random(&seed) % rarity ? n_full : 1 + tc_random(&seed) % n_full;
            size_t nbytes;

            make_pixels(&seed, kind < N_KINDS ? kind : (int)(tc_random(&seed) % N_KINDS), bytepix, pixels, n);
            nbytes = encode_with(&paths[0], pixels, n, bytepix, blocksize, stream);
            if (spoilt && tc_random(&seed) % 4 == 0) nbytes = spoil(&seed, stream, nbytes);
            streams[i] = (tc_rice_stream){tc_exact_copy(stream, nbytes), nbytes, NULL, n == n_full ? n_wanted : n,
                                          0, 0, TC_OK};
        }
        check_streams(streams, n_streams, bytepix, blocksize);
        for (size_t i = 0; i < n_streams; i++) free((void *)streams[i].src);
    }
}

/* Every number of streams, with one cut or flipped in each place in turn. */
static void test_a_spoilt_stream_beside_good_ones(void)
{
    enum { N = 200, MAX = 33 };
    static uint32_t pixels[N];
    static uint8_t packed[MAX][MOST_BYTES];
    uint64_t seed = 6;

    for (size_t n_streams = 1; n_streams <= MAX; n_streams++)
        for (int w = 0; w < 3; w++) {
            tc_rice_stream streams[MAX];

            for (size_t i = 0; i < n_streams; i++) {
                make_pixels(&seed, (int)(tc_random(&seed) % N_KINDS), widths[w], pixels, N);
                const size_t nbytes = encode_with(&paths[0], pixels, N, widths[w], 32, packed[i]);
                streams[i] = (tc_rice_stream){packed[i], nbytes, NULL, N, 0, 0, TC_OK};
            }
            check_streams(streams, n_streams, widths[w], 32);
            for (size_t bad = 0; bad < n_streams && bad < 5; bad++) {
                tc_rice_stream *const stream = &streams[(bad * 7 + n_streams) % n_streams];
                const size_t nbytes = stream->src_len, bit = tc_random(&seed) % (8 * nbytes);

                stream->src_len = tc_random(&seed) % nbytes;
                stream->src = tc_exact_copy(stream->src, stream->src_len);
                check_streams(streams, n_streams, widths[w], 32);
                free((void *)stream->src);
                stream->src = packed[stream - streams];
                stream->src_len = nbytes;
                packed[stream - streams][bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
                check_streams(streams, n_streams, widths[w], 32);
                packed[stream - streams][bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
            }
        }
}

/* Streams leave a call side by side where they have a fault, and are taken up again from the start of the block.  That can be
 * far before the end of the stream, where it was seen. */
static void test_a_fault_far_behind_the_start_of_its_block(void)
{
    enum { N_STREAMS = 16, N = 4, FAR = 12 << 20 }; /* more than a stack has */
    static const uint8_t constant[5];
    uint8_t *const stream = calloc(FAR, 1);

    stream[4] = 0x0c;       /* a coded block without low bits, and a difference of 0 */
    stream[FAR - 5] = 0x80; /* the end of the next difference, one of very many zeros */
    for (size_t p = 0; p < n_paths(); p++) {
        uint32_t pixels[N_STREAMS][N];
        tc_rice_stream streams[N_STREAMS];

        for (size_t i = 0; i < N_STREAMS; i++)
            streams[i] = (tc_rice_stream){constant, sizeof constant, pixels[i], N, 0, 0, TC_OK};
        streams[3].src = stream;
        streams[3].src_len = FAR;
        paths[p].decode(streams, N_STREAMS, 4, 32);
        for (size_t i = 0; i < N_STREAMS; i++) {
            TC_CHECK_EQ(streams[i].status, i == 3 ? TC_TRUNCATED : TC_OK);
            TC_CHECK_EQ(streams[i].done, i == 3 ? 2 : N);
            TC_CHECK_EQ(streams[i].used, i == 3 ? FAR - 4 : sizeof constant);
        }
    }
    free(stream);
}

static void test_every_prefix_is_decoded(void)
{
    uint32_t pixels[150];
    uint8_t stream[MOST_BYTES];
    uint64_t seed = 4;

    for (int round = 0; round < 3 * N_KINDS; round++) {
        const unsigned bytepix = widths[round % 3];
        tc_rice_stream streams[151];
        size_t nbytes;

        make_pixels(&seed, round / 3, bytepix, pixels, 150);
        nbytes = encode_with(&paths[0], pixels, 150, bytepix, 32, stream);
        for (size_t n = 0; n <= 150; n++) streams[n] = (tc_rice_stream){stream, nbytes, NULL, n, 0, 0, TC_OK};
        check_streams(streams, 151, bytepix, 32);
    }
}

#ifdef TC_HAVE_CFITSIO
static int cfitsio_encode(void *pixels, int n, unsigned bytepix, int blocksize, uint8_t *dst, int cap)
{
    if (bytepix == 1) return fits_rcomp_byte(pixels, n, dst, cap, blocksize);
    if (bytepix == 2) return fits_rcomp_short(pixels, n, dst, cap, blocksize);
    return fits_rcomp(pixels, n, dst, cap, blocksize);
}

static int cfitsio_decode(uint8_t *src, int len, unsigned bytepix, int blocksize, void *dst, int n)
{
    if (bytepix == 1) return fits_rdecomp_byte(src, len, dst, n, blocksize);
    if (bytepix == 2) return fits_rdecomp_short(src, len, dst, n, blocksize);
    return fits_rdecomp(src, len, dst, n, blocksize);
}

static void test_equal_to_cfitsio(void)
{
    static uint32_t pixels[MOST_PIXELS], decoded[MOST_PIXELS];
    static uint8_t expected[MOST_BYTES + 1000], stream[MOST_BYTES];
    uint64_t seed = 5;

    for (int round = 0; round < 3000; round++) {
        const unsigned bytepix = widths[round % 3];
        const int blocksize = 1 + (int)(tc_random(&seed) % (bytepix == 4 ? 32 : 64)); /* it overflows beyond */
        const size_t n = 1 + tc_random(&seed) % (round % 10 ? 200 : MOST_PIXELS);
        int nbytes;

        make_pixels(&seed, (int)(tc_random(&seed) % N_KINDS), bytepix, pixels, n);
        nbytes = cfitsio_encode(pixels, (int)n, bytepix, blocksize, expected, sizeof expected);
        TC_CHECK_EQ(encode_with(&paths[0], pixels, n, bytepix, (uint32_t)blocksize, stream), nbytes);
        if (nbytes > 0) TC_CHECK_BYTES(stream, expected, (size_t)nbytes);
        TC_CHECK_EQ(cfitsio_decode(stream, nbytes, bytepix, blocksize, decoded, (int)n), 0);
        TC_CHECK_BYTES(decoded, pixels, n * bytepix);
    }
}
#endif

int main(void)
{
    TC_RUN(test_golden_streams_encode);
    TC_RUN(test_golden_streams_decode);
    TC_RUN(test_public_functions_take_their_types);
    TC_RUN(test_bad_parameters_are_refused);
    TC_RUN(test_faults_have_their_status);
    TC_RUN(test_every_cut_is_noticed);
    TC_RUN(test_every_bit_flip_equals_the_reference);
    TC_RUN(test_round_trip_of_every_path);
    TC_RUN(test_encoder_keeps_to_its_buffer);
    TC_RUN(test_bound_is_reached_by_plain_blocks);
    TC_RUN(test_many_streams_equal_the_reference);
    TC_RUN(test_a_spoilt_stream_beside_good_ones);
    TC_RUN(test_a_fault_far_behind_the_start_of_its_block);
    TC_RUN(test_every_prefix_is_decoded);
#ifdef TC_HAVE_CFITSIO
    TC_RUN(test_equal_to_cfitsio);
#endif
    return tc_test_summary();
}
