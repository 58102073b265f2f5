# RICE_1, by the kernels and by libcfitsio.

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
