/* Which instruction set the kernels may use, decided once at run time. */
#ifndef TC_CPU_H
#define TC_CPU_H

typedef enum {
    TC_CPU_PORTABLE = 0, /* plain C */
    TC_CPU_AVX2,         /* AVX2, BMI1, BMI2, LZCNT */
    TC_CPU_AVX512        /* the above and AVX-512 F, BW, CD, DQ, VL, VBMI, VBMI2 */
} tc_cpu;

#if defined(__x86_64__) && defined(__GNUC__)
#define TC_CPU_X86 1
#define TC_TARGET_AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))
#define TC_TARGET_AVX512                                                                                               \
    __attribute__((target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx2,bmi,bmi2,lzcnt,popcnt")))
#else
#define TC_CPU_X86 0
#define TC_TARGET_AVX2
#define TC_TARGET_AVX512
#endif

/* The best level that the processor has, or the lower one that ASTROPY_TILECOMP_CPU=portable|avx2|avx512 asks for.
 * The variable is read on the first call; the answer stays the same for the life of the process. */
tc_cpu tc_cpu_level(void);

/* The best level that the processor has, whatever the environment says. */
tc_cpu tc_cpu_detect(void);

#endif
