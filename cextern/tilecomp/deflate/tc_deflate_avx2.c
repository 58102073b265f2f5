/* What tc_deflate does to many bytes at a time for AVX2. */
#define TC_CODE "tc_deflate_code.h"
#include "tc_level_avx2.h"
