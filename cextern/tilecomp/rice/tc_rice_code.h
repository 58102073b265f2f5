/* The RICE_1 kernels of one CPU level: the decoder of as many streams at a time as its registers hold, and the encoder. */
#include "tc_rice_levels.h"
#include "tc_rice_scalar.h"
#if HAS_AVX512
#include "tc_rice_sixteen.h"
#elif HAS_AVX2
#include "tc_rice_four.h"
#endif

/* ---- decoding ---- */

#if !HAS_AVX512
/* Decode the first streams, as many as go well together; returns how many. */
static size_t tc_rice_first_streams(tc_rice_stream *streams, size_t n_streams, uint32_t bytepix, uint32_t blocksize)
{
#if HAS_AVX2
    return tc_rice_first_four(streams, n_streams, bytepix, blocksize);
#else
    (void)n_streams;
    if (bytepix == 1) tc_rice_one(TC_RICE_WIDTH_8, streams, blocksize);
    if (bytepix == 2) tc_rice_one(TC_RICE_WIDTH_16, streams, blocksize);
    if (bytepix == 4) tc_rice_one(TC_RICE_WIDTH_32, streams, blocksize);
    return 1;
#endif
}
#endif

void LEVEL(tc_rice_decode)(tc_rice_stream *streams, size_t n_streams, uint32_t bytepix, uint32_t blocksize)
{
    for (size_t i = 0; i < n_streams;) i += tc_rice_first_streams(streams + i, n_streams - i, bytepix, blocksize);
}

#if !HAS_AVX512

/* ---- encoding: for every block the number of low bits comes from the mean of the folded differences alone, as in
 * CFITSIO, so that the bytes are the same as its bytes ---- */

#include "tc_rice_emit.h"
#if HAS_AVX2
#include "tc_rice_emit_avx2.h"
#else

/* Fold the differences of src[i .. i + m) into `folded` and return their sum. */
TC_INLINE uint64_t tc_rice_fold(tc_rice_width width, const void *src, size_t i, size_t m, uint32_t *folded)
{
    uint64_t sum = folded[0] = i ? tc_rice_fold_one(width, src, i) : 0;

    for (size_t j = 1; j < m; j++) sum += folded[j] = tc_rice_fold_one(width, src, i + j);
    return sum;
}

static void tc_rice_put_many(tc_bit_writer *out, const uint32_t *folded, size_t m, unsigned fs)
{
    tc_rice_put_coded(out, folded, m, fs);
}
#endif

#define TC_RICE_CHUNK 256 /* differences that are folded at a time */

TC_INLINE size_t tc_rice_chunk(size_t j, size_t m)
{
    return m - j < TC_RICE_CHUNK ? m - j : TC_RICE_CHUNK;
}

/* Encode one block.  A block longer than a chunk is folded twice, to know its sum first. */
TC_INLINE void tc_rice_put_block(tc_rice_width width, tc_bit_writer *out, const void *src, size_t first, size_t m)
{
    uint32_t folded[TC_RICE_CHUNK];
    uint64_t sum = 0;
    unsigned fs;

    for (size_t j = 0; j < m; j += TC_RICE_CHUNK)
        sum += tc_rice_fold(width, src, first + j, tc_rice_chunk(j, m), folded);
    fs = tc_rice_choose_fs(sum, m);
    if (fs >= width.fs_max) fs = width.fs_max;
    tc_bits_put(out, sum ? fs + 1 : 0, width.code_bits);
    if (sum == 0) return;
    for (size_t j = 0; j < m; j += TC_RICE_CHUNK) {
        const size_t count = tc_rice_chunk(j, m);

        if (m > TC_RICE_CHUNK) tc_rice_fold(width, src, first + j, count, folded);
        if (fs == width.fs_max) tc_rice_put_plain(out, folded, count, width.bits);
        else tc_rice_put_many(out, folded, count, fs);
    }
}

TC_INLINE tc_status tc_rice_put_stream(tc_rice_width width, const void *src, size_t n, uint32_t blocksize, uint8_t *dst,
                                       size_t dst_cap, size_t *used)
{
    tc_bit_writer out = tc_bits_create(dst, dst_cap);

    tc_bits_put(&out, tc_rice_pixel(width, src, 0), width.bits);
    for (size_t i = 0; i < n && !out.full; i += blocksize)
        tc_rice_put_block(width, &out, src, i, tc_rice_block_end(i, blocksize, n) - i);
    return tc_bits_finish(&out, used);
}

tc_status LEVEL(tc_rice_encode)(const void *src, size_t n, uint32_t bytepix, uint32_t blocksize, uint8_t *dst,
                                size_t dst_cap, size_t *used)
{
    if (bytepix == 1) return tc_rice_put_stream(TC_RICE_WIDTH_8, src, n, blocksize, dst, dst_cap, used);
    if (bytepix == 2) return tc_rice_put_stream(TC_RICE_WIDTH_16, src, n, blocksize, dst, dst_cap, used);
    return tc_rice_put_stream(TC_RICE_WIDTH_32, src, n, blocksize, dst, dst_cap, used);
}

#endif
