/* The parts of HCOMPRESS_1 that exist once for every CPU level, in plain C. */
#define TC_CODE "tc_hcompress_code.h"
#include "tc_level_portable.h"
