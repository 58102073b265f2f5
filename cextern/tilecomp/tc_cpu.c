#include "tc_cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

tc_cpu tc_cpu_detect(void)
{
#if TC_CPU_X86
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2") ||
        !__builtin_cpu_supports("popcnt"))
        return TC_CPU_PORTABLE; /* every processor with AVX2 and BMI1 has LZCNT too */
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512vbmi") ||
        !__builtin_cpu_supports("avx512vbmi2"))
        return TC_CPU_AVX2;
    return TC_CPU_AVX512;
#else
    return TC_CPU_PORTABLE;
#endif
}

static tc_cpu choose_level(void)
{
    static const char *const names[] = {"portable", "avx2", "avx512"};
    const tc_cpu best = tc_cpu_detect();
    const char *const asked = getenv("ASTROPY_TILECOMP_CPU");

    for (int level = TC_CPU_PORTABLE; asked && level < (int)best; level++)
        if (strcmp(asked, names[level]) == 0) return (tc_cpu)level;
    return best;
}

tc_cpu tc_cpu_level(void)
{
    static atomic_int chosen = -1; /* a cache of a constant: every thread that fills it stores the same value */
    int level = atomic_load_explicit(&chosen, memory_order_relaxed);

    if (level < 0) {
        level = choose_level();
        atomic_store_explicit(&chosen, level, memory_order_relaxed);
    }
    return (tc_cpu)level;
}
