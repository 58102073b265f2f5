#include "tc_dither.h"

#include <stdbool.h>

#define HUNDRED 100

/* Pixels of the runs from the seeds 100 i, ..., 100 i + 99, and of all runs: then the numbers come again.
 * tests/test_dither.c goes through them one by one. */
static const uint32_t hundreds[TC_DITHER_COUNT / HUNDRED] = {
    974129, 975857, 973958, 975204, 976978, 976328, 975240, 975807, 973578, 974451, 975511, 976483, 974273, 974602,
    975545, 974401, 975996, 972895, 972638, 975842, 974238, 976550, 974862, 976145, 976927, 974941, 977079, 975130,
    976813, 975740, 975795, 977006, 974267, 974824, 973056, 974166, 972699, 974174, 976016, 972544, 978261, 973988,
    975594, 976904, 975263, 975377, 974523, 972017, 974669, 974459, 975374, 976242, 973814, 977402, 975050, 973543,
    973664, 972760, 977664, 974027, 973895, 974101, 973753, 972261, 976720, 975233, 973946, 975908, 977736, 975769,
    975664, 974750, 974266, 973835, 974557, 973755, 973407, 977626, 972183, 974748, 974926, 975155, 975818, 975733,
    975943, 972900, 971362, 975526, 974754, 975673, 970478, 975650, 973911, 974883, 974358, 975383, 976101, 974728,
    977961, 977247,
};
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
        const bool at_hundred = state.seed % HUNDRED == 0 && state.next == run_from(state.seed).next;
        size_t count = hundreds[state.seed / HUNDRED];

        if (at_hundred && n >= count) state = run_from((state.seed + HUNDRED) % TC_DITHER_COUNT);
        else tc_dither_run(&state, n, &count);
        n -= count;
    }
    return state;
}
