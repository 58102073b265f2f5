/* The codes of RICE_1 differences, written one or two at a time. */
#ifndef TC_RICE_EMIT_H
#define TC_RICE_EMIT_H

#include "tc_bits.h"
#include "tc_rice_scalar.h"

/* The number of low bits for a block of m folded differences with this sum.  CFITSIO's rule, in integers, is the bit
 * length of p >> 1, p = (sum - m / 2 - 1) / m; it is found here without the division. */
TC_INLINE unsigned tc_rice_choose_fs(uint64_t sum, size_t m)
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

TC_INLINE uint32_t tc_rice_pixel(tc_rice_width width, const void *src, size_t i)
{
    if (width.bits == 8) return ((const uint8_t *)src)[i];
    if (width.bits == 16) return ((const uint16_t *)src)[i];
    return ((const uint32_t *)src)[i];
}

/* Fold d, the pixel i >= 1 minus the one before it: 2d if d >= 0, else -2d - 1, in the bits of a pixel. */
TC_INLINE uint32_t tc_rice_fold_one(tc_rice_width width, const void *src, size_t i)
{
    const uint32_t difference = tc_rice_pixel(width, src, i) - tc_rice_pixel(width, src, i - 1);
    const uint32_t wrapped = difference << (32 - width.bits);
    const uint32_t sign = -(wrapped >> 31);

    return ((wrapped << 1) >> (32 - width.bits)) ^ (sign >> (32 - width.bits));
}

/* Append one difference of a coded block, however large. */
TC_INLINE void tc_rice_put_one(tc_bit_writer *out, uint32_t folded, unsigned fs)
{
    const uint32_t stop = 1u << fs;

    tc_rice_put_zeros(out, folded >> fs);
    tc_bits_put(out, stop | (folded & (stop - 1)), fs + 1);
}

/* Append m differences of a coded block, two at once where they fit. */
TC_INLINE void tc_rice_put_coded(tc_bit_writer *out, const uint32_t *folded, size_t m, unsigned fs)
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

TC_INLINE void tc_rice_put_plain(tc_bit_writer *out, const uint32_t *folded, size_t m, unsigned bits)
{
    for (size_t j = 0; j < m; j++) tc_bits_put(out, folded[j], bits);
}

#endif
