/* HCOMPRESS_1, FITS 4.0 section 10.4.4.  A tile of R rows (ny) and C columns (nx, the fast axis) is one stream:
 *   dd 99          mark
 *   R, C           4 bytes each, big-endian as everything
 *   scale          4 bytes, signed; coefficients were divided by it if it is greater than 1
 *   A00            8 bytes, signed: coefficient (0, 0), the mean
 *   P0, P1, P2     1 byte each: bit planes of the quadrants (coarse), (one difference), (both differences)
 *   planes         of the top left, top right, bottom left and bottom right quadrant: see tc_hcompress_planes_code.h
 *   0000           end mark, then zeros up to a whole byte
 *   signs          1 bit for each coefficient that is not 0, in raster order, 1 = negative; zeros up to a whole byte
 * Transform: with L = ceil(log2(max(R, C))), each level k = 0 ... L - 1 turns every 2 x 2 block (a b / g d) of what is
 *   left into a mean h0 = (a+b+g+d) / 2 and differences hx = (d+g-b-a) / 2, hy = (d-g+b-a) / 2, hc = (d-g-b+a) / 2,
 *   rounded down (level 0 does not divide); h0 is then rounded to a multiple of 2^(k+2), hx and hy to one of 2^(k+1),
 *   so that the bits that the four have in common are kept once.  Means go to the top left quarter and are the input of
 *   the next level, hy to the right of them, hx below, hc to the bottom right.  At odd edges a missing pixel counts
 *   as its neighbour.
 * Decoding takes the steps back and restores these bits; smoothing first moves each difference, by at most scale / 2,
 *   towards what the neighbouring means let expect.
 * The stream states its own size, which has to be that of the tile.  Reads stay in [src, src + src_len), writes in
 * dst[ny][nx] and the scratch.  Time is bounded by the number of planes times the number of pixels. */
#include "tc_hcompress.h"

#include <string.h>

#include "tc_bits.h"
#include "tc_cpu.h"
#include "tc_hcompress_planes.h"
#include "tc_hcompress_signs.h"
#include "tc_hcompress_transform.h"

#define HEAD_NBYTES 25u
#define ALIGNMENT 64u
#define END_MARK 0u

static const uint8_t magic[2] = {0xdd, 0x99};

typedef struct {
    uint32_t rows, columns;
    int32_t scale;
    int64_t mean;         /* coefficient (0, 0) */
    uint8_t n_planes[3];
} head;

/* ---- the parts, of the level in use: tc_hcompress_code.h ---- */

TC_BY_LEVEL(void, tc_hcompress_inverse,
            (const tc_hcompress_tile *tile, int64_t smooth_most, int64_t low, int64_t high, int32_t *dst),
            (tile, smooth_most, low, high, dst))
TC_BY_LEVEL(void, tc_hcompress_forward, (const tc_hcompress_tile *tile, const int32_t *src), (tile, src))
TC_BY_LEVEL(size_t, tc_hcompress_planes_scratch, (size_t height, size_t width), (height, width))
TC_BY_LEVEL(tc_status, tc_hcompress_read_quadrant,
            (tc_bits *in, const tc_hcompress_quadrant *quadrant, void *scratch), (in, quadrant, scratch))
TC_BY_LEVEL(void, tc_hcompress_write_quadrant,
            (tc_bit_writer *out, const tc_hcompress_quadrant *quadrant, void *scratch), (out, quadrant, scratch))
TC_BY_LEVEL(tc_status, tc_hcompress_read_signs,
            (tc_bits *in, void *coef, size_t n, bool wide, uint32_t scale), (in, coef, n, wide, scale))
TC_BY_LEVEL(size_t, tc_hcompress_take_signs,
            (void *coef, size_t n, bool wide, uint32_t scale, uint8_t *signs), (coef, n, wide, scale, signs))

/* ---- scratch ---- */

static size_t aligned(size_t nbytes)
{
    return (nbytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bool size_is_valid(size_t nx, size_t ny)
{
    return nx > 0 && ny > 0 && nx <= TC_HCOMPRESS_MAX_PIXELS && ny <= TC_HCOMPRESS_MAX_PIXELS / nx;
}

/* Coefficients first; behind them the planes, and in their place, before or after their turn, the means. */
size_t tc_hcompress_scratch(size_t nx, size_t ny)
{
    size_t planes, means, signs;

    if (!size_is_valid(nx, ny)) return 0;
    planes = tc_hcompress_planes_scratch(tc_half(ny), tc_half(nx));
    means = sizeof(int64_t) * (tc_halved(ny, 1) * tc_halved(nx, 1) + tc_halved(ny, 2) * tc_halved(nx, 2));
    signs = nx * ny / 8 + 16;
    return ALIGNMENT + aligned(sizeof(int64_t) * nx * ny) + aligned(signs) + aligned(planes > means ? planes : means);
}

typedef struct {
    tc_hcompress_tile tile;
    uint8_t *signs;  /* used by the encoder only */
    uint8_t *planes; /* shares its place with tile.means */
} workspace;

static workspace lay_out(size_t nx, size_t ny, bool wide, void *scratch)
{
    const size_t size = wide ? sizeof(int64_t) : sizeof(int32_t), n_pixels = nx * ny;
    uint8_t *const coef = (uint8_t *)scratch + (ALIGNMENT - (uintptr_t)scratch % ALIGNMENT) % ALIGNMENT;
    uint8_t *const signs = coef + aligned(size * n_pixels);
    uint8_t *const rest = signs + aligned(n_pixels / 8 + 16);
    const tc_hcompress_tile tile = {
        .nx = nx, .ny = ny, .n_levels = tc_ceil_log2(nx > ny ? nx : ny), .wide = wide, .coef = coef,
        .means = {rest + size * tc_halved(ny, 1) * tc_halved(nx, 1), rest}};

    return (workspace){tile, signs, rest};
}

/* Quadrants in the order of the stream; returns the class of its planes. */
static unsigned quadrant_of(const tc_hcompress_tile *tile, unsigned index, tc_hcompress_quadrant *quadrant)
{
    const size_t below = tc_half(tile->ny), right = tc_half(tile->nx);
    const bool lower = index >= 2, righter = index % 2;
    const size_t first = (lower ? below * tile->nx : 0) + (righter ? right : 0);

    quadrant->height = lower ? tile->ny - below : below;
    quadrant->width = righter ? tile->nx - right : right;
    quadrant->coef = (uint8_t *)tile->coef + first * (tile->wide ? sizeof(int64_t) : sizeof(int32_t));
    quadrant->stride = tile->nx;
    quadrant->wide = tile->wide;
    return (unsigned)lower + (unsigned)righter;
}

/* ---- decoding ---- */

static uint64_t load_be(const uint8_t *src, unsigned nbytes)
{
    uint64_t value = 0;

    while (nbytes-- > 0) value = value << 8 | *src++;
    return value;
}

static tc_status read_head(const uint8_t *src, size_t src_len, head *h)
{
    if (src_len < sizeof magic) return TC_TRUNCATED;
    if (memcmp(src, magic, sizeof magic) != 0) return TC_BAD_MAGIC;
    if (src_len <= HEAD_NBYTES) return TC_TRUNCATED;
    h->rows = (uint32_t)load_be(src + 2, 4);
    h->columns = (uint32_t)load_be(src + 6, 4);
    h->scale = (int32_t)load_be(src + 10, 4);
    h->mean = (int64_t)load_be(src + 14, 8);
    memcpy(h->n_planes, src + 22, 3);
    return TC_OK;
}

/* Pixels of b bits cannot have more than b + L + 1 planes. */
static tc_status check_head(const head *h, size_t nx, size_t ny, int bits)
{
    const int n_levels = tc_ceil_log2(nx > ny ? nx : ny);
    const int most = bits + n_levels + 1 < TC_HCOMPRESS_MAX_PLANES ? bits + n_levels + 1 : TC_HCOMPRESS_MAX_PLANES;

    if (h->rows != ny || h->columns != nx) return TC_SIZE_MISMATCH;
    for (int i = 0; i < 3; i++)
        if (h->n_planes[i] > most) return TC_OUT_OF_RANGE;
    return TC_OK;
}

static int64_t most_of_smoothing(const head *h, bool smooth)
{
    return smooth && h->scale > 1 ? h->scale / 2 : 0;
}

/* Whether words of so many bits hold everything that may become of these coefficients. */
static bool fits(const head *h, int word_bits, bool smooth)
{
    const int n_levels = tc_ceil_log2(h->columns > h->rows ? h->columns : h->rows);
    const uint64_t scale = h->scale > 1 ? (uint64_t)h->scale : 1;
    uint64_t mean = h->mean < 0 ? -(uint64_t)h->mean : (uint64_t)h->mean, largest = 0;

    for (int i = 0; i < 3; i++) largest |= ((uint64_t)1 << h->n_planes[i]) - 1;
    if (__builtin_mul_overflow(mean, scale, &mean) || __builtin_mul_overflow(largest, scale, &largest)) return false;
    return tc_hcompress_inverse_fits(word_bits, n_levels, mean, largest, most_of_smoothing(h, smooth));
}

bool tc_hcompress_wraps(const uint8_t *src, size_t src_len, bool smooth)
{
    head h;

    return read_head(src, src_len, &h) == TC_OK && !fits(&h, 64, smooth);
}

static tc_status read_planes(tc_bits *in, const head *h, const workspace *work)
{
    uint32_t mark;

    for (unsigned i = 0; i < 4; i++) {
        tc_hcompress_quadrant quadrant;

        quadrant.n_planes = h->n_planes[quadrant_of(&work->tile, i, &quadrant)];
        TC_TRY(tc_hcompress_read_quadrant(in, &quadrant, work->planes));
    }
    TC_TRY(tc_bits_get(in, 4, &mark));
    return mark == END_MARK ? TC_OK : TC_CORRUPT;
}

static tc_status read_signs(tc_bits *in, const head *h, const tc_hcompress_tile *tile)
{
    const uint32_t scale = h->scale > 1 ? (uint32_t)h->scale : 1;
    const size_t n = tile->nx * tile->ny;

    in->pos = 8 * tc_bits_used(in);
    TC_TRY(tc_hcompress_read_signs(in, tile->coef, n, tile->wide, scale));
    if (tile->wide)
        *(int64_t *)tile->coef = (int64_t)((uint64_t)h->mean * scale);
    else
        *(int32_t *)tile->coef = (int32_t)(h->mean * scale);
    return TC_OK;
}

tc_status tc_hcompress_decode_i32(const uint8_t *src, size_t src_len, size_t nx, size_t ny, int bits, bool smooth,
                                  int32_t *dst, void *scratch, size_t *used)
{
    head h;

    *used = 0;
    if (!size_is_valid(nx, ny) || (bits != 8 && bits != 16 && bits != 32)) return TC_BAD_PARAM;
    TC_TRY(read_head(src, src_len, &h));
    TC_TRY(check_head(&h, nx, ny, bits));

    const int64_t low = bits == 8 ? 0 : -((int64_t)1 << (bits - 1));
    const int64_t high = bits == 8 ? UINT8_MAX : -low - 1;
    const bool wide = !fits(&h, 32, smooth);
    const workspace work = lay_out(nx, ny, wide, scratch);
    tc_bits in = tc_bits_open(src, src_len);

    tc_bits_skip(&in, 8 * HEAD_NBYTES);
    TC_TRY(read_planes(&in, &h, &work));
    TC_TRY(read_signs(&in, &h, &work.tile));
    tc_hcompress_inverse(&work.tile, most_of_smoothing(&h, smooth), low, high, dst);
    *used = tc_bits_used(&in);
    return TC_OK;
}

/* ---- encoding ---- */

size_t tc_hcompress_bound(size_t nx, size_t ny, int bits)
{
    size_t n_bits = 4;

    if (!size_is_valid(nx, ny) || (bits != 8 && bits != 16 && bits != 32)) return 0;
    const size_t n_planes = (size_t)(bits + tc_ceil_log2(nx > ny ? nx : ny) + 1);
    for (unsigned i = 0; i < 4; i++) {
        const size_t height = i < 2 ? tc_half(ny) : ny / 2, width = i % 2 == 0 ? tc_half(nx) : nx / 2;
        const size_t n_cells = tc_half(height) * tc_half(width);

        n_bits += n_planes * (4 + (n_cells > 0 ? 4 * n_cells + 3 : 6));
    }
    return HEAD_NBYTES + (n_bits + 7) / 8 + (nx * ny + 7) / 8;
}

/* Take coefficient (0, 0) out of the others. */
static int64_t take_mean(const tc_hcompress_tile *tile)
{
    const int64_t mean = tile->wide ? *(int64_t *)tile->coef : *(int32_t *)tile->coef;

    memset(tile->coef, 0, tile->wide ? sizeof(int64_t) : sizeof(int32_t));
    return mean;
}

static tc_status count_planes(const tc_hcompress_tile *tile, uint8_t n_planes[3])
{
    const size_t below = tc_half(tile->ny), right = tc_half(tile->nx);
    uint64_t bits[3] = {0};

    for (size_t i = 0; i < tile->ny; i++) {
        bits[i >= below] |= tc_hcompress_bits_used(tile, i * tile->nx, right);
        bits[1 + (i >= below)] |= tc_hcompress_bits_used(tile, i * tile->nx + right, tile->nx - right);
    }
    for (int i = 0; i < 3; i++) {
        n_planes[i] = (uint8_t)tc_bit_length(bits[i]);
        if (n_planes[i] > TC_HCOMPRESS_MAX_PLANES) return TC_OUT_OF_RANGE;
    }
    return TC_OK;
}

static void write_head(tc_bit_writer *out, const head *h)
{
    tc_bits_put(out, (uint64_t)magic[0] << 8 | magic[1], 16);
    tc_bits_put(out, h->rows, 32);
    tc_bits_put(out, h->columns, 32);
    tc_bits_put(out, (uint32_t)h->scale, 32);
    tc_bits_put(out, (uint64_t)h->mean >> 32, 32);
    tc_bits_put(out, (uint32_t)h->mean, 32);
    for (int i = 0; i < 3; i++) tc_bits_put(out, h->n_planes[i], 8);
}

tc_status tc_hcompress_encode_i32(const int32_t *src, size_t nx, size_t ny, int32_t scale, uint8_t *dst,
                                  size_t dst_cap, void *scratch, size_t *used)
{
    head h = {.rows = (uint32_t)ny, .columns = (uint32_t)nx, .scale = scale};
    const uint32_t divisor = scale > 1 ? (uint32_t)scale : 1;
    size_t signs_nbytes, n;

    *used = 0;
    if (!size_is_valid(nx, ny)) return TC_BAD_PARAM;

    const bool wide = !tc_hcompress_forward_fits_int32(tc_ceil_log2(nx > ny ? nx : ny), src, nx * ny);
    const workspace work = lay_out(nx, ny, wide, scratch);
    tc_bit_writer out = tc_bits_create(dst, dst_cap);

    tc_hcompress_forward(&work.tile, src);
    h.mean = tc_hcompress_digitize(take_mean(&work.tile), divisor);
    signs_nbytes = tc_hcompress_take_signs(work.tile.coef, nx * ny, wide, divisor, work.signs);
    TC_TRY(count_planes(&work.tile, h.n_planes));
    write_head(&out, &h);
    for (unsigned i = 0; i < 4; i++) {
        tc_hcompress_quadrant quadrant;

        quadrant.n_planes = h.n_planes[quadrant_of(&work.tile, i, &quadrant)];
        tc_hcompress_write_quadrant(&out, &quadrant, work.planes);
    }
    tc_bits_put(&out, END_MARK, 4);
    TC_TRY(tc_bits_finish(&out, &n));
    if (dst_cap - n < signs_nbytes) return TC_NO_SPACE;
    memcpy(dst + n, work.signs, signs_nbytes);
    *used = n + signs_nbytes;
    return TC_OK;
}
