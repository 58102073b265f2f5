/* The noise estimate for AVX-512. */
#define TC_CODE "tc_noise_code.h"
#include "tc_level_avx512.h"
