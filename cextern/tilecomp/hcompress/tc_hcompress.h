/* HCOMPRESS_1: a wavelet-like transform of a 2-D tile, its coefficients coded bit plane by bit plane.
 * The stream is described in tc_hcompress.c.  No globals, no allocation: safe on many threads. */
#ifndef TC_HCOMPRESS_H
#define TC_HCOMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tc_status.h"

#define TC_HCOMPRESS_MAX_PIXELS ((size_t)1 << 31)

/* Bytes of scratch that decoding or encoding a tile of nx columns (the fast axis) and ny rows needs, of
 * any alignment; at most 16 a pixel and 4096 more.  0 if the tile has no pixel or too many. */
size_t tc_hcompress_scratch(size_t nx, size_t ny);

/* Longest stream of a tile of `bits`-bit pixels (8, 16 or 32).  0 if the tile has no pixel or too many. */
size_t tc_hcompress_bound(size_t nx, size_t ny, int bits);

/* Decode a whole tile into dst[ny][nx].  `bits` is 8 (unsigned), 16 or 32 (signed): it limits the bit planes
 * that are believed, and the pixels are clipped to its range (a lossy stream may leave it).  `smooth` is
 * the SMOOTH parameter; the scale is in the stream.  `used` gets the bytes that the stream consists of.
 * TC_BAD_PARAM, TC_TRUNCATED, TC_BAD_MAGIC, TC_SIZE_MISMATCH (the stream is not ny x nx), TC_OUT_OF_RANGE
 * (more bit planes than such pixels can have), TC_BAD_CODE (neither a tree nor a direct plane),
 * TC_CORRUPT (no end mark); dst is undefined then, for no pixel is complete before the last byte. */
tc_status tc_hcompress_decode_i32(const uint8_t *src, size_t src_len, size_t nx, size_t ny, int bits, bool smooth,
                                  int32_t *dst, void *scratch, size_t *used);

/* Whether the head of a stream allows coefficients so large that decoding may wrap round in 64 bits.  It is defined what
 * tc_hcompress_decode_i32() then gives; no writer makes such streams. */
bool tc_hcompress_wraps(const uint8_t *src, size_t src_len, bool smooth);

/* Encode a whole tile src[ny][nx].  `scale` is the divisor of the coefficients: lossless if 0, 1 or negative.
 * `used` gets the length of the stream.  TC_BAD_PARAM, TC_NO_SPACE (never with tc_hcompress_bound bytes). */
tc_status tc_hcompress_encode_i32(const int32_t *src, size_t nx, size_t ny, int32_t scale, uint8_t *dst, size_t dst_cap,
                                  void *scratch, size_t *used);

#endif
