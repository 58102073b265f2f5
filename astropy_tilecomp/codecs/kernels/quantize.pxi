# Quantized floats.

cdef extern from "tc_dither.h" nogil:
    ctypedef enum tc_dither_method:
        TC_NO_DITHER
        TC_DITHER_1
        TC_DITHER_2

cdef extern from "tc_quantize.h" nogil:
    ctypedef struct tc_quantum:
        double zscale, zzero
        tc_dither_method method
        int64_t zdither0
        uint64_t row
        bint has_zblank
        int32_t zblank
    ctypedef struct tc_quantize_request:
        float q
        tc_dither_method method
        int64_t zdither0
        int32_t zblank
    void tc_dequantize_u8_f32(const uint8_t *, size_t, size_t, const tc_quantum *, float *)
    void tc_dequantize_u8_f64(const uint8_t *, size_t, size_t, const tc_quantum *, double *)
    void tc_dequantize_i16_f32(const int16_t *, size_t, size_t, const tc_quantum *, float *)
    void tc_dequantize_i16_f64(const int16_t *, size_t, size_t, const tc_quantum *, double *)
    void tc_dequantize_i32_f32(const int32_t *, size_t, size_t, const tc_quantum *, float *)
    void tc_dequantize_i32_f64(const int32_t *, size_t, size_t, const tc_quantum *, double *)
    size_t tc_quantize_scratch_f32(size_t, size_t)
    size_t tc_quantize_scratch_f64(size_t, size_t)
    tc_status tc_quantize_f32(const float *, size_t, size_t, uint64_t, const tc_quantize_request *, void *, int32_t *,
                              tc_quantum *)
    tc_status tc_quantize_f64(const double *, size_t, size_t, uint64_t, const tc_quantize_request *, void *, int32_t *,
                              tc_quantum *)

ctypedef fused quantized_pixel:
    uint8_t
    int16_t
    int32_t

ctypedef fused float_pixel:
    float
    double


def dequantize(const quantized_pixel[::1] src not None, float_pixel[::1] dst not None, double zscale, double zzero,
               int method, int64_t zdither0, uint64_t row, zblank):
    """Integers of the tile in table row `row` to values; `zblank` (None: no such) becomes NaN."""
    cdef tc_quantum quantum
    cdef size_t n = src.shape[0]
    if src.shape[0] != dst.shape[0] or not 0 <= method <= 2:
        return TC_BAD_PARAM
    quantum.zscale, quantum.zzero = zscale, zzero
    quantum.method, quantum.zdither0, quantum.row = <tc_dither_method>method, zdither0, row
    quantum.has_zblank = zblank is not None
    quantum.zblank = zblank if zblank is not None else 0
    if n == 0:
        return TC_OK
    with nogil:
        if quantized_pixel is uint8_t:
            if float_pixel is float:
                tc_dequantize_u8_f32(&src[0], 0, n, &quantum, &dst[0])
            else:
                tc_dequantize_u8_f64(&src[0], 0, n, &quantum, &dst[0])
        elif quantized_pixel is int16_t:
            if float_pixel is float:
                tc_dequantize_i16_f32(&src[0], 0, n, &quantum, &dst[0])
            else:
                tc_dequantize_i16_f64(&src[0], 0, n, &quantum, &dst[0])
        else:
            if float_pixel is float:
                tc_dequantize_i32_f32(&src[0], 0, n, &quantum, &dst[0])
            else:
                tc_dequantize_i32_f64(&src[0], 0, n, &quantum, &dst[0])
    return TC_OK


cdef void *aligned_block(size_t nbytes, void **block) noexcept nogil:
    """An address of 64-byte alignment with `nbytes` bytes behind it; free() what is put in `block`."""
    block[0] = malloc(nbytes + 64)
    if block[0] == NULL:
        return NULL
    return <void *>((<size_t>block[0] + 63) & ~(<size_t>63))


def quantize(const float_pixel[::1] src not None, int32_t[::1] dst not None, size_t nx, size_t ny, uint64_t row,
             float q, int method, int64_t zdither0, int32_t zblank):
    """Quantize the tile of ny rows of nx pixels; return (status, zscale, zzero, whether it has undefined pixels)."""
    cdef tc_quantize_request request
    cdef tc_quantum quantum
    cdef tc_status status = TC_NO_MEMORY
    cdef void *block = NULL
    cdef void *scratch
    cdef size_t needed
    if nx == 0 or ny == 0 or nx * ny != <size_t>src.shape[0] or src.shape[0] != dst.shape[0] or not 0 <= method <= 2:
        return TC_BAD_PARAM, 0.0, 0.0, False
    request.q, request.method = q, <tc_dither_method>method
    request.zdither0, request.zblank = zdither0, zblank
    quantum.zscale = quantum.zzero = 0
    quantum.has_zblank = False
    with nogil:
        if float_pixel is float:
            needed = tc_quantize_scratch_f32(nx, ny)
        else:
            needed = tc_quantize_scratch_f64(nx, ny)
        scratch = aligned_block(needed, &block)
        if scratch != NULL:
            if float_pixel is float:
                status = tc_quantize_f32(&src[0], nx, ny, row, &request, scratch, &dst[0], &quantum)
            else:
                status = tc_quantize_f64(&src[0], nx, ny, row, &request, scratch, &dst[0], &quantum)
        free(block)
    return status, quantum.zscale, quantum.zzero, bool(quantum.has_zblank)
