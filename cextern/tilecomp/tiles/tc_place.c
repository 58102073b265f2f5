#include "tc_place.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "tc_shuffle.h"

/* ---- the box: which pixels, in runs ---- */

bool tc_box_axis_valid(const tc_box_axis *axis)
{
    const int64_t size = (int64_t)axis->size;

    if (axis->count == 0) return true;
    if (axis->pixel) {
        for (size_t i = 0; i < axis->count; i++)
            if (axis->pixel[i] < 0 || axis->pixel[i] >= size) return false;
        return axis->place != NULL;
    }
    if (axis->start < 0 || axis->start >= size || axis->count > axis->size) return false;
    if (axis->count == 1) return true;
    if (axis->step == 0 || axis->step <= -size || axis->step >= size) return false;
    /* |step| < size <= INT64_MAX: the room on that side of `start` is counted in steps, nothing can overflow */
    const int64_t room = axis->step > 0 ? size - 1 - axis->start : axis->start;
    return (int64_t)(axis->count - 1) <= room / (axis->step > 0 ? axis->step : -axis->step);
}

bool tc_box_valid(const tc_box *box)
{
    if (box->n_axes > TC_MAX_AXES) return false;
    for (size_t a = 0; a < box->n_axes; a++)
        if (!tc_box_axis_valid(&box->axis[a])) return false;
    return true;
}

static size_t last_pixel(const tc_box_axis *axis)
{
    int64_t last = axis->start;

    if (axis->pixel) {
        last = 0;
        for (size_t i = 0; i < axis->count; i++)
            if (axis->pixel[i] > last) last = axis->pixel[i];
    } else if (axis->step > 0) {
        last += (int64_t)(axis->count - 1) * axis->step;
    }
    return (size_t)last;
}

size_t tc_box_needed(const tc_box *box)
{
    size_t last = 0;

    for (size_t a = 0; a < box->n_axes; a++) {
        if (box->axis[a].count == 0) return 0;
        last = last * box->axis[a].size + last_pixel(&box->axis[a]);
    }
    return last + 1;
}

bool tc_box_is_dense(const tc_box *box, size_t itemsize)
{
    ptrdiff_t stride = (ptrdiff_t)itemsize;

    for (size_t a = box->n_axes; a-- > 0;) {
        const tc_box_axis *const axis = &box->axis[a];
        if (axis->pixel || axis->count != axis->size) return false;
        if (axis->size > 1 && (axis->start != 0 || axis->step != 1 || axis->stride != stride)) return false;
        stride *= (ptrdiff_t)axis->size;
    }
    return true;
}

/* Pixels first, first + step, ... of the tile for the items dst, dst + stride, ... */
typedef struct {
    ptrdiff_t first, step;
    size_t count;
    uint8_t *dst;
    ptrdiff_t stride;
} tc_run;

typedef struct {
    size_t count;
    ptrdiff_t step, stride; /* from one to the next: pixels of the tile, bytes of the output */
    const int64_t *pixel, *place;
    ptrdiff_t unit;         /* pixels of the tile from pixel[i] to pixel[i] + 1 */
} tc_loop;

/* The loops that a box takes, slowest first: axes of one pixel are left out, and two become one where the next
 * line goes on where the last one ends.  Returns their number; *start is the first pixel, when none has an index array. */
static size_t loops_of_box(const tc_box *box, tc_loop *loops, ptrdiff_t *start)
{
    size_t n = 0;
    ptrdiff_t unit = 1;

    *start = 0;
    for (size_t a = 0; a < box->n_axes; a++) unit *= (ptrdiff_t)box->axis[a].size;
    for (size_t a = 0; a < box->n_axes; a++) {
        const tc_box_axis *const axis = &box->axis[a];
        unit /= (ptrdiff_t)axis->size;
        if (!axis->pixel) *start += (ptrdiff_t)axis->start * unit;
        if (!axis->pixel && axis->count == 1) continue;
        const tc_loop loop = {axis->count, (ptrdiff_t)axis->step * unit, axis->stride, axis->pixel, axis->place, unit};
        tc_loop *const outer = n ? &loops[n - 1] : NULL;
        if (outer && !outer->pixel && !loop.pixel && outer->step == loop.step * (ptrdiff_t)loop.count &&
            outer->stride == loop.stride * (ptrdiff_t)loop.count) {
            outer->count *= loop.count;
            outer->step = loop.step;
            outer->stride = loop.stride;
        } else {
            loops[n++] = loop;
        }
    }
    return n;
}

typedef void tc_run_function(const void *context, const tc_run *run);

/* Index arrays are cut where they leave a row of neighbours. */
static void picked_runs(const tc_loop *loop, ptrdiff_t first, uint8_t *dst, tc_run_function *function,
                        const void *context)
{
    for (size_t i = 0; i < loop->count;) {
        size_t end = i + 1;
        while (end < loop->count && loop->pixel[end] - loop->pixel[end - 1] == 1 &&
               loop->place[end] - loop->place[end - 1] == 1)
            end++;
        const tc_run run = {first + (ptrdiff_t)loop->pixel[i] * loop->unit, loop->unit, end - i,
                            dst + (ptrdiff_t)loop->place[i] * loop->stride, loop->stride};
        function(context, &run);
        i = end;
    }
}

static void nested_runs(const tc_loop *loops, size_t n, ptrdiff_t first, uint8_t *dst, tc_run_function *function,
                        const void *context)
{
    if (n == 0) {
        const tc_run run = {first, 1, 1, dst, 0};
        function(context, &run);
    } else if (n > 1) {
        for (size_t i = 0; i < loops->count; i++) {
            const bool picks = loops->pixel != NULL;
            const ptrdiff_t skip = picks ? (ptrdiff_t)loops->pixel[i] * loops->unit : (ptrdiff_t)i * loops->step;
            const ptrdiff_t move = (picks ? (ptrdiff_t)loops->place[i] : (ptrdiff_t)i) * loops->stride;
            nested_runs(loops + 1, n - 1, first + skip, dst + move, function, context);
        }
    } else if (loops->pixel) {
        picked_runs(loops, first, dst, function, context);
    } else {
        const tc_run run = {first, loops->step, loops->count, dst, loops->stride};
        function(context, &run);
    }
}

static void each_run(const tc_box *box, tc_run_function *function, const void *context)
{
    tc_loop loops[TC_MAX_AXES];
    ptrdiff_t start;

    for (size_t a = 0; a < box->n_axes; a++)
        if (box->axis[a].count == 0) return;
    const size_t n = loops_of_box(box, loops, &start);
    nested_runs(loops, n, start, box->dst, function, context);
}

/* ---- conversion of a chunk ---- */

#define CHUNK 1024 /* pixels that are in hand between two steps of a conversion */

typedef union {
    uint8_t bytes[CHUNK * 8];
    double aligned;
} tc_chunk;

#define CLIP(NAME, FROM, TO, LOW, HIGH)                                                                                \
    static void NAME(const FROM *src, size_t n, TO *dst)                                                               \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++) dst[i] = (TO)(src[i] < (LOW) ? (LOW) : src[i] > (HIGH) ? (HIGH) : src[i]);      \
    }
#define WIDEN(NAME, FROM, TO)                                                                                          \
    static void NAME(const FROM *src, size_t n, TO *dst)                                                               \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++) dst[i] = (TO)src[i];                                                            \
    }
WIDEN(u8_to_i16, uint8_t, int16_t)
WIDEN(u8_to_i32, uint8_t, int32_t)
WIDEN(u8_to_i64, uint8_t, int64_t)
CLIP(i16_to_u8, int16_t, uint8_t, 0, UINT8_MAX)
WIDEN(i16_to_i32, int16_t, int32_t)
WIDEN(i16_to_i64, int16_t, int64_t)
CLIP(i32_to_u8, int32_t, uint8_t, 0, UINT8_MAX)
CLIP(i32_to_i16, int32_t, int16_t, INT16_MIN, INT16_MAX)
WIDEN(i32_to_i64, int32_t, int64_t)
CLIP(i64_to_u8, int64_t, uint8_t, 0, UINT8_MAX)
CLIP(i64_to_i16, int64_t, int16_t, INT16_MIN, INT16_MAX)
CLIP(i64_to_i32, int64_t, int32_t, INT32_MIN, INT32_MAX)

static void clip(tc_type from, const void *src, size_t n, tc_type to, void *dst)
{
    if (from == to) {
        if (dst != src) memcpy(dst, src, n * tc_type_size(from));
    } else if (from == TC_U8) {
        if (to == TC_I16) u8_to_i16(src, n, dst);
        else if (to == TC_I32) u8_to_i32(src, n, dst);
        else u8_to_i64(src, n, dst);
    } else if (from == TC_I16) {
        if (to == TC_U8) i16_to_u8(src, n, dst);
        else if (to == TC_I32) i16_to_i32(src, n, dst);
        else i16_to_i64(src, n, dst);
    } else if (from == TC_I32) {
        if (to == TC_U8) i32_to_u8(src, n, dst);
        else if (to == TC_I16) i32_to_i16(src, n, dst);
        else i32_to_i64(src, n, dst);
    } else {
        if (to == TC_U8) i64_to_u8(src, n, dst);
        else if (to == TC_I16) i64_to_i16(src, n, dst);
        else i64_to_i32(src, n, dst);
    }
}

#define RENULL(NAME, TYPE)                                                                                             \
    static void NAME(TYPE *pixels, size_t n, int64_t null, int64_t blank)                                              \
    {                                                                                                                  \
        const TYPE old = (TYPE)null, new = (TYPE)blank;                                                                \
        if (old != null || new != blank) return; /* no pixel of this type can be the one or the other */               \
        for (size_t i = 0; i < n; i++) pixels[i] = pixels[i] == old ? new : pixels[i];                                 \
    }
RENULL(renull_u8, uint8_t)
RENULL(renull_i16, int16_t)
RENULL(renull_i32, int32_t)
RENULL(renull_i64, int64_t)

static void renull(tc_type type, void *pixels, size_t n, int64_t null, int64_t blank)
{
    if (type == TC_U8) renull_u8(pixels, n, null, blank);
    else if (type == TC_I16) renull_i16(pixels, n, null, blank);
    else if (type == TC_I32) renull_i32(pixels, n, null, blank);
    else renull_i64(pixels, n, null, blank);
}

#define TURN_TOP_BIT(NAME, TYPE)                                                                                       \
    static void NAME(const TYPE *src, size_t n, TYPE *dst)                                                             \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++) dst[i] = src[i] ^ (TYPE)((TYPE)1 << (sizeof(TYPE) * CHAR_BIT - 1));             \
    }
TURN_TOP_BIT(turn_8, uint8_t)
TURN_TOP_BIT(turn_16, uint16_t)
TURN_TOP_BIT(turn_32, uint32_t)
TURN_TOP_BIT(turn_64, uint64_t)

static void turn_top_bit(const void *src, size_t n, size_t width, void *dst)
{
    if (width == 1) turn_8(src, n, dst);
    else if (width == 2) turn_16(src, n, dst);
    else if (width == 4) turn_32(src, n, dst);
    else turn_64(src, n, dst);
}

/* As numpy does for `data *= bscale; data += bzero`, each left out where it changes nothing: all in type TO. */
#define LINEAR(FROM, NAME_FROM, TO, NAME_TO, IS_BLANK)                                                                 \
    static void NAME_FROM##_to_##NAME_TO(const FROM *src, size_t n, const tc_conversion *c, TO *dst)                   \
    {                                                                                                                  \
        const TO bscale = (TO)c->bscale, bzero = (TO)c->bzero;                                                         \
        const bool shift = c->bzero != 0;                                                                              \
        for (size_t i = 0; i < n; i++) {                                                                               \
            TO value = (TO)src[i] * bscale;                                                                            \
            if (shift) value += bzero;                                                                                 \
            dst[i] = IS_BLANK ? (TO)NAN : value;                                                                       \
        }                                                                                                              \
    }
#define LINEAR_INTEGER(FROM, NAME_FROM)                                                                                \
    LINEAR(FROM, NAME_FROM, float, f32, c->has_blank && src[i] == c->blank)                                              \
    LINEAR(FROM, NAME_FROM, double, f64, c->has_blank && src[i] == c->blank)
LINEAR_INTEGER(uint8_t, u8)
LINEAR_INTEGER(int16_t, i16)
LINEAR_INTEGER(int32_t, i32)
LINEAR_INTEGER(int64_t, i64)
LINEAR(float, f32, float, f32, false)
LINEAR(double, f64, double, f64, false)

static void linear(tc_type stored, const void *src, size_t n, const tc_conversion *conversion, void *dst)
{
    const bool wide = conversion->to == TC_F64;

    if (stored == TC_U8) wide ? u8_to_f64(src, n, conversion, dst) : u8_to_f32(src, n, conversion, dst);
    else if (stored == TC_I16) wide ? i16_to_f64(src, n, conversion, dst) : i16_to_f32(src, n, conversion, dst);
    else if (stored == TC_I32) wide ? i32_to_f64(src, n, conversion, dst) : i32_to_f32(src, n, conversion, dst);
    else if (stored == TC_I64) wide ? i64_to_f64(src, n, conversion, dst) : i64_to_f32(src, n, conversion, dst);
    else if (stored == TC_F64) f64_to_f64(src, n, conversion, dst);
    else f32_to_f32(src, n, conversion, dst);
}

static void dequantize(const tc_quantum *quantum, tc_type from, const void *tile, size_t first, size_t n, tc_type to,
                       void *dst)
{
    const bool wide = to == TC_F64;

    if (from == TC_U8) {
        if (wide) tc_dequantize_u8_f64((const uint8_t *)tile + first, first, n, quantum, dst);
        else tc_dequantize_u8_f32((const uint8_t *)tile + first, first, n, quantum, dst);
    } else if (from == TC_I16) {
        if (wide) tc_dequantize_i16_f64((const int16_t *)tile + first, first, n, quantum, dst);
        else tc_dequantize_i16_f32((const int16_t *)tile + first, first, n, quantum, dst);
    } else if (from == TC_I32) {
        if (wide) tc_dequantize_i32_f64((const int32_t *)tile + first, first, n, quantum, dst);
        else tc_dequantize_i32_f32((const int32_t *)tile + first, first, n, quantum, dst);
    } else {
        int32_t narrow[CHUNK];
        for (size_t i = 0; i < n; i += CHUNK) {
            const size_t some = n - i < CHUNK ? n - i : CHUNK;
            i64_to_i32((const int64_t *)tile + first + i, some, narrow);
            if (wide) tc_dequantize_i32_f64(narrow, first + i, some, quantum, (double *)dst + i);
            else tc_dequantize_i32_f32(narrow, first + i, some, quantum, (float *)dst + i);
        }
    }
}

bool tc_conversion_is_copy(const tc_conversion *conversion)
{
    return !conversion->quantum && conversion->from == conversion->stored && !conversion->renull &&
           conversion->scaling == TC_SCALE_NONE;
}

/* All steps but the first copy and the swap, for an aligned `dst` of at most CHUNK pixels where two steps follow one another. */
static void convert_chunk(const tc_conversion *c, const void *tile, size_t first, size_t n, void *dst)
{
    const void *stored = (const uint8_t *)tile + first * tc_type_size(c->from);
    tc_chunk buffer;

    if (c->quantum) {
        dequantize(c->quantum, c->from, tile, first, n, c->stored, dst); /* `to` is `stored` for floats */
        stored = dst;
    } else if (c->from != c->stored || c->renull) {
        void *const between = c->scaling == TC_SCALE_NONE ? dst : (void *)buffer.bytes;
        clip(c->from, stored, n, c->stored, between);
        if (c->renull) renull(c->stored, between, n, c->null, c->blank);
        stored = between;
    }
    if (c->scaling == TC_SCALE_OFFSET) turn_top_bit(stored, n, tc_type_size(c->to), dst);
    if (c->scaling == TC_SCALE_LINEAR) linear(c->stored, stored, n, c, dst);
}

void tc_convert(const tc_conversion *conversion, const void *tile, size_t first, size_t n, void *dst)
{
    const size_t from = tc_type_size(conversion->from), to = tc_type_size(conversion->to);
    const bool aligned = (uintptr_t)dst % to == 0, one_step = conversion->quantum && conversion->scaling == TC_SCALE_NONE;

    if (tc_conversion_is_copy(conversion)) {
        const uint8_t *const src = (const uint8_t *)tile + first * from;
        if (conversion->swap) tc_byteswap(src, n, to, dst);
        else if (dst != src) memmove(dst, src, n * to);
        return;
    }
    for (size_t i = 0, some; i < n; i += some) {
        uint8_t *const part = (uint8_t *)dst + i * to;
        tc_chunk bounce;
        some = (one_step && aligned && !conversion->swap) || n - i < CHUNK ? n - i : CHUNK;
        convert_chunk(conversion, tile, first + i, some, aligned ? (void *)part : (void *)bounce.bytes);
        if (conversion->swap) tc_byteswap(aligned ? part : bounce.bytes, some, to, part);
        else if (!aligned) memcpy(part, bounce.bytes, some * to);
    }
}

/* ---- placing ---- */

#define SPAN 8 /* pixels apart up to which all between are converted as well, rather than each by itself */

static inline void move_items(const uint8_t *src, ptrdiff_t step, uint8_t *dst, ptrdiff_t stride, size_t n, size_t size)
{
    for (size_t i = 0; i < n; i++) {
        switch (size) { /* constant sizes become single loads and stores */
        case 1: *dst = *src; break;
        case 2: memcpy(dst, src, 2); break;
        case 4: memcpy(dst, src, 4); break;
        default: memcpy(dst, src, 8);
        }
        src += step;
        dst += stride;
    }
}

static void scatter(const uint8_t *src, ptrdiff_t step, uint8_t *dst, ptrdiff_t stride, size_t n, size_t size)
{
    if (size == 1) move_items(src, step, dst, stride, n, 1);
    else if (size == 2) move_items(src, step, dst, stride, n, 2);
    else if (size == 4) move_items(src, step, dst, stride, n, 4);
    else move_items(src, step, dst, stride, n, 8);
}

typedef struct {
    const tc_conversion *conversion;
    const uint8_t *tile;
} tc_placing;

/* Pixels next to one another, or nearly: a whole span is converted, and the wanted ones moved. */
static void place_span(const tc_placing *placing, const tc_run *run)
{
    const size_t size = tc_type_size(placing->conversion->to), apart = (size_t)(run->step < 0 ? -run->step : run->step);
    const size_t most = (CHUNK - 1) / apart + 1; /* wanted pixels in one span */

    for (size_t i = 0; i < run->count; i += most) {
        const size_t some = run->count - i < most ? run->count - i : most;
        const ptrdiff_t at = run->first + (ptrdiff_t)i * run->step;
        const ptrdiff_t low = run->step < 0 ? at + (ptrdiff_t)(some - 1) * run->step : at;
        tc_chunk span;
        tc_convert(placing->conversion, placing->tile, (size_t)low, (some - 1) * apart + 1, span.bytes);
        scatter(span.bytes + (size_t)(at - low) * size, run->step * (ptrdiff_t)size, run->dst + (ptrdiff_t)i * run->stride,
                run->stride, some, size);
    }
}

/* Pixels far apart: collected first where their number in the tile does not matter, else one by one. */
static void place_apart(const tc_placing *placing, const tc_run *run)
{
    const tc_conversion *const conversion = placing->conversion;
    const size_t from = tc_type_size(conversion->from), to = tc_type_size(conversion->to);
    const size_t most = conversion->quantum ? 1 : CHUNK;

    for (size_t i = 0; i < run->count; i += most) {
        const size_t some = run->count - i < most ? run->count - i : most;
        const size_t at = (size_t)(run->first + (ptrdiff_t)i * run->step);
        tc_chunk found, converted;
        if (conversion->quantum) {
            tc_convert(conversion, placing->tile, at, 1, converted.bytes);
        } else {
            scatter(placing->tile + at * from, run->step * (ptrdiff_t)from, found.bytes, (ptrdiff_t)from, some, from);
            tc_convert(conversion, found.bytes, 0, some, converted.bytes);
        }
        scatter(converted.bytes, (ptrdiff_t)to, run->dst + (ptrdiff_t)i * run->stride, run->stride, some, to);
    }
}

static void place_run(const void *context, const tc_run *run)
{
    const tc_placing *const placing = context;
    const size_t size = tc_type_size(placing->conversion->to);

    if (run->step == 1 && run->stride == (ptrdiff_t)size)
        tc_convert(placing->conversion, placing->tile, (size_t)run->first, run->count, run->dst);
    else if (run->step >= -SPAN && run->step <= SPAN)
        place_span(placing, run);
    else
        place_apart(placing, run);
}

void tc_place(const tc_box *box, const tc_conversion *conversion, const void *tile)
{
    const tc_placing placing = {conversion, tile};
    each_run(box, place_run, &placing);
}

typedef struct {
    const uint8_t *item, *mask;
    size_t size;
} tc_filling;

static void fill_run(const void *context, const tc_run *run)
{
    const tc_filling *const filling = context;

    if (!filling->mask) {
        scatter(filling->item, 0, run->dst, run->stride, run->count, filling->size);
        return;
    }
    for (size_t i = 0; i < run->count; i++)
        if (filling->mask[run->first + (ptrdiff_t)i * run->step])
            memcpy(run->dst + (ptrdiff_t)i * run->stride, filling->item, filling->size);
}

void tc_place_fill(const tc_box *box, const void *item, size_t itemsize)
{
    const tc_filling filling = {item, NULL, itemsize};
    each_run(box, fill_run, &filling);
}

void tc_place_masked(const tc_box *box, const uint8_t *mask, const void *item, size_t itemsize)
{
    const tc_filling filling = {item, mask, itemsize};
    each_run(box, fill_run, &filling);
}
