/* tc_select_code.h for one width.  The including file defines, and this one undefines:
 *   WORD              the element type
 *   NAME(x)           the name of a function for it
 *   KEEPS_BY_VECTORS  1 where there is NAME(keep_by_vectors)
 *   HAS_SELECT_TWO    1 where there is NAME(select_two) already */

/* out[0 .. n_inside) = the elements of list within lowest ... highest, in order; up to PADDING more are overwritten. */
static window_counts NAME(keep_window)(const WORD *list, size_t n, WORD lowest, WORD highest, WORD *out)
{
    const WORD span = highest - lowest;
    window_counts counts = {0, 0};
    size_t i = 0;

#if KEEPS_BY_VECTORS
    counts = NAME(keep_by_vectors)(list, n, lowest, highest, out, &i);
#endif
    for (; i < n; i++) {
        const WORD element = list[i];

        out[counts.n_inside] = element; /* overwritten by the next one if it is outside */
        counts.n_inside += (WORD)(element - lowest) <= span;
        counts.n_below += element < lowest;
    }
    return counts;
}

#if !HAS_SELECT_TWO
/* The elements that sorting 1 <= n <= FEW elements would bring to two indices below n. */
static void NAME(select_two)(const WORD *list, size_t n, const size_t at[2], WORD selected[2])
{
    WORD sorted[FEW];

    for (size_t i = 0; i < n; i++) {
        size_t place = i;

        for (; place > 0 && sorted[place - 1] > list[i]; place--) sorted[place] = sorted[place - 1];
        sorted[place] = list[i];
    }
    selected[0] = sorted[at[0]];
    selected[1] = sorted[at[1]];
}
#endif

WORD LEVEL(NAME(tc_select))(const WORD *list, size_t n, size_t t, WORD *scratch)
{
    WORD *out = scratch, *spare = scratch + n + PADDING;
    WORD lowest = 0, highest = (WORD)-1; /* the answer is within */

    while (n > FEW && lowest < highest) {
        const size_t stride = n / FEW, rank = t / stride < FEW ? t / stride : FEW - 1;
        const size_t ranks[2] = {rank >= MARGIN ? rank - MARGIN : 0, rank + MARGIN < FEW ? rank + MARGIN : FEW - 1};
        WORD sample[FEW], window[2], from, to;
        window_counts counts;
        bool again = true;

        for (size_t i = 0; i < FEW; i++) sample[i] = list[i * stride];
        NAME(select_two)(sample, FEW, ranks, window);
        from = rank >= MARGIN ? window[0] : lowest;
        to = rank + MARGIN < FEW ? window[1] : highest;
        counts = NAME(keep_window)(list, n, from, to, out);

        if (t < counts.n_below) { /* the sample misled */
            to = from - 1;
            from = lowest;
        } else if (t >= counts.n_below + counts.n_inside) {
            from = to + 1;
            to = highest;
        } else if (counts.n_inside > n / 4 * 3 && from < to) { /* many equal elements: halve the range of values */
            const WORD middle = from + (to - from) / 2;

            counts = NAME(keep_window)(list, n, from, middle, out);
            again = t >= counts.n_below + counts.n_inside;
            if (again) from = middle + 1;
            else to = middle;
        } else {
            again = false;
        }
        if (again) counts = NAME(keep_window)(list, n, from, to, out);

        list = out;
        out = spare;
        spare = (WORD *)list;
        n = counts.n_inside;
        t -= counts.n_below;
        lowest = from;
        highest = to;
    }
    if (lowest < highest) {
        WORD selected[2];

        NAME(select_two)(list, n, (const size_t[2]){t, t}, selected);
        lowest = selected[0];
    }
    return lowest;
}

static void NAME(swap)(WORD *list, size_t i, size_t j)
{
    const WORD element = list[i];

    list[i] = list[j];
    list[j] = element;
}

typedef struct {
    size_t up, down; /* where the two scans of partition() stopped: down < up */
} NAME(scans);

/* The places in a block of BLOCK elements where an upward scan stops (elements >= pivot), or a downward one (<= pivot)
 * that starts at its end; counted from where the scan starts.  No branch depends on the elements. */
static size_t NAME(stops_upward)(const WORD *block, WORD pivot, uint8_t *stops)
{
    size_t count = 0;

    for (size_t i = 0; i < BLOCK; i++) {
        stops[count] = (uint8_t)i;
        count += block[i] >= pivot;
    }
    return count;
}

static size_t NAME(stops_downward)(const WORD *block, WORD pivot, uint8_t *stops)
{
    size_t count = 0;

    for (size_t i = 0; i < BLOCK; i++) {
        stops[count] = (uint8_t)i;
        count += block[BLOCK - 1 - i] <= pivot;
    }
    return count;
}

/* Exchange elements between lo + 1 and hi until those up to `down` are <= list[lo], those from `up` on >= list[lo].
 * list[lo + 1] <= list[lo] <= list[hi] stop the scans.  The k-th stop of the upward scan is exchanged with the k-th of the
 * downward one: block by block as long as two whole blocks lie between them, then one by one. */
static NAME(scans) NAME(partition)(WORD *list, size_t lo, size_t hi)
{
    const WORD pivot = list[lo];
    NAME(scans) at = {lo + 1, hi};
    uint8_t ups[BLOCK], downs[BLOCK];
    size_t up_block = lo + 2, down_block = hi; /* the blocks are [up_block, + BLOCK) and [down_block - BLOCK, down_block) */
    size_t n_ups = 0, n_downs = 0, next_up = 0, next_down = 0;

    while (down_block - up_block >= 2 * BLOCK) {
        if (next_up == n_ups) {
            n_ups = NAME(stops_upward)(list + up_block, pivot, ups);
            next_up = 0;
        }
        if (next_down == n_downs) {
            n_downs = NAME(stops_downward)(list + down_block - BLOCK, pivot, downs);
            next_down = 0;
        }
        for (; next_up < n_ups && next_down < n_downs; next_up++, next_down++) {
            at = (NAME(scans)){up_block + ups[next_up], down_block - 1 - downs[next_down]};
            NAME(swap)(list, at.up, at.down);
        }
        if (next_up == n_ups) {
            up_block += BLOCK;
            at.up = up_block - 1; /* nothing stops the scan before the next block */
        }
        if (next_down == n_downs) {
            down_block -= BLOCK;
            at.down = down_block;
        }
    }
    for (;;) {
        do at.up++; while (list[at.up] < pivot);
        do at.down--; while (list[at.down] > pivot);
        if (at.down < at.up) return at;
        NAME(swap)(list, at.up, at.down);
    }
}

WORD LEVEL(NAME(tc_select_exchanging))(WORD *list, size_t n)
{
    const size_t t = (n - 1) / 2;
    size_t lo = 0, hi = n - 1;

    while (hi > lo + 1) {
        const size_t middle = (lo + hi) / 2;

        if (list[middle] > list[hi]) NAME(swap)(list, middle, hi);
        if (list[lo] > list[hi]) NAME(swap)(list, lo, hi);
        if (list[middle] > list[lo]) NAME(swap)(list, middle, lo);
        NAME(swap)(list, middle, lo + 1);

        const NAME(scans) at = NAME(partition)(list, lo, hi);

        NAME(swap)(list, lo, at.down);
        if (at.down <= t) lo = at.up;
        if (at.down >= t) hi = at.down - 1;
    }
    if (hi == lo + 1 && list[lo] > list[hi]) NAME(swap)(list, lo, hi);
    return list[t];
}

#undef WORD
#undef NAME
#undef KEEPS_BY_VECTORS
#undef HAS_SELECT_TWO
