/* Which instruction set the kernels may use, decided once at run time. */
#ifndef TC_CPU_H
#define TC_CPU_H

typedef enum {
    TC_CPU_PORTABLE = 0, /* plain C */
    TC_CPU_AVX2,         /* AVX2, BMI1, BMI2, LZCNT */
    TC_CPU_AVX512        /* the above and AVX-512 F, BW, CD, DQ, VL, VBMI, VBMI2 */
} tc_cpu;

#define TC_AVX2 "avx2,bmi,bmi2,lzcnt,popcnt"
#define TC_AVX512 "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi,avx512vbmi2," TC_AVX2

#if defined(__x86_64__) && defined(__GNUC__)
#define TC_CPU_X86 1
#else
#define TC_CPU_X86 0
#endif

/* The best level that the processor has, or the lower one that ASTROPY_TILECOMP_CPU=portable|avx2|avx512 asks for.
 * The variable is read on the first call; the answer stays the same for the life of the process. */
tc_cpu tc_cpu_level(void) __attribute__((const));

/* The best level that the processor has, whatever the environment says. */
tc_cpu tc_cpu_detect(void);

/* ---- functions that exist once for every level: name_portable, name_avx2, name_avx512 ----
 *
 * Their code is written once, in a header that tc_level_portable.h, tc_level_avx2.h and tc_level_avx512.h compile. */

#define TC_LEVELS(name) name##_portable, name##_avx2, name##_avx512

/* The function of the level in use. */
#if TC_CPU_X86
#define TC_AT_LEVEL(name)                                                                                              \
    (tc_cpu_level() == TC_CPU_AVX512 ? name##_avx512 : tc_cpu_level() == TC_CPU_AVX2 ? name##_avx2 : name##_portable)
#else
#define TC_AT_LEVEL(name) name##_portable
#endif

/* Define `name`, declared before, by the functions of the levels. */
#define TC_BY_LEVEL(type, name, parameters, arguments)                                                                 \
    __typeof__(name) TC_LEVELS(name);                                                                                  \
    type name parameters { return TC_AT_LEVEL(name) arguments; }

/* #pragma, with macros put in. */
#define TC_PRAGMA(...) TC_PRAGMA_OF(__VA_ARGS__)
#define TC_PRAGMA_OF(...) _Pragma(#__VA_ARGS__)

#define TC_INLINE static inline __attribute__((always_inline))

#endif
