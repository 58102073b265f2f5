/* The parts of HCOMPRESS_1 that exist once for every CPU level, for AVX2. */
#define TC_CODE "tc_hcompress_code.h"
#include "tc_level_avx2.h"
