/* GZIP_1 and the outer layer of GZIP_2: one gzip member (RFC 1952) per tile, through libdeflate or tc_deflate.
 * A context is for one thread at a time; make one per thread and use it for many tiles. */
#ifndef TC_GZIP_H
#define TC_GZIP_H

#include <stddef.h>
#include <stdint.h>

#include "tc_status.h"

typedef struct libdeflate_decompressor tc_gzip_decoder;
typedef struct tc_gzip_encoder tc_gzip_encoder;

/* Levels that give streams no larger than zlib's level 1, as fast as can be: of pixels by libdeflate, of byte planes by tc_deflate.
 * All other levels are libdeflate's. */
#define TC_GZIP_PIXELS_LEVEL 6
#define TC_GZIP_PLANES_LEVEL 1

tc_gzip_decoder *tc_gzip_decoder_new(void); /* NULL: no memory */
void tc_gzip_decoder_free(tc_gzip_decoder *decoder);

/* Inflate the member at the start of `src`, whatever it holds: `*nbytes` of content, `*used` bytes of the member.
 *   TC_NO_SPACE   more than dst_cap bytes of content, or a cut member
 *   TC_CORRUPT    anything else that is wrong with it */
tc_status tc_gzip_inflate(tc_gzip_decoder *decoder, const uint8_t *src, size_t src_len, uint8_t *dst, size_t dst_cap,
                          size_t *nbytes, size_t *used);

/* Inflate the one member at `src` into `dst`, which has room for n pixels of `max_width` bytes (1, 2, 4 or 8).
 * `*width` = bytes a pixel, found from the length: 1, 2, 4 or 8; `*used` = bytes of the member.
 *   TC_SIZE_MISMATCH   the content is longer than n * max_width, or not a whole width times n; or a cut member
 *   TC_CORRUPT         anything else that is wrong with it */
tc_status tc_gzip_decode(tc_gzip_decoder *decoder, const uint8_t *src, size_t src_len, size_t n, size_t max_width,
                         uint8_t *dst, size_t *width, size_t *used);

tc_gzip_encoder *tc_gzip_encoder_new(int level); /* 0 ... 12; NULL: no memory or another level */
void tc_gzip_encoder_free(tc_gzip_encoder *encoder);

/* Deflate `src_len` bytes into one member (no name, time 0) of at most tc_gzip_bound(src_len) bytes.  The content
 * is byte planes of `plane` bytes each, or pixels (`plane` is 0). */
size_t tc_gzip_bound(size_t src_len);
tc_status tc_gzip_encode(tc_gzip_encoder *encoder, const uint8_t *src, size_t src_len, size_t plane,
                         uint8_t *dst, size_t dst_cap, size_t *used);

#endif
