/* The RICE_1 kernels for AVX2. */
#define TC_CODE "tc_rice_code.h"
#include "tc_level_avx2.h"
