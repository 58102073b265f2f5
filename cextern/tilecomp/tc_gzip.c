#include "tc_gzip.h"

#include <libdeflate.h>

#include "tc_gzip_fault.h"

tc_gzip_decoder *tc_gzip_decoder_new(void)
{
    return libdeflate_alloc_decompressor();
}

void tc_gzip_decoder_free(tc_gzip_decoder *decoder)
{
    libdeflate_free_decompressor(decoder);
}

/* The width of n pixels that take `nbytes`: 1, 2, 4 or 8, else 0. */
static size_t width_of(size_t nbytes, size_t n)
{
    for (size_t width = 1; width <= 8; width *= 2)
        if (nbytes % width == 0 && nbytes / width == n) return width;
    return 0;
}

tc_status tc_gzip_inflate(tc_gzip_decoder *decoder, const uint8_t *src, size_t src_len, uint8_t *dst, size_t dst_cap,
                          size_t *nbytes, size_t *used)
{
    *nbytes = 0;
    *used = 0;
    switch (libdeflate_gzip_decompress_ex(decoder, src, src_len, dst, dst_cap, used, nbytes)) {
    case LIBDEFLATE_SUCCESS:
        return TC_OK;
    case LIBDEFLATE_INSUFFICIENT_SPACE: /* a cut one, too: libdeflate reads zeros behind the end */
        return tc_gzip_fault(src, src_len) == TC_TRUNCATED ? TC_TRUNCATED : TC_NO_SPACE;
    default:
        return tc_gzip_fault(src, src_len);
    }
}

tc_status tc_gzip_decode(tc_gzip_decoder *decoder, const uint8_t *src, size_t src_len, size_t n, size_t max_width,
                         uint8_t *dst, size_t *width, size_t *used)
{
    size_t nbytes;
    tc_status status;

    *width = 0;
    *used = 0;
    if (n > SIZE_MAX / 8 || width_of(max_width, 1) == 0) return TC_BAD_PARAM;
    status = tc_gzip_inflate(decoder, src, src_len, dst, n * max_width, &nbytes, used);
    if (status == TC_NO_SPACE) return TC_SIZE_MISMATCH;
    if (status != TC_OK) return status;
    *width = width_of(nbytes, n);
    return *width ? TC_OK : TC_SIZE_MISMATCH;
}

tc_gzip_encoder *tc_gzip_encoder_new(int level)
{
    return level < 0 || level > 12 ? NULL : libdeflate_alloc_compressor(level);
}

void tc_gzip_encoder_free(tc_gzip_encoder *encoder)
{
    libdeflate_free_compressor(encoder);
}

size_t tc_gzip_bound(size_t src_len)
{
    return libdeflate_gzip_compress_bound(NULL, src_len);
}

tc_status tc_gzip_encode(tc_gzip_encoder *encoder, const uint8_t *src, size_t src_len,
                         uint8_t *dst, size_t dst_cap, size_t *used)
{
    *used = libdeflate_gzip_compress(encoder, src, src_len, dst, dst_cap);
    return *used ? TC_OK : TC_NO_SPACE;
}
