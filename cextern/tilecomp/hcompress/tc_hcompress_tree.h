/* Trees of cells, both ways; a part of tc_hcompress_planes_code.h. */

/* ---- 16 cells and the bits of the two rows that they cover ---- */

#if HAS_AVX2

/* The upper pairs of bits of the cells, side by side. */
static inline uint32_t top_bits(uint64_t cells)
{
    return (uint32_t)_pext_u64(cells, TOP_PAIRS);
}

static inline uint32_t bottom_bits(uint64_t cells)
{
    return (uint32_t)_pext_u64(cells, ~TOP_PAIRS);
}

static inline uint64_t cells_of_rows(uint32_t top, uint32_t bottom)
{
    return _pdep_u64(top, TOP_PAIRS) | _pdep_u64(bottom, ~TOP_PAIRS);
}

/* "Cell is not 0". */
static inline uint32_t cells_set(uint64_t cells)
{
    const uint64_t x = cells | cells >> 1;

    return (uint32_t)_pext_u64(x | x >> 2, LOWEST_BITS);
}

/* Put the next codes in the places of the bits that are set among 16. */
static inline uint64_t place_cells(uint32_t bits, const uint8_t **codes)
{
    const uint8_t *const end = *codes += __builtin_popcount(bits);
    const uint64_t first = _pext_u64(tc_load_be64(end - 16), ~HIGH_NYBBLES);
    const uint64_t last = _pext_u64(tc_load_be64(end - 8), ~HIGH_NYBBLES);

    return _pdep_u64(first << 32 | last, 15 * _pdep_u64(bits, LOWEST_BITS));
}

#else

/* The upper pairs of bits of the cells, side by side. */
static inline uint32_t top_bits(uint64_t cells)
{
    uint64_t x = (cells & TOP_PAIRS) >> 2;

    x = (x | x >> 2) & 0x0f0f0f0f0f0f0f0fu;
    x = (x | x >> 4) & 0x00ff00ff00ff00ffu;
    x = (x | x >> 8) & 0x0000ffff0000ffffu;
    return (uint32_t)(x | x >> 16);
}

static inline uint32_t bottom_bits(uint64_t cells)
{
    return top_bits(cells << 2);
}

static inline uint64_t bottom_cells(uint32_t bits)
{
    uint64_t x = bits;

    x = (x | x << 16) & 0x0000ffff0000ffffu;
    x = (x | x << 8) & 0x00ff00ff00ff00ffu;
    x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fu;
    return (x | x << 2) & ~TOP_PAIRS;
}

static inline uint64_t cells_of_rows(uint32_t top, uint32_t bottom)
{
    return bottom_cells(top) << 2 | bottom_cells(bottom);
}

/* "Cell is not 0". */
static inline uint32_t cells_set(uint64_t cells)
{
    uint64_t x = cells | cells >> 1;

    x = (x | x >> 2) & LOWEST_BITS;
    x = (x | x >> 3) & 0x0303030303030303u;
    x = (x | x >> 6) & 0x000f000f000f000fu;
    x = (x | x >> 12) & 0x000000ff000000ffu;
    return (uint32_t)((x | x >> 24) & 0xffff);
}

/* Put the next codes in the places of the bits that are set among 16. */
static inline uint64_t place_cells(uint32_t bits, const uint8_t **codes)
{
    uint64_t cells = 0;

    while (bits) {
        const int place = 31 - __builtin_clz(bits); /* the first cell has bit 15 */

        cells |= (uint64_t)*(*codes)++ << (4 * place);
        bits ^= 1u << place;
    }
    return cells;
}

#endif

/* ---- reading ---- */

/* Read `count` codes to end[-count] ... end[-1], backwards: raster order, for the stream has the reverse. */
static tc_status read_codes(tc_bits *in, size_t count, uint8_t *end)
{
    memset(end - count - 16, 0, 16);
    while (count >= 2 * LOOKUPS && tc_bits_left(in) >= TC_BITS_WINDOW) {
        const uint8_t *const before = end;
        uint64_t window = tc_bits_peek(in);
        size_t length = 0;

        for (int i = 0; i < LOOKUPS; i++) {
            const uint32_t entry = cells_of_code[window >> 56];
            const unsigned n_bits = entry >> 4 & 15;

            end[-1] = entry >> 8 & 15;
            end[-2] = entry & 15;
            end -= entry >> 12;
            window <<= n_bits;
            length += n_bits;
        }
        tc_bits_skip(in, length);
        count -= (size_t)(before - end);
    }
    for (; count > 0; count--) {
        const unsigned code = (unsigned)(tc_bits_peek(in) >> 58);

        if (tc_bits_left(in) < CODE_LENGTH(code)) return TC_TRUNCATED;
        tc_bits_skip(in, CODE_LENGTH(code));
        *--end = CODE_CELL(code);
    }
    return TC_OK;
}

/* Bits [first, first + 16) of a row of a grid. */
static inline uint32_t load_bits16(const uint8_t *row, size_t first)
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
        for (size_t j = 0; j < g->width; j += TC_CELLS) {
            const uint32_t set = load_bits16(bits + i * g->nbytes, j);

            tc_store_cells(packed, i * g->width + j, place_cells(set, &codes));
        }
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
static inline uint64_t cells_above(const uint8_t *below, const grid *g_below, size_t i, size_t j)
{
    const uint8_t *const top = below + 2 * i * g_below->nbytes + j / 4;

    return cells_of_rows(load_be32(top), 2 * i + 1 < g_below->height ? load_be32(top + g_below->nbytes) : 0);
}

/* The same for a level above, from the bits below. */
static size_t mark_level(const uint8_t *below, const grid *g_below, const grid *g, uint8_t *bits)
{
    size_t n_set = 0;

    for (size_t i = 0; i < g->height; i++)
        for (size_t j = 0; j < g->nbytes * 8; j += 2 * TC_CELLS) {
            uint32_t word = cells_set(cells_above(below, g_below, i, j)) << 16;

            if (j + TC_CELLS < g->width) word |= cells_set(cells_above(below, g_below, i, j + TC_CELLS));
            store_be32(bits + i * g->nbytes + j / 8, word);
            n_set += (size_t)__builtin_popcount(word);
        }
    return n_set;
}

/* Write the codes of the cells that are not 0, the last first; returns their bits. */
static inline size_t put_cells(tc_bit_writer *out, uint64_t cells)
{
    size_t n_bits = 0;

    for (; cells; cells >>= 32) {
        uint64_t codes = 0;
        unsigned length = 0;

        for (int i = 0; i < 32; i += 8) {
            const uint32_t entry = code_of_cells[cells >> i & 0xff];

            codes = codes << (entry >> 16) | (entry & 0xffff);
            length += entry >> 16;
        }
        tc_bits_put(out, codes, length);
        n_bits += length;
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
    if (n_bits > most_bits) return n_bits;
    return n_bits + put_cells(out, tc_load_cells(packed, 0, 0) & ~(UINT64_MAX >> 1 >> (4 * end - 1)));
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
        tc_bits_put(out, ZERO_CODE, ZERO_LENGTH);
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

