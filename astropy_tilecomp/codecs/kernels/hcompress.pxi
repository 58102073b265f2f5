# HCOMPRESS_1, by the kernels and by libcfitsio.

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
