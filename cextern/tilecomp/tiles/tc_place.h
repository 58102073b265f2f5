/* The last step of decoding: the pixels of one tile, in C order and native byte order, go to their places in the output,
 * converted on the way.  Nothing is allocated; reads stay inside the tile, writes inside the box. */
#ifndef TC_PLACE_H
#define TC_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tc_quantize.h"

#define TC_MAX_AXES 32

typedef enum { TC_U8, TC_I16, TC_I32, TC_I64, TC_F32, TC_F64, TC_I8, TC_U16, TC_U32, TC_U64 } tc_type;

static inline size_t tc_type_size(tc_type type)
{
    static const uint8_t size[] = {1, 2, 4, 8, 4, 8, 1, 2, 4, 8};
    return size[type];
}

static inline bool tc_type_is_float(tc_type type) { return type == TC_F32 || type == TC_F64; }

/* What one axis of a tile gives to the output: pixel start + i * step for place i = 0 ... count - 1, `stride` bytes apart.
 * With `pixel` and `place` (both or neither) it is pixel[i] for place[i]: an index array. */
typedef struct {
    size_t size; /* pixels of the tile along this axis */
    int64_t start, step;
    size_t count;
    ptrdiff_t stride;
    const int64_t *pixel, *place;
} tc_box_axis;

/* Slowest axis first; `dst` is where place 0 of every axis is. */
typedef struct {
    size_t n_axes;
    tc_box_axis axis[TC_MAX_AXES];
    void *dst;
} tc_box;

/* Whether every pixel named lies inside the tile. */
bool tc_box_axis_valid(const tc_box_axis *axis);
bool tc_box_valid(const tc_box *box);

/* 1 + the largest flat index of a pixel that the box needs; 0 for an empty box. */
size_t tc_box_needed(const tc_box *box);

/* Whether the box is the whole tile, put down in C order without gaps, `itemsize` bytes a pixel. */
bool tc_box_is_dense(const tc_box *box, size_t itemsize);

typedef enum {
    TC_SCALE_NONE,   /* the stored values */
    TC_SCALE_OFFSET, /* integers: top bit turned over, the unsigned (or signed byte) type of the same width */
    TC_SCALE_LINEAR  /* value * bscale + bzero in the arithmetic of `to`, one of the two floats */
} tc_scaling;

/* From what a decoder leaves to what the user gets, in this order:
 *   quantum  integers `from` become floats `stored` (dequantized, dithered, NaN where undefined)
 *   clip     integers `from` are clipped to the range of `stored`
 *   renull   integers equal to `null` become `blank`: a tile with a ZBLANK other than the image's BLANK
 *   scaling  `stored` becomes `to`; TC_SCALE_LINEAR: integers equal to `blank` become NaN
 *   swap     to the other byte order */
typedef struct {
    tc_type from, stored, to;
    const tc_quantum *quantum; /* NULL: not quantized */
    bool renull, has_blank;
    int64_t null, blank;
    tc_scaling scaling;
    double bscale, bzero;
    bool swap;
} tc_conversion;

/* Whether pixels stay as they are, but for byte order. */
bool tc_conversion_is_copy(const tc_conversion *conversion);

/* Convert pixels first ... first + n - 1 of the tile that begins at `tile` into the n items at `dst`.  In place
 * (`dst` the address of the first pixel) where `from`, `stored` and `to` have one width. */
void tc_convert(const tc_conversion *conversion, const void *tile, size_t first, size_t n, void *dst);

/* Put the box of the tile at `tile` into the output. */
void tc_place(const tc_box *box, const tc_conversion *conversion, const void *tile);

/* Fill the box with one item of `itemsize` (1, 2, 4, 8) bytes: everywhere, or where `mask` (a tile) is not 0. */
void tc_place_fill(const tc_box *box, const void *item, size_t itemsize);
void tc_place_masked(const tc_box *box, const uint8_t *mask, const void *item, size_t itemsize);

#endif
