/* The noise estimate for AVX2. */
#define TC_CODE "tc_noise_code.h"
#include "tc_level_avx2.h"
