/* The RICE_1 encoder; tc_rice.c describes the format.  For every block the number of low bits comes from the mean of
 * the folded differences alone, as in CFITSIO, so that the bytes are the same as its bytes. */
#include "tc_rice_emit.h"
#include "tc_rice_paths.h"

TC_RICE_INLINE uint64_t fold(tc_rice_width width, const void *src, size_t i, size_t m, uint32_t *folded)
{
    uint64_t sum = folded[0] = i ? tc_rice_fold_one(width, src, i) : 0;

    for (size_t j = 1; j < m; j++) sum += folded[j] = tc_rice_fold_one(width, src, i + j);
    return sum;
}

static uint64_t fold_8(const void *src, size_t i, size_t m, uint32_t *folded)
{
    return fold(TC_RICE_WIDTH_8, src, i, m, folded);
}

static uint64_t fold_16(const void *src, size_t i, size_t m, uint32_t *folded)
{
    return fold(TC_RICE_WIDTH_16, src, i, m, folded);
}

static uint64_t fold_32(const void *src, size_t i, size_t m, uint32_t *folded)
{
    return fold(TC_RICE_WIDTH_32, src, i, m, folded);
}

static void put_coded(tc_bit_writer *out, const uint32_t *folded, size_t m, unsigned fs)
{
    tc_rice_put_coded(out, folded, m, fs);
}

tc_status tc_rice_encode_portable(const void *src, size_t n, uint32_t bytepix, uint32_t blocksize, uint8_t *dst,
                                  size_t dst_cap, size_t *used)
{
    if (bytepix == 1)
        return tc_rice_encode_with(TC_RICE_WIDTH_8, fold_8, put_coded, src, n, blocksize, dst, dst_cap, used);
    if (bytepix == 2)
        return tc_rice_encode_with(TC_RICE_WIDTH_16, fold_16, put_coded, src, n, blocksize, dst, dst_cap,
                                   used);
    return tc_rice_encode_with(TC_RICE_WIDTH_32, fold_32, put_coded, src, n, blocksize, dst, dst_cap, used);
}

size_t tc_rice_bound(size_t n, uint32_t bytepix, uint32_t blocksize)
{
    const size_t code_bits = bytepix == 1 ? 3 : bytepix == 2 ? 4 : 5;
    const size_t n_blocks = blocksize ? n / blocksize + (n % blocksize != 0) : n;

    if (n > SIZE_MAX / 64) return SIZE_MAX;
    return bytepix + (code_bits * n_blocks + 8 * bytepix * n + 7) / 8;
}

static tc_status encode(const void *src, size_t n, uint32_t bytepix, uint32_t blocksize, uint8_t *dst, size_t dst_cap,
                        size_t *used)
{
    *used = 0;
    if (n == 0 || blocksize == 0 || blocksize > TC_RICE_MAX_BLOCKSIZE) return TC_BAD_PARAM;
    switch (tc_cpu_level()) {
#if TC_CPU_X86
    case TC_CPU_AVX512: /* nothing to gain over AVX2 */
    case TC_CPU_AVX2: return tc_rice_encode_avx2(src, n, bytepix, blocksize, dst, dst_cap, used);
#endif
    default: return tc_rice_encode_portable(src, n, bytepix, blocksize, dst, dst_cap, used);
    }
}

tc_status tc_rice_encode_u8(const uint8_t *src, size_t n, uint32_t blocksize, uint8_t *dst, size_t dst_cap,
                            size_t *used)
{
    return encode(src, n, 1, blocksize, dst, dst_cap, used);
}

tc_status tc_rice_encode_i16(const int16_t *src, size_t n, uint32_t blocksize, uint8_t *dst, size_t dst_cap,
                             size_t *used)
{
    return encode(src, n, 2, blocksize, dst, dst_cap, used);
}

tc_status tc_rice_encode_i32(const int32_t *src, size_t n, uint32_t blocksize, uint8_t *dst, size_t dst_cap,
                             size_t *used)
{
    return encode(src, n, 4, blocksize, dst, dst_cap, used);
}
