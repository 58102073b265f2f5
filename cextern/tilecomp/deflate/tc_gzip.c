#include "tc_gzip.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "tc_cpu.h"
#include "tc_deflate.h"

enum {
    HEADER = 10, /* bytes in front of the DEFLATE stream, */
    TRAILER = 8  /* and behind it */
};

struct tc_gzip_encoder {
    int level;
    tc_deflate_encoder *own; /* for byte planes at TC_GZIP_PLANES_LEVEL, else NULL */
    struct libdeflate_compressor *libdeflate;
};

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
        return TC_NO_SPACE;
    default:
        return TC_CORRUPT;
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
    tc_gzip_encoder *const encoder = level < 0 || level > 12 ? NULL : malloc(sizeof *encoder);

    if (!encoder) return NULL;
    *encoder = (tc_gzip_encoder){.level = level};
    encoder->libdeflate = libdeflate_alloc_compressor(level);
    if (level == TC_GZIP_PLANES_LEVEL) encoder->own = tc_deflate_encoder_new(tc_cpu_level());
    if (encoder->libdeflate && (encoder->own || level != TC_GZIP_PLANES_LEVEL)) return encoder;
    tc_gzip_encoder_free(encoder);
    return NULL;
}

void tc_gzip_encoder_free(tc_gzip_encoder *encoder)
{
    if (!encoder) return;
    tc_deflate_encoder_free(encoder->own);
    libdeflate_free_compressor(encoder->libdeflate);
    free(encoder);
}

size_t tc_gzip_bound(size_t src_len)
{
    const size_t a = libdeflate_deflate_compress_bound(NULL, src_len), b = tc_deflate_bound(src_len);

    return HEADER + (a > b ? a : b) + TRAILER;
}

/* The DEFLATE stream of src; its length, or 0 for no space. */
static size_t deflate(tc_gzip_encoder *encoder, const uint8_t *src, size_t src_len, size_t plane, uint8_t *dst,
                      size_t dst_cap)
{
    size_t nbytes;

    if (!encoder->own || !plane) return libdeflate_deflate_compress(encoder->libdeflate, src, src_len, dst, dst_cap);
    return tc_deflate(encoder->own, src, src_len, plane, dst, dst_cap, &nbytes) == TC_OK ? nbytes : 0;
}

static uint8_t *put32(uint8_t *dst, uint32_t value)
{
    for (int byte = 0; byte < 4; byte++) *dst++ = (uint8_t)(value >> 8 * byte);
    return dst;
}

tc_status tc_gzip_encode(tc_gzip_encoder *encoder, const uint8_t *src, size_t src_len, size_t plane,
                         uint8_t *dst, size_t dst_cap, size_t *used)
{
    const uint8_t effort = encoder->level < 2 ? 4 : encoder->level < 8 ? 0 : 2; /* fastest, none, best */
    const uint8_t header[HEADER] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, effort, 0xff};
    size_t nbytes;

    *used = 0;
    if (dst_cap < HEADER + TRAILER) return TC_NO_SPACE;
    memcpy(dst, header, HEADER);
    nbytes = deflate(encoder, src, src_len, plane, dst + HEADER, dst_cap - HEADER - TRAILER);
    if (!nbytes) return TC_NO_SPACE;
    dst = put32(dst + HEADER + nbytes, libdeflate_crc32(0, src, src_len));
    put32(dst, (uint32_t)src_len);
    *used = HEADER + nbytes + TRAILER;
    return TC_OK;
}
