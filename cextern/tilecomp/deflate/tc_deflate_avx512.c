/* What tc_deflate does to many bytes at a time for AVX-512. */
#define TC_CODE "tc_deflate_code.h"
#include "tc_level_avx512.h"
