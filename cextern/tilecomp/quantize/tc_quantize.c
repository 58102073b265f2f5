#include "tc_quantize.h"

#include "tc_cpu.h"
#include "tc_noise.h"

size_t tc_quantize_scratch_f32(size_t nx, size_t ny)
{
    return tc_noise_scratch_f32(nx, ny);
}

size_t tc_quantize_scratch_f64(size_t nx, size_t ny)
{
    return tc_noise_scratch_f64(nx, ny);
}

TC_BY_LEVEL(tc_status, tc_quantize_f32,
            (const float *src, size_t nx, size_t ny, uint64_t row, const tc_quantize_request *request, void *scratch,
             int32_t *dst, tc_quantum *quantum),
            (src, nx, ny, row, request, scratch, dst, quantum))
TC_BY_LEVEL(tc_status, tc_quantize_f64,
            (const double *src, size_t nx, size_t ny, uint64_t row, const tc_quantize_request *request, void *scratch,
             int32_t *dst, tc_quantum *quantum),
            (src, nx, ny, row, request, scratch, dst, quantum))

TC_BY_LEVEL(void, tc_dequantize_u8_f32,
            (const uint8_t *src, size_t first, size_t n, const tc_quantum *quantum, float *dst),
            (src, first, n, quantum, dst))
TC_BY_LEVEL(void, tc_dequantize_u8_f64,
            (const uint8_t *src, size_t first, size_t n, const tc_quantum *quantum, double *dst),
            (src, first, n, quantum, dst))
TC_BY_LEVEL(void, tc_dequantize_i16_f32,
            (const int16_t *src, size_t first, size_t n, const tc_quantum *quantum, float *dst),
            (src, first, n, quantum, dst))
TC_BY_LEVEL(void, tc_dequantize_i16_f64,
            (const int16_t *src, size_t first, size_t n, const tc_quantum *quantum, double *dst),
            (src, first, n, quantum, dst))
TC_BY_LEVEL(void, tc_dequantize_i32_f32,
            (const int32_t *src, size_t first, size_t n, const tc_quantum *quantum, float *dst),
            (src, first, n, quantum, dst))
TC_BY_LEVEL(void, tc_dequantize_i32_f64,
            (const int32_t *src, size_t first, size_t n, const tc_quantum *quantum, double *dst),
            (src, first, n, quantum, dst))
