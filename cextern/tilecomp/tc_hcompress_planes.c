/* A quadrant of height x width magnitudes is coded plane after plane, the highest bit first.  The four bits of a 2 x 2 block
 * form a cell: top left 8, top right 4, bottom left 2, bottom right 1, and 0 for what lies outside.  A plane starts with
 *   0000  direct: the cells in raster order, 4 bits each
 *   1111  tree: "cell is not 0" is a bit in a grid of half the size, whose cells have such a grid above them, up to a
 *         single root.  The root, then every cell that is not 0, from the root's level down to the cells of the plane,
 *         inside a level in reverse raster order, has a code of 3 to 6 bits (table below).  A plane of zeros is the
 *         code of 0; the code of 0 further down is lawful though no writer needs it.
 * A quadrant without elements still has a root in each of its planes.
 *
 * Direct planes are used where they lie in the stream.  Grids of bits are kept in rows of whole 32-bit words, the first
 * bit in the highest bit of a word. */
#include "tc_hcompress_planes.h"

#include <string.h>

#include "tc_hcompress_transform.h"

#define MAX_LEVELS 40
#define FORMAT_TREE 15u
#define FORMAT_DIRECT 0u
#define TOP_PAIRS 0xccccccccccccccccu /* the upper two bits of every cell */

/* ---- codes ---- */

typedef struct {
    uint8_t bits, length;
} cell_code;

static const cell_code code_of_cell[16] = {{0x3e, 6}, {0x00, 3}, {0x01, 3}, {0x08, 4}, {0x02, 3}, {0x09, 4},
                                           {0x1a, 5}, {0x1b, 5}, {0x03, 3}, {0x1c, 5}, {0x0a, 4}, {0x1d, 5},
                                           {0x0b, 4}, {0x1e, 5}, {0x3f, 6}, {0x0c, 4}};

/* For the next 6 bits: the cell in the low, the length of its code in the high half of the byte. */
#define TWICE(cell, length) 16 * (length) + (cell), 16 * (length) + (cell)
#define FOUR_TIMES(cell) TWICE(cell, 4), TWICE(cell, 4)
#define EIGHT_TIMES(cell) TWICE(cell, 3), TWICE(cell, 3), TWICE(cell, 3), TWICE(cell, 3)
static const uint8_t cell_of_code[64] = {
    EIGHT_TIMES(1), EIGHT_TIMES(2), EIGHT_TIMES(4), EIGHT_TIMES(8), FOUR_TIMES(3), FOUR_TIMES(5),
    FOUR_TIMES(10), FOUR_TIMES(12), FOUR_TIMES(15), TWICE(6, 5),    TWICE(7, 5),   TWICE(9, 5),
    TWICE(11, 5),   TWICE(13, 5),   16 * 6 + 0,     16 * 6 + 14};

/* ---- packed cells and bits ---- */

static uint32_t load_be32(const uint8_t *src)
{
    uint32_t word;

    memcpy(&word, src, sizeof word);
    return __builtin_bswap32(word);
}

static void store_be32(uint8_t *dst, uint32_t word)
{
    word = __builtin_bswap32(word);
    memcpy(dst, &word, sizeof word);
}

/* The upper pairs of bits of 16 cells, side by side: 32 bits of the upper of the two rows that they cover. */
static uint32_t top_bits(uint64_t cells)
{
    uint64_t x = (cells & TOP_PAIRS) >> 2;

    x = (x | x >> 2) & 0x0f0f0f0f0f0f0f0fu;
    x = (x | x >> 4) & 0x00ff00ff00ff00ffu;
    x = (x | x >> 8) & 0x0000ffff0000ffffu;
    return (uint32_t)(x | x >> 16);
}

static uint32_t bottom_bits(uint64_t cells)
{
    return top_bits(cells << 2);
}

/* The inverse: 32 bits as the lower pairs of 16 cells. */
static uint64_t bottom_cells(uint32_t bits)
{
    uint64_t x = bits;

    x = (x | x << 16) & 0x0000ffff0000ffffu;
    x = (x | x << 8) & 0x00ff00ff00ff00ffu;
    x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fu;
    return (x | x << 2) & ~TOP_PAIRS;
}

/* "Cell is not 0" for 16 cells. */
static uint32_t cells_set(uint64_t cells)
{
    uint64_t x = cells | cells >> 1;

    x = (x | x >> 2) & 0x1111111111111111u;
    x = (x | x >> 3) & 0x0303030303030303u;
    x = (x | x >> 6) & 0x000f000f000f000fu;
    x = (x | x >> 12) & 0x000000ff000000ffu;
    return (uint32_t)((x | x >> 24) & 0xffff);
}

/* ---- scratch ---- */

typedef struct {
    size_t height, width, nbytes; /* nbytes of a row */
} grid;

static grid grid_of(size_t height, size_t width, int level)
{
    const size_t w = tc_halved(width, level);

    return (grid){tc_halved(height, level), w, (w + 31) / 32 * 4};
}

static int tree_levels(size_t height, size_t width)
{
    const int levels = tc_ceil_log2(height > width ? height : width);

    return levels > 1 ? levels : 1;
}

typedef struct {
    size_t n_cells, plane_nbytes;
    uint8_t *planes;             /* TC_HCOMPRESS_GROUP times plane_nbytes */
    uint8_t *codes;              /* a byte a cell, TC_HCOMPRESS_SLACK before and behind */
    uint8_t *bits[MAX_LEVELS];   /* of each level of a tree: which of its cells are not 0 */
} workspace;

/* Lay out the workspace in `scratch` and return its size; with NULL only that. */
static size_t lay_out(workspace *work, size_t height, size_t width, uint8_t *scratch)
{
    const int n_levels = tree_levels(height, width);
    size_t size = 0;

    work->n_cells = tc_half(height) * tc_half(width);
    work->plane_nbytes = tc_half(work->n_cells) + TC_HCOMPRESS_SLACK;
    work->planes = scratch;
    size += TC_HCOMPRESS_GROUP * work->plane_nbytes;
    work->codes = scratch ? scratch + size + TC_HCOMPRESS_SLACK : NULL;
    size += work->n_cells + 2 * TC_HCOMPRESS_SLACK;
    for (int level = 1; level <= n_levels; level++) {
        const grid g = grid_of(height, width, level);

        work->bits[level] = scratch ? scratch + size : NULL;
        size += g.height * g.nbytes + TC_HCOMPRESS_SLACK;
    }
    return size;
}

size_t tc_hcompress_planes_scratch(size_t height, size_t width)
{
    workspace work;

    return height && width ? lay_out(&work, height, width, NULL) : 0;
}

/* ---- reading ---- */

/* Read `count` codes to end[-count] ... end[-1], backwards: raster order, for the stream has the reverse. */
static tc_status read_codes(tc_bits *in, size_t count, uint8_t *end)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t entry = cell_of_code[tc_bits_peek(in) >> 58];

        if (tc_bits_left(in) < entry / 16u) return TC_TRUNCATED;
        tc_bits_skip(in, entry / 16);
        *--end = entry % 16;
    }
    return TC_OK;
}

/* Put the next codes in the places of the bits that are set among 16: the cells of these places. */
static uint64_t place_cells(uint32_t bits, const uint8_t **codes)
{
    uint64_t cells = 0;

    while (bits) {
        const int place = 31 - __builtin_clz(bits); /* the first cell has bit 15 */

        cells |= (uint64_t)*(*codes)++ << (4 * place);
        bits ^= 1u << place;
    }
    return cells;
}

/* Bits [first, first + 16) of a row of a grid. */
static uint32_t load_bits16(const uint8_t *row, size_t first)
{
    return (uint32_t)row[first / 8] << 8 | row[first / 8 + 1];
}

/* Expand the cells of one level to the bits of the level below; `count` gets the number of bits that are set. */
static void expand_level(const uint8_t *bits, const grid *g, const uint8_t *codes, uint8_t *below, const grid *g_below,
                         size_t *count)
{
    size_t n_set = 0;

    for (size_t i = 0; i < g->height; i++) {
        const uint8_t *const row = bits + i * g->nbytes;
        uint8_t *const top = below + 2 * i * g_below->nbytes, *const bottom = top + g_below->nbytes;

        for (size_t j = 0; j < g->width; j += TC_CELLS) {
            const uint64_t cells = place_cells(load_bits16(row, j), &codes);
            const size_t left = g_below->width - 2 * j;
            const uint32_t inside = left < 32 ? ~(UINT32_MAX >> left) : UINT32_MAX;
            const uint32_t upper = top_bits(cells) & inside, lower = bottom_bits(cells) & inside;

            store_be32(top + j / 4, upper);
            n_set += (size_t)__builtin_popcount(upper);
            if (2 * i + 1 == g_below->height) continue;
            store_be32(bottom + j / 4, lower);
            n_set += (size_t)__builtin_popcount(lower);
        }
    }
    *count = n_set;
}

/* The last level: cells of the plane instead of bits of a grid. */
static void expand_cells(const uint8_t *bits, const grid *g, const uint8_t *codes, uint8_t *packed)
{
    for (size_t i = 0; i < g->height; i++)
        for (size_t j = 0; j < g->width; j += TC_CELLS)
            tc_store_cells(packed, i * g->width + j, place_cells(load_bits16(bits + i * g->nbytes, j), &codes));
}

static tc_status read_tree(tc_bits *in, size_t height, size_t width, const workspace *work, uint8_t *packed,
                           tc_hcompress_plane *result)
{
    const int n_levels = tree_levels(height, width);
    uint8_t *const end = work->codes + work->n_cells;
    size_t count = 1;

    *result = (tc_hcompress_plane){NULL, 0};
    store_be32(work->bits[n_levels], 1u << 31);
    for (int level = n_levels; count > 0; level--) {
        const grid g = grid_of(height, width, level);

        TC_TRY(read_codes(in, count, end));
        if (level == 1) {
            expand_cells(work->bits[1], &g, end - count, packed);
            *result = (tc_hcompress_plane){packed, 0};
            return TC_OK;
        }
        const grid g_below = grid_of(height, width, level - 1);
        expand_level(work->bits[level], &g, end - count, work->bits[level - 1], &g_below, &count);
    }
    return TC_OK;
}

/* Use the cells where they lie; near the end of the stream, where whole words reach too far, copy them. */
static tc_status read_direct(tc_bits *in, const workspace *work, uint8_t *packed, tc_hcompress_plane *result)
{
    const size_t n_cells = work->n_cells, first = in->pos;

    if (tc_bits_left(in) / 4 < n_cells) return TC_TRUNCATED;
    tc_bits_skip(in, 4 * n_cells);
    *result = (tc_hcompress_plane){in->src + first / 8, first % 8};
    if (in->len - in->pos / 8 >= TC_HCOMPRESS_SLACK) return TC_OK;
    tc_bits copied = {in->src, in->len, first};
    for (size_t i = 0; i < n_cells; i += TC_CELLS / 2) {
        tc_store_cells(packed, i, tc_bits_peek(&copied));
        tc_bits_skip(&copied, 4 * TC_CELLS / 2);
        if (copied.pos > in->pos) break;
    }
    *result = (tc_hcompress_plane){packed, 0};
    return TC_OK;
}

static tc_status read_plane(tc_bits *in, size_t height, size_t width, const workspace *work, uint8_t *packed,
                            tc_hcompress_plane *result)
{
    uint32_t format;

    TC_TRY(tc_bits_get(in, 4, &format));
    if (format == FORMAT_DIRECT) return read_direct(in, work, packed, result);
    if (format == FORMAT_TREE) return read_tree(in, height, width, work, packed, result);
    return TC_BAD_CODE;
}

/* The planes of a quadrant without elements. */
static tc_status read_empty(tc_bits *in, unsigned n_planes)
{
    for (unsigned p = 0; p < n_planes; p++) {
        uint8_t root[1];
        uint32_t format;

        TC_TRY(tc_bits_get(in, 4, &format));
        if (format == FORMAT_DIRECT) continue;
        if (format != FORMAT_TREE) return TC_BAD_CODE;
        TC_TRY(read_codes(in, 1, root + 1));
    }
    return TC_OK;
}

tc_status tc_hcompress_read_quadrant(tc_bits *in, const tc_hcompress_quadrant *quadrant, void *scratch)
{
    const size_t height = quadrant->height, width = quadrant->width;
    workspace work;
    unsigned end = quadrant->n_planes, low;

    if (height == 0 || width == 0) return read_empty(in, quadrant->n_planes);
    lay_out(&work, height, width, scratch);
    do {
        tc_hcompress_plane planes[TC_HCOMPRESS_GROUP];

        low = end > TC_HCOMPRESS_GROUP ? (end - 1) / TC_HCOMPRESS_GROUP * TC_HCOMPRESS_GROUP : 0;
        for (unsigned p = end; p-- > low;)
            TC_TRY(read_plane(in, height, width, &work, work.planes + (p - low) * work.plane_nbytes, &planes[p - low]));
        tc_hcompress_put_planes(quadrant, planes, end - low, low);
        end = low;
    } while (end > 0);
    return TC_OK;
}

/* ---- writing ---- */

/* Mark which cells of the plane are not 0; returns their number. */
static size_t mark_cells(const uint8_t *packed, const grid *g, uint8_t *bits)
{
    size_t n_set = 0;

    for (size_t i = 0; i < g->height; i++)
        for (size_t j = 0; j < g->width; j += 2 * TC_CELLS) {
            const size_t at = i * g->width + j, left = g->width - j;
            const uint32_t high = cells_set(tc_load_cells(packed, 0, at));
            const uint32_t low = left > TC_CELLS ? cells_set(tc_load_cells(packed, 0, at + TC_CELLS)) : 0;
            const uint32_t inside = left < 32 ? ~(UINT32_MAX >> left) : UINT32_MAX;
            const uint32_t word = (high << 16 | low) & inside;

            store_be32(bits + i * g->nbytes + j / 8, word);
            n_set += (size_t)__builtin_popcount(word);
        }
    return n_set;
}

/* The 16 cells of a level from cell (i, j) on, made of the bits of the level below. */
static uint64_t cells_above(const uint8_t *below, const grid *g_below, size_t i, size_t j)
{
    const uint8_t *const top = below + 2 * i * g_below->nbytes + j / 4;

    return bottom_cells(load_be32(top)) << 2 |
           (2 * i + 1 < g_below->height ? bottom_cells(load_be32(top + g_below->nbytes)) : 0);
}

/* The same for a level above, from the bits below. */
static size_t mark_level(const uint8_t *below, const grid *g_below, const grid *g, uint8_t *bits)
{
    size_t n_set = 0;

    for (size_t i = 0; i < g->height; i++)
        for (size_t j = 0; j < g->nbytes * 8; j += 2 * TC_CELLS) {
            const uint32_t high = cells_set(cells_above(below, g_below, i, j));
            const uint32_t low = j + TC_CELLS < g->width ? cells_set(cells_above(below, g_below, i, j + TC_CELLS)) : 0;

            store_be32(bits + i * g->nbytes + j / 8, high << 16 | low);
            n_set += (size_t)__builtin_popcount(high << 16 | low);
        }
    return n_set;
}

/* Write the codes of the cells that are not 0, the last first; returns their bits. */
static size_t put_cells(tc_bit_writer *out, uint64_t cells)
{
    size_t n_bits = 0;

    while (cells) {
        const int at = __builtin_ctzll(cells) & ~3;
        const cell_code c = code_of_cell[cells >> at & 15];

        tc_bits_put(out, c.bits, c.length);
        n_bits += c.length;
        cells &= ~((uint64_t)15 << at);
    }
    return n_bits;
}

static size_t put_level(tc_bit_writer *out, const uint8_t *below, const grid *g_below, const grid *g)
{
    size_t n_bits = 0;

    for (size_t i = g->height; i-- > 0;)
        for (size_t j = (g->width - 1) / TC_CELLS * TC_CELLS + TC_CELLS; j > 0;) {
            j -= TC_CELLS;
            n_bits += put_cells(out, cells_above(below, g_below, i, j));
        }
    return n_bits;
}

static size_t put_plane_cells(tc_bit_writer *out, const uint8_t *packed, size_t n_cells, size_t most_bits)
{
    size_t n_bits = 0, end = n_cells;

    while (end > TC_CELLS && n_bits <= most_bits) {
        end -= TC_CELLS;
        n_bits += put_cells(out, tc_load_cells(packed, 0, end));
    }
    if (n_bits <= most_bits) n_bits += put_cells(out, tc_load_cells(packed, 0, 0) & ~(UINT64_MAX >> 1 >> (4 * end - 1)));
    return n_bits;
}

/* Write a plane as a tree; false, with an unfinished tree written, if the direct form has to be used. */
static bool write_tree(tc_bit_writer *out, size_t height, size_t width, const workspace *work, const uint8_t *packed)
{
    const int n_levels = tree_levels(height, width);
    const size_t most_bits = 8 * tc_half(work->n_cells) - 1;
    grid grids[MAX_LEVELS];
    size_t n_set, n_bits = 0;

    grids[1] = grid_of(height, width, 1);
    n_set = mark_cells(packed, &grids[1], work->bits[1]);
    tc_bits_put(out, FORMAT_TREE, 4);
    if (n_set == 0) {
        tc_bits_put(out, code_of_cell[0].bits, code_of_cell[0].length);
        return true;
    }
    for (int level = 2; level <= n_levels; level++) {
        grids[level] = grid_of(height, width, level);
        n_set += mark_level(work->bits[level - 1], &grids[level - 1], &grids[level], work->bits[level]);
    }
    if (3 * n_set > most_bits) return false; /* no code is shorter */
    for (int level = n_levels; level > 1; level--)
        n_bits += put_level(out, work->bits[level - 1], &grids[level - 1], &grids[level]);
    if (n_bits > most_bits) return false;
    return n_bits + put_plane_cells(out, packed, work->n_cells, most_bits - n_bits) <= most_bits;
}

static void write_direct(tc_bit_writer *out, const uint8_t *packed, size_t n_cells)
{
    tc_bits_put(out, FORMAT_DIRECT, 4);
    for (size_t i = 0; i < n_cells; i += TC_CELLS / 2) {
        const unsigned n = n_cells - i < TC_CELLS / 2 ? (unsigned)(n_cells - i) : TC_CELLS / 2;

        tc_bits_put(out, tc_load_cells(packed, 0, i) >> (64 - 4 * n), 4 * n);
    }
}

static void write_empty(tc_bit_writer *out, unsigned n_planes)
{
    for (unsigned p = 0; p < n_planes; p++) {
        tc_bits_put(out, FORMAT_TREE, 4);
        tc_bits_put(out, code_of_cell[0].bits, code_of_cell[0].length);
    }
}

void tc_hcompress_write_quadrant(tc_bit_writer *out, const tc_hcompress_quadrant *quadrant, void *scratch)
{
    const size_t height = quadrant->height, width = quadrant->width;
    workspace work;

    if (height == 0 || width == 0) {
        write_empty(out, quadrant->n_planes);
        return;
    }
    lay_out(&work, height, width, scratch);
    for (unsigned end = quadrant->n_planes, low; end > 0; end = low) {
        low = (end - 1) / TC_HCOMPRESS_GROUP * TC_HCOMPRESS_GROUP;
        tc_hcompress_take_planes(quadrant, low, end - low, work.planes, work.plane_nbytes);
        for (unsigned p = end; p-- > low;) {
            const uint8_t *const packed = work.planes + (p - low) * work.plane_nbytes;
            const tc_bit_writer before = *out;

            if (write_tree(out, height, width, &work, packed)) continue;
            *out = before;
            write_direct(out, packed, work.n_cells);
        }
    }
}
