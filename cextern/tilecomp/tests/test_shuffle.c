#include "tc_shuffle.h"
#include "tc_test.h"

enum { MAX = 300 };

static void check_width(size_t width, size_t n, size_t misalignment)
{
    uint8_t src[8 * MAX + 8], swapped[8 * MAX + 8], planes[8 * MAX + 8], found[8 * MAX + 8];
    uint8_t *const pixels = src + misalignment;
    uint64_t seed = n;

    for (size_t i = 0; i < n * width; i++) pixels[i] = (uint8_t)tc_random(&seed);
    for (size_t i = 0; i < n; i++)
        for (size_t byte = 0; byte < width; byte++) {
            const uint8_t expected = pixels[i * width + width - 1 - byte]; /* `byte` 0 is the most significant */

            swapped[i * width + byte] = expected;
            planes[byte * n + i] = expected;
        }
    memset(found, 0, sizeof found);
    tc_byteswap(pixels, n, width, found + misalignment);
    TC_CHECK_BYTES(found + misalignment, swapped, n * width);
    tc_byteswap(found + misalignment, n, width, found + misalignment);
    TC_CHECK_BYTES(found + misalignment, pixels, n * width);
    tc_shuffle(pixels, n, width, found);
    TC_CHECK_BYTES(found, planes, n * width);
    tc_unshuffle(planes, n, width, found + misalignment);
    TC_CHECK_BYTES(found + misalignment, pixels, n * width);
}

static void test_against_the_definition(void)
{
    for (size_t width = 1; width <= 8; width *= 2)
        for (size_t n = 0; n < MAX; n += 1 + n / 70)
            for (size_t misalignment = 0; misalignment < 2; misalignment++) check_width(width, n, misalignment);
}

static void test_other_widths_do_nothing(void)
{
    uint8_t src[12] = {1, 2, 3}, dst[12] = {0}, zeros[12] = {0};

    tc_shuffle(src, 4, 3, dst);
    tc_unshuffle(src, 4, 3, dst);
    tc_byteswap(src, 4, 3, dst);
    TC_CHECK_BYTES(dst, zeros, sizeof zeros);
}

int main(void)
{
    TC_RUN(test_against_the_definition);
    TC_RUN(test_other_widths_do_nothing);
    return tc_test_summary();
}
