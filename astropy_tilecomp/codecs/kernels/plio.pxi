# PLIO_1, by the kernels and by libcfitsio.

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
