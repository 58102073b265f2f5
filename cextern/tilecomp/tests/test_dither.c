#include "tc_dither.h"
#include "tc_test.h"

static void test_numbers_follow_the_recurrence(void)
{
    uint64_t state = 1;

    for (int i = 0; i < TC_DITHER_COUNT; i++) {
        state = 16807 * state % 2147483647;
        TC_CHECK(tc_dither_numbers[i] == (float)((double)state / 2147483647.0));
    }
    TC_CHECK_EQ(state, 1043618065); /* the check value of the standard */
}

static void test_first_numbers_by_their_bits(void)
{
    static const uint32_t bits[4] = {0x37034e00, 0x3e06b1d8, 0x3f416f5a, 0x3eead431};

    TC_CHECK_BYTES(tc_dither_numbers, bits, sizeof bits);
}

static void test_start_of_tiles(void)
{
    static const uint32_t next[8] = {0, 65, 377, 229, 266, 109, 23, 339};

    for (uint32_t row = 0; row < 8; row++) {
        TC_CHECK_EQ(tc_dither_start(row, 1).seed, row);
        TC_CHECK_EQ(tc_dither_start(row, 1).next, next[row]);
        TC_CHECK_EQ(tc_dither_start(0, (int64_t)row + 1).next, next[row]);
    }
    TC_CHECK_EQ(tc_dither_start(9999, 2).seed, 0);
    TC_CHECK_EQ(tc_dither_start(9999, 10000).seed, 9998);
}

static void test_lawless_seeds_stay_in_the_table(void)
{
    static const int64_t seeds[] = {0, -1, -9999, -10000, -10001, 10001, INT64_MIN, INT64_MAX};

    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        TC_CHECK(tc_dither_start(0, seeds[i]).seed < TC_DITHER_COUNT);
        TC_CHECK(tc_dither_start(UINT64_MAX, seeds[i]).seed < TC_DITHER_COUNT);
    }
    TC_CHECK_EQ(tc_dither_start(0, 0).seed, 9999);
    TC_CHECK_EQ(tc_dither_start(0, -9999).seed, 0);
    TC_CHECK_EQ(tc_dither_start(0, 10001).seed, 0);
}

/* Pixel by pixel as the standard puts it, against runs and skips. */
static void test_runs_wrap_as_single_steps_do(void)
{
    tc_dither runs = tc_dither_start(4, 9998);
    uint32_t seed = runs.seed, next = runs.next;
    size_t left = 35000, done = 0;

    while (left > 0) {
        size_t count;
        const float *const numbers = tc_dither_run(&runs, left < 777 ? left : 777, &count);

        for (size_t i = 0; i < count; i++) {
            TC_CHECK(&numbers[i] == &tc_dither_numbers[next]);
            if (++next == TC_DITHER_COUNT) {
                seed = (seed + 1) % TC_DITHER_COUNT;
                next = (uint32_t)(500 * tc_dither_numbers[seed]);
            }
        }
        left -= count;
        done += count;

        const tc_dither skipped = tc_dither_skip(tc_dither_start(4, 9998), done);

        TC_CHECK_EQ(skipped.seed, seed);
        TC_CHECK_EQ(skipped.next, next);
    }
}

/* All the runs there are, twice, from a pixel in the middle of one: what a skip of any length does is what they add up to. */
static void test_skips_of_any_length(void)
{
    const tc_dither start = tc_dither_skip(tc_dither_start(7, 1), 5000);
    tc_dither runs = start;
    size_t done = 0;

    for (int i = 0; i < 2 * TC_DITHER_COUNT + 5; i++) {
        size_t count;

        tc_dither_run(&runs, SIZE_MAX, &count);
        done += count;
        for (size_t more = 0; more < 3; more++) {
            const tc_dither skipped = tc_dither_skip(start, done - 1 + more);

            TC_CHECK_EQ(skipped.seed, more ? runs.seed : (runs.seed + TC_DITHER_COUNT - 1) % TC_DITHER_COUNT);
            TC_CHECK_EQ(skipped.next, more ? runs.next + more - 1 : TC_DITHER_COUNT - 1);
        }
    }
}

int main(void)
{
    TC_RUN(test_numbers_follow_the_recurrence);
    TC_RUN(test_first_numbers_by_their_bits);
    TC_RUN(test_start_of_tiles);
    TC_RUN(test_lawless_seeds_stay_in_the_table);
    TC_RUN(test_runs_wrap_as_single_steps_do);
    TC_RUN(test_skips_of_any_length);
    return tc_test_summary();
}
