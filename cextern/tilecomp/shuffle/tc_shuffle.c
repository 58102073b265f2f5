#include "tc_shuffle.h"

#include "tc_cpu.h"

TC_BY_LEVEL(void, tc_byteswap, (const void *src, size_t n, size_t width, void *dst), (src, n, width, dst))
TC_BY_LEVEL(void, tc_shuffle, (const void *src, size_t n, size_t width, uint8_t *dst), (src, n, width, dst))
TC_BY_LEVEL(void, tc_unshuffle, (const uint8_t *src, size_t n, size_t width, void *dst), (src, n, width, dst))
