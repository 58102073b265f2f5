/* PLIO_1: a run-length list of 16-bit words, made for masks.  The list is described in tc_plio.c.
 * No globals, no allocation: safe on many threads. */
#ifndef TC_PLIO_H
#define TC_PLIO_H

#include <stddef.h>
#include <stdint.h>

#include "tc_status.h"

#define TC_PLIO_MAX_VALUE 0xffffff

/* Bytes of the longest list that n pixels can need. */
size_t tc_plio_bound(size_t n);

/* Decode the first n pixels of a tile; src holds the words as big-endian bytes.  `offset` is subtracted from every
 * pixel (32768 for 16-bit images with BZERO = 32768, else 0), then the pixel is clipped to the type of dst.
 * `used` gets the bytes of the whole list, which states its own length; `done` the pixels decoded, also on error.
 * TC_TRUNCATED (fewer bytes than the list states), TC_CORRUPT (head), TC_BAD_CODE (bit 15 set),
 * TC_OUT_OF_RANGE (a level outside 0 ... TC_PLIO_MAX_VALUE). */
tc_status tc_plio_decode_i32(const uint8_t *src, size_t src_len, int32_t offset, int32_t *dst, size_t n, size_t *used,
                             size_t *done);
tc_status tc_plio_decode_i16(const uint8_t *src, size_t src_len, int32_t offset, int16_t *dst, size_t n, size_t *used,
                             size_t *done);
tc_status tc_plio_decode_u8(const uint8_t *src, size_t src_len, int32_t offset, uint8_t *dst, size_t n, size_t *used,
                            size_t *done);

/* Encode n pixels; `offset` is added to each before.  TC_OUT_OF_RANGE if one then is outside 0 ...
 * TC_PLIO_MAX_VALUE, TC_NO_SPACE (never with tc_plio_bound(n) bytes). */
tc_status tc_plio_encode_i32(const int32_t *src, size_t n, int32_t offset, uint8_t *dst, size_t dst_cap, size_t *used);

#endif
