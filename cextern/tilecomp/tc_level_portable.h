/* Compile the header TC_CODE for the portable level: its functions are called LEVEL(name). */
#include "tc_cpu.h"

#define LEVEL(name) LEVEL_OF(name)
#define LEVEL_OF(name) name##_portable
#define HAS_AVX2 0
#define HAS_AVX512 0
#include TC_CODE
