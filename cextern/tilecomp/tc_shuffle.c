#include "tc_shuffle.h"

#include <string.h>

#include "tc_cpu.h"

/* Plain loops that the compiler turns into vector code, compiled once for every CPU level.  memcpy of one pixel is an
 * unaligned load or store. */
#define BYTESWAP(LEVEL, TARGET, BITS)                                                                                  \
    TARGET static void LEVEL##_byteswap##BITS(const uint8_t *restrict src, size_t n, uint8_t *restrict dst)            \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                                               \
            uint##BITS##_t pixel;                                                                                      \
                                                                                                                       \
            memcpy(&pixel, src + i * sizeof pixel, sizeof pixel);                                                      \
            pixel = __builtin_bswap##BITS(pixel);                                                                      \
            memcpy(dst + i * sizeof pixel, &pixel, sizeof pixel);                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    TARGET static void LEVEL##_byteswap_in_place##BITS(uint8_t *data, size_t n)                                        \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                                               \
            uint##BITS##_t pixel;                                                                                      \
                                                                                                                       \
            memcpy(&pixel, data + i * sizeof pixel, sizeof pixel);                                                     \
            pixel = __builtin_bswap##BITS(pixel);                                                                      \
            memcpy(data + i * sizeof pixel, &pixel, sizeof pixel);                                                     \
        }                                                                                                              \
    }

#define PIXEL(p, BITS, i) ((uint##BITS##_t)(p)[i])

#define SHUFFLE(LEVEL, TARGET)                                                                                         \
    BYTESWAP(LEVEL, TARGET, 16)                                                                                        \
    BYTESWAP(LEVEL, TARGET, 32)                                                                                        \
    BYTESWAP(LEVEL, TARGET, 64)                                                                                        \
                                                                                                                       \
    TARGET static void LEVEL##_shuffle16(const uint8_t *restrict src, size_t n, uint8_t *restrict dst)                 \
    {                                                                                                                  \
        uint8_t *restrict p0 = dst, *restrict p1 = dst + n;                                                            \
                                                                                                                       \
        for (size_t i = 0; i < n; i++) {                                                                               \
            uint16_t pixel;                                                                                            \
                                                                                                                       \
            memcpy(&pixel, src + 2 * i, sizeof pixel);                                                                 \
            p0[i] = (uint8_t)(pixel >> 8);                                                                             \
            p1[i] = (uint8_t)pixel;                                                                                    \
        }                                                                                                              \
    }                                                                                                                  \
    TARGET static void LEVEL##_shuffle32(const uint8_t *restrict src, size_t n, uint8_t *restrict dst)                 \
    {                                                                                                                  \
        for (unsigned byte = 0; byte < 4; byte++, dst += n)                                                            \
            for (size_t i = 0; i < n; i++) dst[i] = src[4 * i + 3 - byte];                                             \
    }                                                                                                                  \
    TARGET static void LEVEL##_shuffle64(const uint8_t *restrict src, size_t n, uint8_t *restrict dst)                 \
    {                                                                                                                  \
        for (unsigned byte = 0; byte < 8; byte++, dst += n)                                                            \
            for (size_t i = 0; i < n; i++) dst[i] = src[8 * i + 7 - byte];                                             \
    }                                                                                                                  \
    TARGET static void LEVEL##_unshuffle16(const uint8_t *restrict src, size_t n, uint8_t *restrict dst)               \
    {                                                                                                                  \
        const uint8_t *restrict p0 = src, *restrict p1 = src + n;                                                      \
                                                                                                                       \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const uint16_t pixel = (uint16_t)(PIXEL(p0, 16, i) << 8 | PIXEL(p1, 16, i));                               \
                                                                                                                       \
            memcpy(dst + 2 * i, &pixel, sizeof pixel);                                                                 \
        }                                                                                                              \
    }                                                                                                                  \
    TARGET static void LEVEL##_unshuffle32(const uint8_t *restrict src, size_t n, uint8_t *restrict dst)               \
    {                                                                                                                  \
        const uint8_t *restrict p0 = src, *restrict p1 = p0 + n, *restrict p2 = p1 + n, *restrict p3 = p2 + n;         \
                                                                                                                       \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const uint32_t pixel = PIXEL(p0, 32, i) << 24 | PIXEL(p1, 32, i) << 16 | PIXEL(p2, 32, i) << 8 |           \
                                   PIXEL(p3, 32, i);                                                                   \
                                                                                                                       \
            memcpy(dst + 4 * i, &pixel, sizeof pixel);                                                                 \
        }                                                                                                              \
    }                                                                                                                  \
    TARGET static void LEVEL##_unshuffle64(const uint8_t *restrict src, size_t n, uint8_t *restrict dst)               \
    {                                                                                                                  \
        const uint8_t *restrict p0 = src, *restrict p1 = p0 + n, *restrict p2 = p1 + n, *restrict p3 = p2 + n;         \
        const uint8_t *restrict p4 = p3 + n, *restrict p5 = p4 + n, *restrict p6 = p5 + n, *restrict p7 = p6 + n;      \
                                                                                                                       \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const uint64_t pixel = PIXEL(p0, 64, i) << 56 | PIXEL(p1, 64, i) << 48 | PIXEL(p2, 64, i) << 40 |          \
                                   PIXEL(p3, 64, i) << 32 | PIXEL(p4, 64, i) << 24 | PIXEL(p5, 64, i) << 16 |          \
                                   PIXEL(p6, 64, i) << 8 | PIXEL(p7, 64, i);                                           \
                                                                                                                       \
            memcpy(dst + 8 * i, &pixel, sizeof pixel);                                                                 \
        }                                                                                                              \
    }

SHUFFLE(portable, )
SHUFFLE(avx2, TC_TARGET_AVX2)
SHUFFLE(avx512, TC_TARGET_AVX512)

/* By CPU level and by width 2, 4, 8. */
typedef void transform(const uint8_t *restrict src, size_t n, uint8_t *restrict dst);
typedef void in_place_transform(uint8_t *data, size_t n);

#define WIDTHS(name) {name##16, name##32, name##64}
#define LEVELS(name) {WIDTHS(portable_##name), WIDTHS(avx2_##name), WIDTHS(avx512_##name)}

static transform *const byteswaps[3][3] = LEVELS(byteswap);
static in_place_transform *const in_place_byteswaps[3][3] = LEVELS(byteswap_in_place);
static transform *const shuffles[3][3] = LEVELS(shuffle);
static transform *const unshuffles[3][3] = LEVELS(unshuffle);

static int index_of_width(size_t width)
{
    return width == 2 ? 0 : width == 4 ? 1 : width == 8 ? 2 : -1;
}

static void apply(transform *const by_level[3][3], const uint8_t *src, size_t n, size_t width, uint8_t *dst)
{
    const int which = index_of_width(width);

    if (which >= 0) by_level[tc_cpu_level()][which](src, n, dst);
    else if (width == 1 && n) memcpy(dst, src, n);
}

void tc_byteswap(const void *src, size_t n, size_t width, void *dst)
{
    const int which = index_of_width(width);

    if (src != dst) apply(byteswaps, src, n, width, dst);
    else if (which >= 0) in_place_byteswaps[tc_cpu_level()][which](dst, n);
}

void tc_shuffle(const void *src, size_t n, size_t width, uint8_t *dst)
{
    apply(shuffles, src, n, width, dst);
}

void tc_unshuffle(const uint8_t *src, size_t n, size_t width, void *dst)
{
    apply(unshuffles, src, n, width, dst);
}
