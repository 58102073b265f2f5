/* The RICE_1 encoder's choice for a block and the writing of it, shared by the encoders of every CPU level. */
#ifndef TC_RICE_EMIT_H
#define TC_RICE_EMIT_H

#include "tc_bits.h"
#include "tc_rice_scalar.h"

/* The number of low bits for a block of m folded differences with this sum: CFITSIO's rule, in integers. */
TC_RICE_INLINE unsigned tc_rice_choose_fs(uint64_t sum, size_t m)
{
    const uint64_t subtract = m / 2 + 1;

    return sum < subtract ? 0 : tc_bit_length((sum - subtract) / m >> 1);
}

/* Append `zeros` zero bits. */
static inline void tc_rice_put_zeros(tc_bit_writer *out, uint64_t zeros)
{
    for (; zeros > 32; zeros -= 32) tc_bits_put(out, 0, 32);
    tc_bits_put(out, 0, (unsigned)zeros);
}

TC_RICE_INLINE uint32_t tc_rice_pixel(tc_rice_width width, const void *src, size_t i)
{
    if (width.bits == 8) return ((const uint8_t *)src)[i];
    if (width.bits == 16) return ((const uint16_t *)src)[i];
    return ((const uint32_t *)src)[i];
}

/* Fold src[i] minus the pixel before it (itself for the first): 2d if d >= 0, else -2d - 1, of `bits` bits. */
TC_RICE_INLINE uint32_t tc_rice_fold_one(tc_rice_width width, const void *src, size_t i)
{
    const uint32_t before = tc_rice_pixel(width, src, i ? i - 1 : 0);
    const uint32_t wrapped = (tc_rice_pixel(width, src, i) - before) << (32 - width.bits);
    const uint32_t sign = -(wrapped >> 31);

    return ((wrapped << 1) >> (32 - width.bits)) ^ (sign >> (32 - width.bits));
}

TC_RICE_INLINE void tc_rice_put_coded(tc_bit_writer *out, const uint32_t *folded, size_t m, unsigned fs)
{
    const uint32_t stop = 1u << fs, low_bits = stop - 1;

    for (size_t j = 0; j < m; j++) {
        const uint32_t zeros = folded[j] >> fs;
        const uint32_t tail = stop | (folded[j] & low_bits);

        if (zeros <= 30) {
            tc_bits_put(out, tail, zeros + fs + 1);
        } else {
            tc_rice_put_zeros(out, zeros);
            tc_bits_put(out, tail, fs + 1);
        }
    }
}

TC_RICE_INLINE void tc_rice_put_plain(tc_bit_writer *out, const uint32_t *folded, size_t m, unsigned bits)
{
    for (size_t j = 0; j < m; j++) tc_bits_put(out, folded[j], bits);
}

/* Fold the differences of src[i .. i + m), m <= TC_RICE_CHUNK, into `folded` and return their sum. */
typedef uint64_t tc_rice_fold(const void *src, size_t i, size_t m, uint32_t *folded);
typedef void tc_rice_put(tc_bit_writer *out, const uint32_t *folded, size_t m, unsigned fs);
#define TC_RICE_CHUNK 256

/* Encode one block.  A block longer than a chunk is folded twice, to know its sum first. */
TC_RICE_INLINE void tc_rice_put_block(tc_rice_width width, tc_rice_fold *fold, tc_rice_put *put_coded,
                                      tc_bit_writer *out, const void *src, size_t first, size_t m)
{
    uint32_t folded[TC_RICE_CHUNK];
    uint64_t sum = 0;
    unsigned fs;

    for (size_t j = 0; j < m; j += TC_RICE_CHUNK)
        sum += fold(src, first + j, m - j < TC_RICE_CHUNK ? m - j : TC_RICE_CHUNK, folded);
    fs = tc_rice_choose_fs(sum, m);
    if (fs >= width.fs_max) fs = width.fs_max;
    tc_bits_put(out, sum ? fs + 1 : 0, width.code_bits);
    if (sum == 0) return;
    for (size_t j = 0; j < m; j += TC_RICE_CHUNK) {
        const size_t count = m - j < TC_RICE_CHUNK ? m - j : TC_RICE_CHUNK;

        if (m > TC_RICE_CHUNK) fold(src, first + j, count, folded);
        if (fs == width.fs_max) tc_rice_put_plain(out, folded, count, width.bits);
        else put_coded(out, folded, count, fs);
    }
}

TC_RICE_INLINE tc_status tc_rice_encode_with(tc_rice_width width, tc_rice_fold *fold, tc_rice_put *put_coded,
                                             const void *src, size_t n, uint32_t blocksize, uint8_t *dst,
                                             size_t dst_cap, size_t *used)
{
    tc_bit_writer out = tc_bits_create(dst, dst_cap);

    tc_bits_put(&out, tc_rice_pixel(width, src, 0), width.bits);
    for (size_t i = 0; i < n && !out.full; i += blocksize)
        tc_rice_put_block(width, fold, put_coded, &out, src, i, n - i < blocksize ? n - i : blocksize);
    return tc_bits_finish(&out, used);
}

#endif
