/* Quantization, both ways, for AVX2. */
#define TC_CODE "tc_quantize_code.h"
#include "tc_level_avx2.h"
