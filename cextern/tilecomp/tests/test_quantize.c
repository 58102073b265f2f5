#include "tc_quantize.h"

#include <math.h>

#include "tc_test.h"

#ifdef TC_HAVE_CFITSIO
#include <fitsio2.h>
#endif

static uint64_t seed = 3;

static void *new_scratch(size_t nbytes)
{
    return aligned_alloc(64, (nbytes + 63) / 64 * 64);
}

/* ---- a worked row, made with CFITSIO ---- */

static const float row12[12] = {1, 1.5f, 0.75f, 2, 1.25f, 1, 0.5f, 1.75f, 1.5f, 1, 3, 0.25f};

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void check_row12(tc_dither_method method, uint64_t zzero_bits, const int32_t *integers, const uint32_t *decoded)
{
    const tc_quantize_request request = {.q = 4, .method = method, .zdither0 = 1, .zblank = TC_CFITSIO_ZBLANK};
    void *const scratch = new_scratch(tc_quantize_scratch_f32(12, 1));
    tc_quantum quantum;
    int32_t found[12];
    float values[12];

    TC_CHECK_EQ(tc_quantize_f32(row12, 12, 1, 0, &request, scratch, found, &quantum), TC_OK);
    TC_CHECK_EQ(bits_of(quantum.zscale), 0x3fc9291c666813e6);
    TC_CHECK_EQ(bits_of(quantum.zzero), zzero_bits);
    TC_CHECK(!quantum.has_zblank);
    TC_CHECK_BYTES(found, integers, sizeof found);
    tc_dequantize_i32_f32(found, 0, 12, &quantum, values);
    TC_CHECK_BYTES(values, decoded, sizeof values);
    free(scratch);
}

static void test_worked_row_without_dithering(void)
{
    static const int32_t integers[12] = {4, 7, 3, 9, 5, 4, 2, 8, 7, 4, 14, 0};
    static const uint32_t decoded[12] = {0x3f7b9b1c, 0x3fc948e3, 0x3f4948e3, 0x3ffb9b1c, 0x3f96f6aa, 0x3f7b9b1c,
                                         0x3f16f6aa, 0x3fe27200, 0x3fc948e3, 0x3f7b9b1c, 0x403cb455, 0x3e4948e3};

    check_row12(TC_NO_DITHER, 0x3fc9291c666813e6, integers, decoded);
}

static void test_worked_row_with_method_1(void)
{
    static const int32_t integers[12] = {4, 6, 3, 9, 5, 4, 1, 8, 7, 5, 14, 0};
    static const uint32_t decoded[12] = {0x3f8a620f, 0x3fb96515, 0x3f3c6c1f, 0x3ffca573, 0x3f96239c, 0x3f84dfc5,
                                         0x3ef6df08, 0x3fddf1e9, 0x3fc4c605, 0x3f8c06c3, 0x403e2b85, 0x3e456062};

    check_row12(TC_DITHER_1, 0x3fc9291c666813e6, integers, decoded);
}

static void test_worked_row_with_method_2(void)
{
    static const int32_t above[12] = {3, 6, 3, 9, 5, 4, 1, 8, 7, 4, 14, 0};
    static const uint32_t decoded[12] = {0x3f701fad, 0x3fc03bf8, 0x3f4a19e7, 0x4001be2b, 0x3f9cfa7f, 0x3f8bb6a8,
                                         0x3f091d4b, 0x3fe4c8cc, 0x3fcb9ce8, 0x3f736914, 0x404196f7, 0x3e7c1780};
    int32_t integers[12];

    for (int i = 0; i < 12; i++) integers[i] = -2147483637 + above[i];
    check_row12(TC_DITHER_2, 0x41b9291c647e8b75, integers, decoded);
}

/* ---- dequantize: every pair of types against the formula, pixel by pixel ---- */

enum { N_LONG = 21000 }; /* twice past the end of the random numbers */

static double value_of(int32_t pixel, size_t i, const tc_quantum *quantum)
{
    const tc_dither at = tc_dither_skip(tc_dither_start(quantum->row, quantum->zdither0), i);
    double value = pixel;

    if (quantum->has_zblank && pixel == quantum->zblank) return NAN;
    if (quantum->method == TC_DITHER_2 && pixel == TC_ZERO_MARKER) return 0;
    if (quantum->method != TC_NO_DITHER) {
        value = value - (double)tc_dither_numbers[at.next];
        value = value + 0.5;
    }
    value = value * quantum->zscale;
    return value + quantum->zzero;
}

static void check_f32(const float *found, size_t i, int32_t pixel, const tc_quantum *quantum)
{
    const double expected = value_of(pixel, i, quantum);

    TC_CHECK(isnan(expected) ? isnan(*found) : *found == (float)expected);
}

static void check_f64(const double *found, size_t i, int32_t pixel, const tc_quantum *quantum)
{
    const double expected = value_of(pixel, i, quantum);

    TC_CHECK(isnan(expected) ? isnan(*found) : *found == expected);
}

static void check_dequantize(const tc_quantum *quantum, size_t first, size_t n)
{
    static uint8_t u8[N_LONG];
    static int16_t i16[N_LONG];
    static int32_t i32[N_LONG];
    static float f32[N_LONG];
    static double f64[N_LONG];

#define CHECK_PAIR(src, dst)                                                                                           \
    do {                                                                                                               \
        tc_dequantize_##src##_##dst(src, first, n, quantum, dst);                                                      \
        for (size_t i = 0; i < n; i += 1 + i / 40) check_##dst(dst + i, first + i, src[i], quantum);                   \
        if (n) check_##dst(dst + n - 1, first + n - 1, src[n - 1], quantum);                                           \
    } while (0)

    for (size_t i = 0; i < n; i++) {
        const uint64_t random = tc_random(&seed);

        u8[i] = (uint8_t)random;
        i16[i] = (int16_t)random;
        i32[i] = random % 7 == 0 ? quantum->zblank : random % 7 == 1 ? TC_ZERO_MARKER : (int32_t)(random >> 32);
    }
    CHECK_PAIR(u8, f32);
    CHECK_PAIR(u8, f64);
    CHECK_PAIR(i16, f32);
    CHECK_PAIR(i16, f64);
    CHECK_PAIR(i32, f32);
    CHECK_PAIR(i32, f64);
}

static void test_dequantize_by_the_formula(void)
{
    for (int method = TC_NO_DITHER; method <= TC_DITHER_2; method++)
        for (int nulls = 0; nulls < 3; nulls++) {
            const tc_quantum quantum = {.zscale = 0.37, .zzero = -12.5, .method = (tc_dither_method)method,
                                        .zdither0 = 77, .row = 12345, .has_zblank = nulls > 0,
                                        .zblank = nulls == 2 ? 17 : INT32_MIN};

            for (size_t n = 0; n < 70; n++) check_dequantize(&quantum, 0, n);
            check_dequantize(&quantum, 9990, 100);
            check_dequantize(&quantum, 0, N_LONG);
        }
}

static void test_dequantize_in_place(void)
{
    static int32_t integers[N_LONG];
    static float expected[N_LONG];
    const tc_quantum quantum = {.zscale = 0.1, .zzero = 3, .method = TC_DITHER_1, .zdither0 = 1};
    float *const in_place = malloc(sizeof integers);

    for (size_t i = 0; i < N_LONG; i++) integers[i] = (int32_t)(tc_random(&seed) % 5000);
    tc_dequantize_i32_f32(integers, 0, N_LONG, &quantum, expected);
    memcpy(in_place, integers, sizeof integers);
    tc_dequantize_i32_f32((const int32_t *)(void *)in_place, 0, N_LONG, &quantum, in_place);
    TC_CHECK_BYTES(in_place, expected, sizeof expected);
    free(in_place);
}

/* ---- quantize ---- */

enum { KINDS = 7 };

static double pixel_of(int kind)
{
    const double uniform = (double)(tc_random(&seed) >> 11) * 0x1p-53;

    switch (kind) {
    case 0: return 100 + 20 * uniform;
    case 1: return tc_random(&seed) % 6 ? floor(30 * uniform) - 15 : 0; /* zeros, negative values */
    case 2: return 3.25;
    case 3: return tc_random(&seed) % 4 ? uniform - 0.5 : NAN;
    case 4: return (uniform - 0.5) * (tc_random(&seed) % 50 ? 1 : 4e9); /* a range that hardly fits */
    case 5: return NAN;
    default: return (uniform - 0.3) * 1e-30;
    }
}

static const float levels[] = {4, 16, 1, 0.25f, 100, 0, -0.5f, -1e-9f, -2e-9f, -1e-30f, -1e30f};
static const size_t shapes[][2] = {{1, 1}, {2, 1}, {12, 1}, {40, 7}, {4, 4}, {300, 3}, {12000, 1}};

#ifdef TC_HAVE_CFITSIO
static const double cfitsio_null_f64 = -9.1191291391491E-36;
static const float cfitsio_null_f32 = -9.11912E-36f;

static void compare_with_cfitsio(int accepted, double bscale, double bzero, const int32_t *integers, tc_status status,
                                 const tc_quantum *quantum, const int32_t *found, size_t n)
{
    TC_CHECK(status == TC_OK || status == TC_REFUSED);
    if (status == TC_REFUSED) return; /* where CFITSIO goes on, its integers may overflow; the next test has our rule */
    TC_CHECK(accepted);
    TC_CHECK_EQ(bits_of(quantum->zscale), bits_of(bscale));
    /* A tile without a defined pixel: with an absolute step CFITSIO leaves the largest double as zero. */
    if (fabs(bzero) < 1e38) TC_CHECK_EQ(bits_of(quantum->zzero), bits_of(bzero));
    TC_CHECK_BYTES(found, integers, n * sizeof *found);
}

static bool overflows(double bscale, double bzero, double min, double max)
{
    return !((max - bzero) / bscale < 2147483640.0) || !((min - bzero) / bscale > -2147483640.0);
}

static void check_against_cfitsio(int kind, float q, int method, size_t nx, size_t ny, uint64_t row)
{
    const size_t n = nx * ny;
    const tc_quantize_request request = {.q = q, .method = (tc_dither_method)method, .zdither0 = 9990,
                                         .zblank = TC_CFITSIO_ZBLANK};
    const long cfitsio_row = method == TC_NO_DITHER ? 0 : (long)row + 9990;
    double *const f64 = malloc(n * sizeof *f64), *const their_f64 = malloc(n * sizeof *f64);
    float *const f32 = malloc(n * sizeof *f32), *const their_f32 = malloc(n * sizeof *f32);
    int32_t *const found = malloc(n * sizeof *found), *const integers = malloc(n * sizeof *integers);
    void *const scratch = new_scratch(tc_quantize_scratch_f64(nx, ny));
    tc_quantum quantum;
    tc_status status;
    double bscale, bzero, min = INFINITY, max = -INFINITY;
    int accepted, lowest, highest;

    for (size_t i = 0; i < n; i++) {
        f64[i] = pixel_of(kind);
        f32[i] = (float)f64[i];
        their_f64[i] = isnan(f64[i]) ? cfitsio_null_f64 : f64[i];
        their_f32[i] = isnan(f32[i]) ? cfitsio_null_f32 : f32[i];
        min = fmin(min, f64[i]);
        max = fmax(max, f64[i]);
    }
    status = tc_quantize_f32(f32, nx, ny, row, &request, scratch, found, &quantum);
    accepted = fits_quantize_float(cfitsio_row, their_f32, (long)nx, (long)ny, 1, cfitsio_null_f32, q, method, integers,
                                   &bscale, &bzero, &lowest, &highest);
    compare_with_cfitsio(accepted, bscale, bzero, integers, status, &quantum, found, n);
    TC_CHECK(status == TC_OK || !accepted || overflows(bscale, bzero, min, max));

    status = tc_quantize_f64(f64, nx, ny, row, &request, scratch, found, &quantum);
    accepted = fits_quantize_double(cfitsio_row, their_f64, (long)nx, (long)ny, 1, cfitsio_null_f64, q, method, integers,
                                    &bscale, &bzero, &lowest, &highest);
    compare_with_cfitsio(accepted, bscale, bzero, integers, status, &quantum, found, n);
    TC_CHECK(status == TC_OK || !accepted || overflows(bscale, bzero, min, max));

    free(f64);
    free(their_f64);
    free(f32);
    free(their_f32);
    free(found);
    free(integers);
    free(scratch);
}

static void test_quantize_as_cfitsio(void)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t level = 0; level < sizeof levels / sizeof *levels; level++)
            for (int method = TC_NO_DITHER; method <= TC_DITHER_2; method++)
                for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
                    check_against_cfitsio(kind, levels[level], method, shapes[s][0], shapes[s][1], s * 7);
}
#endif

static tc_status quantize(const float *src, size_t n, const tc_quantize_request *request, int32_t *dst,
                          tc_quantum *quantum)
{
    void *const scratch = new_scratch(tc_quantize_scratch_f32(n, 1));
    const tc_status status = tc_quantize_f32(src, n, 1, 0, request, scratch, dst, quantum);

    free(scratch);
    return status;
}

static void test_what_is_refused(void)
{
    const tc_quantize_request request = {.q = 4, .zblank = INT32_MIN};
    float pixels[12];
    int32_t integers[12];
    tc_quantum quantum;

    TC_CHECK_EQ(quantize(row12, 1, &request, integers, &quantum), TC_REFUSED);
    for (int i = 0; i < 12; i++) pixels[i] = 7;
    TC_CHECK_EQ(quantize(pixels, 12, &request, integers, &quantum), TC_REFUSED); /* no noise */
    memcpy(pixels, row12, sizeof pixels);
    pixels[5] = INFINITY;
    TC_CHECK_EQ(quantize(pixels, 12, &request, integers, &quantum), TC_REFUSED);
    pixels[5] = -INFINITY;
    TC_CHECK_EQ(quantize(pixels, 12, &(tc_quantize_request){.q = -1, .zblank = INT32_MIN}, integers, &quantum), TC_REFUSED);
    pixels[5] = 1e12f;
    TC_CHECK_EQ(quantize(pixels, 12, &request, integers, &quantum), TC_REFUSED); /* range */
    for (int i = 0; i < 12; i++) pixels[i] = i % 2 ? 3e38f : -3e38f;
    TC_CHECK_EQ(quantize(pixels, 12, &request, integers, &quantum), TC_REFUSED); /* differences overflow */
    for (int i = 0; i < 12; i++) pixels[i] = 1e30f + 1e24f * (float)i;
    TC_CHECK_EQ(quantize(pixels, 12, &(tc_quantize_request){.q = -1e-3f, .zblank = INT32_MIN}, integers, &quantum),
                TC_REFUSED); /* min / step is no int64_t */
}

static void test_lawless_requests(void)
{
    int32_t integers[12];
    tc_quantum quantum;

    TC_CHECK_EQ(quantize(row12, 12, &(tc_quantize_request){.q = NAN, .zblank = INT32_MIN}, integers, &quantum), TC_BAD_PARAM);
    TC_CHECK_EQ(quantize(row12, 12, &(tc_quantize_request){.q = -INFINITY, .zblank = INT32_MIN}, integers, &quantum),
                TC_BAD_PARAM);
    TC_CHECK_EQ(quantize(row12, 12, &(tc_quantize_request){.q = 4, .zblank = 0}, integers, &quantum), TC_BAD_PARAM);
    TC_CHECK_EQ(tc_quantize_f32(row12, 0, 1, 0, &(tc_quantize_request){.q = 4, .zblank = INT32_MIN}, NULL, integers,
                                &quantum), TC_BAD_PARAM);
    TC_CHECK_EQ(tc_quantize_f32(row12, 65536, 65536, 0, &(tc_quantize_request){.q = 4, .zblank = INT32_MIN}, NULL,
                                integers, &quantum), TC_BAD_PARAM);
}

/* The null of the standard's advice changes nothing but the integer of the undefined pixels. */
static void test_either_null(void)
{
    float pixels[12], values[12];
    int32_t cfitsio[12], advised[12];
    tc_quantum quantum;

    memcpy(pixels, row12, sizeof pixels);
    pixels[3] = NAN;
    TC_CHECK_EQ(quantize(pixels, 12, &(tc_quantize_request){.q = 4, .method = TC_DITHER_1, .zblank = TC_CFITSIO_ZBLANK},
                         cfitsio, &quantum), TC_OK);
    TC_CHECK_EQ(quantize(pixels, 12, &(tc_quantize_request){.q = 4, .method = TC_DITHER_1, .zblank = INT32_MIN},
                         advised, &quantum), TC_OK);
    TC_CHECK_EQ(cfitsio[3], TC_CFITSIO_ZBLANK);
    TC_CHECK_EQ(advised[3], INT32_MIN);
    cfitsio[3] = advised[3];
    TC_CHECK_BYTES(cfitsio, advised, sizeof cfitsio);
    TC_CHECK(quantum.has_zblank && quantum.zblank == INT32_MIN);
    tc_dequantize_i32_f32(advised, 0, 12, &quantum, values);
    for (int i = 0; i < 12; i++) TC_CHECK(i == 3 ? isnan(values[i]) : fabs(values[i] - pixels[i]) <= quantum.zscale / 2);
}

int main(void)
{
    TC_RUN(test_worked_row_without_dithering);
    TC_RUN(test_worked_row_with_method_1);
    TC_RUN(test_worked_row_with_method_2);
    TC_RUN(test_dequantize_by_the_formula);
    TC_RUN(test_dequantize_in_place);
#ifdef TC_HAVE_CFITSIO
    TC_RUN(test_quantize_as_cfitsio);
#endif
    TC_RUN(test_what_is_refused);
    TC_RUN(test_lawless_requests);
    TC_RUN(test_either_null);
    return tc_test_summary();
}
