#include "tc_stream.h"

#include <stdint.h>
#include <string.h>

#include "tc_cpu.h"

#if TC_CPU_X86
#include <emmintrin.h>

#define LINE 64 /* bytes that go to memory at once */

void tc_stream_copy(void *dst, const void *src, size_t n)
{
    uint8_t *to = dst;
    const uint8_t *from = src;
    size_t head = -(uintptr_t)to % LINE;

    if (head > n) head = n;
    memcpy(to, from, head);
    for (to += head, from += head, n -= head; n >= LINE; to += LINE, from += LINE, n -= LINE)
        for (size_t k = 0; k < LINE; k += sizeof(__m128i))
            _mm_stream_si128((__m128i *)(to + k), _mm_loadu_si128((const __m128i *)(from + k)));
    memcpy(to, from, n);
}

void tc_stream_end(void) { _mm_sfence(); }

#else

void tc_stream_copy(void *dst, const void *src, size_t n) { memcpy(dst, src, n); }

void tc_stream_end(void) {}

#endif
