# Which engines there are, and which instructions the kernels use.

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
