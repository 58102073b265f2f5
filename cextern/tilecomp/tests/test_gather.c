#include "tc_gather.h"

#include "tc_test.h"

enum { A = 3, B = 4, C = 19 };

/* Pixel i of the box, counted in C order, as an unsigned number of `width` bytes. */
static uint64_t pixel_of(size_t i)
{
    uint64_t state = i;

    return tc_random(&state);
}

static void store(uint8_t *at, uint64_t pixel, size_t width, bool swap)
{
    for (size_t byte = 0; byte < width; byte++) at[swap ? width - 1 - byte : byte] = (uint8_t)(pixel >> 8 * byte);
}

static void check_layout(size_t width, const ptrdiff_t steps[3], bool swap, bool flip, size_t misalignment)
{
    enum { ROOM = 8 * 8 * A * B * C + 16 };
    static uint8_t memory[2 * ROOM + 1];
    static uint64_t aligned[A * B * C];
    const size_t size[3] = {A, B, C};
    ptrdiff_t stride[3];
    uint8_t *const first = memory + ROOM + misalignment;
    uint8_t *const gathered = (uint8_t *)aligned;

    for (int axis = 0; axis < 3; axis++) stride[axis] = steps[axis] * (ptrdiff_t)width;
    for (size_t i = 0; i < A * B * C; i++) {
        const ptrdiff_t at = (ptrdiff_t)(i / (B * C)) * stride[0] + (ptrdiff_t)(i / C % B) * stride[1] +
                             (ptrdiff_t)(i % C) * stride[2];

        store(first + at, pixel_of(i), width, swap);
    }
    tc_gather(&(tc_strided){first, 3, size, stride, width}, swap, flip, gathered);
    for (size_t i = 0; i < A * B * C; i++) {
        uint8_t expected[8];

        store(expected, pixel_of(i) ^ (flip ? (uint64_t)1 << (8 * width - 1) : 0), width, false);
        TC_CHECK_BYTES(gathered + i * width, expected, width);
    }
}

static void test_every_layout(void)
{
    static const ptrdiff_t layouts[][3] = {
        {B * C, C, 1},        /* packed */
        {2 * B * C, 2 * C, 2}, /* every other pixel */
        {1, A, A * B},        /* Fortran order */
        {-B * C, C, -1},      /* backwards */
    };

    for (size_t width = 1; width <= 8; width *= 2)
        for (size_t layout = 0; layout < sizeof layouts / sizeof *layouts; layout++)
            for (int flags = 0; flags < 4; flags++)
                for (size_t misalignment = 0; misalignment < 2; misalignment++)
                    check_layout(width, layouts[layout], flags & 1, flags & 2, misalignment);
}

static void test_which_boxes_are_packed(void)
{
    static uint64_t memory[64];
    const uint8_t *const bytes = (const uint8_t *)memory;
    const size_t cube[3] = {2, 3, 4}, plane[3] = {1, 3, 4}, row[3] = {1, 1, 4};
    const ptrdiff_t packed[3] = {24, 8, 2}, gap[3] = {24, 10, 2}, any[3] = {-7, 8, 2}, both[3] = {-7, 5, 2}, wide[3] = {24, 8, 4};

    TC_CHECK(tc_strided_is_packed(&(tc_strided){bytes, 3, cube, packed, 2}));
    TC_CHECK(!tc_strided_is_packed(&(tc_strided){bytes + 1, 3, cube, packed, 2})); /* alignment */
    TC_CHECK(!tc_strided_is_packed(&(tc_strided){bytes, 3, cube, gap, 2}));
    TC_CHECK(!tc_strided_is_packed(&(tc_strided){bytes, 3, row, wide, 2}));
    TC_CHECK(tc_strided_is_packed(&(tc_strided){bytes, 3, plane, any, 2})); /* strides of single pixels do not count */
    TC_CHECK(tc_strided_is_packed(&(tc_strided){bytes, 3, row, both, 2}));
}

int main(void)
{
    TC_RUN(test_every_layout);
    TC_RUN(test_which_boxes_are_packed);
    return tc_test_summary();
}
