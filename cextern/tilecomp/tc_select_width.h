/* tc_select.c for one width: WORD is the element type, NAME(x) the name of a function for it. */

typedef struct {
    size_t n_below, n_inside;
} NAME(window_counts);

/* out[0 .. n_inside) = the elements of list within lowest ... highest, in order. */
static NAME(window_counts) NAME(keep_window)(const WORD *list, size_t n, WORD lowest, WORD highest, WORD *out)
{
    const WORD span = highest - lowest;
    NAME(window_counts) counts = {0, 0};

    for (size_t i = 0; i < n; i++) {
        const WORD element = list[i];

        out[counts.n_inside] = element; /* overwritten by the next one if it is outside */
        counts.n_inside += (WORD)(element - lowest) <= span;
        counts.n_below += element < lowest;
    }
    return counts;
}

static void NAME(sort_few)(const WORD *list, size_t n, WORD *sorted)
{
    for (size_t i = 0; i < n; i++) {
        size_t rank = 0;

        for (size_t j = 0; j < n; j++) rank += (list[j] < list[i]) | ((list[j] == list[i]) & (j < i));
        sorted[rank] = list[i];
    }
}

static void NAME(sort_sample)(const WORD *list, size_t n, WORD *sorted)
{
    WORD sample[SAMPLE];

    for (size_t i = 0; i < SAMPLE; i++) sample[i] = list[n / SAMPLE * i];
    NAME(sort_few)(sample, SAMPLE, sorted);
}

WORD NAME(tc_select)(const WORD *list, size_t n, size_t t, WORD *scratch)
{
    WORD *out = scratch, *spare = scratch + n + PADDING;
    WORD lowest = 0, highest = (WORD)-1; /* the answer is within */
    WORD sorted[SAMPLE];

    while (n > SAMPLE && lowest < highest) {
        NAME(sort_sample)(list, n, sorted);
        const size_t rank = (size_t)((double)t / (double)n * SAMPLE);
        WORD from = rank >= MARGIN ? sorted[rank - MARGIN] : lowest;
        WORD to = rank + MARGIN < SAMPLE ? sorted[rank + MARGIN] : highest;
        NAME(window_counts) counts = NAME(keep_window)(list, n, from, to, out);
        bool again = true;

        if (t < counts.n_below) { /* the sample misled */
            to = from - 1;
            from = lowest;
        } else if (t >= counts.n_below + counts.n_inside) {
            from = to + 1;
            to = highest;
        } else if (counts.n_inside > n / 2 && from < to) { /* many equal elements: halve the range of values instead */
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
    if (lowest == highest) return lowest;
    NAME(sort_few)(list, n, sorted);
    return sorted[t];
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

/* Exchange elements between lo + 1 and hi until those up to `down` are <= list[lo], those from `up` on >= list[lo].
 * list[lo + 1] <= list[lo] <= list[hi] stop the scans. */
static NAME(scans) NAME(partition)(WORD *list, size_t lo, size_t hi)
{
    const WORD pivot = list[lo];
    NAME(scans) at = {lo + 1, hi};

    for (;;) {
        do at.up++; while (list[at.up] < pivot);
        do at.down--; while (list[at.down] > pivot);
        if (at.down < at.up) return at;
        NAME(swap)(list, at.up, at.down);
    }
}

WORD NAME(tc_select_exchanging)(WORD *list, size_t n)
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
