#include "tc_noise.h"

#include <math.h>

#include "tc_select.h"
#include "tc_test.h"

#ifdef TC_HAVE_CFITSIO
#include <fitsio2.h>
#endif

/* ---- the estimate as docs/format.rst puts it, with no thought for speed ---- */

enum { MOST_PIXELS = 40000 };

static double second[MOST_PIXELS], third[MOST_PIXELS], fifth[MOST_PIXELS];

static void swap(double *list, long i, long j)
{
    const double element = list[i];

    list[i] = list[j];
    list[j] = element;
}

static double select_exchanging(double *list, long n)
{
    const long t = (n - 1) / 2;
    long lo = 0, hi = n - 1;

    for (;;) {
        if (hi <= lo) return list[t];
        if (hi == lo + 1) {
            if (list[lo] > list[hi]) swap(list, lo, hi);
            return list[t];
        }
        const long middle = (lo + hi) / 2;

        if (list[middle] > list[hi]) swap(list, middle, hi);
        if (list[lo] > list[hi]) swap(list, lo, hi);
        if (list[middle] > list[lo]) swap(list, middle, lo);
        swap(list, middle, lo + 1);

        const double pivot = list[lo];
        long i = lo + 1, j = hi;

        for (;;) {
            do i++; while (pivot > list[i]);
            do j--; while (list[j] > pivot);
            if (j < i) break;
            swap(list, i, j);
        }
        swap(list, lo, j);
        if (j <= t) lo = i;
        if (j >= t) hi = j - 1;
    }
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median_of_rows(double *values, size_t n)
{
    if (n == 0) return 0;
    qsort(values, n, sizeof *values, compare);
    return n == 1 ? values[0] : (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/* `w` are nine pixels in double; `in_float` rounds every step as float arithmetic would. */
static double fifth_difference(const double *w, bool in_float)
{
    if (in_float) {
        const float w0 = (float)w[0], w2 = (float)w[2], w4 = (float)w[4], w6 = (float)w[6], w8 = (float)w[8];

        return fabsf(6 * w4 - 4 * w2 - 4 * w6 + w0 + w8);
    }
    return fabs(6 * w[4] - 4 * w[2] - 4 * w[6] + w[0] + w[8]);
}

static double third_difference(const double *w, bool in_float)
{
    if (in_float) {
        const float w2 = (float)w[2], w4 = (float)w[4], w6 = (float)w[6];

        return fabsf(2 * w4 - w2 - w6);
    }
    return fabs(2 * w[4] - w[2] - w[6]);
}

static double second_difference(const double *w, bool in_float)
{
    return in_float ? fabsf((float)w[4] - (float)w[6]) : fabs(w[4] - w[6]);
}

/* Pixels as doubles (exact for all three types); NaN: undefined. */
static void plain_noise(const double *src, size_t nx, size_t ny, bool in_float, double noise[3])
{
    static double rho[3][MOST_PIXELS], v[MOST_PIXELS];
    size_t n_rho[3] = {0, 0, 0};

    if (nx < 9) {
        nx *= ny;
        ny = 1;
    }
    memset(noise, 0, 3 * sizeof *noise);
    if (nx < 9) return;
    memset(second, 0, sizeof second);
    for (size_t row = 0; row < ny; row++) {
        size_t m = 0, n2 = 0, c = 0;

        for (size_t i = 0; i < nx; i++)
            if (!isnan(src[row * nx + i])) v[m++] = src[row * nx + i];
        if (m < 9) continue;
        for (size_t k = 0; k + 9 <= m; k++) {
            const double *const w = v + k;

            if (!(w[4] == w[5] && w[5] == w[6])) second[n2++] = second_difference(w, in_float);
            if (!(w[2] == w[3] && w[3] == w[4] && w[4] == w[5] && w[5] == w[6])) {
                third[c] = third_difference(w, in_float);
                fifth[c++] = fifth_difference(w, in_float);
            }
        }
        if (c == 0) continue;
        rho[1][n_rho[1]++] = select_exchanging(third, (long)c);
        rho[2][n_rho[2]++] = select_exchanging(fifth, (long)c);
        if (c == 1) {
            if (n2 == 1) rho[0][n_rho[0]++] = second[0];
        } else if (n2 >= 2) {
            rho[0][n_rho[0]++] = select_exchanging(second, (long)c);
        }
    }
    noise[0] = 1.0483579 * median_of_rows(rho[0], n_rho[0]);
    noise[1] = 0.6052697 * median_of_rows(rho[1], n_rho[1]);
    noise[2] = 0.1772048 * median_of_rows(rho[2], n_rho[2]);
}

/* ---- tiles of many kinds ---- */

static uint64_t seed = 7;

static double gaussian(void)
{
    double sum = 0;

    for (int i = 0; i < 12; i++) sum += (double)(tc_random(&seed) >> 11) * 0x1p-53;
    return sum - 6;
}

enum { SMOOTH, INTEGERS, FEW_VALUES, CONSTANT_ROWS, HUGE_RANGE, NULLS, MOSTLY_NULLS, N_KINDS };

static double pixel_of(int kind, size_t x, size_t y)
{
    static double repeated;

    switch (kind) {
    case INTEGERS: return floor(100 + 4 * gaussian());
    case FEW_VALUES: return (double)(tc_random(&seed) % 2);
    case CONSTANT_ROWS:
        if (tc_random(&seed) % 4 == 0) repeated = floor(10 * gaussian());
        return y % 3 == 0 ? 5 : repeated;
    case HUGE_RANGE: return floor(gaussian() * 3e8);
    case NULLS: return tc_random(&seed) % 5 == 0 ? NAN : floor(100 * gaussian()) / 16;
    case MOSTLY_NULLS: return tc_random(&seed) % 3 ? NAN : gaussian();
    default: return 1000 + 10 * gaussian() + (double)x * 0.01;
    }
}

static const size_t shapes[][2] = {{1, 1},    {8, 1},   {9, 1},   {10, 3},   {3, 3},   {2, 50},  {12, 40}, {33, 33},
                                   {64, 5},   {73, 20}, {81, 9},  {128, 17}, {200, 9}, {500, 4}, {4096, 3}, {9000, 2},
                                   {20000, 1}, {9, 500}, {17, 300}};

static double tile[MOST_PIXELS];

static void make_tile(int kind, size_t nx, size_t ny, bool as_float)
{
    for (size_t y = 0; y < ny; y++)
        for (size_t x = 0; x < nx; x++) {
            const double pixel = pixel_of(kind, x, y);

            tile[y * nx + x] = as_float ? (double)(float)pixel : pixel;
        }
}

static void check_noises(const tc_noise *found, size_t nx, size_t ny, bool in_float)
{
    double expected[3];

    plain_noise(tile, nx, ny, in_float, expected);
    TC_CHECK_BYTES(&found->noise2, &expected[0], sizeof(double));
    TC_CHECK_BYTES(&found->noise3, &expected[1], sizeof(double));
    TC_CHECK_BYTES(&found->noise5, &expected[2], sizeof(double));
}

static void check_range(const tc_noise *found, size_t n)
{
    double min = INFINITY, max = -INFINITY;
    size_t n_valid = 0;

    for (size_t i = 0; i < n; i++) {
        if (isnan(tile[i])) continue;
        n_valid++;
        min = fmin(min, tile[i]);
        max = fmax(max, tile[i]);
    }
    TC_CHECK_EQ(found->n_valid, n_valid);
    TC_CHECK(found->min == (n_valid ? min : 0));
    TC_CHECK(found->max == (n_valid ? max : 0));
}

static void for_each_tile(void check(int kind, size_t nx, size_t ny))
{
    for (int kind = 0; kind < N_KINDS; kind++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int repeat = 0; repeat < 3; repeat++) check(kind, shapes[s][0], shapes[s][1]);
}

static void *new_scratch(size_t nbytes)
{
    return aligned_alloc(64, (nbytes + 63) / 64 * 64);
}

static void check_float_tile(int kind, size_t nx, size_t ny)
{
    const size_t n = nx * ny;
    float *const pixels = malloc(n * sizeof *pixels);
    void *const scratch = new_scratch(tc_noise_scratch_f32(nx, ny));

    make_tile(kind, nx, ny, true);
    for (size_t i = 0; i < n; i++) pixels[i] = (float)tile[i];

    const tc_noise found = tc_noise_f32(pixels, nx, ny, scratch);

    check_noises(&found, nx, ny, true);
    check_range(&found, n);
#ifdef TC_HAVE_CFITSIO
    double noise2 = 0, noise3 = 0, noise5 = 0;
    int status = 0;

    for (size_t i = 0; i < n; i++) pixels[i] = isnan(pixels[i]) ? -9.11912E-36f : pixels[i];
    fits_img_stats_float(pixels, (long)nx, (long)ny, 1, -9.11912E-36f, NULL, NULL, NULL, NULL, NULL, NULL, &noise2,
                         &noise3, &noise5, &status);
    TC_CHECK(found.noise2 == noise2 && found.noise3 == noise3 && found.noise5 == noise5);
#endif
    free(pixels);
    free(scratch);
}

static void test_float_tiles_as_the_plain_estimate(void)
{
    for_each_tile(check_float_tile);
}

static void check_double_tile(int kind, size_t nx, size_t ny)
{
    const size_t n = nx * ny;
    double *const pixels = malloc(n * sizeof *pixels);
    void *const scratch = new_scratch(tc_noise_scratch_f64(nx, ny));

    make_tile(kind, nx, ny, false);
    memcpy(pixels, tile, n * sizeof *pixels);

    const tc_noise found = tc_noise_f64(pixels, nx, ny, scratch);

    check_noises(&found, nx, ny, false);
    check_range(&found, n);
    free(pixels);
    free(scratch);
}

static void test_double_tiles_as_the_plain_estimate(void)
{
    for_each_tile(check_double_tile);
}

static void check_integer_tile(int kind, size_t nx, size_t ny)
{
    const size_t n = nx * ny;
    int32_t *const pixels = malloc(n * sizeof *pixels);
    void *const scratch = new_scratch(tc_noise_scratch_i32(nx, ny));

    make_tile(kind, nx, ny, false);
    for (size_t i = 0; i < n; i++) {
        tile[i] = floor(tile[i]);
        pixels[i] = isnan(tile[i]) ? INT32_MIN : (int32_t)tile[i];
    }

    const tc_noise found = tc_noise_i32(pixels, nx, ny, true, INT32_MIN, scratch);

    check_noises(&found, nx, ny, false);
    check_range(&found, n);
    free(pixels);
    free(scratch);
}

static void test_integer_tiles_as_the_plain_estimate(void)
{
    for_each_tile(check_integer_tile);
}

static void test_infinite_pixels_are_reported(void)
{
    float pixels[20] = {1, 2, 3, NAN};
    void *const scratch = new_scratch(tc_noise_scratch_f32(20, 1));

    pixels[7] = -INFINITY;
    TC_CHECK(tc_noise_f32(pixels, 20, 1, scratch).has_infinite);
    pixels[7] = NAN;
    TC_CHECK(!tc_noise_f32(pixels, 20, 1, scratch).has_infinite);
    TC_CHECK_EQ(tc_noise_f32(pixels, 20, 1, scratch).n_valid, 18);
    free(scratch);
}

/* Differences of pixels near the largest float overflow; nothing may go astray. */
static void test_overflowing_differences_end(void)
{
    float pixels[600];
    void *const scratch = new_scratch(tc_noise_scratch_f32(300, 2));

    for (size_t i = 0; i < 600; i++) pixels[i] = i % 3 ? 3e38f : -3e38f;
    TC_CHECK(!(tc_noise_f32(pixels, 300, 2, scratch).noise5 < 1e38));
    free(scratch);
}

static void test_sigma_is_the_smallest_but_zero(void)
{
    TC_CHECK(tc_noise_sigma(&(tc_noise){.noise2 = 3, .noise3 = 2, .noise5 = 4}) == 2);
    TC_CHECK(tc_noise_sigma(&(tc_noise){.noise2 = 1, .noise3 = 2, .noise5 = 4}) == 1);
    TC_CHECK(tc_noise_sigma(&(tc_noise){.noise2 = 1, .noise3 = 2, .noise5 = 0.5}) == 0.5);
    TC_CHECK(tc_noise_sigma(&(tc_noise){.noise2 = 0, .noise3 = 2, .noise5 = 0}) == 2);
}

/* ---- tc_select ---- */

static int compare_words(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void test_select_as_sorting_does(void)
{
    enum { MAX = 3000 };
    static uint32_t list[MAX], sorted[MAX], scratch[TC_SELECT_SCRATCH(MAX)];
    static uint64_t list64[MAX], scratch64[TC_SELECT_SCRATCH(MAX)];

    for (size_t n = 1; n <= MAX; n += 1 + n / 9)
        for (int kind = 0; kind < 6; kind++) {
            for (size_t i = 0; i < n; i++) {
                const uint32_t word = (uint32_t)tc_random(&seed);

                list[i] = kind == 0   ? word
                          : kind == 1 ? word % 3
                          : kind == 2 ? (uint32_t)i
                          : kind == 3 ? (word % 8 ? 5 : word)
                          : kind == 4 ? (i % (n / 64 + 1) ? word : 0) /* zeros where a sample may look */
                                      : UINT32_MAX - word % 2;
                list64[i] = (uint64_t)list[i] << 20;
            }
            memcpy(sorted, list, n * sizeof *list);
            qsort(sorted, n, sizeof *sorted, compare_words);
            for (size_t t = 0; t < n; t += 1 + n / 5) {
                TC_CHECK_EQ(tc_select_u32(list, n, t, scratch), sorted[t]);
                TC_CHECK_EQ(tc_select_u64(list64, n, t, scratch64), (uint64_t)sorted[t] << 20);
            }
            TC_CHECK_EQ(tc_select_exchanging_u32(list, n), sorted[(n - 1) / 2]);
            TC_CHECK_EQ(tc_select_exchanging_u64(list64, n), (uint64_t)sorted[(n - 1) / 2] << 20);
        }
}

int main(void)
{
    TC_RUN(test_select_as_sorting_does);
    TC_RUN(test_float_tiles_as_the_plain_estimate);
    TC_RUN(test_double_tiles_as_the_plain_estimate);
    TC_RUN(test_integer_tiles_as_the_plain_estimate);
    TC_RUN(test_infinite_pixels_are_reported);
    TC_RUN(test_overflowing_differences_end);
    TC_RUN(test_sigma_is_the_smallest_but_zero);
    return tc_test_summary();
}
