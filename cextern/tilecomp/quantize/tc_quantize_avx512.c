/* Quantization, both ways, for AVX-512. */
#define TC_CODE "tc_quantize_code.h"
#include "tc_level_avx512.h"
