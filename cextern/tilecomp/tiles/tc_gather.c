#include "tc_gather.h"

#include <string.h>

#include "tc_shuffle.h"

bool tc_strided_is_packed(const tc_strided *box)
{
    ptrdiff_t packed = (ptrdiff_t)box->width;

    for (size_t axis = box->n_axes; axis-- > 0;) {
        if (box->size[axis] > 1 && box->stride[axis] != packed) return false;
        packed *= (ptrdiff_t)box->size[axis];
    }
    return (uintptr_t)box->first % box->width == 0;
}

#define TYPES(X) X(8, 1) X(16, 2) X(32, 4) X(64, 8)

#define COPY_STRIDED(BITS, BYTES)                                                                                      \
    case BYTES:                                                                                                        \
        for (size_t i = 0; i < n; i++) memcpy(dst + i * BYTES, src + (ptrdiff_t)i * stride, BYTES);                    \
        break;

#define FLIP(BITS, BYTES)                                                                                              \
    case BYTES:                                                                                                        \
        for (size_t i = 0; i < n; i++) ((uint##BITS##_t *)(void *)pixels)[i] ^= (uint##BITS##_t)1 << (BITS - 1);       \
        break;

static void flip_top_bits(uint8_t *pixels, size_t n, size_t width)
{
    switch (width) {
        TYPES(FLIP)
    }
}

static void gather_row(const uint8_t *src, size_t n, ptrdiff_t stride, size_t width, bool swap, uint8_t *dst)
{
    if (stride == (ptrdiff_t)width) {
        if (swap) tc_byteswap(src, n, width, dst);
        else memcpy(dst, src, n * width);
        return;
    }
    switch (width) {
        TYPES(COPY_STRIDED)
    }
    if (swap) tc_byteswap(dst, n, width, dst);
}

/* The rows of the box along `axis` and the faster ones; returns where the next pixel goes. */
static uint8_t *gather_axis(const tc_strided *box, size_t axis, const uint8_t *src, bool swap, bool flip, uint8_t *dst)
{
    if (axis + 1 < box->n_axes) {
        for (size_t i = 0; i < box->size[axis]; i++)
            dst = gather_axis(box, axis + 1, src + (ptrdiff_t)i * box->stride[axis], swap, flip, dst);
        return dst;
    }
    gather_row(src, box->size[axis], box->stride[axis], box->width, swap, dst);
    if (flip) flip_top_bits(dst, box->size[axis], box->width);
    return dst + box->size[axis] * box->width;
}

void tc_gather(const tc_strided *box, bool swap, bool flip, void *dst)
{
    gather_axis(box, 0, box->first, swap, flip, dst);
}
