/* The bit planes of a quadrant; a part of tc_hcompress_code.h.
 * A quadrant of height x width magnitudes is coded plane after plane, the highest bit first.  The four bits of a 2 x 2
 * block form a cell: top left 8, top right 4, bottom left 2, bottom right 1, and 0 for what lies outside.  A plane
 * starts with
 *   0000  direct: the cells in raster order, 4 bits each
 *   1111  tree: "cell is not 0" is a bit in a grid of half the size, whose cells have such a grid above them, up to a
 *         single root.  The root, then every cell that is not 0, from the root's level down to the cells of the plane,
 *         inside a level in reverse raster order, has a code of 3 to 6 bits (below).  A plane of zeros is the code of
 *         0; the code of 0 further down is lawful though no writer needs it.
 * A quadrant without elements still has a root in each of its planes.
 *
 * Direct planes are used where they lie in the stream.  Grids of bits are kept in rows of whole 32-bit words, the first
 * bit in the highest bit of a word. */
#include <string.h>

#include "tc_hcompress_cells_code.h"
#include "tc_hcompress_planes.h"
#include "tc_hcompress_transform.h"

#define MAX_LEVELS 40
#define FORMAT_TREE 15u
#define FORMAT_DIRECT 0u
#define TOP_PAIRS 0xccccccccccccccccu /* the upper two bits of every cell */

#define LOWEST_BITS 0x1111111111111111u
#define HIGH_NYBBLES 0xf0f0f0f0f0f0f0f0u

/* ---- codes ---- */

/* The cell, and the length of its code, that the next 6 bits of a stream begin with. */
#define CODE_LENGTH(code) ((code) < 32 ? 3u : (code) < 52 ? 4u : (code) < 62 ? 5u : 6u)
#define CODE_CELL(code)                                                                                                \
    ((code) < 32   ? 1u << (code) / 8                                                                                  \
     : (code) < 52 ? 0xfca53u >> ((code)-32) / 4 % 5 * 4 & 15                                                          \
     : (code) < 62 ? 0xdb976u >> ((code)-52) / 2 % 5 * 4 & 15                                                          \
     : (code) < 63 ? 0u                                                                                                \
                   : 14u)

/* Of the next 8 bits: one code or, where two fit, two: their number in bits 12 and 13, the first cell in bits 8 to 11,
 * the length of both in bits 4 to 7, the second cell in bits 0 to 3. */
#define FIRST_LENGTH(b) CODE_LENGTH((b) / 4)
#define SECOND_CODE(b) (((b) << FIRST_LENGTH(b) & 0xff) / 4)
#define BOTH_LENGTHS(b) (FIRST_LENGTH(b) + CODE_LENGTH(SECOND_CODE(b)))
#define CELLS_OF_CODE(b)                                                                                               \
    (CODE_CELL((b) / 4) << 8 | (BOTH_LENGTHS(b) > 8 ? 1u << 12 | FIRST_LENGTH(b) << 4                                  \
                                                    : 2u << 12 | BOTH_LENGTHS(b) << 4 | CODE_CELL(SECOND_CODE(b))))
#define LOOKUPS 7 /* of up to 8 bits in a window */

/* The codes of a byte of two cells, that of the second first, as the stream wants them; nothing for cells of 0.  The
 * length is in the upper half. */
#define CELL_LENGTH(cell) ((unsigned)(0x4654545355434330u >> 4 * (cell)) & 15)
#define CELL_CODE(cell) ((unsigned)(((cell) < 8 ? 0x1b1a090208010000u : 0x0c3f1e0b1d0a1c03u) >> (cell) % 8 * 8) & 0xff)
#define CODE_OF_CELLS(b)                                                                                               \
    ((CELL_LENGTH((b) % 16) + CELL_LENGTH((b) / 16)) << 16 | CELL_CODE((b) % 16) << CELL_LENGTH((b) / 16) |            \
     CELL_CODE((b) / 16))
#define ZERO_CODE 0x3eu
#define ZERO_LENGTH 6u

static const uint16_t cells_of_code[256] = {TC_ALL_BYTES(CELLS_OF_CODE)};
static const uint32_t code_of_cells[256] = {TC_ALL_BYTES(CODE_OF_CELLS)};

/* ---- words of grids ---- */

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

size_t LEVEL(tc_hcompress_planes_scratch)(size_t height, size_t width)
{
    workspace work;

    return height && width ? lay_out(&work, height, width, NULL) : 0;
}

/* ---- trees ---- */

#include "tc_hcompress_tree.h"

/* ---- reading ---- */

/* Use the cells where they lie; near the end of the stream, where whole words reach too far, copy them. */
static tc_status read_direct(tc_bits *in, const workspace *work, uint8_t *packed, tc_hcompress_plane *result)
{
    const size_t n_cells = work->n_cells, first = in->pos;

    if (tc_bits_left(in) / 4 < n_cells) return TC_TRUNCATED;
    tc_bits_skip(in, 4 * n_cells);
    *result = (tc_hcompress_plane){in->src + first / 8, first % 8};
    if (in->len - in->pos / 8 >= TC_HCOMPRESS_SLACK) return TC_OK;
    memset(packed + n_cells / 2, 0, TC_HCOMPRESS_SLACK);
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
        uint32_t format;

        TC_TRY(tc_bits_get(in, 4, &format));
        if (format == FORMAT_DIRECT) continue;
        if (format != FORMAT_TREE) return TC_BAD_CODE;
        const unsigned root = (unsigned)(tc_bits_peek(in) >> 58);
        if (tc_bits_left(in) < CODE_LENGTH(root)) return TC_TRUNCATED;
        tc_bits_skip(in, CODE_LENGTH(root));
    }
    return TC_OK;
}

tc_status LEVEL(tc_hcompress_read_quadrant)(tc_bits *in, const tc_hcompress_quadrant *quadrant, void *scratch)
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
        put_planes(quadrant, planes, end - low, low);
        end = low;
    } while (end > 0);
    return TC_OK;
}

/* ---- writing ---- */

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
        tc_bits_put(out, ZERO_CODE, ZERO_LENGTH);
    }
}

void LEVEL(tc_hcompress_write_quadrant)(tc_bit_writer *out, const tc_hcompress_quadrant *quadrant, void *scratch)
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
        take_planes(quadrant, low, end - low, work.planes, work.plane_nbytes);
        for (unsigned p = end; p-- > low;) {
            const uint8_t *const packed = work.planes + (p - low) * work.plane_nbytes;
            const tc_bit_writer before = *out;

            if (write_tree(out, height, width, &work, packed)) continue;
            *out = before;
            write_direct(out, packed, work.n_cells);
        }
    }
}
