/* The RICE_1 encoder but for its two inner loops, which are passed in: those of tc_rice_encode.c or of a CPU level. */
#ifndef TC_RICE_EMIT_H
#define TC_RICE_EMIT_H

#include "tc_bits.h"
#include "tc_rice_scalar.h"

/* The number of low bits for a block of m folded differences with this sum.  CFITSIO's rule, in integers, is the bit
 * length of p >> 1, p = (sum - m / 2 - 1) / m; it is found here without the division. */
TC_RICE_INLINE unsigned tc_rice_choose_fs(uint64_t sum, size_t m)
{
    const uint64_t subtract = m / 2 + 1, excess = sum < subtract ? 0 : sum - subtract;
    unsigned fs;

    if (excess < 2 * m) return 0;
    fs = tc_bit_length(excess) - tc_bit_length(m); /* the bit length of p, or one less */
    return fs - (excess < (uint64_t)m << fs);
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

/* Fold d, the pixel i >= 1 minus the one before it: 2d if d >= 0, else -2d - 1, in the bits of a pixel. */
TC_RICE_INLINE uint32_t tc_rice_fold_one(tc_rice_width width, const void *src, size_t i)
{
    const uint32_t difference = tc_rice_pixel(width, src, i) - tc_rice_pixel(width, src, i - 1);
    const uint32_t wrapped = difference << (32 - width.bits);
    const uint32_t sign = -(wrapped >> 31);

    return ((wrapped << 1) >> (32 - width.bits)) ^ (sign >> (32 - width.bits));
}

/* Append one difference of a coded block, however large. */
TC_RICE_INLINE void tc_rice_put_one(tc_bit_writer *out, uint32_t folded, unsigned fs)
{
    const uint32_t stop = 1u << fs;

    tc_rice_put_zeros(out, folded >> fs);
    tc_bits_put(out, stop | (folded & (stop - 1)), fs + 1);
}

/* Append m differences of a coded block, two at once where they fit. */
TC_RICE_INLINE void tc_rice_put_coded(tc_bit_writer *out, const uint32_t *folded, size_t m, unsigned fs)
{
    const uint32_t stop = 1u << fs, low_bits = stop - 1;
    size_t j = 0;

    tc_bits_flush(out);
    for (; j + 2 <= m && out->cap - out->pos >= 16; j += 2) {
        const uint64_t zeros0 = folded[j] >> fs, zeros1 = folded[j + 1] >> fs;
        const uint64_t code0 = stop | (folded[j] & low_bits), code1 = stop | (folded[j + 1] & low_bits);
        const uint64_t length = zeros0 + zeros1 + 2 * (fs + 1);

        if (length < TC_BITS_WINDOW) {
            tc_bits_put_quick(out, code0 << (zeros1 + fs + 1) | code1, (unsigned)length);
        } else {
            tc_rice_put_one(out, folded[j], fs);
            tc_rice_put_one(out, folded[j + 1], fs);
            tc_bits_flush(out);
        }
    }
    for (; j < m; j++) tc_rice_put_one(out, folded[j], fs);
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
