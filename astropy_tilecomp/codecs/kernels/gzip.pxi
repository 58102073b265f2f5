# GZIP_1 and GZIP_2: members of gzip, and the order of bytes in them.

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
