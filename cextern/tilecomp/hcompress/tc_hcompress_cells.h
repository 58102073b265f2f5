/* What the files of the HCOMPRESS bit planes share: a quadrant, and planes as packed cells of 2 x 2 bits.
 * A cell has its top left bit in 8, top right in 4, bottom left in 2, bottom right in 1.  Cells are packed in raster
 * order, two in a byte, the first in the high half: as the stream has them.  16 are handled at a time, in a 64-bit
 * word whose highest bits are the first cell; TC_HCOMPRESS_SLACK bytes behind the last one have to be accessible. */
#ifndef TC_HCOMPRESS_CELLS_H
#define TC_HCOMPRESS_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tc_bits.h"

#define TC_HCOMPRESS_GROUP 32u /* planes that are kept at a time */
#define TC_HCOMPRESS_SLACK 32u

/* Cells in a word, and the elements that they cover in each of two rows. */
enum { TC_CELLS = 16, TC_CELL_PIXELS = 2 * TC_CELLS };

typedef struct {
    size_t height, width;
    unsigned n_planes;
    void *coef;    /* its first magnitude, of type int32_t (at most 31 planes) or int64_t */
    size_t stride; /* elements between the rows of coef */
    bool wide;     /* int64_t */
} tc_hcompress_quadrant;

typedef struct {
    const uint8_t *cells; /* NULL if all are 0 */
    unsigned bit;         /* where in the first byte they begin */
} tc_hcompress_plane;

static inline uint64_t tc_load_cells(const uint8_t *packed, unsigned bit, size_t first)
{
    const size_t at = bit + 4 * first;
    const uint8_t *const byte = packed + at / 8;

    return tc_load_be64(byte) << (at % 8) | byte[8] >> (8 - at % 8);
}

/* Store 16 cells from cell `first` on; what lies behind them is lost. */
static inline void tc_store_cells(uint8_t *packed, size_t first, uint64_t cells)
{
    uint8_t *byte = packed + first / 2;

    if (first % 2) {
        *byte = (uint8_t)((*byte & 0xf0) | cells >> 60);
        cells <<= 4;
        byte++;
    }
    tc_store_be64(byte, cells);
}

/* f(x), f(x + 1), ... for tables */
#define TC_FOUR(f, x) f(x), f((x) + 1), f((x) + 2), f((x) + 3)
#define TC_SIXTEEN(f, x) TC_FOUR(f, x), TC_FOUR(f, (x) + 4), TC_FOUR(f, (x) + 8), TC_FOUR(f, (x) + 12)
#define TC_SIXTY_FOUR(f, x) TC_SIXTEEN(f, x), TC_SIXTEEN(f, (x) + 16), TC_SIXTEEN(f, (x) + 32), TC_SIXTEEN(f, (x) + 48)
#define TC_ALL_BYTES(f)                                                                                                \
    TC_SIXTY_FOUR(f, 0u), TC_SIXTY_FOUR(f, 64u), TC_SIXTY_FOUR(f, 128u), TC_SIXTY_FOUR(f, 192u)

#endif
