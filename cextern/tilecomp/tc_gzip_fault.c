#include "tc_gzip_fault.h"

#include <string.h>

/* ---- bits, least significant first ---- */

typedef struct {
    const uint8_t *src;
    size_t len, pos; /* bytes */
    uint32_t bits;   /* of the byte before pos, those not yet taken */
    unsigned n_bits;
    uint64_t n_out;  /* bytes that the blocks so far stand for */
} reader;

static tc_status take_bit(reader *in, unsigned *bit)
{
    if (in->n_bits == 0) {
        if (in->pos == in->len) return TC_TRUNCATED;
        in->bits = in->src[in->pos++];
        in->n_bits = 8;
    }
    *bit = in->bits & 1;
    in->bits >>= 1;
    in->n_bits--;
    return TC_OK;
}

static tc_status take_bits(reader *in, unsigned count, unsigned *value)
{
    unsigned bit;

    *value = 0;
    for (unsigned i = 0; i < count; i++) {
        TC_TRY(take_bit(in, &bit));
        *value |= bit << i;
    }
    return TC_OK;
}

static tc_status skip_bytes(reader *in, size_t count)
{
    in->n_bits = 0;
    if (in->len - in->pos < count) {
        in->pos = in->len;
        return TC_TRUNCATED;
    }
    in->pos += count;
    return TC_OK;
}

/* ---- canonical prefix codes ---- */

#define LONGEST_CODE 15
#define MOST_LITERALS 288
#define MOST_DISTANCES 32

typedef struct {
    uint16_t count[LONGEST_CODE + 1]; /* codes of each length */
    uint16_t symbol[MOST_LITERALS];   /* by length, then by value */
} code_table;

/* Lengths may leave codes over only if there is at most one code. */
static tc_status build(code_table *table, const uint8_t *lengths, unsigned n)
{
    uint16_t first[LONGEST_CODE + 2] = {0};
    int left = 1;

    memset(table, 0, sizeof *table);
    for (unsigned i = 0; i < n; i++) table->count[lengths[i]]++;
    const unsigned n_unused = table->count[0];

    table->count[0] = 0;
    for (unsigned length = 1; length <= LONGEST_CODE; length++) {
        left = 2 * left - table->count[length];
        if (left < 0) return TC_CORRUPT;
        first[length + 1] = (uint16_t)(first[length] + table->count[length]);
    }
    if (left > 0 && n - n_unused > 1) return TC_CORRUPT;
    for (unsigned i = 0; i < n; i++)
        if (lengths[i]) table->symbol[first[lengths[i]]++] = (uint16_t)i;
    return TC_OK;
}

static tc_status take_symbol(reader *in, const code_table *table, unsigned *symbol)
{
    int code = 0, first = 0, index = 0;

    for (unsigned length = 1; length <= LONGEST_CODE; length++) {
        unsigned bit;

        TC_TRY(take_bit(in, &bit));
        code = code << 1 | (int)bit;
        if (code - first < table->count[length]) {
            *symbol = table->symbol[index + code - first];
            return TC_OK;
        }
        index += table->count[length];
        first = (first + table->count[length]) << 1;
    }
    return TC_CORRUPT;
}

/* ---- blocks ---- */

#define END_OF_BLOCK 256

static tc_status walk_stored(reader *in)
{
    in->n_bits = 0;
    if (in->len - in->pos < 4) return TC_TRUNCATED;

    const uint8_t *const at = in->src + in->pos;
    const unsigned length = at[0] | at[1] << 8, complement = at[2] | at[3] << 8;

    if (length != (complement ^ 0xffff)) return TC_CORRUPT;
    in->n_out += length;
    return skip_bytes(in, 4 + length);
}

/* Extra bits of a length symbol (counted from 257) and the lengths below them. */
static unsigned length_of(unsigned symbol, unsigned *n_extra)
{
    *n_extra = symbol < 8 || symbol == 28 ? 0 : symbol / 4 - 1;
    return symbol < 8 ? 3 + symbol : symbol == 28 ? 258 : 3 + ((4 + symbol % 4) << *n_extra);
}

static unsigned distance_of(unsigned symbol, unsigned *n_extra)
{
    *n_extra = symbol < 4 ? 0 : symbol / 2 - 1;
    return symbol < 4 ? 1 + symbol : 1 + ((2 + symbol % 2) << *n_extra);
}

static tc_status walk_codes(reader *in, const code_table *literals, const code_table *distances)
{
    for (;;) {
        unsigned symbol, length, distance, n_extra, extra;

        TC_TRY(take_symbol(in, literals, &symbol));
        if (symbol == END_OF_BLOCK) return TC_OK;
        if (symbol < END_OF_BLOCK) {
            in->n_out++;
            continue;
        }
        if (symbol > 285) return TC_CORRUPT;
        length = length_of(symbol - 257, &n_extra);
        TC_TRY(take_bits(in, n_extra, &extra));
        length += extra;
        TC_TRY(take_symbol(in, distances, &symbol));
        if (symbol > 29) return TC_CORRUPT;
        distance = distance_of(symbol, &n_extra);
        TC_TRY(take_bits(in, n_extra, &extra));
        if (distance + extra > in->n_out) return TC_CORRUPT;
        in->n_out += length;
    }
}

static tc_status walk_fixed(reader *in)
{
    uint8_t lengths[MOST_LITERALS];
    code_table literals, distances;

    for (unsigned i = 0; i < MOST_LITERALS; i++) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    TC_TRY(build(&literals, lengths, MOST_LITERALS));
    memset(lengths, 5, MOST_DISTANCES);
    TC_TRY(build(&distances, lengths, MOST_DISTANCES));
    return walk_codes(in, &literals, &distances);
}

/* Code lengths of both tables, themselves coded: 16 repeats the last one, 17 and 18 are runs of zeros. */
static tc_status take_lengths(reader *in, const code_table *table, unsigned n, uint8_t *lengths)
{
    for (unsigned i = 0; i < n;) {
        unsigned symbol, repeat;
        uint8_t length = 0;

        TC_TRY(take_symbol(in, table, &symbol));
        if (symbol < 16) {
            lengths[i++] = (uint8_t)symbol;
            continue;
        }
        if (symbol == 16) {
            if (i == 0) return TC_CORRUPT;
            length = lengths[i - 1];
        }
        TC_TRY(take_bits(in, symbol == 16 ? 2 : symbol == 17 ? 3 : 7, &repeat));
        repeat += symbol == 18 ? 11 : 3;
        if (repeat > n - i) return TC_CORRUPT;
        memset(lengths + i, length, repeat);
        i += repeat;
    }
    return TC_OK;
}

static tc_status walk_dynamic(reader *in)
{
    static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t lengths[MOST_LITERALS + MOST_DISTANCES] = {0};
    code_table table, distances;
    unsigned n_literals, n_distances, n_lengths, length;

    TC_TRY(take_bits(in, 5, &n_literals));
    TC_TRY(take_bits(in, 5, &n_distances));
    TC_TRY(take_bits(in, 4, &n_lengths));
    n_literals += 257;
    n_distances += 1;
    for (unsigned i = 0; i < n_lengths + 4; i++) {
        TC_TRY(take_bits(in, 3, &length));
        lengths[order[i]] = (uint8_t)length;
    }
    TC_TRY(build(&table, lengths, sizeof order));
    if (n_literals > 286) return TC_CORRUPT;
    TC_TRY(take_lengths(in, &table, n_literals + n_distances, lengths));
    if (lengths[END_OF_BLOCK] == 0) return TC_CORRUPT;
    TC_TRY(build(&distances, lengths + n_literals, n_distances));
    TC_TRY(build(&table, lengths, n_literals));
    return walk_codes(in, &table, &distances);
}

static tc_status walk_blocks(reader *in)
{
    unsigned last = 0, type;

    while (!last) {
        TC_TRY(take_bits(in, 1, &last));
        TC_TRY(take_bits(in, 2, &type));
        switch (type) {
        case 0: TC_TRY(walk_stored(in)); break;
        case 1: TC_TRY(walk_fixed(in)); break;
        case 2: TC_TRY(walk_dynamic(in)); break;
        default: return TC_CORRUPT;
        }
    }
    return TC_OK;
}

/* ---- the member round them ---- */

enum { HEADER_CHECKSUM = 2, EXTRA_FIELD = 4, FILE_NAME = 8, COMMENT = 16, RESERVED = 0xe0 };

static tc_status skip_text(reader *in)
{
    while (in->pos < in->len)
        if (in->src[in->pos++] == 0) return TC_OK;
    return TC_TRUNCATED;
}

static tc_status skip_header(reader *in)
{
    static const uint8_t mark[3] = {0x1f, 0x8b, 8};
    const size_t n = in->len < sizeof mark ? in->len : sizeof mark;

    if (n && memcmp(in->src, mark, n) != 0) return TC_BAD_MAGIC;
    TC_TRY(skip_bytes(in, 10));

    const unsigned flags = in->src[3];

    if (flags & RESERVED) return TC_CORRUPT;
    if (flags & EXTRA_FIELD) {
        const size_t at = in->pos;

        TC_TRY(skip_bytes(in, 2));
        TC_TRY(skip_bytes(in, in->src[at] | (size_t)in->src[at + 1] << 8));
    }
    if (flags & FILE_NAME) TC_TRY(skip_text(in));
    if (flags & COMMENT) TC_TRY(skip_text(in));
    return flags & HEADER_CHECKSUM ? skip_bytes(in, 2) : TC_OK;
}

tc_status tc_gzip_fault(const uint8_t *src, size_t src_len)
{
    reader in = {.src = src, .len = src_len};

    TC_TRY(skip_header(&in));
    TC_TRY(walk_blocks(&in));
    TC_TRY(skip_bytes(&in, 8));
    return TC_BAD_CHECKSUM;
}
