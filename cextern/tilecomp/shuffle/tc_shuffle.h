/* Byte order and byte planes of pixels: big-endian in the file, native (little-endian) in memory.
 * A shuffled tile (GZIP_2) has the most significant bytes of all pixels, then the next ones, and so on. */
#ifndef TC_SHUFFLE_H
#define TC_SHUFFLE_H

#include <stddef.h>
#include <stdint.h>

/* n pixels of `width` bytes (1, 2, 4 or 8; nothing happens for any other).  Source and destination have n * width bytes and
 * no alignment is needed.  tc_byteswap may work in place; for the other two they must not overlap. */
void tc_byteswap(const void *src, size_t n, size_t width, void *dst);          /* native <-> big-endian */
void tc_shuffle(const void *src, size_t n, size_t width, uint8_t *dst);        /* native pixels -> byte planes */
void tc_unshuffle(const uint8_t *src, size_t n, size_t width, void *dst);      /* byte planes -> native pixels */

#endif
