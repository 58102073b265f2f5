/* What tc_deflate does to many bytes at a time in plain C. */
#define TC_CODE "tc_deflate_code.h"
#include "tc_level_portable.h"
