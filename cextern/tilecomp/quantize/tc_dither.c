#include "tc_dither.h"

#include <stdbool.h>

/* Pixels of the runs from all seeds: then the numbers come again.  tests/test_dither.c goes through them one by one. */
#define CYCLE 97495886u

static tc_dither run_from(uint32_t seed)
{
    return (tc_dither){.seed = seed, .next = (uint32_t)(500.0f * tc_dither_numbers[seed])};
}

tc_dither tc_dither_start(uint64_t row, int64_t zdither0)
{
    int64_t offset = zdither0 % TC_DITHER_COUNT;                     /* -9999 ... 9999 */

    offset = (offset + TC_DITHER_COUNT - 1) % TC_DITHER_COUNT;       /* never negative */
    return run_from((uint32_t)((row % TC_DITHER_COUNT + (uint64_t)offset) % TC_DITHER_COUNT));
}

const float *tc_dither_run(tc_dither *state, size_t n, size_t *count)
{
    const float *numbers = tc_dither_numbers + state->next;
    const size_t left = TC_DITHER_COUNT - state->next;

    if (n < left) {
        state->next += (uint32_t)n;
        *count = n;
    } else {
        *state = run_from((state->seed + 1) % TC_DITHER_COUNT);
        *count = left;
    }
    return numbers;
}

/* A column of a large tile skips to each of its pixels: over whole hundreds of runs where it can. */
tc_dither tc_dither_skip(tc_dither state, size_t n)
{
    n %= CYCLE;
    while (n > 0) {
        const bool at_hundred = state.seed % TC_DITHER_HUNDRED == 0 && state.next == run_from(state.seed).next;
        size_t count = tc_dither_hundreds[state.seed / TC_DITHER_HUNDRED];

        if (at_hundred && n >= count) state = run_from((state.seed + TC_DITHER_HUNDRED) % TC_DITHER_COUNT);
        else tc_dither_run(&state, n, &count);
        n -= count;
    }
    return state;
}
