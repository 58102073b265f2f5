/* Quantization at one CPU level, both ways: plain loops that the compiler turns into vector code.  Without contraction
 * (-ffp-contract=off) all levels give the same bits. */
#include <math.h>
#include <string.h>

#include "tc_choose.h"
#include "tc_noise.h"
#include "tc_quantize.h"

/* ---- to integers ---- */

/* The lowest ten integers are kept free for marks; where marks may occur the smallest pixel becomes this one. */
#define LOWEST_INTEGER (-2147483637)
#define USABLE_INTEGERS (2147483647.0 - 10)

/* The step between two integers; 0 or NaN when there is none. */
static double choose_step(float q, const tc_noise *noise)
{
    const double sigma = noise->n_valid ? tc_noise_sigma(noise) : 1;

    if (q < 0) return -(double)q;
    return q == 0 ? sigma / 4 : sigma / (double)q;
}

/* The integer nearest to a pixel lies within int32_t for all pixels if it does for the outermost ones: rounding keeps the
 * order, and dithering adds less than one half. */
static bool integers_fit(double min, double max, const tc_quantum *quantum)
{
    const double lowest = (min - quantum->zzero) / quantum->zscale - 1;
    const double highest = (max - quantum->zzero) / quantum->zscale + 1;

    return lowest > -2147483649.0 && highest <= 2147483648.0;
}

/* Choose scale and zero.  `range` is max - min and `sum` max + min, in the type of the pixels. */
static tc_status choose_quantum(const tc_quantize_request *request, const tc_noise *found, double range, double sum,
                                tc_quantum *quantum)
{
    const double step = choose_step(request->q, found);
    const double levels = range / step;

    if (!(step > 0) || isinf(step) || !(levels <= 2 * 2147483647.0 - 10)) return TC_REFUSED;
    quantum->zscale = step;
    if (quantum->has_zblank || request->method == TC_DITHER_2) {
        quantum->zzero = found->min - step * LOWEST_INTEGER;
    } else if (levels < USABLE_INTEGERS) {
        const double whole = found->min / step + 0.5;

        if (!(fabs(whole) < 9223372036854775808.0)) return TC_REFUSED;
        quantum->zzero = (double)(int64_t)whole * step;
    } else {
        quantum->zzero = sum / 2;
    }
    return integers_fit(found->min, found->max, quantum) ? TC_OK : TC_REFUSED;
}

static bool lawful(const tc_quantize_request *request, size_t nx, size_t ny)
{
    const bool known_null = request->zblank == TC_CFITSIO_ZBLANK || request->zblank == INT32_MIN;

    return isfinite(request->q) && known_null && nx > 0 && ny > 0 && ny <= (size_t)INT32_MAX / nx;
}

#define PIXEL float
#define NAME(x) x##_f32
#include "tc_quantize_type.h"

#define PIXEL double
#define NAME(x) x##_f64
#include "tc_quantize_type.h"

/* ---- and back ---- */

#define VALUE float
#define CHOOSE tc_choose_f32
#define NAN_BITS TC_NAN_f32

#define STORED uint8_t
#define NAME(x) x##_u8_f32
#include "tc_dequantize_type.h"
#define STORED int16_t
#define NAME(x) x##_i16_f32
#include "tc_dequantize_type.h"
#define STORED int32_t
#define NAME(x) x##_i32_f32
#include "tc_dequantize_type.h"

#undef VALUE
#undef CHOOSE
#undef NAN_BITS
#define VALUE double
#define CHOOSE tc_choose_f64
#define NAN_BITS TC_NAN_f64

#define STORED uint8_t
#define NAME(x) x##_u8_f64
#include "tc_dequantize_type.h"
#define STORED int16_t
#define NAME(x) x##_i16_f64
#include "tc_dequantize_type.h"
#define STORED int32_t
#define NAME(x) x##_i32_f64
#include "tc_dequantize_type.h"
