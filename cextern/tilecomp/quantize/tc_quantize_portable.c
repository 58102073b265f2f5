/* Quantization, both ways, in plain C. */
#define TC_CODE "tc_quantize_code.h"
#include "tc_level_portable.h"
