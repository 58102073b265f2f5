#include "tc_rice_paths.h"

#if TC_CPU_X86
void tc_rice_decode_avx512(tc_rice_stream *streams, size_t n_streams, uint32_t bytepix, uint32_t blocksize)
{
    tc_rice_decode_avx2(streams, n_streams, bytepix, blocksize);
}
tc_status tc_rice_encode_avx512(const void *src, size_t n, uint32_t bytepix, uint32_t blocksize, uint8_t *dst,
                                size_t dst_cap, size_t *used)
{
    return tc_rice_encode_portable(src, n, bytepix, blocksize, dst, dst_cap, used);
}

#endif
