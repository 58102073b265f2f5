/* tc_noise_code.h for one pixel type.  The including file defines, and this one undefines:
 *   PIXEL, DIFFERENCE, WORD   a pixel; what differences are computed in; their absolute values as unsigned words that
 *                             order as they do
 *   NAME(x), WORDS(x)         the name of a function for this type; for WORD
 *   IS_NULL(pixel, null)      whether a pixel is undefined
 * and, where the level has vectors for the type,
 *   VECTOR, LANES             LANES pixels; + - * act on each
 *   LOAD(p), EQUAL(a, b)      unaligned load; a mask with a bit for each lane
 *   MAGNITUDES(v)             absolute values, as LANES WORDs */

typedef struct {
    size_t n_second, n_third; /* there are as many of the fifth order as of the third */
} NAME(counts);

/* Append the absolute differences of the windows that begin at pixel k or later of m; constant stretches leave none. */
static NAME(counts) NAME(add_differences)(const PIXEL *v, size_t k, size_t m, NAME(counts) n, WORD *second, WORD *third,
                                          WORD *fifth)
{
    for (; k + SPAN <= m; k++) {
        const PIXEL *const w = v + k;
        const bool flat3 = (w[4] == w[5]) & (w[5] == w[6]);
        const bool flat5 = flat3 & (w[2] == w[3]) & (w[3] == w[4]);
        const DIFFERENCE w0 = (DIFFERENCE)w[0], w2 = (DIFFERENCE)w[2], w4 = (DIFFERENCE)w[4], w6 = (DIFFERENCE)w[6],
                         w8 = (DIFFERENCE)w[8];

        second[n.n_second] = NAME(magnitude)(w4 - w6);
        third[n.n_third] = NAME(magnitude)(2 * w4 - w2 - w6);
        fifth[n.n_third] = NAME(magnitude)(6 * w4 - 4 * w2 - 4 * w6 + w0 + w8);
        n.n_second += !flat3;
        n.n_third += !flat5;
    }
    return n;
}

static NAME(counts) NAME(differences)(const PIXEL *v, size_t m, WORD *second, WORD *third, WORD *fifth)
{
    NAME(counts) n = {0, 0};
    size_t k = 0;

#ifdef VECTOR
    for (const unsigned all = (1u << LANES) - 1; k + LANES + SPAN - 1 <= m; k += LANES) {
        const PIXEL *const w = v + k;
        const VECTOR w0 = LOAD(w), w2 = LOAD(w + 2), w4 = LOAD(w + 4), w5 = LOAD(w + 5), w6 = LOAD(w + 6), w8 = LOAD(w + 8);
        const unsigned flat3 = EQUAL(w4, w5) & EQUAL(w5, w6);
        const VECTOR e2 = w4 - w6, e3 = w4 + w4 - w2 - w6, e5 = w4 * 6 - w2 * 4 - w6 * 4 + w0 + w8;

        if (flat3 == 0) {
            WORDS(store)(second + n.n_second, MAGNITUDES(e2));
            WORDS(store)(third + n.n_third, MAGNITUDES(e3));
            WORDS(store)(fifth + n.n_third, MAGNITUDES(e5));
            n.n_second += LANES;
            n.n_third += LANES;
        } else {
            const VECTOR w3 = LOAD(w + 3);
            const unsigned flat5 = flat3 & EQUAL(w2, w3) & EQUAL(w3, w4);

            WORDS(store_kept)(second + n.n_second, ~flat3 & all, MAGNITUDES(e2));
            WORDS(store_kept)(third + n.n_third, ~flat5 & all, MAGNITUDES(e3));
            WORDS(store_kept)(fifth + n.n_third, ~flat5 & all, MAGNITUDES(e5));
            n.n_second += LANES - (size_t)__builtin_popcount(flat3);
            n.n_third += LANES - (size_t)__builtin_popcount(flat5);
        }
    }
#endif
    return NAME(add_differences)(v, k, m, n, second, third, fifth);
}

typedef struct {
    const PIXEL *src;
    size_t nx, ny;
    null_mark null;
    bool has_nulls;
    PIXEL *defined; /* nx: the row without its undefined pixels */
    WORD *fresh, *third, *fifth; /* nx: differences of second, third, fifth order of one row */
    WORD *second; /* nx: those of second order, kept from row to row, once they have been replayed; not for one row */
    bool replayed;
    WORD *rest; /* for tc_select */
    double *medians[3]; /* ny each: of second, third, fifth order */
    size_t n_medians[3];
    uint64_t *median_rest;
} NAME(tile);

/* The defined pixels of a row, `*m` of them. */
static const PIXEL *NAME(defined_pixels)(const NAME(tile) *tile, size_t row, size_t *m)
{
    const PIXEL *const pixels = tile->src + row * tile->nx;

    *m = tile->nx;
    if (!tile->has_nulls) return pixels;
    *m = 0;
    for (size_t i = 0; i < tile->nx; i++) {
        tile->defined[*m] = pixels[i];
        *m += !(IS_NULL(pixels[i], tile->null));
    }
    return tile->defined;
}

static NAME(counts) NAME(row_differences)(const NAME(tile) *tile, size_t row)
{
    size_t m;
    const PIXEL *const v = NAME(defined_pixels)(tile, row, &m);

    return NAME(differences)(v, m, tile->fresh, tile->third, tile->fifth);
}

static void NAME(add_median)(NAME(tile) *tile, int order, WORD median)
{
    tile->medians[order][tile->n_medians[order]++] = NAME(value)(median);
}

/* Bring `second` to the state that CFITSIO leaves it in before `row`, and the lists of differences to those of `row`. */
static void NAME(replay_until)(NAME(tile) *tile, size_t row)
{
    for (size_t r = 0; r < row; r++) {
        const NAME(counts) n = NAME(row_differences)(tile, r);

        memcpy(tile->second, tile->fresh, n.n_second * sizeof(WORD));
        if (n.n_second >= 2) LEVEL(WORDS(tc_select_exchanging))(tile->second, n.n_third);
    }
    NAME(row_differences)(tile, row);
    tile->replayed = true;
}

/* The median of second order is taken over as many entries of `second` as there are differences of third order.  Where
 * there are fewer of second order, entries that former rows left behind are among them, or the zeros of the beginning.
 * Only a tile with such a row, and rows after it, has to go through the very exchanges of CFITSIO's selection. */
static void NAME(add_second_order)(NAME(tile) *tile, size_t row, NAME(counts) n)
{
    const size_t middle = (n.n_third - 1) / 2, n_left_behind = n.n_third - n.n_second;
    const bool has_median = n.n_second >= (n.n_third == 1 ? 1 : 2);

    if (n_left_behind && tile->ny > 1 && !tile->replayed) NAME(replay_until)(tile, row);
    if (tile->replayed) {
        memcpy(tile->second, tile->fresh, n.n_second * sizeof(WORD));
        if (has_median) NAME(add_median)(tile, 0, LEVEL(WORDS(tc_select_exchanging))(tile->second, n.n_third));
    } else if (has_median) {
        NAME(add_median)(tile, 0, middle < n_left_behind ? 0
                                  : LEVEL(WORDS(tc_select))(tile->fresh, n.n_second, middle - n_left_behind, tile->rest));
    }
}

static void NAME(add_row)(NAME(tile) *tile, size_t row)
{
    const NAME(counts) n = NAME(row_differences)(tile, row);
    const size_t middle = (n.n_third - 1) / 2;

    if (n.n_third == 0) return;
    NAME(add_median)(tile, 1, LEVEL(WORDS(tc_select))(tile->third, n.n_third, middle, tile->rest));
    NAME(add_median)(tile, 2, LEVEL(WORDS(tc_select))(tile->fifth, n.n_third, middle, tile->rest));
    NAME(add_second_order)(tile, row, n);
}

/* Share `scratch` out; the size it has to have is returned. */
static size_t NAME(layout)(NAME(tile) *tile, char *scratch)
{
    size_t used = 0;

    tile->fresh = take(scratch, &used, (tile->nx + PADDING) * sizeof(WORD));
    tile->second = take(scratch, &used, tile->ny > 1 ? tile->nx * sizeof(WORD) : 0);
    tile->third = take(scratch, &used, (tile->nx + PADDING) * sizeof(WORD));
    tile->fifth = take(scratch, &used, (tile->nx + PADDING) * sizeof(WORD));
    tile->rest = take(scratch, &used, TC_SELECT_SCRATCH(tile->nx) * sizeof(WORD));
    tile->defined = (PIXEL *)tile->rest; /* tc_select comes when these are no longer needed */
    for (int order = 0; order < 3; order++) tile->medians[order] = take(scratch, &used, tile->ny * sizeof(double));
    tile->median_rest = take(scratch, &used, (tile->ny + TC_SELECT_SCRATCH(tile->ny)) * sizeof(uint64_t));
    return used;
}

static size_t NAME(scratch_size)(size_t nx, size_t ny)
{
    NAME(tile) tile = {.nx = nx, .ny = ny};

    reshape(&tile.nx, &tile.ny);
    return NAME(layout)(&tile, NULL);
}

static void NAME(estimate)(const PIXEL *src, size_t nx, size_t ny, null_mark null, void *scratch, tc_noise *noise)
{
    NAME(tile) tile = {.src = src, .nx = nx, .ny = ny, .null = null, .has_nulls = noise->n_valid < nx * ny};

    reshape(&tile.nx, &tile.ny);
    if (tile.nx < SPAN) return;
    NAME(layout)(&tile, scratch);
    if (tile.ny > 1) memset(tile.second, 0, tile.nx * sizeof(WORD));
    for (size_t row = 0; row < tile.ny; row++) NAME(add_row)(&tile, row);
    noise->noise2 = 1.0483579 * median_of_rows(tile.medians[0], tile.n_medians[0], tile.median_rest);
    noise->noise3 = 0.6052697 * median_of_rows(tile.medians[1], tile.n_medians[1], tile.median_rest);
    noise->noise5 = 0.1772048 * median_of_rows(tile.medians[2], tile.n_medians[2], tile.median_rest);
}

#undef PIXEL
#undef DIFFERENCE
#undef WORD
#undef NAME
#undef WORDS
#undef IS_NULL
#undef VECTOR
#undef LANES
#undef LOAD
#undef EQUAL
#undef MAGNITUDES
