/* Any floats and any request: refused, or integers that come back within half a step. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tc_quantize.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(double pixel, double value, const tc_quantum *quantum)
{
    const double rounding = 1e-6 * (fabs(pixel) + fabs(value)) + FLT_TRUE_MIN; /* to a float, also to a subnormal one */
    const double error = fabs(value - pixel), allowed = quantum->zscale * 0.5 + rounding + 1e-9 * fabs(quantum->zzero);

    if (isnan(pixel) ? !isnan(value) : !(error <= allowed)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tc_quantize_request request = {.zblank = TC_CFITSIO_ZBLANK};
    tc_quantum quantum;

    if (size < 8) return 0;
    memcpy(&request.q, data, sizeof request.q);
    request.method = data[4] % 3;
    request.zdither0 = data[5] * 40;
    if (data[6] & 1) request.zblank = INT32_MIN;

    const size_t n = (size - 8) / sizeof(float), nx = data[7] ? 1u + n / data[7] : n, ny = nx ? n / nx : 0;
    float *const src = malloc(n * sizeof *src), *const back = malloc(n * sizeof *back);
    int32_t *const integers = malloc(n * sizeof *integers);
    void *const scratch = aligned_alloc(64, tc_quantize_scratch_f32(nx, ny) + 64 & ~(size_t)63);

    memcpy(src, data + 8, n * sizeof *src);
    if (tc_quantize_f32(src, nx, ny, data[5], &request, scratch, integers, &quantum) == TC_OK) {
        tc_dequantize_i32_f32(integers, 0, nx * ny, &quantum, back);
        for (size_t i = 0; i < nx * ny; i++) check(src[i], back[i], &quantum);
    }
    free(src);
    free(back);
    free(integers);
    free(scratch);
    return 0;
}
