/* The RICE_1 kernels in plain C. */
#define TC_CODE "tc_rice_code.h"
#include "tc_level_portable.h"
