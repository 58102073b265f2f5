/* The one-stream decoder built for processors with LZCNT and BMI2, which its inner loop lives on. */
#include "tc_rice_paths.h"

#if TC_CPU_X86

#include "tc_rice_scalar.h"

TC_TARGET_AVX2 void tc_rice_decode_avx2(tc_rice_stream *streams, size_t n_streams, uint32_t bytepix,
                                        uint32_t blocksize)
{
    for (size_t i = 0; i < n_streams; i++) {
        if (bytepix == 1) tc_rice_one(TC_RICE_WIDTH_8, &streams[i], blocksize);
        if (bytepix == 2) tc_rice_one(TC_RICE_WIDTH_16, &streams[i], blocksize);
        if (bytepix == 4) tc_rice_one(TC_RICE_WIDTH_32, &streams[i], blocksize);
    }
}

tc_status tc_rice_encode_avx2(const void *src, size_t n, uint32_t bytepix, uint32_t blocksize, uint8_t *dst,
                              size_t dst_cap, size_t *used)
{
    return tc_rice_encode_portable(src, n, bytepix, blocksize, dst, dst_cap, used);
}

#endif
