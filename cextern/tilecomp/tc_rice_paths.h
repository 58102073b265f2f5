/* The RICE_1 kernels of each CPU level.  All give the same bits, statuses and counts; tc_rice.c and tc_rice_encode.c
 * choose among them, tests compare them.  Parameters were checked before. */
#ifndef TC_RICE_PATHS_H
#define TC_RICE_PATHS_H

#include "tc_cpu.h"
#include "tc_rice.h"

void tc_rice_decode_portable(tc_rice_stream *streams, size_t n_streams, uint32_t bytepix, uint32_t blocksize);
tc_status tc_rice_encode_portable(const void *src, size_t n, uint32_t bytepix, uint32_t blocksize, uint8_t *dst,
                                  size_t dst_cap, size_t *used);
#if TC_CPU_X86
void tc_rice_decode_avx2(tc_rice_stream *streams, size_t n_streams, uint32_t bytepix, uint32_t blocksize);
void tc_rice_decode_avx512(tc_rice_stream *streams, size_t n_streams, uint32_t bytepix, uint32_t blocksize);
tc_status tc_rice_encode_avx2(const void *src, size_t n, uint32_t bytepix, uint32_t blocksize, uint8_t *dst,
                              size_t dst_cap, size_t *used);
#endif

#endif
