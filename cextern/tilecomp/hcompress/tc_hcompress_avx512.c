/* The parts of HCOMPRESS_1 that exist once for every CPU level, for AVX-512. */
#define TC_CODE "tc_hcompress_code.h"
#include "tc_level_avx512.h"
