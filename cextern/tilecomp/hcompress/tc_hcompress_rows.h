/* The row arithmetic of the HCOMPRESS transform for one coefficient type; a part of tc_hcompress_code.h.  The including
 * file defines, and this one undefines:
 *   COEF, UCOEF  the signed and the unsigned type of a coefficient
 *   NAME(x)      the name of a function for it
 * Coefficients stay in their four subbands: ll (h0 of the format), hy (difference along x), hx (along y), hc (both).
 * Element j of each makes block j: the pixels 2j and 2j + 1 of two neighbouring rows.  The loops are elementwise, so
 * that compilers make vector code of them.  Sums wrap around: hostile streams may overflow, lawful ones cannot. */

#define ADD(a, b) ((COEF)((UCOEF)(a) + (UCOEF)(b)))
#define SUB(a, b) ((COEF)((UCOEF)(a) - (UCOEF)(b)))
#define TIMES(a, b) ((COEF)((UCOEF)(a) * (UCOEF)(b)))
#define SIGN_MASK(v) ((COEF)((v) >> (8 * sizeof(COEF) - 1))) /* -1 for negative v, else 0 */

TC_INLINE COEF NAME(least)(COEF a, COEF b)
{
    return a < b ? a : b;
}

TC_INLINE COEF NAME(most)(COEF a, COEF b)
{
    return a > b ? a : b;
}

TC_INLINE COEF NAME(clamp)(COEF v, COEF low, COEF high)
{
    return NAME(most)(NAME(least)(v, high), low);
}

/* ---- inverse ---- */

/* Round v to a multiple of m = 2^k; ties away from zero.  m = 1 changes nothing. */
TC_INLINE COEF NAME(round)(COEF v, COEF m)
{
    const COEF down = m > 1 ? SIGN_MASK(v) : 0;

    return ADD(ADD(v, m >> 1), down) & -m;
}

/* v - x for v >= 0, else v + x */
TC_INLINE COEF NAME(inward)(COEF v, COEF x)
{
    const COEF negative = SIGN_MASK(v);

    return SUB(v, SUB(x ^ negative, negative));
}

typedef struct {
    COEF here, right, below, across; /* pixels (0, 0), (0, 1), (1, 0), (1, 1) of a block */
} NAME(block);

/* Undo one step of level k on one block. */
TC_INLINE NAME(block) NAME(join)(COEF h0, COEF hx, COEF hy, COEF hc, int k)
{
    const COEF bit0 = (COEF)1 << k, bit1 = (COEF)2 << k;
    const int shift = k == 0 ? 2 : 1;
    COEF low0, low1, up, sum, difference;

    hx = NAME(round)(hx, bit1);
    hy = NAME(round)(hy, bit1);
    hc = NAME(round)(hc, bit0);
    low0 = hc & bit0;
    hx = NAME(inward)(hx, low0);
    hy = NAME(inward)(hy, low0);
    low1 = (hc ^ hx ^ hy) & bit1;
    up = SIGN_MASK(h0) & SIGN_MASK(low0 - 1); /* -1 for a negative mean without a low bit: it moves up */
    h0 = SUB(ADD(h0, low0), SUB(low1 ^ up, up));
    sum = ADD(h0, hx);
    difference = SUB(h0, hx);
    return (NAME(block)){SUB(difference, SUB(hy, hc)) >> shift, ADD(difference, SUB(hy, hc)) >> shift,
                         SUB(sum, ADD(hy, hc)) >> shift, ADD(sum, ADD(hy, hc)) >> shift};
}

/* The same for half a block, at an odd edge, where there is one difference: h1 is hx or hy. */
TC_INLINE void NAME(join_pair)(COEF h0, COEF h1, int k, COEF *first, COEF *second)
{
    const COEF bit1 = (COEF)2 << k;
    const int shift = k == 0 ? 2 : 1;

    h1 = NAME(round)(h1, bit1);
    h0 = NAME(inward)(h0, h1 & bit1);
    *first = SUB(h0, h1) >> shift;
    *second = ADD(h0, h1) >> shift;
}

/* Blocks of two whole rows of `width` pixels of level k > 0. */
static void NAME(join_rows)(const COEF *restrict ll, const COEF *restrict hx, const COEF *restrict hy,
                            const COEF *restrict hc, size_t width, int k, COEF *restrict top, COEF *restrict bottom)
{
    const size_t n = width / 2;

    for (size_t j = 0; j < n; j++) {
        const NAME(block) px = NAME(join)(ll[j], hx[j], hy[j], hc[j], k);

        top[2 * j] = px.here;
        top[2 * j + 1] = px.right;
        bottom[2 * j] = px.below;
        bottom[2 * j + 1] = px.across;
    }
    if (width % 2) NAME(join_pair)(ll[n], hx[n], k, &top[2 * n], &bottom[2 * n]);
}

/* The last row of an odd number of rows of level k > 0. */
static void NAME(join_last_row)(const COEF *restrict ll, const COEF *restrict hy, size_t width, int k,
                                COEF *restrict row)
{
    const size_t n = width / 2;

    for (size_t j = 0; j < n; j++) NAME(join_pair)(ll[j], hy[j], k, &row[2 * j], &row[2 * j + 1]);
    if (width % 2) row[2 * n] = ll[n] >> 1;
}

/* Level 0: the pixels themselves, clipped. */
static void NAME(join_pixels)(const COEF *restrict ll, const COEF *restrict hx, const COEF *restrict hy,
                              const COEF *restrict hc, size_t width, COEF low, COEF high, int32_t *restrict top,
                              int32_t *restrict bottom)
{
    const size_t n = width / 2;

    for (size_t j = 0; j < n; j++) {
        const NAME(block) px = NAME(join)(ll[j], hx[j], hy[j], hc[j], 0);

        top[2 * j] = (int32_t)NAME(clamp)(px.here, low, high);
        top[2 * j + 1] = (int32_t)NAME(clamp)(px.right, low, high);
        bottom[2 * j] = (int32_t)NAME(clamp)(px.below, low, high);
        bottom[2 * j + 1] = (int32_t)NAME(clamp)(px.across, low, high);
    }
    if (width % 2) {
        COEF first, second;

        NAME(join_pair)(ll[n], hx[n], 0, &first, &second);
        top[2 * n] = (int32_t)NAME(clamp)(first, low, high);
        bottom[2 * n] = (int32_t)NAME(clamp)(second, low, high);
    }
}

static void NAME(join_last_pixels)(const COEF *restrict ll, const COEF *restrict hy, size_t width, COEF low, COEF high,
                                   int32_t *restrict row)
{
    const size_t n = width / 2;

    for (size_t j = 0; j < n; j++) {
        COEF first, second;

        NAME(join_pair)(ll[j], hy[j], 0, &first, &second);
        row[2 * j] = (int32_t)NAME(clamp)(first, low, high);
        row[2 * j + 1] = (int32_t)NAME(clamp)(second, low, high);
    }
    if (width % 2) row[2 * n] = (int32_t)NAME(clamp)(ll[n] >> 2, low, high);
}

/* ---- smoothing: differences are moved, by at most `most`, towards what the neighbouring means suggest ---- */

/* A difference along one axis, between the mean before, here and after. */
TC_INLINE COEF NAME(smooth_difference)(COEF before, COEF here, COEF after, COEF difference, COEF most)
{
    const COEF rise = SUB(after, here), fall = SUB(here, before);
    const COEF up = TIMES(4, NAME(most)(NAME(least)(rise, fall), 0));
    const COEF down = TIMES(4, NAME(least)(NAME(most)(rise, fall), 0));
    const COEF move = SUB(NAME(clamp)(SUB(after, before), down, up), TIMES(8, difference)) / 8;

    return down < up ? ADD(difference, NAME(clamp)(move, -most, most)) : difference;
}

/* hx of a block row; `above` and `below` are the rows of ll next to it. */
static void NAME(smooth_hx)(const COEF *restrict above, const COEF *restrict ll, const COEF *restrict below, size_t n,
                            COEF most, COEF *restrict hx)
{
    for (size_t j = 0; j < n; j++) hx[j] = NAME(smooth_difference)(above[j], ll[j], below[j], hx[j], most);
}

/* hy of a block row, but for its first and last blocks. */
static void NAME(smooth_hy)(const COEF *restrict ll, size_t first, size_t end, COEF most, COEF *restrict hy)
{
    for (size_t j = first; j < end; j++)
        hy[j] = NAME(smooth_difference)(ll[j - 1], ll[j], ll[j + 1], hy[j], most);
}

/* hc of a block row, but for its first and last blocks; hx and hy are smoothed already. */
static void NAME(smooth_hc)(const COEF *restrict above, const COEF *restrict ll, const COEF *restrict below,
                            const COEF *restrict hx, const COEF *restrict hy, size_t first, size_t end, COEF most,
                            COEF *restrict hc)
{
    for (size_t j = first; j < end; j++) {
        const COEF mm = above[j - 1], mp = above[j + 1], pm = below[j - 1], pp = below[j + 1], h0 = ll[j];
        const COEF both = ADD(TIMES(2, hx[j]), TIMES(2, hy[j])), apart = SUB(TIMES(2, hx[j]), TIMES(2, hy[j]));
        const COEF rise_pp = SUB(pp, h0), rise_pm = SUB(h0, pm), rise_mp = SUB(h0, mp), rise_mm = SUB(mm, h0);
        const COEF up = TIMES(16, NAME(least)(NAME(least)(SUB(NAME(most)(rise_pp, 0), both),
                                                          ADD(NAME(most)(rise_pm, 0), apart)),
                                              NAME(least)(SUB(NAME(most)(rise_mp, 0), apart),
                                                          ADD(NAME(most)(rise_mm, 0), both))));
        const COEF down = TIMES(16, NAME(most)(NAME(most)(SUB(NAME(least)(rise_pp, 0), both),
                                                          ADD(NAME(least)(rise_pm, 0), apart)),
                                               NAME(most)(SUB(NAME(least)(rise_mp, 0), apart),
                                                          ADD(NAME(least)(rise_mm, 0), both))));
        const COEF twist = SUB(ADD(pp, mm), ADD(mp, pm));
        const COEF move = SUB(NAME(clamp)(twist, down, up), TIMES(64, hc[j])) / 64;

        hc[j] = down < up ? ADD(hc[j], NAME(clamp)(move, -most, most)) : hc[j];
    }
}

/* ---- forward ---- */

/* Round h0 of level k to a multiple of 2^(k + 2), differences to one of 2^(k + 1). */
TC_INLINE COEF NAME(round_mean)(COEF v, int k)
{
    const COEF m = (COEF)4 << k;

    return ADD(ADD(v, m >> 1), SIGN_MASK(v)) & -m;
}

TC_INLINE COEF NAME(round_difference)(COEF v, int k)
{
    const COEF m = (COEF)2 << k;

    return ADD(v, (m >> 1) & ~SIGN_MASK(v)) & -m;
}

typedef struct {
    COEF h0, hx, hy, hc;
} NAME(bands);

/* One step of level k on the block (a b / g d). */
TC_INLINE NAME(bands) NAME(split)(COEF a, COEF b, COEF g, COEF d, int k)
{
    const int shift = k == 0 ? 0 : 1;
    const COEF sum = ADD(a, b), sum_below = ADD(g, d), step = SUB(b, a), step_below = SUB(d, g);

    return (NAME(bands)){NAME(round_mean)(ADD(sum_below, sum) >> shift, k),
                         NAME(round_difference)(SUB(sum_below, sum) >> shift, k),
                         NAME(round_difference)(ADD(step_below, step) >> shift, k), SUB(step_below, step) >> shift};
}

/* The same for half a block, at an odd edge. */
TC_INLINE void NAME(split_pair)(COEF first, COEF second, int k, COEF *h0, COEF *h1)
{
    const COEF weight = k == 0 ? 2 : 1;

    *h0 = NAME(round_mean)(TIMES(ADD(first, second), weight), k);
    *h1 = NAME(round_difference)(TIMES(SUB(second, first), weight), k);
}

TC_INLINE COEF NAME(split_corner)(COEF v, int k)
{
    return NAME(round_mean)(TIMES(v, k == 0 ? 4 : 2), k);
}

/* Two rows of `width` pixels, level 0, to a row of each subband. */
static void NAME(split_pixels)(const int32_t *restrict top, const int32_t *restrict bottom, size_t width,
                               COEF *restrict ll, COEF *restrict hx, COEF *restrict hy, COEF *restrict hc)
{
    const size_t n = width / 2;

    for (size_t j = 0; j < n; j++) {
        const NAME(bands) band = NAME(split)(top[2 * j], top[2 * j + 1], bottom[2 * j], bottom[2 * j + 1], 0);

        ll[j] = band.h0;
        hx[j] = band.hx;
        hy[j] = band.hy;
        hc[j] = band.hc;
    }
    if (width % 2) NAME(split_pair)(top[2 * n], bottom[2 * n], 0, &ll[n], &hx[n]);
}

static void NAME(split_last_pixels)(const int32_t *restrict row, size_t width, COEF *restrict ll, COEF *restrict hy)
{
    const size_t n = width / 2;

    for (size_t j = 0; j < n; j++) NAME(split_pair)(row[2 * j], row[2 * j + 1], 0, &ll[j], &hy[j]);
    if (width % 2) ll[n] = NAME(split_corner)(row[2 * n], 0);
}

/* The same for rows of means, level k > 0. */
static void NAME(split_rows)(const COEF *restrict top, const COEF *restrict bottom, size_t width, int k,
                             COEF *restrict ll, COEF *restrict hx, COEF *restrict hy, COEF *restrict hc)
{
    const size_t n = width / 2;

    for (size_t j = 0; j < n; j++) {
        const NAME(bands) band = NAME(split)(top[2 * j], top[2 * j + 1], bottom[2 * j], bottom[2 * j + 1], k);

        ll[j] = band.h0;
        hx[j] = band.hx;
        hy[j] = band.hy;
        hc[j] = band.hc;
    }
    if (width % 2) NAME(split_pair)(top[2 * n], bottom[2 * n], k, &ll[n], &hx[n]);
}

static void NAME(split_last_row)(const COEF *restrict row, size_t width, int k, COEF *restrict ll, COEF *restrict hy)
{
    const size_t n = width / 2;

    for (size_t j = 0; j < n; j++) NAME(split_pair)(row[2 * j], row[2 * j + 1], k, &ll[j], &hy[j]);
    if (width % 2) ll[n] = NAME(split_corner)(row[2 * n], k);
}

/* ---- whole transforms ---- */

/* Smooth the differences of block row i of a level of rows x width values. */
static void NAME(smooth_block_row)(const COEF *ll, size_t i, size_t rows, size_t width, COEF most, COEF *hx, COEF *hy,
                                   COEF *hc)
{
    const size_t stride = tc_half(width), end = (width - 1) / 2;
    const bool inner = i >= 1 && 2 * i + 2 < rows;

    if (inner) NAME(smooth_hx)(ll - stride, ll, ll + stride, stride, most, hx);
    NAME(smooth_hy)(ll, 1, end, most, hy);
    if (inner) NAME(smooth_hc)(ll - stride, ll, ll + stride, hx, hy, 1, end, most, hc);
}

static void NAME(inverse)(const tc_hcompress_tile *tile, int64_t smooth_most, int64_t low, int64_t high, int32_t *dst)
{
    COEF *const coef = tile->coef, most = (COEF)smooth_most;
    COEF top_mean = NAME(round)(coef[0], (COEF)2 << tile->n_levels);
    const COEF *ll = &top_mean;

    if (tile->n_levels == 0) dst[0] = (int32_t)NAME(clamp)(coef[0], (COEF)low, (COEF)high);
    for (int k = tile->n_levels - 1; k >= 0; k--) {
        const size_t rows = tc_halved(tile->ny, k), width = tc_halved(tile->nx, k);
        const size_t x = tc_half(width), y = tc_half(rows); /* where the differences begin */
        COEF *const means = tile->means[k % 2];

        for (size_t i = 0; i < y; i++) {
            COEF *const hy = coef + i * tile->nx + x, *const hx = coef + (y + i) * tile->nx, *const hc = hx + x;
            const COEF *const mean = ll + i * x;
            const bool last = 2 * i + 1 == rows;

            if (most > 0) NAME(smooth_block_row)(mean, i, rows, width, most, hx, hy, hc);
            if (k > 0 && last)
                NAME(join_last_row)(mean, hy, width, k, means + 2 * i * width);
            else if (k > 0)
                NAME(join_rows)(mean, hx, hy, hc, width, k, means + 2 * i * width, means + (2 * i + 1) * width);
            else if (last)
                NAME(join_last_pixels)(mean, hy, width, (COEF)low, (COEF)high, dst + 2 * i * width);
            else
                NAME(join_pixels)(mean, hx, hy, hc, width, (COEF)low, (COEF)high, dst + 2 * i * width,
                                  dst + (2 * i + 1) * width);
        }
        ll = means;
    }
}

static void NAME(forward)(const tc_hcompress_tile *tile, const int32_t *src)
{
    COEF *const coef = tile->coef;

    if (tile->n_levels == 0) coef[0] = src[0];
    for (int k = 0; k < tile->n_levels; k++) {
        const size_t rows = tc_halved(tile->ny, k), width = tc_halved(tile->nx, k);
        const size_t x = tc_half(width), y = tc_half(rows);
        const COEF *const in = tile->means[k % 2];
        COEF *const means = k + 1 == tile->n_levels ? coef : (COEF *)tile->means[(k + 1) % 2];

        for (size_t i = 0; i < y; i++) {
            COEF *const hy = coef + i * tile->nx + x, *const hx = coef + (y + i) * tile->nx, *const hc = hx + x;
            const size_t top = 2 * i * width, bottom = top + width;

            if (k == 0 && bottom == rows * width)
                NAME(split_last_pixels)(src + top, width, means + i * x, hy);
            else if (k == 0)
                NAME(split_pixels)(src + top, src + bottom, width, means + i * x, hx, hy, hc);
            else if (bottom == rows * width)
                NAME(split_last_row)(in + top, width, k, means + i * x, hy);
            else
                NAME(split_rows)(in + top, in + bottom, width, k, means + i * x, hx, hy, hc);
        }
    }
}

#undef ADD
#undef SUB
#undef TIMES
#undef SIGN_MASK
#undef COEF
#undef UCOEF
#undef NAME
