/* The RICE_1 kernels for AVX-512. */
#define TC_CODE "tc_rice_code.h"
#include "tc_level_avx512.h"
