/* Between rows of magnitudes and bit planes of packed cells: a transposition of bits; a part of tc_hcompress_code.h.  Both
 * ways go through bytes that hold eight planes of an element, for the 2 x 32 elements of 16 cells at a time. */
#include <string.h>

#include "tc_hcompress_cells.h"
#include "tc_hcompress_transform.h"

#define BYTE_PLANES 8u

/* ---- plain C ---- */

/* spread[b] has the bits of a byte of two cells in eight bytes: the upper row in the low half, the lower one above. */
#define SPREAD(b)                                                                                                      \
    ((uint64_t)((b) >> 7 & 1) | (uint64_t)((b) >> 6 & 1) << 8 | (uint64_t)((b) >> 3 & 1) << 16 |                       \
     (uint64_t)((b) >> 2 & 1) << 24 | (uint64_t)((b) >> 5 & 1) << 32 | (uint64_t)((b) >> 4 & 1) << 40 |                \
     (uint64_t)((b) >> 1 & 1) << 48 | (uint64_t)((b) & 1) << 56)
static const uint64_t spread[256] = {TC_ALL_BYTES(SPREAD)};

/* The magnitudes of 16 cells, as far as these planes go. */
static void join_planes(const tc_hcompress_plane *planes, unsigned n_planes, size_t first, uint32_t top[TC_CELL_PIXELS],
                        uint32_t bottom[TC_CELL_PIXELS])
{
    memset(top, 0, TC_CELL_PIXELS * sizeof *top);
    memset(bottom, 0, TC_CELL_PIXELS * sizeof *bottom);
    for (unsigned low = 0; low < n_planes; low += BYTE_PLANES) {
        uint64_t sums[8] = {0};

        for (unsigned p = low; p < n_planes && p < low + BYTE_PLANES; p++) {
            if (!planes[p].cells) continue;
            const uint64_t cells = tc_load_cells(planes[p].cells, planes[p].bit, first);
            for (int b = 0; b < 8; b++) sums[b] |= spread[cells >> (56 - 8 * b) & 0xff] << (p - low);
        }
        for (int b = 0; b < 8; b++)
            for (int x = 0; x < 4; x++) {
                top[4 * b + x] |= (uint32_t)(sums[b] >> (8 * x) & 0xff) << low;
                bottom[4 * b + x] |= (uint32_t)(sums[b] >> (32 + 8 * x) & 0xff) << low;
            }
    }
}

static void store_row(const tc_hcompress_quadrant *quadrant, size_t at, const uint32_t *values, size_t n, unsigned low,
                      bool highest)
{
    if (!quadrant->wide) {
        memcpy((int32_t *)quadrant->coef + at, values, n * sizeof *values);
        return;
    }
    int64_t *const coef = (int64_t *)quadrant->coef + at;
    for (size_t i = 0; i < n; i++) coef[i] = (highest ? 0 : coef[i]) | (int64_t)((uint64_t)values[i] << low);
}

static void put_planes_plainly(const tc_hcompress_quadrant *quadrant, const tc_hcompress_plane *planes,
                               unsigned n_planes, unsigned low)
{
    const size_t height = quadrant->height, width = quadrant->width;
    const bool highest = low + n_planes == quadrant->n_planes;

    for (size_t i = 0; i < height; i += 2)
        for (size_t j = 0; j < width; j += TC_CELL_PIXELS) {
            const size_t n = width - j < TC_CELL_PIXELS ? width - j : TC_CELL_PIXELS;
            const size_t at = i * quadrant->stride + j;
            uint32_t top[TC_CELL_PIXELS], bottom[TC_CELL_PIXELS];

            join_planes(planes, n_planes, i / 2 * tc_half(width) + j / 2, top, bottom);
            store_row(quadrant, at, top, n, low, highest);
            if (i + 1 < height) store_row(quadrant, at + quadrant->stride, bottom, n, low, highest);
        }
}

static void load_row(const tc_hcompress_quadrant *quadrant, size_t at, size_t n, unsigned low,
                     uint32_t values[TC_CELL_PIXELS])
{
    for (size_t i = 0; i < n; i++)
        values[i] = quadrant->wide ? (uint32_t)(((int64_t *)quadrant->coef)[at + i] >> low)
                                   : (uint32_t)((int32_t *)quadrant->coef)[at + i];
    for (size_t i = n; i < TC_CELL_PIXELS; i++) values[i] = 0;
}

/* Eight elements, of two cells, of which byte `low` / 8 is wanted, in the order of the bits of a byte. */
static uint64_t gather_bytes(const uint32_t *top, const uint32_t *bottom, unsigned low)
{
    const uint32_t in_order[8] = {bottom[3], bottom[2], top[3], top[2], bottom[1], bottom[0], top[1], top[0]};
    uint64_t bytes = 0;

    for (int i = 0; i < 8; i++) bytes |= (uint64_t)(in_order[i] >> low & 0xff) << (8 * i);
    return bytes;
}

/* Bit p of each of eight bytes, the lowest byte in the lowest bit. */
static uint64_t gather_bits(uint64_t bytes, unsigned p)
{
    return ((bytes >> p & 0x0101010101010101u) * 0x0102040810204080u) >> 56;
}

static void take_planes_plainly(const tc_hcompress_quadrant *quadrant, unsigned low, unsigned n_planes, uint8_t *packed,
                                size_t plane_nbytes)
{
    const size_t height = quadrant->height, width = quadrant->width;

    for (size_t i = 0; i < height; i += 2)
        for (size_t j = 0; j < width; j += TC_CELL_PIXELS) {
            const size_t n = width - j < TC_CELL_PIXELS ? width - j : TC_CELL_PIXELS;
            const size_t at = i * quadrant->stride + j, first = i / 2 * tc_half(width) + j / 2;
            uint32_t top[TC_CELL_PIXELS], bottom[TC_CELL_PIXELS];

            load_row(quadrant, at, n, low, top);
            load_row(quadrant, at + quadrant->stride, i + 1 < height ? n : 0, low, bottom);
            for (unsigned byte = 0; byte < n_planes; byte += BYTE_PLANES) {
                uint64_t bytes[8];

                for (int b = 0; b < 8; b++) bytes[b] = gather_bytes(top + 4 * b, bottom + 4 * b, byte);
                for (unsigned p = byte; p < n_planes && p < byte + BYTE_PLANES; p++) {
                    uint64_t cells = 0;

                    for (int b = 0; b < 8; b++) cells = cells << 8 | gather_bits(bytes[b], p - byte);
                    tc_store_cells(packed + p * plane_nbytes, first, cells);
                }
            }
        }
}

/* ---- AVX-512, for int32_t ---- */

#if HAS_AVX512

/* Element x of the two rows of 32 (the lower one from 32 on) <-> its bit in a word of cells. */
#define BIT_OF(x) (63 - ((x) % 32 / 2 * 4 + (x) / 32 * 2 + (x) % 2))
#define ELEMENT_OF(bit) ((63 - (bit)) / 4 * 2 + (63 - (bit)) / 2 % 2 * 32 + (63 - (bit)) % 2)
static const uint8_t bit_of[64] = {TC_SIXTY_FOUR(BIT_OF, 0)};
static const uint8_t element_of[64] = {TC_SIXTY_FOUR(ELEMENT_OF, 0)};

/* Up to eight planes of 16 cells, a byte an element, in the order of the elements. */
static inline __m512i join_bytes(const tc_hcompress_plane *planes, unsigned n_planes, size_t first)
{
    __m512i sums = _mm512_setzero_si512(), bit = _mm512_set1_epi8(1);

    for (unsigned p = 0; p < n_planes; p++, bit = _mm512_add_epi8(bit, bit)) {
        if (!planes[p].cells) continue;
        const __mmask64 cells = tc_load_cells(planes[p].cells, planes[p].bit, first);
        sums = _mm512_mask_add_epi8(sums, cells, sums, bit);
    }
    return _mm512_permutexvar_epi8(_mm512_loadu_si512(bit_of), sums);
}

/* 16 of the bytes as integers, shifted to their place. */
#define QUARTER(bytes, quarter, shift)                                                                                 \
    _mm512_sll_epi32(_mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(bytes, quarter)), shift)

/* Which of elements [first, first + 16) there are, of n. */
static inline uint16_t which_of_16(size_t n, size_t first)
{
    return n >= first + 16 ? 0xffff : n <= first ? 0 : (uint16_t)((1u << (n - first)) - 1);
}

static void put_planes_by_vectors(const tc_hcompress_quadrant *quadrant, const tc_hcompress_plane *planes,
                                  unsigned n_planes)
{
    const size_t height = quadrant->height, width = quadrant->width;

    for (size_t i = 0; i < height; i += 2) {
        int32_t *const top = (int32_t *)quadrant->coef + i * quadrant->stride;
        int32_t *const bottom = i + 1 < height ? top + quadrant->stride : top;

        for (size_t j = 0; j < width; j += TC_CELL_PIXELS) {
            const size_t n = width - j, first = i / 2 * tc_half(width) + j / 2;
            const __mmask16 left = which_of_16(n, 0), right = which_of_16(n, 16);
            const __mmask16 left_below = i + 1 < height ? left : 0, right_below = i + 1 < height ? right : 0;
            __m512i v[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(),
                            _mm512_setzero_si512()};

            for (unsigned low = 0; low < n_planes; low += BYTE_PLANES) {
                const unsigned count = n_planes - low < BYTE_PLANES ? n_planes - low : BYTE_PLANES;
                const __m512i bytes = join_bytes(planes + low, count, first);
                const __m128i shift = _mm_cvtsi32_si128((int)low);

                v[0] = _mm512_or_si512(v[0], QUARTER(bytes, 0, shift));
                v[1] = _mm512_or_si512(v[1], QUARTER(bytes, 1, shift));
                v[2] = _mm512_or_si512(v[2], QUARTER(bytes, 2, shift));
                v[3] = _mm512_or_si512(v[3], QUARTER(bytes, 3, shift));
            }
            _mm512_mask_storeu_epi32(top + j, left, v[0]);
            _mm512_mask_storeu_epi32(top + j + 16, right, v[1]);
            _mm512_mask_storeu_epi32(bottom + j, left_below, v[2]);
            _mm512_mask_storeu_epi32(bottom + j + 16, right_below, v[3]);
        }
    }
}

/* Byte low / 8 of four times 16 elements, in the order of the bits of a word of cells. */
static inline __m512i narrow(const __m512i v[4], unsigned low)
{
    const __m128i shift = _mm_cvtsi32_si128((int)low);
    const __m256i upper = _mm256_set_m128i(_mm512_cvtepi32_epi8(_mm512_srl_epi32(v[1], shift)),
                                           _mm512_cvtepi32_epi8(_mm512_srl_epi32(v[0], shift)));
    const __m256i lower = _mm256_set_m128i(_mm512_cvtepi32_epi8(_mm512_srl_epi32(v[3], shift)),
                                           _mm512_cvtepi32_epi8(_mm512_srl_epi32(v[2], shift)));

    return _mm512_permutexvar_epi8(_mm512_loadu_si512(element_of),
                                   _mm512_inserti64x4(_mm512_castsi256_si512(upper), lower, 1));
}

static void take_planes_by_vectors(const tc_hcompress_quadrant *quadrant, unsigned n_planes, uint8_t *packed,
                                   size_t plane_nbytes)
{
    const size_t height = quadrant->height, width = quadrant->width;

    for (size_t i = 0; i < height; i += 2) {
        const int32_t *const top = (const int32_t *)quadrant->coef + i * quadrant->stride;
        const int32_t *const bottom = i + 1 < height ? top + quadrant->stride : top;

        for (size_t j = 0; j < width; j += TC_CELL_PIXELS) {
            const size_t n = width - j, first = i / 2 * tc_half(width) + j / 2;
            const __mmask16 left = which_of_16(n, 0), right = which_of_16(n, 16);
            const __mmask16 left_below = i + 1 < height ? left : 0, right_below = i + 1 < height ? right : 0;
            const __m512i v[4] = {
                _mm512_maskz_loadu_epi32(left, top + j), _mm512_maskz_loadu_epi32(right, top + j + 16),
                _mm512_maskz_loadu_epi32(left_below, bottom + j),
                _mm512_maskz_loadu_epi32(right_below, bottom + j + 16)};

            for (unsigned low = 0; low < n_planes; low += BYTE_PLANES) {
                const __m512i bytes = narrow(v, low);
                __m512i bit = _mm512_set1_epi8(1);

                for (unsigned p = low; p < n_planes && p < low + BYTE_PLANES; p++) {
                    tc_store_cells(packed + p * plane_nbytes, first, _mm512_test_epi8_mask(bytes, bit));
                    bit = _mm512_add_epi8(bit, bit);
                }
            }
        }
    }
}

#endif

/* Put planes [low, low + n_planes) of a quadrant into its magnitudes, planes[0] being plane `low`; the other planes
 * of the magnitudes are kept, but those above are 0 if these are the highest ones of the quadrant. */
static void put_planes(const tc_hcompress_quadrant *quadrant, const tc_hcompress_plane *planes, unsigned n_planes,
                       unsigned low)
{
#if HAS_AVX512
    if (!quadrant->wide) {
        put_planes_by_vectors(quadrant, planes, n_planes);
        return;
    }
#endif
    put_planes_plainly(quadrant, planes, n_planes, low);
}

/* Take planes [low, low + n_planes) out of the magnitudes: plane low + p goes to packed + p * plane_nbytes. */
static void take_planes(const tc_hcompress_quadrant *quadrant, unsigned low, unsigned n_planes, uint8_t *packed,
                        size_t plane_nbytes)
{
#if HAS_AVX512
    if (!quadrant->wide) {
        take_planes_by_vectors(quadrant, n_planes, packed, plane_nbytes);
        return;
    }
#endif
    take_planes_plainly(quadrant, low, n_planes, packed, plane_nbytes);
}
