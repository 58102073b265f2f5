/* The first step of encoding: the pixels of one tile, from an array of any strides and byte order, side by side in C order
 * and native byte order.  (tc_place.h is the way back.) */
#ifndef TC_GATHER_H
#define TC_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A box of pixels in memory, slowest axis first. */
typedef struct {
    const uint8_t *first;     /* the pixel at index 0 of every axis; no alignment is needed */
    size_t n_axes;
    const size_t *size;       /* pixels along each axis, none 0 */
    const ptrdiff_t *stride;  /* bytes from one pixel to the next, of any sign */
    size_t width;             /* bytes of a pixel: 1, 2, 4 or 8 */
} tc_strided;

/* Whether the pixels already stand side by side in C order, at an address that suits their width. */
bool tc_strided_is_packed(const tc_strided *box);

/* dst[0 ...] = the pixels.  `swap`: they are in the other byte order; `flip`: turn over their top bit, which takes unsigned
 * pixels to signed ones with FITS' offset (and signed bytes to unsigned ones).  `dst` is aligned and does not overlap them. */
void tc_gather(const tc_strided *box, bool swap, bool flip, void *dst);

#endif
