/* Byte order and byte planes in plain C. */
#define TC_CODE "tc_shuffle_code.h"
#include "tc_level_portable.h"
