/* The noise estimate in plain C. */
#define TC_CODE "tc_noise_code.h"
#include "tc_level_portable.h"
