/* Byte order and byte planes for AVX2. */
#define TC_CODE "tc_shuffle_code.h"
#include "tc_level_avx2.h"
