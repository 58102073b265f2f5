/* A tiny test harness: a failed check prints where and what, and counts; the program's exit status says whether any did.
 *
 *     static void test_empty_stream(void) { TC_CHECK_EQ(tc_x_decode(NULL, 0), TC_TRUNCATED); }
 *     int main(void) { TC_RUN(test_empty_stream); return tc_test_summary(); }
 */
#ifndef TC_TEST_H
#define TC_TEST_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long tc_test_checks, tc_test_failures;

#define TC_TEST_MOST_MESSAGES 20

#define TC_CHECK(condition)                                                                                            \
    do {                                                                                                               \
        tc_test_checks++;                                                                                              \
        if (!(condition) && tc_test_failures++ < TC_TEST_MOST_MESSAGES)                                                \
            fprintf(stderr, "%s:%d: %s: not true: %s\n", __FILE__, __LINE__, __func__, #condition);                    \
    } while (0)

/* Integers of any type that fits int64_t. */
#define TC_CHECK_EQ(found, expected)                                                                                   \
    do {                                                                                                               \
        const int64_t tc_found = (int64_t)(found), tc_expected = (int64_t)(expected);                                  \
        tc_test_checks++;                                                                                              \
        if (tc_found != tc_expected && tc_test_failures++ < TC_TEST_MOST_MESSAGES)                                     \
            fprintf(stderr, "%s:%d: %s: %s is %" PRId64 ", expected %" PRId64 " (%s)\n", __FILE__, __LINE__, __func__, \
                    #found, tc_found, tc_expected, #expected);                                                         \
    } while (0)

#define TC_CHECK_BYTES(found, expected, nbytes) tc_check_bytes(__FILE__, __LINE__, __func__, found, expected, nbytes)

static inline void tc_check_bytes(const char *file, int line, const char *test, const void *found,
                                  const void *expected, size_t nbytes)
{
    const uint8_t *const a = found, *const b = expected;

    tc_test_checks++;
    if (nbytes == 0 || memcmp(a, b, nbytes) == 0 || tc_test_failures++ >= TC_TEST_MOST_MESSAGES) return;
    for (size_t i = 0; i < nbytes; i++)
        if (a[i] != b[i]) {
            fprintf(stderr, "%s:%d: %s: byte %zu of %zu is 0x%02x, expected 0x%02x\n", file, line, test, i, nbytes,
                    a[i], b[i]);
            return;
        }
}

/* Random numbers with a seed that the test chooses: the same on every machine (splitmix64). */
static inline uint64_t tc_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A copy in a block of exactly `nbytes`, so that a sanitizer sees every step outside; free() it. */
static inline uint8_t *tc_exact_copy(const void *src, size_t nbytes)
{
    uint8_t *const copy = malloc(nbytes ? nbytes : 1);

    if (!copy) abort();
    if (nbytes) memcpy(copy, src, nbytes);
    return copy;
}

#define TC_RUN(test)                                                                                                   \
    do {                                                                                                               \
        const long tc_before = tc_test_failures;                                                                       \
        test();                                                                                                        \
        if (tc_test_failures != tc_before) fprintf(stderr, "FAILED %s\n", #test);                                      \
    } while (0)

static inline int tc_test_summary(void)
{
    printf("%ld checks, %ld failed\n", tc_test_checks, tc_test_failures);
    return tc_test_failures || !tc_test_checks ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
