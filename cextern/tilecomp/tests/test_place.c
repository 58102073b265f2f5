#include <math.h>

#include "tc_place.h"
#include "tc_test.h"

#define MAX 4096 /* pixels of the largest tile here */

static size_t below(uint64_t *state, size_t n) { return (size_t)(tc_random(state) % n); }

/* The value of one pixel by the plain rules, as an item of type `to`. */
static void expected_item(const tc_conversion *c, const void *tile, size_t at, uint8_t *item)
{
    const size_t size = tc_type_size(c->to);
    int64_t integer = 0;
    union { double f64; float f32; int64_t i64; uint64_t u64; } value;

    switch (c->from) {
    case TC_U8: integer = ((const uint8_t *)tile)[at]; break;
    case TC_I16: integer = ((const int16_t *)tile)[at]; break;
    case TC_I32: integer = ((const int32_t *)tile)[at]; break;
    case TC_I64: integer = ((const int64_t *)tile)[at]; break;
    default: break;
    }
    const int64_t low[] = {0, INT16_MIN, INT32_MIN, INT64_MIN}, high[] = {UINT8_MAX, INT16_MAX, INT32_MAX, INT64_MAX};
    if (!tc_type_is_float(c->stored)) {
        if (integer < low[c->stored]) integer = low[c->stored];
        if (integer > high[c->stored]) integer = high[c->stored];
        if (c->renull && integer == c->null) integer = c->blank;
    }
    if (c->quantum && c->to == TC_F32) {
        const int32_t narrow = (int32_t)(integer < INT32_MIN ? INT32_MIN : integer > INT32_MAX ? INT32_MAX : integer);
        tc_dequantize_i32_f32(&narrow, at, 1, c->quantum, &value.f32);
        if (c->scaling == TC_SCALE_LINEAR) value.f32 = value.f32 * (float)c->bscale + (float)c->bzero;
    } else if (c->quantum) {
        const int32_t narrow = (int32_t)(integer < INT32_MIN ? INT32_MIN : integer > INT32_MAX ? INT32_MAX : integer);
        tc_dequantize_i32_f64(&narrow, at, 1, c->quantum, &value.f64);
        if (c->scaling == TC_SCALE_LINEAR) value.f64 = value.f64 * c->bscale + c->bzero;
    } else if (tc_type_is_float(c->from)) {
        memcpy(&value, (const uint8_t *)tile + at * size, size);
    } else if (c->scaling == TC_SCALE_LINEAR) {
        const bool blank = c->has_blank && integer == c->blank;
        if (c->to == TC_F32) value.f32 = blank ? NAN : (float)integer * (float)c->bscale + (float)c->bzero;
        else value.f64 = blank ? NAN : (double)integer * c->bscale + c->bzero;
    } else {
        value.u64 = (uint64_t)integer;
        if (c->scaling == TC_SCALE_OFFSET) value.u64 += (uint64_t)1 << (8 * size - 1);
    }
    memcpy(item, &value, size); /* little-endian: the low bytes come first */
    if (c->swap)
        for (size_t i = 0; i < size / 2; i++) {
            const uint8_t kept = item[i];
            item[i] = item[size - 1 - i];
            item[size - 1 - i] = kept;
        }
}

typedef struct {
    tc_box box;
    size_t n; /* pixels of the tile */
    int64_t picks[2][64];
} tc_case;

/* A box with random axes, and an output whose items do not overlap: axes in any order of stride, either way round. */
static void random_box(uint64_t *state, size_t itemsize, uint8_t *middle, tc_case *made)
{
    const size_t n_axes = 1 + below(state, 4);
    ptrdiff_t stride = (ptrdiff_t)(itemsize * (1 + (below(state, 3) == 0)));
    const size_t turn = below(state, n_axes);
    bool picked = below(state, 4) != 0;

    made->box.n_axes = n_axes;
    made->box.dst = middle;
    made->n = 1;
    for (size_t a = 0; a < n_axes; a++) {
        tc_box_axis *const axis = &made->box.axis[a];
        axis->size = 1 + below(state, 8);
        axis->step = 1;
        axis->pixel = axis->place = NULL;
        axis->count = axis->size;
        axis->start = 0;
        made->n *= axis->size;
        if (below(state, 2)) {
            axis->count = 1 + below(state, axis->size);
            const int64_t widest = axis->count > 1 ? (int64_t)((axis->size - 1) / (axis->count - 1)) : 1;
            axis->step = 1 + (int64_t)below(state, (size_t)widest);
            axis->start = (int64_t)below(state, axis->size - (axis->count - 1) * (size_t)axis->step);
            if (below(state, 2)) {
                axis->start += (int64_t)(axis->count - 1) * axis->step;
                axis->step = -axis->step;
            }
        }
        if (!picked) {
            picked = true;
            axis->count = below(state, 9);
            const bool backwards = below(state, 2);
            for (size_t i = 0; i < axis->count; i++) {
                made->picks[0][i] = (int64_t)below(state, axis->size);
                made->picks[1][i] = (int64_t)(backwards ? axis->count - 1 - i : i);
            }
            axis->pixel = made->picks[0];
            axis->place = made->picks[1];
        }
    }
    for (size_t i = n_axes; i-- > 0;) { /* strides, fastest first but for a rotation of the axes */
        tc_box_axis *const axis = &made->box.axis[(i + turn) % n_axes];
        axis->stride = below(state, 4) ? stride : -stride;
        stride *= (ptrdiff_t)(axis->count ? axis->count : 1) + (ptrdiff_t)below(state, 2);
    }
}

/* Compare the output of a box with the plain rules, item by item; what lies between keeps its old bytes. */
static void check_box(const tc_case *made, const tc_conversion *conversion, const void *tile, uint8_t *out, size_t nbytes,
                      uint8_t *wanted)
{
    const tc_box *const box = &made->box;
    size_t index[TC_MAX_AXES] = {0}, last = 0, total = 1;

    for (size_t a = 0; a < box->n_axes; a++) total *= box->axis[a].count;
    for (size_t i = 0; i < total; i++) {
        size_t at = 0;
        ptrdiff_t offset = (uint8_t *)box->dst - out;
        for (size_t a = 0; a < box->n_axes; a++) {
            const tc_box_axis *const axis = &box->axis[a];
            const int64_t pixel = axis->pixel ? axis->pixel[index[a]] : axis->start + (int64_t)index[a] * axis->step;
            at = at * axis->size + (size_t)pixel;
            offset += (ptrdiff_t)(axis->pixel ? (size_t)axis->place[index[a]] : index[a]) * axis->stride;
        }
        if (at + 1 > last) last = at + 1;
        expected_item(conversion, tile, at, wanted + offset);
        for (size_t a = box->n_axes; a-- > 0 && ++index[a] == box->axis[a].count;) index[a] = 0;
    }
    TC_CHECK_EQ(tc_box_needed(box), total ? last : 0);
    tc_place(box, conversion, tile);
    TC_CHECK_BYTES(out, wanted, nbytes);
}

static void random_conversion(uint64_t *state, tc_conversion *c, tc_quantum *quantum)
{
    *c = (tc_conversion){.from = (tc_type)below(state, 4), .stored = (tc_type)below(state, 4), .swap = below(state, 2)};
    *quantum = (tc_quantum){0.25, -3, (tc_dither_method)below(state, 3), 1 + (int64_t)below(state, 9999), below(state, 50),
                            below(state, 2), 7};
    c->has_blank = below(state, 2);
    c->blank = 5;
    c->null = 9;
    c->renull = c->has_blank && below(state, 2);
    c->bscale = 0.1;
    c->bzero = below(state, 2) ? 1000 : 0;
    switch (below(state, 5)) {
    case 0: c->to = c->stored; break;
    case 1:
        c->scaling = TC_SCALE_OFFSET;
        c->to = (tc_type)(c->stored + TC_I8);
        break;
    case 2:
        c->scaling = TC_SCALE_LINEAR;
        c->to = below(state, 2) ? TC_F32 : TC_F64;
        break;
    case 3:
        c->quantum = quantum;
        c->renull = false;
        c->stored = c->to = below(state, 2) ? TC_F32 : TC_F64;
        c->scaling = below(state, 2) ? TC_SCALE_LINEAR : TC_SCALE_NONE;
        break;
    default: /* floats as they are */
        c->renull = false;
        c->from = c->stored = c->to = below(state, 2) ? TC_F32 : TC_F64;
    }
}

static void random_tile(uint64_t *state, tc_type type, size_t n, void *tile)
{
    for (size_t i = 0; i < n; i++) {
        const int64_t value = (int64_t)tc_random(state) >> (below(state, 2) ? 60 : below(state, 63));
        if (type == TC_U8) ((uint8_t *)tile)[i] = (uint8_t)value;
        else if (type == TC_I16) ((int16_t *)tile)[i] = (int16_t)value;
        else if (type == TC_I32) ((int32_t *)tile)[i] = (int32_t)value;
        else if (type == TC_I64) ((int64_t *)tile)[i] = value;
        else if (type == TC_F32) ((float *)tile)[i] = (float)value / 8;
        else ((double *)tile)[i] = (double)value / 8;
    }
}

static void test_boxes_and_conversions_against_plain_rules(void)
{
    uint64_t state = 1;
    const size_t room = (size_t)1 << 20;
    uint8_t *const out = malloc(room), *const wanted = malloc(room);

    for (int round = 0; round < 20000; round++) {
        tc_conversion conversion;
        tc_quantum quantum;
        tc_case made;
        random_conversion(&state, &conversion, &quantum);
        const size_t size = tc_type_size(conversion.to);
        random_box(&state, size, NULL, &made);
        ptrdiff_t low = 0, high = 0;
        for (size_t a = 0; a < made.box.n_axes; a++) {
            const ptrdiff_t span = (ptrdiff_t)(made.box.axis[a].count ? made.box.axis[a].count - 1 : 0) * made.box.axis[a].stride;
            if (span < 0) low += span;
            else high += span;
        }
        const size_t nbytes = (size_t)(high - low) + size + 8;
        TC_CHECK(nbytes < room);
        if (nbytes >= room) continue;
        const size_t shift = below(&state, 8) ? 0 : 1 + below(&state, 7); /* items need not be aligned */
        made.box.dst = out + shift - low;
        memset(out, 0x5a, nbytes);
        memset(wanted, 0x5a, nbytes);
        uint8_t *const tile = malloc(made.n * tc_type_size(conversion.from));
        random_tile(&state, conversion.from, made.n, tile);
        TC_CHECK(tc_box_valid(&made.box));
        check_box(&made, &conversion, tile, out, nbytes, wanted);
        free(tile);
    }
    free(out);
    free(wanted);
}

static void test_long_runs(void)
{
    uint64_t state = 2;
    const size_t sizes[] = {1023, 1024, 1025, 3 * 1024 + 7, MAX};
    uint8_t *const tile = malloc(MAX * 8), *const out = malloc(MAX * 8 * 4), *const wanted = malloc(MAX * 8 * 4);

    for (int round = 0; round < 500; round++) {
        tc_conversion conversion;
        tc_quantum quantum;
        tc_case made = {.box = {.n_axes = 1}};
        random_conversion(&state, &conversion, &quantum);
        const int64_t steps[] = {1, 1, 2, 7, 9, 300, -1, -3, -40};
        const int64_t step = steps[below(&state, 9)], apart = step < 0 ? -step : step;
        const size_t size = tc_type_size(conversion.to), n = sizes[below(&state, 5)], count = (n - 1) / (size_t)apart + 1;
        made.n = n;
        made.box.axis[0] = (tc_box_axis){n, step < 0 ? (int64_t)(count - 1) * apart : 0, step, count,
                                         (ptrdiff_t)(size * (1 + below(&state, 3))), NULL, NULL};
        made.box.dst = out;
        memset(out, 1, MAX * 8 * 4);
        memset(wanted, 1, MAX * 8 * 4);
        random_tile(&state, conversion.from, n, tile);
        check_box(&made, &conversion, tile, out, MAX * 8 * 4, wanted);
    }
    free(tile);
    free(out);
    free(wanted);
}

static void test_in_place(void)
{
    uint64_t state = 3;
    uint8_t tile[3000 * 4], wanted[3000 * 4];
    const tc_quantum quantum = {0.5, 10, TC_DITHER_2, 77, 3, true, -4};
    const tc_conversion conversions[] = {
        {.from = TC_I32, .stored = TC_F32, .to = TC_F32, .quantum = &quantum, .swap = true},
        {.from = TC_I32, .stored = TC_F32, .to = TC_F32, .quantum = &quantum, .scaling = TC_SCALE_LINEAR, .bscale = 3},
        {.from = TC_I32, .stored = TC_I32, .to = TC_U32, .scaling = TC_SCALE_OFFSET},
        {.from = TC_I32, .stored = TC_I32, .to = TC_F32, .scaling = TC_SCALE_LINEAR, .bscale = 2, .bzero = 1, .swap = true},
        {.from = TC_I16, .stored = TC_I16, .to = TC_I16, .renull = true, .null = -3, .blank = 8},
        {.from = TC_I16, .stored = TC_I16, .to = TC_I16, .swap = true},
    };

    for (size_t c = 0; c < sizeof conversions / sizeof *conversions; c++) {
        const size_t size = tc_type_size(conversions[c].to);
        random_tile(&state, conversions[c].from, 3000, tile);
        for (size_t i = 0; i < 3000; i++) expected_item(&conversions[c], tile, i, wanted + i * size);
        tc_convert(&conversions[c], tile, 0, 3000, tile);
        TC_CHECK_BYTES(tile, wanted, 3000 * size);
    }
}

static void test_32_axes(void)
{
    tc_box box = {.n_axes = TC_MAX_AXES};
    const int32_t tile[32] = {11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
                              27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42};
    const tc_conversion conversion = {.from = TC_I32, .stored = TC_I32, .to = TC_I32};
    int32_t out[32] = {0};

    for (size_t a = 0; a < TC_MAX_AXES; a++) box.axis[a] = (tc_box_axis){1, 0, 1, 1, 4, NULL, NULL};
    for (size_t a = 0; a < 5; a++) box.axis[6 * a + 2] = (tc_box_axis){2, 0, 1, 2, (ptrdiff_t)64 >> a, NULL, NULL};
    box.dst = out;
    TC_CHECK(tc_box_valid(&box) && tc_box_is_dense(&box, 4));
    TC_CHECK_EQ(tc_box_needed(&box), 32);
    tc_place(&box, &conversion, tile);
    TC_CHECK_BYTES(out, tile, sizeof tile);
}

static void test_fill_and_mask(void)
{
    int16_t out[12] = {0};
    const int16_t item = 7;
    const uint8_t mask[6] = {0, 1, 0, 0, 0, 200};
    const tc_box box = {2, {{2, 0, 1, 2, 12, NULL, NULL}, {3, 2, -1, 3, 4, NULL, NULL}}, out};
    const int16_t filled[12] = {7, 0, 7, 0, 7, 0, 7, 0, 7, 0, 7, 0}, masked[12] = {0, 0, 7, 0, 0, 0, 7, 0, 0, 0, 0, 0};

    tc_place_masked(&box, mask, &item, 2);
    TC_CHECK_BYTES(out, masked, sizeof out);
    tc_place_fill(&box, &item, 2);
    TC_CHECK_BYTES(out, filled, sizeof out);
}

static void test_boxes_that_leave_the_tile(void)
{
    const tc_box_axis bad[] = {
        {5, -1, 1, 2, 1, NULL, NULL}, {5, 5, 1, 1, 1, NULL, NULL}, {5, 0, 1, 6, 1, NULL, NULL}, {5, 1, 2, 3, 1, NULL, NULL},
        {5, 2, -1, 4, 1, NULL, NULL}, {5, 0, 0, 2, 1, NULL, NULL}, {5, 0, INT64_MAX, 2, 1, NULL, NULL},
        {5, 4, INT64_MIN, 2, 1, NULL, NULL}, {5, 0, 4, 3, 1, NULL, NULL}, {0, 0, 1, 1, 1, NULL, NULL},
    };
    const int64_t outside = 5, inside = 4, place = 0;
    const tc_box picked = {1, {{5, 0, 1, 1, 1, &outside, &place}}, NULL}, good = {1, {{5, 0, 1, 1, 1, &inside, &place}}, NULL};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const tc_box box = {1, {bad[i]}, NULL};
        TC_CHECK(!tc_box_valid(&box));
    }
    TC_CHECK(!tc_box_valid(&picked));
    TC_CHECK(tc_box_valid(&good));
}

int main(void)
{
    TC_RUN(test_boxes_and_conversions_against_plain_rules);
    TC_RUN(test_long_runs);
    TC_RUN(test_in_place);
    TC_RUN(test_32_axes);
    TC_RUN(test_fill_and_mask);
    TC_RUN(test_boxes_that_leave_the_tile);
    return tc_test_summary();
}
