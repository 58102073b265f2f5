/* DEFLATE (RFC 1951) for the bytes of noisy pixels: prefix codes of literals, and runs of one byte, without a search for
 * other matches.  Where such a search would pay, tc_deflate says so and leaves the work to a general encoder. */
#ifndef TC_DEFLATE_H
#define TC_DEFLATE_H

#include <stddef.h>
#include <stdint.h>

#include "tc_cpu.h"
#include "tc_status.h"

/* Deflate n bytes, which are planes of `plane` bytes each (the last may be shorter): a new block begins where a plane does.
 * Streams are the same at every `cpu`.
 *   TC_REFUSED    matches would pay, or the content or its planes are too short for codes of their own
 *   TC_NO_SPACE   dst_cap is too small; never with tc_deflate_bound(n) bytes
 * What dst holds after an error means nothing. */
size_t tc_deflate_bound(size_t n);
tc_status tc_deflate(tc_cpu cpu, const uint8_t *src, size_t n, size_t plane, uint8_t *dst, size_t dst_cap, size_t *used);

#endif
