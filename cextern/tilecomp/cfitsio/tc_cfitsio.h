/* The system's libcfitsio behind the entry points of our own kernels: the reference engine.
 *
 * Its functions trust their input, so none sees a byte that was not checked: a stream is first decoded by our own
 * kernel, whose verdict (status, `used`, `done`) is returned, and only a stream that the kernel accepted is decoded by
 * libcfitsio, from a padded copy of exactly the bytes that belong to it.  Where libcfitsio is known to be wrong, our own
 * kernel's result is given instead; tc_cfitsio.c says where.  Parameters, results and errors are those of the function of
 * the same name in tc_rice.h, tc_plio.h and tc_hcompress.h, and besides
 *   TC_NO_MEMORY     a copy could not be made
 *   TC_UNSUPPORTED   a build with TC_WITHOUT_CFITSIO, where every function here returns it
 *   TC_CORRUPT       libcfitsio refused a stream that our kernel accepts
 * Safe on many threads: calls wait for one another where libcfitsio is not reentrant. */
#ifndef TC_CFITSIO_H
#define TC_CFITSIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tc_status.h"

/* Version of the library that this was built with, as major * 10000 + minor * 100 + micro; 0: built without it. */
uint32_t tc_cfitsio_version(void);

tc_status tc_cfitsio_rice_decode_u8(const uint8_t *src, size_t src_len, uint32_t blocksize, uint8_t *dst, size_t n,
                                    size_t *used, size_t *done);
tc_status tc_cfitsio_rice_decode_i16(const uint8_t *src, size_t src_len, uint32_t blocksize, int16_t *dst, size_t n,
                                     size_t *used, size_t *done);
tc_status tc_cfitsio_rice_decode_i32(const uint8_t *src, size_t src_len, uint32_t blocksize, int32_t *dst, size_t n,
                                     size_t *used, size_t *done);
tc_status tc_cfitsio_rice_encode_u8(const uint8_t *src, size_t n, uint32_t blocksize, uint8_t *dst, size_t dst_cap,
                                    size_t *used);
tc_status tc_cfitsio_rice_encode_i16(const int16_t *src, size_t n, uint32_t blocksize, uint8_t *dst, size_t dst_cap,
                                     size_t *used);
tc_status tc_cfitsio_rice_encode_i32(const int32_t *src, size_t n, uint32_t blocksize, uint8_t *dst, size_t dst_cap,
                                     size_t *used);

tc_status tc_cfitsio_plio_decode_i32(const uint8_t *src, size_t src_len, int32_t offset, int32_t *dst, size_t n,
                                     size_t *used, size_t *done);
tc_status tc_cfitsio_plio_decode_i16(const uint8_t *src, size_t src_len, int32_t offset, int16_t *dst, size_t n,
                                     size_t *used, size_t *done);
tc_status tc_cfitsio_plio_decode_u8(const uint8_t *src, size_t src_len, int32_t offset, uint8_t *dst, size_t n,
                                    size_t *used, size_t *done);
tc_status tc_cfitsio_plio_encode_i32(const int32_t *src, size_t n, int32_t offset, uint8_t *dst, size_t dst_cap,
                                     size_t *used);

tc_status tc_cfitsio_hcompress_decode_i32(const uint8_t *src, size_t src_len, size_t nx, size_t ny, int bits,
                                          bool smooth, int32_t *dst, void *scratch, size_t *used);
tc_status tc_cfitsio_hcompress_encode_i32(const int32_t *src, size_t nx, size_t ny, int32_t scale,
                                          uint8_t *dst, size_t dst_cap, void *scratch, size_t *used);

#endif
