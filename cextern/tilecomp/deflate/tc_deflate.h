/* DEFLATE (RFC 1951) for the bytes of pixels.  Noise is quickly deflated by prefix codes of literals and runs of one byte;
 * other matches are searched for where a sample says that they would pay, and weighed against literals one by one. */
#ifndef TC_DEFLATE_H
#define TC_DEFLATE_H

#include <stddef.h>
#include <stdint.h>

#include "tc_cpu.h"
#include "tc_status.h"

/* For one thread at a time, and many streams. */
typedef struct tc_deflate_encoder tc_deflate_encoder;

tc_deflate_encoder *tc_deflate_encoder_new(tc_cpu cpu); /* NULL: no memory */
void tc_deflate_encoder_free(tc_deflate_encoder *encoder);

/* Deflate n bytes: planes of `plane` bytes each (the last may be shorter), at which new blocks begin; or pixels as they
 * are, if `plane` is 0.  Streams are the same at every CPU level.
 *   TC_NO_SPACE   dst_cap is too small; never with tc_deflate_bound(n) bytes
 * What dst holds after an error means nothing. */
size_t tc_deflate_bound(size_t n);
tc_status tc_deflate(tc_deflate_encoder *encoder, const uint8_t *src, size_t n, size_t plane, uint8_t *dst, size_t dst_cap,
                     size_t *used);

#endif
