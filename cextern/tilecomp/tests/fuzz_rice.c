/* libFuzzer target: any bytes as RICE_1 streams and as pixels.
 * The first bytes choose width, block size, pixel counts and number of streams; the rest is cut into streams.  The
 * single decoder, every CPU path's many-streams decoder and a decode of a prefix must agree; what was decoded and the
 * raw input are encoded on every path, to equal bytes, and decoded back. */
#include <stdlib.h>
#include <string.h>

#include "tc_rice.h"
#include "tc_rice_levels.h"

#define MAX_STREAMS 40
#define MOST_PIXELS 300

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) abort();                                                                                     \
    } while (0)

static void decode_one(const uint8_t *src, size_t len, unsigned bytepix, uint32_t blocksize, void *dst, size_t n,
                       tc_rice_stream *result)
{
    if (bytepix == 1)
        result->status = tc_rice_decode_u8(src, len, blocksize, dst, n, &result->used, &result->done);
    if (bytepix == 2)
        result->status = tc_rice_decode_i16(src, len, blocksize, dst, n, &result->used, &result->done);
    if (bytepix == 4)
        result->status = tc_rice_decode_i32(src, len, blocksize, dst, n, &result->used, &result->done);
}

static void *allocate(size_t nbytes)
{
    void *const block = malloc(nbytes ? nbytes : 1);

    REQUIRE(block);
    return block;
}

/* Streams are blocks of exactly their length, so that a read outside is seen. */
static void check_decoders(const tc_rice_stream *streams, size_t n_streams, unsigned bytepix, uint32_t blocksize,
                           tc_rice_decoder *decode)
{
    tc_rice_stream together[MAX_STREAMS];

    for (size_t i = 0; i < n_streams; i++) {
        together[i] = streams[i];
        together[i].dst = allocate(streams[i].n * bytepix);
    }
    decode(together, n_streams, bytepix, blocksize);
    for (size_t i = 0; i < n_streams; i++) {
        REQUIRE(together[i].status == streams[i].status);
        REQUIRE(together[i].done == streams[i].done);
        REQUIRE(together[i].used == streams[i].used);
        REQUIRE(memcmp(together[i].dst, streams[i].dst, bytepix * streams[i].done) == 0);
        free(together[i].dst);
    }
}

static void check_prefix(const tc_rice_stream *s, unsigned bytepix, uint32_t blocksize, size_t n)
{
    void *const pixels = allocate(n * bytepix);
    tc_rice_stream prefix;

    decode_one(s->src, s->src_len, bytepix, blocksize, pixels, n, &prefix);
    REQUIRE(prefix.done == (n < s->done ? n : s->done));
    REQUIRE(prefix.used <= s->used);
    REQUIRE(prefix.status == TC_OK || prefix.status == s->status);
    REQUIRE(memcmp(pixels, s->dst, bytepix * prefix.done) == 0);
    free(pixels);
}

static void check_round_trip(const void *pixels, size_t n, unsigned bytepix, uint32_t blocksize)
{
    static tc_rice_encoder *const encoders[] = {
        tc_rice_encode_portable,
#if TC_CPU_X86
        tc_rice_encode_avx2, tc_rice_encode_avx512,
#endif
    };
    const size_t bound = tc_rice_bound(n, bytepix, blocksize);
    uint8_t *const first = allocate(bound), *const other = allocate(bound);
    void *const decoded = allocate(n * bytepix);
    tc_rice_stream result;
    size_t used, other_used;

    REQUIRE(tc_rice_encode_portable(pixels, n, bytepix, blocksize, first, bound, &used) == TC_OK);
    for (int level = 1; level <= (int)tc_cpu_detect(); level++) {
        REQUIRE(encoders[level](pixels, n, bytepix, blocksize, other, bound, &other_used) == TC_OK);
        REQUIRE(other_used == used && memcmp(first, other, used) == 0);
    }
    REQUIRE(tc_rice_encode_portable(pixels, n, bytepix, blocksize, other, used - 1, &other_used) == TC_NO_SPACE);
    decode_one(first, used, bytepix, blocksize, decoded, n, &result);
    REQUIRE(result.status == TC_OK && result.used == used);
    REQUIRE(memcmp(decoded, pixels, n * bytepix) == 0);
    free(first);
    free(other);
    free(decoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static tc_rice_decoder *const decoders[] = {
        tc_rice_decode_portable,
#if TC_CPU_X86
        tc_rice_decode_avx2, tc_rice_decode_avx512,
#endif
    };
    tc_rice_stream streams[MAX_STREAMS];
    unsigned bytepix;
    uint32_t blocksize;
    size_t n, n_streams, len;
    int alike;

    if (size < 4) return 0;
    bytepix = 1u << data[0] % 3;
    blocksize = data[0] & 0x80 ? 32 : 1 + data[1];
    alike = data[0] & 0x40;
    n = 1 + data[2] % MOST_PIXELS;
    n_streams = 1 + data[3] % MAX_STREAMS;
    data += 4;
    size -= 4;

    len = size / n_streams;
    for (size_t i = 0; i < n_streams; i++) {
        const size_t wanted = alike || len == 0 ? n : n * (1 + data[i * len] % 4) / 4;
        uint8_t *const src = allocate(len);

        if (len) memcpy(src, data + i * len, len);
        streams[i] = (tc_rice_stream){.src = src, .src_len = len, .dst = allocate(wanted * bytepix), .n = wanted};
        decode_one(src, len, bytepix, blocksize, streams[i].dst, wanted, &streams[i]);
    }
    for (int level = 0; level <= (int)tc_cpu_detect(); level++)
        check_decoders(streams, n_streams, bytepix, blocksize, decoders[level]);
    check_prefix(&streams[0], bytepix, blocksize, streams[0].n / 2);
    for (size_t i = 0; i < n_streams; i++) {
        if (i < 2 && streams[i].done) check_round_trip(streams[i].dst, streams[i].done, bytepix, blocksize);
        free((void *)streams[i].src);
        free(streams[i].dst);
    }
    if (size >= bytepix) { /* the bytes as pixels; a copy is aligned */
        const size_t n_raw = size / bytepix < MOST_PIXELS ? size / bytepix : MOST_PIXELS;
        void *const raw = allocate(n_raw * bytepix);

        memcpy(raw, data, n_raw * bytepix);
        check_round_trip(raw, n_raw, bytepix, blocksize);
        free(raw);
    }
    return 0;
}
