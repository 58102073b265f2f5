/* The RICE_1 kernels of the CPU levels.  All give the same bits, statuses and counts; tests compare them.  Parameters
 * were checked before; `bytepix` is 1, 2 or 4. */
#ifndef TC_RICE_LEVELS_H
#define TC_RICE_LEVELS_H

#include "tc_cpu.h"
#include "tc_rice.h"

typedef void tc_rice_decoder(tc_rice_stream *streams, size_t n_streams, uint32_t bytepix, uint32_t blocksize);
typedef tc_status tc_rice_encoder(const void *src, size_t n, uint32_t bytepix, uint32_t blocksize, uint8_t *dst,
                                  size_t dst_cap, size_t *used);

tc_rice_decoder TC_LEVELS(tc_rice_decode);
tc_rice_encoder tc_rice_encode_portable, tc_rice_encode_avx2;
#define tc_rice_encode_avx512 tc_rice_encode_avx2 /* compiled for AVX-512 it takes a tenth longer */

#endif
