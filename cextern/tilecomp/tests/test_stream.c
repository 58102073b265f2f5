#include "tc_stream.h"

#include "tc_test.h"

enum { MOST = 300, GUARD = 80 };

/* Every length from every place in a line to every other, with nothing written beside it. */
static void test_every_place(void)
{
    static uint8_t from[64 + MOST], to[GUARD + 64 + MOST + GUARD], expected[sizeof to];
    uint64_t seed = 3;

    for (size_t i = 0; i < sizeof from; i++) from[i] = (uint8_t)tc_random(&seed);
    for (size_t n = 0; n <= MOST; n += n < 140 ? 1 : 13) {
        for (size_t place = 0; place < 64; place++) {
            const size_t source = 7 * place % 64;

            memset(to, 0xa5, sizeof to);
            memset(expected, 0xa5, sizeof expected);
            memcpy(expected + GUARD + place, from + source, n);
            tc_stream_copy(to + GUARD + place, from + source, n);
            tc_stream_end();
            TC_CHECK_BYTES(to, expected, sizeof to);
        }
    }
}

int main(void)
{
    TC_RUN(test_every_place);
    return tc_test_summary();
}
