# cython: language_level=3, freethreading_compatible=True, boundscheck=False, wraparound=False, initializedcheck=False
"""
The C library, one short function for each entry point.

Buffers only: any contiguous object of the right item type does, and no size is trusted. A function returns the C status
first (see `engine.check`) and never raises for bad data; it works without the GIL.

Decoders take `n_tiles`: `dst` is that many tiles of equal size, whose streams stand one after the other in `src`. They
return (status, used, done): bytes read, and pixels written. Encoders return (status, used): bytes written.
"""

cimport cython
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

cdef extern from "tc_status.h":
    ctypedef enum tc_status:
        TC_OK
        TC_TRUNCATED
        TC_TRAILING
        TC_CORRUPT
        TC_BAD_MAGIC
        TC_SIZE_MISMATCH
        TC_BAD_CODE
        TC_BAD_CHECKSUM
        TC_NO_SPACE
        TC_OUT_OF_RANGE
        TC_REFUSED
        TC_UNSUPPORTED
        TC_BAD_PARAM
        TC_NO_MEMORY
        TC_MISSING
        TC_UNUSED

# Names of the statuses, for engine.py.
STATUS = {
    name: value for name, value in (
        ("OK", TC_OK), ("TRUNCATED", TC_TRUNCATED), ("TRAILING", TC_TRAILING), ("CORRUPT", TC_CORRUPT),
        ("BAD_MAGIC", TC_BAD_MAGIC), ("SIZE_MISMATCH", TC_SIZE_MISMATCH), ("BAD_CODE", TC_BAD_CODE),
        ("BAD_CHECKSUM", TC_BAD_CHECKSUM), ("NO_SPACE", TC_NO_SPACE), ("OUT_OF_RANGE", TC_OUT_OF_RANGE),
        ("REFUSED", TC_REFUSED), ("UNSUPPORTED", TC_UNSUPPORTED), ("BAD_PARAM", TC_BAD_PARAM),
        ("NO_MEMORY", TC_NO_MEMORY), ("MISSING", TC_MISSING), ("UNUSED", TC_UNUSED),
    )
}


# ---- engines ----

cdef extern from "tc_cfitsio.h" nogil:
    uint32_t tc_cfitsio_version()
    tc_status tc_cfitsio_rice_decode_u8(const uint8_t *, size_t, uint32_t, uint8_t *, size_t, size_t *, size_t *)
    tc_status tc_cfitsio_rice_decode_i16(const uint8_t *, size_t, uint32_t, int16_t *, size_t, size_t *, size_t *)
    tc_status tc_cfitsio_rice_decode_i32(const uint8_t *, size_t, uint32_t, int32_t *, size_t, size_t *, size_t *)
    tc_status tc_cfitsio_rice_encode_u8(const uint8_t *, size_t, uint32_t, uint8_t *, size_t, size_t *)
    tc_status tc_cfitsio_rice_encode_i16(const int16_t *, size_t, uint32_t, uint8_t *, size_t, size_t *)
    tc_status tc_cfitsio_rice_encode_i32(const int32_t *, size_t, uint32_t, uint8_t *, size_t, size_t *)
    tc_status tc_cfitsio_plio_decode_i32(const uint8_t *, size_t, int32_t, int32_t *, size_t, size_t *, size_t *)
    tc_status tc_cfitsio_plio_encode_i32(const int32_t *, size_t, int32_t, uint8_t *, size_t, size_t *)
    tc_status tc_cfitsio_hcompress_decode_i32(const uint8_t *, size_t, size_t, size_t, int, bint, int32_t *, void *,
                                              size_t *)
    tc_status tc_cfitsio_hcompress_encode_i32(const int32_t *, size_t, size_t, int32_t, uint8_t *, size_t, void *,
                                              size_t *)


def cfitsio_version():
    """Version of libcfitsio as major * 10000 + minor * 100 + micro; 0 in a build without it."""
    return tc_cfitsio_version()


cdef extern from "tc_cpu.h" nogil:
    int tc_cpu_level()


def cpu_level():
    """The instruction set in use: 0 portable, 1 AVX2, 2 AVX-512."""
    return tc_cpu_level()


# ---- RICE_1 ----

cdef extern from "tc_rice.h" nogil:
    size_t tc_rice_bound(size_t, uint32_t, uint32_t)
    tc_status tc_rice_decode_u8(const uint8_t *, size_t, uint32_t, uint8_t *, size_t, size_t *, size_t *)
    tc_status tc_rice_decode_i16(const uint8_t *, size_t, uint32_t, int16_t *, size_t, size_t *, size_t *)
    tc_status tc_rice_decode_i32(const uint8_t *, size_t, uint32_t, int32_t *, size_t, size_t *, size_t *)
    tc_status tc_rice_encode_u8(const uint8_t *, size_t, uint32_t, uint8_t *, size_t, size_t *)
    tc_status tc_rice_encode_i16(const int16_t *, size_t, uint32_t, uint8_t *, size_t, size_t *)
    tc_status tc_rice_encode_i32(const int32_t *, size_t, uint32_t, uint8_t *, size_t, size_t *)

ctypedef fused rice_pixel:
    uint8_t
    int16_t
    int32_t


cdef inline tc_status rice_decode_tile(bint cfitsio, const uint8_t *src, size_t src_len, uint32_t blocksize,
                                       rice_pixel *dst, size_t n, size_t *used, size_t *done) noexcept nogil:
    if rice_pixel is uint8_t:
        if cfitsio:
            return tc_cfitsio_rice_decode_u8(src, src_len, blocksize, dst, n, used, done)
        return tc_rice_decode_u8(src, src_len, blocksize, dst, n, used, done)
    elif rice_pixel is int16_t:
        if cfitsio:
            return tc_cfitsio_rice_decode_i16(src, src_len, blocksize, dst, n, used, done)
        return tc_rice_decode_i16(src, src_len, blocksize, dst, n, used, done)
    else:
        if cfitsio:
            return tc_cfitsio_rice_decode_i32(src, src_len, blocksize, dst, n, used, done)
        return tc_rice_decode_i32(src, src_len, blocksize, dst, n, used, done)


cdef inline tc_status rice_encode_tile(bint cfitsio, const rice_pixel *src, size_t n, uint32_t blocksize,
                                       uint8_t *dst, size_t cap, size_t *used) noexcept nogil:
    if rice_pixel is uint8_t:
        if cfitsio:
            return tc_cfitsio_rice_encode_u8(src, n, blocksize, dst, cap, used)
        return tc_rice_encode_u8(src, n, blocksize, dst, cap, used)
    elif rice_pixel is int16_t:
        if cfitsio:
            return tc_cfitsio_rice_encode_i16(src, n, blocksize, dst, cap, used)
        return tc_rice_encode_i16(src, n, blocksize, dst, cap, used)
    else:
        if cfitsio:
            return tc_cfitsio_rice_encode_i32(src, n, blocksize, dst, cap, used)
        return tc_rice_encode_i32(src, n, blocksize, dst, cap, used)


def rice_bound(size_t n, uint32_t bytepix, uint32_t blocksize):
    """The most bytes that a tile of n pixels can take."""
    return tc_rice_bound(n, bytepix, blocksize)


def rice_decode(const uint8_t[::1] src not None, rice_pixel[::1] dst not None, size_t n_tiles, uint32_t blocksize,
                bint cfitsio):
    """Decode `n_tiles` tiles of 1, 2 or 4 bytes a pixel."""
    cdef const uint8_t *first = &src[0] if src.shape[0] else NULL
    cdef rice_pixel *out = &dst[0] if dst.shape[0] else NULL
    cdef size_t src_len = src.shape[0], n = dst.shape[0] // n_tiles if n_tiles else 0
    cdef size_t used = 0, done = 0, tile_used, tile_done, tile
    cdef tc_status status = TC_OK
    with nogil:
        for tile in range(n_tiles):
            tile_used = tile_done = 0
            status = rice_decode_tile(cfitsio, first + used, src_len - used, blocksize, out + tile * n, n, &tile_used,
                                      &tile_done)
            used += tile_used
            done += tile_done
            if status != TC_OK:
                break
    return status, used, done


rice_decode_u8 = rice_decode["uint8_t"]
rice_decode_i16 = rice_decode["int16_t"]
rice_decode_i32 = rice_decode["int32_t"]


def rice_encode(const rice_pixel[::1] src not None, uint8_t[::1] dst not None, uint32_t blocksize, bint cfitsio):
    """Encode one tile of 1, 2 or 4 bytes a pixel."""
    cdef const rice_pixel *first = &src[0] if src.shape[0] else NULL
    cdef uint8_t *out = &dst[0] if dst.shape[0] else NULL
    cdef size_t n = src.shape[0], cap = dst.shape[0], used = 0
    cdef tc_status status
    with nogil:
        status = rice_encode_tile(cfitsio, first, n, blocksize, out, cap, &used)
    return status, used


rice_encode_u8 = rice_encode["uint8_t"]
rice_encode_i16 = rice_encode["int16_t"]
rice_encode_i32 = rice_encode["int32_t"]


# ---- PLIO_1 ----

cdef extern from "tc_plio.h" nogil:
    size_t tc_plio_bound(size_t)
    tc_status tc_plio_decode_i32(const uint8_t *, size_t, int32_t, int32_t *, size_t, size_t *, size_t *)
    tc_status tc_plio_encode_i32(const int32_t *, size_t, int32_t, uint8_t *, size_t, size_t *)


def plio_bound(size_t n):
    """The most bytes that a tile of n pixels can take."""
    return tc_plio_bound(n)


def plio_decode(const uint8_t[::1] src not None, int32_t[::1] dst not None, size_t n_tiles, int32_t offset,
                bint cfitsio):
    """Decode `n_tiles` tiles; `offset` is subtracted from every pixel."""
    cdef const uint8_t *first = &src[0] if src.shape[0] else NULL
    cdef int32_t *out = &dst[0] if dst.shape[0] else NULL
    cdef size_t src_len = src.shape[0], n = dst.shape[0] // n_tiles if n_tiles else 0
    cdef size_t used = 0, done = 0, tile_used, tile_done, tile
    cdef tc_status status = TC_OK
    with nogil:
        for tile in range(n_tiles):
            tile_used = tile_done = 0
            if cfitsio:
                status = tc_cfitsio_plio_decode_i32(first + used, src_len - used, offset, out + tile * n, n,
                                                    &tile_used, &tile_done)
            else:
                status = tc_plio_decode_i32(first + used, src_len - used, offset, out + tile * n, n, &tile_used,
                                            &tile_done)
            used += tile_used
            done += tile_done
            if status != TC_OK:
                break
    return status, used, done


def plio_encode(const int32_t[::1] src not None, uint8_t[::1] dst not None, int32_t offset, bint cfitsio):
    """Encode one tile; `offset` is added to every pixel."""
    cdef const int32_t *first = &src[0] if src.shape[0] else NULL
    cdef uint8_t *out = &dst[0] if dst.shape[0] else NULL
    cdef size_t n = src.shape[0], cap = dst.shape[0], used = 0
    cdef tc_status status
    with nogil:
        if cfitsio:
            status = tc_cfitsio_plio_encode_i32(first, n, offset, out, cap, &used)
        else:
            status = tc_plio_encode_i32(first, n, offset, out, cap, &used)
    return status, used


# ---- HCOMPRESS_1 ----

cdef extern from "tc_hcompress.h" nogil:
    size_t tc_hcompress_scratch(size_t, size_t)
    size_t tc_hcompress_bound(size_t, size_t, int)
    tc_status tc_hcompress_decode_i32(const uint8_t *, size_t, size_t, size_t, int, bint, int32_t *, void *, size_t *)
    tc_status tc_hcompress_encode_i32(const int32_t *, size_t, size_t, int32_t, uint8_t *, size_t, void *, size_t *)


def hcompress_bound(size_t nx, size_t ny, int bits):
    """The most bytes that a tile of ny rows of nx pixels can take."""
    return tc_hcompress_bound(nx, ny, bits)


def hcompress_decode(const uint8_t[::1] src not None, int32_t[::1] dst not None, size_t n_tiles, size_t nx, size_t ny,
                     int bits, bint smooth, bint cfitsio):
    """Decode `n_tiles` tiles of ny rows of nx pixels of `bits` bits."""
    cdef const uint8_t *first = &src[0] if src.shape[0] else NULL
    cdef int32_t *out = &dst[0] if dst.shape[0] else NULL
    cdef size_t src_len = src.shape[0], n = nx * ny, needed = tc_hcompress_scratch(nx, ny)
    cdef size_t used = 0, tile_used, tile, tiles_done = 0
    cdef tc_status status = TC_OK
    cdef void *scratch
    if needed == 0 or n * n_tiles != <size_t>dst.shape[0]:
        return TC_BAD_PARAM, 0, 0
    with nogil:
        scratch = malloc(needed)
        if scratch == NULL:
            status = TC_NO_MEMORY
        else:
            for tile in range(n_tiles):
                tile_used = 0
                if cfitsio:
                    status = tc_cfitsio_hcompress_decode_i32(first + used, src_len - used, nx, ny, bits, smooth,
                                                             out + tile * n, scratch, &tile_used)
                else:
                    status = tc_hcompress_decode_i32(first + used, src_len - used, nx, ny, bits, smooth,
                                                     out + tile * n, scratch, &tile_used)
                used += tile_used
                if status != TC_OK:
                    break
                tiles_done += 1
            free(scratch)
    return status, used, tiles_done * n


def hcompress_encode(const int32_t[::1] src not None, uint8_t[::1] dst not None, size_t nx, size_t ny, int32_t scale,
                     bint cfitsio):
    """Encode one tile of ny rows of nx pixels."""
    cdef const int32_t *first = &src[0] if src.shape[0] else NULL
    cdef uint8_t *out = &dst[0] if dst.shape[0] else NULL
    cdef size_t cap = dst.shape[0], used = 0, needed = tc_hcompress_scratch(nx, ny)
    cdef tc_status status
    cdef void *scratch
    if needed == 0 or nx * ny != <size_t>src.shape[0]:
        return TC_BAD_PARAM, 0
    with nogil:
        scratch = malloc(needed)
        if scratch == NULL:
            status = TC_NO_MEMORY
        elif cfitsio:
            status = tc_cfitsio_hcompress_encode_i32(first, nx, ny, scale, out, cap, scratch, &used)
        else:
            status = tc_hcompress_encode_i32(first, nx, ny, scale, out, cap, scratch, &used)
        free(scratch)
    return status, used


# ---- GZIP_1, GZIP_2 ----

cdef extern from "tc_gzip.h" nogil:
    ctypedef struct tc_gzip_decoder:
        pass
    ctypedef struct tc_gzip_encoder:
        pass
    tc_gzip_decoder *tc_gzip_decoder_new()
    void tc_gzip_decoder_free(tc_gzip_decoder *)
    tc_status tc_gzip_inflate(tc_gzip_decoder *, const uint8_t *, size_t, uint8_t *, size_t, size_t *, size_t *)
    tc_gzip_encoder *tc_gzip_encoder_new(int)
    void tc_gzip_encoder_free(tc_gzip_encoder *)
    size_t tc_gzip_bound(size_t)
    tc_status tc_gzip_encode(tc_gzip_encoder *, const uint8_t *, size_t, size_t, uint8_t *, size_t, size_t *)
    int TC_GZIP_PIXELS_LEVEL, TC_GZIP_PLANES_LEVEL

cdef extern from "tc_shuffle.h" nogil:
    void tc_byteswap(const void *, size_t, size_t, void *)
    void tc_shuffle(const void *, size_t, size_t, uint8_t *)
    void tc_unshuffle(const uint8_t *, size_t, size_t, void *)

GZIP_PIXELS_LEVEL, GZIP_PLANES_LEVEL = TC_GZIP_PIXELS_LEVEL, TC_GZIP_PLANES_LEVEL


def gzip_bound(size_t nbytes):
    """The most bytes that `nbytes` bytes can take as one gzip member."""
    return tc_gzip_bound(nbytes)


def gzip_inflate(const uint8_t[::1] src not None, uint8_t[::1] dst not None):
    """Inflate one member; return (status, used, nbytes): bytes read, and bytes written."""
    cdef const uint8_t *first = &src[0] if src.shape[0] else NULL
    cdef uint8_t *out = &dst[0] if dst.shape[0] else NULL
    cdef size_t src_len = src.shape[0], cap = dst.shape[0], used = 0, nbytes = 0
    cdef tc_status status = TC_NO_MEMORY
    cdef tc_gzip_decoder *decoder
    with nogil:
        decoder = tc_gzip_decoder_new()
        if decoder != NULL:
            status = tc_gzip_inflate(decoder, first, src_len, out, cap, &nbytes, &used)
            tc_gzip_decoder_free(decoder)
    return status, used, nbytes


def gzip_encode(const uint8_t[::1] src not None, uint8_t[::1] dst not None, int level, size_t plane):
    """Deflate bytes, planes of `plane` bytes each or none (0), into one member; return (status, used)."""
    cdef const uint8_t *first = &src[0] if src.shape[0] else NULL
    cdef uint8_t *out = &dst[0] if dst.shape[0] else NULL
    cdef size_t src_len = src.shape[0], cap = dst.shape[0], used = 0
    cdef tc_status status = TC_NO_MEMORY
    cdef tc_gzip_encoder *encoder
    with nogil:
        encoder = tc_gzip_encoder_new(level)
        if encoder != NULL:
            status = tc_gzip_encode(encoder, first, src_len, plane, out, cap, &used)
            tc_gzip_encoder_free(encoder)
    return status, used


def byteswap(const uint8_t[::1] src not None, uint8_t[::1] dst not None, size_t width):
    """Pixels of `width` bytes to the other byte order; `dst` may be `src`."""
    if src.shape[0] != dst.shape[0] or width == 0 or src.shape[0] % width:
        return TC_BAD_PARAM
    if src.shape[0]:
        with nogil:
            tc_byteswap(&src[0], src.shape[0] // width, width, &dst[0])
    return TC_OK


def shuffle(const uint8_t[::1] src not None, uint8_t[::1] dst not None, size_t width):
    """Native pixels of `width` bytes to byte planes, the most significant first."""
    if src.shape[0] != dst.shape[0] or width == 0 or src.shape[0] % width:
        return TC_BAD_PARAM
    if src.shape[0]:
        with nogil:
            tc_shuffle(&src[0], src.shape[0] // width, width, &dst[0])
    return TC_OK


def unshuffle(const uint8_t[::1] src not None, uint8_t[::1] dst not None, size_t width):
    """Byte planes to native pixels of `width` bytes."""
    if src.shape[0] != dst.shape[0] or width == 0 or src.shape[0] % width:
        return TC_BAD_PARAM
    if src.shape[0]:
        with nogil:
            tc_unshuffle(&src[0], src.shape[0] // width, width, &dst[0])
    return TC_OK


# ---- quantized floats ----

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


# ---- batch decoding ----

from cpython.buffer cimport PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

cdef extern from "tc_batch.h":
    ctypedef bint bool_t "bool"
    enum: TC_MAX_AXES
    enum: TC_RICE_1, TC_GZIP_1, TC_GZIP_2, TC_PLIO_1, TC_HCOMPRESS_1, TC_NOCOMPRESS
    enum: TC_ENGINE_KERNEL, TC_ENGINE_CFITSIO
    enum: TC_U8, TC_I16, TC_I32, TC_I64, TC_F32, TC_F64, TC_I8, TC_U16, TC_U32, TC_U64
    enum: TC_SCALE_NONE, TC_SCALE_OFFSET, TC_SCALE_LINEAR
    ctypedef struct tc_image:
        int algorithm, engine
        uint32_t bytepix, blocksize
        bool_t smooth, plio_offset, quantized
        int dither
        int64_t zdither0
        int stored, result
        bool_t swap
        int scaling
        double bscale, bzero
        bool_t has_blank
        int64_t blank
        bool_t is_mask, fill_bad
        uint8_t fill[8]
    ctypedef struct tc_axis:
        size_t n_tiles
        const int64_t *size
        const int64_t *start
        const int64_t *count
        const int64_t *out
        int64_t step
        ptrdiff_t stride
        size_t extent
        const int64_t *pixel
        const int64_t *place
        size_t n_picks
    ctypedef struct tc_batch:
        tc_image image
        size_t n_axes, n_jobs
        tc_axis axis[TC_MAX_AXES]
        uint8_t *out
        uint8_t **job_out
        bool_t whole
        const int64_t *row
        const int64_t *nbytes
        const uint8_t *column
        const double *zscale
        const double *zzero
        const int64_t *zblank
        int32_t *status
        int64_t *done
        int64_t *used
    int tc_batch_check(const tc_batch *batch) nogil
    size_t tc_batch_scratch(const tc_batch *batch) nogil
    int tc_batch_decode(const tc_batch *batch, const int64_t *jobs, const int64_t *position, size_t n,
                        const uint8_t *src, size_t src_len, size_t *n_bad) nogil

MAX_AXES = TC_MAX_AXES
ALGORITHM_CODES = {
    "RICE_1": TC_RICE_1, "GZIP_1": TC_GZIP_1, "GZIP_2": TC_GZIP_2, "PLIO_1": TC_PLIO_1,
    "HCOMPRESS_1": TC_HCOMPRESS_1, "NOCOMPRESS": TC_NOCOMPRESS,
}
ENGINE_CODES = {"kernel": TC_ENGINE_KERNEL, "cfitsio": TC_ENGINE_CFITSIO}
TYPE_CODES = {
    "u1": TC_U8, "i2": TC_I16, "i4": TC_I32, "i8": TC_I64, "f4": TC_F32, "f8": TC_F64,
    "i1": TC_I8, "u2": TC_U16, "u4": TC_U32, "u8": TC_U64,
}
SCALING_CODES = {"none": TC_SCALE_NONE, "offset": TC_SCALE_OFFSET, "linear": TC_SCALE_LINEAR}


cdef const int64_t *_int64s(const int64_t[::1] values, Py_ssize_t n) except? NULL:
    if values.shape[0] != n:
        raise ValueError(f"an array of {values.shape[0]} items where {n} were expected")
    return &values[0] if n else NULL


cdef class TileBatch:
    """
    Tiles of one image, to be decoded into one array (tc_batch.h says what each part means).

    Parameters
    ----------
    image : mapping
        What is the same for every tile: the fields of ``tc_image`` by name, codes for enumerations.
    axes : sequence of AxisSelection
        What is selected along each axis of the image, slowest first.
    out : writable buffer
        The array to fill, in any strides.
    out_axes : sequence of (int or None)
        Axis of `out` that each axis of the image becomes.
    row, nbytes : (n,) buffer of int64
        Table row and stream length of each job; a job is a touched tile, in C order of the grid they span.
    column : (n,) buffer of uint8
        Which column holds the stream.
    status : (n,) buffer of int32
    done, used : (n,) buffer of int64
        Filled by `decode`.
    zscale, zzero : (n,) buffer of float64, optional
    zblank : (n,) buffer of int64, optional
    tiles : sequence of (buffer of uint8 or None), optional
        The memory of a whole tile for each job, laid out as `out`, which then only lends its shape.
    whole : bool
        Decode tiles to their end, whatever is needed of them.

    Raises
    ------
    ValueError
        If the parts do not fit together.

    Notes
    -----
    Many threads may call `decode` at the same time for different jobs.
    """

    cdef tc_batch batch
    cdef Py_buffer out
    cdef bint has_out
    cdef list held                              # whatever the pointers in `batch` point into

    def __cinit__(self, image, axes, out, out_axes, const int64_t[::1] row not None, const int64_t[::1] nbytes not None,
                  const uint8_t[::1] column not None, int32_t[::1] status not None, int64_t[::1] done not None,
                  int64_t[::1] used not None, const double[::1] zscale=None, const double[::1] zzero=None,
                  const int64_t[::1] zblank=None, tiles=None, bint whole=False):
        cdef Py_ssize_t n = row.shape[0]
        cdef int code
        self.has_out = False
        self.held = [axes, row, nbytes, column, status, done, used, zscale, zzero, zblank]
        for name, array in (("column", column), ("status", status), ("done", done), ("used", used), ("zscale", zscale),
                            ("zzero", zzero), ("zblank", zblank)):
            if array is not None and array.shape[0] != n:
                raise ValueError(f"{name} has {array.shape[0]} items, there are {n} jobs")
        if (zscale is None) != (zzero is None):
            raise ValueError("zscale and zzero come together")
        self.batch.n_jobs = n
        self.batch.row = _int64s(row, n)
        self.batch.nbytes = _int64s(nbytes, n)
        self.batch.whole = whole
        if n:
            self.batch.column = &column[0]
            self.batch.status = &status[0]
            self.batch.done = &done[0]
            self.batch.used = &used[0]
            if zscale is not None:
                self.batch.zscale, self.batch.zzero = &zscale[0], &zzero[0]
            if zblank is not None:
                self.batch.zblank = &zblank[0]
        self._take_image(image)
        PyObject_GetBuffer(out, &self.out, PyBUF_STRIDES | PyBUF_WRITABLE)
        self.has_out = True
        self.batch.out = <uint8_t *>self.out.buf
        self._take_axes(axes, out_axes)
        if tiles is not None:
            self._take_tiles(tiles, n)
        code = tc_batch_check(&self.batch)
        if code:
            raise ValueError(f"the tables of a batch do not fit together (status {code})")

    cdef int _take_image(self, image) except -1:
        cdef tc_image *into = &self.batch.image
        cdef const uint8_t[::1] fill = image["fill"]
        into.algorithm, into.engine = image["algorithm"], image["engine"]
        into.bytepix, into.blocksize, into.smooth = image["bytepix"], image["blocksize"], image["smooth"]
        into.plio_offset, into.quantized = image["plio_offset"], image["quantized"]
        into.dither, into.zdither0 = image["dither"], image["zdither0"]
        into.stored, into.result, into.swap = image["stored"], image["result"], image["swap"]
        into.scaling, into.bscale, into.bzero = image["scaling"], image["bscale"], image["bzero"]
        into.has_blank, into.blank = image["has_blank"], image["blank"]
        into.is_mask, into.fill_bad = image["is_mask"], image["fill_bad"]
        if not 1 <= fill.shape[0] <= 8:
            raise ValueError(f"a fill item of {fill.shape[0]} bytes")
        memcpy(into.fill, &fill[0], fill.shape[0])
        return 0

    cdef int _take_axes(self, axes, out_axes) except -1:
        cdef tc_axis *into
        cdef Py_ssize_t a, n
        if len(axes) > TC_MAX_AXES or len(axes) != len(out_axes):
            raise ValueError(f"{len(axes)} axes, {len(out_axes)} axes of the output; {TC_MAX_AXES} at most")
        self.batch.n_axes = len(axes)
        for a, (axis, out_axis) in enumerate(zip(axes, out_axes)):
            into = &self.batch.axis[a]
            n = len(axis.size)
            into.n_tiles = n
            into.size, into.start = _int64s(axis.size, n), _int64s(axis.start, n)
            into.count, into.out = _int64s(axis.count, n), _int64s(axis.out, n)
            into.step = axis.step
            if axis.pixel is not None:
                into.n_picks = len(axis.pixel)
                into.pixel, into.place = _int64s(axis.pixel, into.n_picks), _int64s(axis.place, into.n_picks)
            into.extent, into.stride = 1, 0
            if out_axis is not None:
                if not 0 <= out_axis < self.out.ndim:
                    raise ValueError(f"the output has no axis {out_axis}")
                into.extent, into.stride = self.out.shape[out_axis], self.out.strides[out_axis]
        return 0

    cdef int _take_tiles(self, tiles, Py_ssize_t n) except -1:
        cdef uint8_t[::1] memory
        cdef Py_ssize_t job
        if len(tiles) != n:
            raise ValueError(f"memory for {len(tiles)} tiles, there are {n} jobs")
        self.held.append(tiles)
        self.batch.job_out = <uint8_t **>calloc(n or 1, sizeof(uint8_t *))
        if self.batch.job_out == NULL:
            raise MemoryError(f"{n} addresses of tiles")
        for job, tile in enumerate(tiles):
            if tile is not None:
                memory = tile
                if memory.shape[0] != self.out.len or memory.shape[0] == 0:
                    raise ValueError(f"{memory.shape[0]} bytes for a tile of {self.out.len}")
                self.batch.job_out[job] = &memory[0]
        return 0

    def __dealloc__(self):
        free(self.batch.job_out)
        if self.has_out:
            PyBuffer_Release(&self.out)

    @property
    def scratch_nbytes(self):
        """The most memory that one call of `decode` takes for itself."""
        return tc_batch_scratch(&self.batch)

    def decode(self, const int64_t[::1] jobs not None, const int64_t[::1] position not None,
               const uint8_t[::1] src not None):
        """
        Decode some jobs, without the GIL.

        Parameters
        ----------
        jobs : (m,) buffer of int64
            Numbers of the jobs.
        position : (m,) buffer of int64
            Where the stream of each begins in `src`.
        src : (k,) buffer of uint8
            Bytes of the heap.

        Returns
        -------
        int
            Jobs that are bad; `status` says which.
        """
        cdef Py_ssize_t n = jobs.shape[0]
        cdef const int64_t *where = _int64s(position, n)
        cdef const uint8_t *first = &src[0] if src.shape[0] else NULL
        cdef size_t n_bad = 0
        cdef int code
        if n == 0:
            return 0
        with nogil:
            code = tc_batch_decode(&self.batch, &jobs[0], where, n, first, src.shape[0], &n_bad)
        if code:
            raise ValueError(f"job numbers outside 0 to {self.batch.n_jobs - 1}, or tiles without memory")
        return n_bad


# ---- batch encoding ----

cdef extern from "tc_encode.h":
    ctypedef struct tc_encode_image:
        const uint8_t *pixels
        int type
        bool_t swap
        size_t n_axes
        int64_t shape[TC_MAX_AXES]
        int64_t tile_shape[TC_MAX_AXES]
        int64_t stride[TC_MAX_AXES]
        int64_t first_row
        int algorithm, engine
        uint32_t bytepix, blocksize
        float hcompress_scale
        bool_t plio_offset
        int gzip_level
        bool_t quantized
        tc_quantize_request request
    ctypedef struct tc_encoded_tile:
        int64_t nbytes
        double zscale, zzero
        uint8_t column, has_null
        int32_t status
    int tc_encode_check(const tc_encode_image *) nogil
    int64_t tc_encode_tile_count(const tc_encode_image *) nogil
    size_t tc_encode_bound(const tc_encode_image *, size_t) nogil
    int tc_encode_tiles(const tc_encode_image *, int64_t, size_t, uint8_t *, size_t, tc_encoded_tile *, size_t *) nogil


# Layout of what the table has to say of a tile: a numpy dtype, once align=True is added.
ENCODED_TILE = [("nbytes", "i8"), ("zscale", "f8"), ("zzero", "f8"), ("column", "u1"), ("has_null", "u1"), ("status", "i4")]
assert sizeof(tc_encoded_tile) == 32


cdef class TileEncoder:
    """
    The tiles of an array, to be encoded (tc_encode.h says what each part means).

    Parameters
    ----------
    array : buffer
        Pixels, in any strides; whether their byte order is the other one, `settings` say.
    tile_shape : sequence of int
        Slowest axis first.
    settings : mapping
        The other fields of ``tc_encode_image`` by name, codes for enumerations; q, method, zdither0 and zblank for
        those of ``request``.

    Raises
    ------
    ValueError
        If the parts do not fit together.

    Notes
    -----
    Many threads may call `encode` at the same time.
    """

    cdef tc_encode_image image
    cdef Py_buffer buffer
    cdef bint has_buffer

    def __cinit__(self, array, tile_shape, settings):
        cdef int axis
        self.has_buffer = False
        PyObject_GetBuffer(array, &self.buffer, PyBUF_STRIDES)
        self.has_buffer = True
        if self.buffer.ndim > TC_MAX_AXES or len(tile_shape) != self.buffer.ndim:
            raise ValueError(f"an array of {self.buffer.ndim} axes, a tile of {len(tile_shape)}; {TC_MAX_AXES} at most")
        self.image.pixels = <const uint8_t *>self.buffer.buf
        self.image.n_axes = self.buffer.ndim
        for axis in range(self.buffer.ndim):
            self.image.shape[axis] = self.buffer.shape[axis]
            self.image.stride[axis] = self.buffer.strides[axis]
            self.image.tile_shape[axis] = tile_shape[axis]
        self._take_settings(settings)
        code = tc_encode_check(&self.image)
        if code:
            raise ValueError(f"the settings of an encoder do not fit together (status {code})")

    cdef int _take_settings(self, settings) except -1:
        cdef tc_encode_image *into = &self.image
        into.type, into.swap, into.first_row = settings["type"], settings["swap"], settings["first_row"]
        into.algorithm, into.engine = settings["algorithm"], settings["engine"]
        into.bytepix, into.blocksize = settings["bytepix"], settings["blocksize"]
        into.hcompress_scale, into.plio_offset = settings["hcompress_scale"], settings["plio_offset"]
        into.gzip_level, into.quantized = settings["gzip_level"], settings["quantized"]
        into.request.q, into.request.method = settings["q"], settings["method"]
        into.request.zdither0, into.request.zblank = settings["zdither0"], settings["zblank"]
        return 0

    def __dealloc__(self):
        if self.has_buffer:
            PyBuffer_Release(&self.buffer)

    @property
    def n_tiles(self):
        """Number of tiles of the array."""
        return tc_encode_tile_count(&self.image)

    def bound(self, size_t n_tiles):
        """The most bytes that so many tiles can take."""
        return tc_encode_bound(&self.image, n_tiles)

    def encode(self, int64_t first, uint8_t[::1] tiles not None, uint8_t[::1] dst not None):
        """
        Encode some tiles, without the GIL.

        Parameters
        ----------
        first : int
            Number of the first, counted over the array in C order.
        tiles : buffer of uint8
            As many items of `ENCODED_TILE` as there are tiles to encode; filled.
        dst : buffer of uint8
            Where their bytes go, one tile behind the other.

        Returns
        -------
        int
            Bytes written.
        """
        cdef size_t n = tiles.shape[0] // sizeof(tc_encoded_tile), used = 0, cap = dst.shape[0]
        cdef uint8_t *out = &dst[0] if cap else NULL
        cdef int code
        if first < 0 or first + <int64_t>n > tc_encode_tile_count(&self.image):
            raise ValueError(f"tiles {first} to {first + <int64_t>n}, there are {self.n_tiles}")
        if n == 0:
            return 0
        with nogil:
            code = tc_encode_tiles(&self.image, first, n, out, cap, <tc_encoded_tile *>&tiles[0], &used)
        if code:
            raise MemoryError("no memory for the work on a tile")
        return used
