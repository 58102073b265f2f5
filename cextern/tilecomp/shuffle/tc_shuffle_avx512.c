/* Byte order and byte planes for AVX-512. */
#define TC_CODE "tc_shuffle_code.h"
#include "tc_level_avx512.h"
