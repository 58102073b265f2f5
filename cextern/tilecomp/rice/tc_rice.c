/* RICE_1, FITS 4.0 section 10.4.1.  A tile of B-bit pixels (B = 8, 16, 32) is one big-endian bit stream:
 *   seed    B bits; the value before the first pixel, equal to it
 *   then for every block of `blocksize` pixels (the last may be shorter):
 *   code    log2(B) bits: 0 = every difference is 0, nothing follows; fsmax + 1 = each difference takes
 *           B plain bits; else each is a unary part (zeros, then a 1), then code - 1 low bits
 * A difference d to the pixel before is folded: 2d if d >= 0, else -2d - 1; sums wrap at B bits.
 * fsmax is 6, 14, 25 for the three B.  Zeros pad the stream to a whole byte.
 * The stream states neither the pixel count nor B; both come from the header.  Reads stay in [src, src + src_len),
 * writes in [dst, dst + n).  On error dst[0 .. done) holds what was decoded before it.  No globals. */
#include "tc_rice.h"

#include "tc_rice_levels.h"

tc_status tc_rice_decode_streams(tc_rice_stream *streams, size_t n_streams, uint32_t bytepix, uint32_t blocksize)
{
    if (bytepix != 1 && bytepix != 2 && bytepix != 4) return TC_BAD_PARAM;
    if (blocksize == 0 || blocksize > TC_RICE_MAX_BLOCKSIZE) return TC_BAD_PARAM;
    TC_AT_LEVEL(tc_rice_decode)(streams, n_streams, bytepix, blocksize);
    return TC_OK;
}

static tc_status decode_single(const uint8_t *src, size_t src_len, uint32_t bytepix, uint32_t blocksize, void *dst,
                               size_t n, size_t *used, size_t *done)
{
    tc_rice_stream stream = {.src = src, .src_len = src_len, .dst = dst, .n = n};
    const tc_status status = tc_rice_decode_streams(&stream, 1, bytepix, blocksize);

    *used = stream.used;
    *done = stream.done;
    return status == TC_OK ? stream.status : status;
}

tc_status tc_rice_decode_u8(const uint8_t *src, size_t src_len, uint32_t blocksize, uint8_t *dst, size_t n,
                            size_t *used, size_t *done)
{
    return decode_single(src, src_len, 1, blocksize, dst, n, used, done);
}

tc_status tc_rice_decode_i16(const uint8_t *src, size_t src_len, uint32_t blocksize, int16_t *dst, size_t n,
                             size_t *used, size_t *done)
{
    return decode_single(src, src_len, 2, blocksize, dst, n, used, done);
}

tc_status tc_rice_decode_i32(const uint8_t *src, size_t src_len, uint32_t blocksize, int32_t *dst, size_t n,
                             size_t *used, size_t *done)
{
    return decode_single(src, src_len, 4, blocksize, dst, n, used, done);
}

/* ---- encoding ---- */

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
    return TC_AT_LEVEL(tc_rice_encode)(src, n, bytepix, blocksize, dst, dst_cap, used);
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
