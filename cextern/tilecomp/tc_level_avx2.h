/* Compile the header TC_CODE for the level TC_CPU_AVX2: its functions are called LEVEL(name). */
#include "tc_cpu.h"

#if TC_CPU_X86
#include <immintrin.h>

#define LEVEL(name) LEVEL_OF(name)
#define LEVEL_OF(name) name##_avx2
#define HAS_AVX2 1
#define HAS_AVX512 0
#ifdef __clang__
TC_PRAGMA(clang attribute push(__attribute__((target(TC_AVX2))), apply_to = function))
#include TC_CODE
TC_PRAGMA(clang attribute pop)
#else
TC_PRAGMA(GCC target(TC_AVX2))
#include TC_CODE
#endif

#endif
