/* RICE_1, FITS 4.0 section 10.4.1: decoders and encoders for pixels of 1, 2 and 4 bytes; tc_rice.c has the format.
 *
 * Every decoder reads only [src, src + src_len), writes only [dst, dst + n), allocates nothing and is safe on many
 * threads.  `n` may be smaller than the number of pixels in the stream: decoding stops there.
 *   used  bytes that hold what was decoded; bytes after them are the caller's business
 *   done  pixels decoded; n unless there was an error, when dst[0 .. done) holds what came before it
 * The rest of dst is of no meaning after an error.
 * Returned: TC_OK, TC_TRUNCATED (the stream ends first), TC_BAD_CODE (a block code the format does not define),
 * TC_CORRUPT (a difference too large for the pixel type) or TC_BAD_PARAM (blocksize, bytepix). */
#ifndef TC_RICE_H
#define TC_RICE_H

#include <stddef.h>
#include <stdint.h>

#include "tc_status.h"

#define TC_RICE_MAX_BLOCKSIZE 65536u /* larger ones are refused: TC_BAD_PARAM */

tc_status tc_rice_decode_u8(const uint8_t *src, size_t src_len, uint32_t blocksize, uint8_t *dst, size_t n,
                            size_t *used, size_t *done);
tc_status tc_rice_decode_i16(const uint8_t *src, size_t src_len, uint32_t blocksize, int16_t *dst, size_t n,
                             size_t *used, size_t *done);
tc_status tc_rice_decode_i32(const uint8_t *src, size_t src_len, uint32_t blocksize, int32_t *dst, size_t n,
                             size_t *used, size_t *done);

/* One of many streams for tc_rice_decode_streams(). */
typedef struct {
    const uint8_t *src;
    size_t src_len;
    void *dst;   /* n pixels of uint8_t, int16_t or int32_t, aligned as the type asks */
    size_t n;    /* pixels wanted */
    size_t used; /* set by the call, as are the next two: what the single decoder of the type would give */
    size_t done;
    tc_status status;
} tc_rice_stream;

/* Decode many streams of one pixel width (bytepix 1, 2, 4) and block size; their pixels must not overlap.
 * Streams next to each other are decoded side by side, which is several times as fast as one by one: as many as
 * TC_RICE_STREAMS_AT_ONCE with the same `n`, or TC_RICE_LENGTHS_AT_ONCE of any.  Returns TC_OK, whatever the status of
 * the single streams, or TC_BAD_PARAM with nothing touched. */
#define TC_RICE_STREAMS_AT_ONCE 32
#define TC_RICE_LENGTHS_AT_ONCE 4
tc_status tc_rice_decode_streams(tc_rice_stream *streams, size_t n_streams, uint32_t bytepix, uint32_t blocksize);

/* The most bytes that n pixels can take; SIZE_MAX when that overflows. */
size_t tc_rice_bound(size_t n, uint32_t bytepix, uint32_t blocksize);

/* Encode n >= 1 pixels exactly as CFITSIO does.  `used` is the length of the stream.  Returned: TC_OK, TC_NO_SPACE
 * (never with dst_cap >= tc_rice_bound()) or TC_BAD_PARAM. */
tc_status tc_rice_encode_u8(const uint8_t *src, size_t n, uint32_t blocksize, uint8_t *dst, size_t dst_cap,
                            size_t *used);
tc_status tc_rice_encode_i16(const int16_t *src, size_t n, uint32_t blocksize, uint8_t *dst, size_t dst_cap,
                             size_t *used);
tc_status tc_rice_encode_i32(const int32_t *src, size_t n, uint32_t blocksize, uint8_t *dst, size_t dst_cap,
                             size_t *used);

#endif
