/* tc_select.c for one width: WORD is the element type, NAME(x) the name of a function for it. */

/* out[0 .. n_inside) = the elements of list within lowest ... highest, in order; up to PADDING more are overwritten. */
static window_counts NAME(portable_keep_window)(const WORD *list, size_t n, WORD lowest, WORD highest, WORD *out)
{
    const WORD span = highest - lowest;
    window_counts counts = {0, 0};

    for (size_t i = 0; i < n; i++) {
        const WORD element = list[i];

        out[counts.n_inside] = element; /* overwritten by the next one if it is outside */
        counts.n_inside += (WORD)(element - lowest) <= span;
        counts.n_below += element < lowest;
    }
    return counts;
}

/* The element that sorting 1 <= n <= FEW elements would bring to index t. */
static WORD NAME(portable_select_few)(const WORD *list, size_t n, size_t t)
{
    WORD sorted[FEW];

    for (size_t i = 0; i < n; i++) {
        size_t at = i;

        for (; at > 0 && sorted[at - 1] > list[i]; at--) sorted[at] = sorted[at - 1];
        sorted[at] = list[i];
    }
    return sorted[t];
}

typedef struct {
    window_counts (*keep_window)(const WORD *list, size_t n, WORD lowest, WORD highest, WORD *out);
    WORD (*select_few)(const WORD *list, size_t n, size_t t);
} NAME(kernels);

static NAME(kernels) NAME(kernels_of)(tc_cpu level);

WORD NAME(tc_select)(const WORD *list, size_t n, size_t t, WORD *scratch)
{
    const NAME(kernels) kernels = NAME(kernels_of)(tc_cpu_level());
    WORD *out = scratch, *spare = scratch + n + PADDING;
    WORD lowest = 0, highest = (WORD)-1; /* the answer is within */

    while (n > FEW && lowest < highest) {
        const size_t stride = n / FEW, rank = t / stride < FEW ? t / stride : FEW - 1;
        WORD sample[FEW], from = lowest, to = highest;
        window_counts counts;
        bool again = true;

        for (size_t i = 0; i < FEW; i++) sample[i] = list[i * stride];
        if (rank >= MARGIN) from = kernels.select_few(sample, FEW, rank - MARGIN);
        if (rank + MARGIN < FEW) to = kernels.select_few(sample, FEW, rank + MARGIN);
        counts = kernels.keep_window(list, n, from, to, out);

        if (t < counts.n_below) { /* the sample misled */
            to = from - 1;
            from = lowest;
        } else if (t >= counts.n_below + counts.n_inside) {
            from = to + 1;
            to = highest;
        } else if (counts.n_inside > n / 4 * 3 && from < to) { /* many equal elements: halve the range of values */
            const WORD middle = from + (to - from) / 2;

            counts = kernels.keep_window(list, n, from, middle, out);
            again = t >= counts.n_below + counts.n_inside;
            if (again) from = middle + 1;
            else to = middle;
        } else {
            again = false;
        }
        if (again) counts = kernels.keep_window(list, n, from, to, out);

        list = out;
        out = spare;
        spare = (WORD *)list;
        n = counts.n_inside;
        t -= counts.n_below;
        lowest = from;
        highest = to;
    }
    return lowest == highest ? lowest : kernels.select_few(list, n, t);
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
