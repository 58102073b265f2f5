/* What every micro-benchmark needs: a clock, and random numbers that are the same in every run. */
#ifndef BENCH_H
#define BENCH_H

#include <math.h>
#include <stdint.h>
#include <time.h>

/* Processor time of this thread. */
static inline double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* Between 0 and 1, neither of them. */
static inline double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)((*state >> 11) + 1) / 9007199254740993.0;
}

/* Of mean 0 and sigma 1. */
static inline double normal(uint64_t *state)
{
    const double length = sqrt(-2 * log(uniform(state)));

    return length * cos(6.283185307179586 * uniform(state));
}

#endif
