#include "tc_deflate_block.h"

#include <string.h>

#include "tc_huffman.h"

enum {
    END_OF_BLOCK = TC_DEFLATE_END_OF_BLOCK,
    FIRST_LENGTH = TC_DEFLATE_FIRST_LENGTH,
    N_SYMBOLS = TC_DEFLATE_N_SYMBOLS,
    N_DISTANCES = TC_DEFLATE_N_DISTANCES,
    MAX_DISTANCE_CODE = 15,

    N_LENGTH_CODES = TC_DEFLATE_N_LENGTH_CODES,
    MAX_LENGTH_CODE = 7,
    REPEAT = 16,     /* the length before, 3 to 6 times */
    ZEROS = 17,      /* 3 to 10 zeros */
    MANY_ZEROS = 18, /* 11 to 138 zeros */

    STORED = 0,
    FIXED = 1,
    DYNAMIC = 2,
    TYPE_BITS = 3,
    STORED_BITS = 8 * TC_DEFLATE_STORED_NBYTES
};

/* ---- uses ---- */

typedef tc_deflate_block block;
typedef tc_deflate_lengths lengths;
typedef tc_deflate_header header;
typedef struct {
    uint16_t literal[N_SYMBOLS], distance[N_DISTANCES];
} codes;

typedef struct {
    uint32_t of[4][256]; /* four tables: a byte seldom waits for the count of an equal one before it */
} histogram;

static void count_literals(histogram *count, const uint8_t *src, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        uint64_t word = tc_deflate_load64(src + i);

        for (int byte = 0; byte < 8; byte++, word >>= 8) count->of[byte % 4][word & 0xff]++;
    }
    for (; i < n; i++) count->of[0][src[i]]++;
}

/* Fill in the uses; the extra bits of all matches. */
static uint64_t count_uses(block *b)
{
    histogram count = {0};
    uint64_t bits = 0;
    size_t at = 0;

    memset(b->uses, 0, sizeof b->uses);
    memset(b->distance_uses, 0, sizeof b->distance_uses);
    for (size_t i = 0; i < b->n_matches; i++) {
        const tc_deflate_match m = b->matches[i];
        unsigned length_bits, distance_bits;

        count_literals(&count, b->src + at, m.start - at);
        b->uses[tc_deflate_length_symbol(m.length, &length_bits)]++;
        b->distance_uses[tc_deflate_distance_symbol(m.distance, &distance_bits)]++;
        bits += length_bits + distance_bits;
        at = m.start + m.length;
    }
    count_literals(&count, b->src + at, b->n - at);
    for (size_t byte = 0; byte < 256; byte++)
        b->uses[byte] = count.of[0][byte] + count.of[1][byte] + count.of[2][byte] + count.of[3][byte];
    b->uses[END_OF_BLOCK] = 1;
    return bits;
}

/* ---- header ---- */

static const uint8_t length_order[N_LENGTH_CODES] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};

static unsigned extra_bits_of(unsigned symbol)
{
    return symbol == REPEAT ? 2 : symbol == ZEROS ? 3 : symbol == MANY_ZEROS ? 7 : 0;
}

static void add_symbol(header *h, unsigned symbol, size_t extra)
{
    h->symbol[h->n] = (uint8_t)symbol;
    h->extra[h->n++] = (uint8_t)extra;
}

/* `count` equal lengths. */
static void add_lengths(header *h, unsigned length, size_t count)
{
    if (length) {
        add_symbol(h, length, 0);
        count--;
    }
    while (count >= 3) {
        const size_t most = length ? 6 : count < 11 ? 10 : 138, part = count < most ? count : most;

        add_symbol(h, length ? REPEAT : count < 11 ? ZEROS : MANY_ZEROS, part - (length || count < 11 ? 3 : 11));
        count -= part;
    }
    for (; count; count--) add_symbol(h, length, 0);
}

/* Codes up to the last one in use, at least one. */
static size_t codes_sent(const uint8_t *length, size_t n)
{
    while (n > 1 && !length[n - 1]) n--;
    return n;
}

/* Lay out the header that tells the lengths; its bits. */
static uint64_t make_header(header *h, const lengths *l)
{
    uint8_t sent[TC_DEFLATE_N_SENT];
    uint32_t uses[N_LENGTH_CODES] = {0};
    uint64_t bits = TYPE_BITS + 5 + 5 + 4;

    h->n = 0;
    h->n_literals = codes_sent(l->literal, N_SYMBOLS);
    h->n_distances = codes_sent(l->distance, N_DISTANCES);
    memcpy(sent, l->literal, h->n_literals);
    memcpy(sent + h->n_literals, l->distance, h->n_distances);
    for (size_t i = 0, next, n = h->n_literals + h->n_distances; i < n; i = next) {
        for (next = i + 1; next < n && sent[next] == sent[i]; next++) continue;
        add_lengths(h, sent[i], next - i);
    }
    for (size_t i = 0; i < h->n; i++) uses[h->symbol[i]]++;
    tc_huffman_lengths(uses, N_LENGTH_CODES, MAX_LENGTH_CODE, h->length);
    h->n_lengths = N_LENGTH_CODES;
    while (!h->length[length_order[h->n_lengths - 1]]) h->n_lengths--;
    for (unsigned symbol = 0; symbol < N_LENGTH_CODES; symbol++)
        bits += uses[symbol] * (h->length[symbol] + extra_bits_of(symbol));
    return bits + 3 * h->n_lengths;
}

static void put_header(const header *h, tc_deflate_writer *out)
{
    uint16_t code[N_LENGTH_CODES];

    tc_huffman_codes(h->length, N_LENGTH_CODES, code);
    tc_deflate_put(out, (h->n_literals - FIRST_LENGTH) | (h->n_distances - 1) << 5 | (h->n_lengths - 4) << 10, 14);
    for (size_t i = 0; i < h->n_lengths; i++) tc_deflate_put(out, h->length[length_order[i]], 3);
    for (size_t i = 0; i < h->n; i++) {
        const unsigned symbol = h->symbol[i];

        tc_deflate_put(out, code[symbol] | (uint32_t)h->extra[i] << h->length[symbol],
                       h->length[symbol] + extra_bits_of(symbol));
    }
}

/* ---- codes ---- */

/* At least two codes have a length, for every decoder takes a complete code. */
static void make_distance_lengths(const uint32_t *uses, uint8_t *length)
{
    size_t in_use = 0;

    for (size_t symbol = 0; symbol < N_DISTANCES; symbol++) {
        length[symbol] = uses[symbol] != 0;
        in_use += length[symbol];
    }
    if (in_use > 2) tc_huffman_lengths(uses, N_DISTANCES, MAX_DISTANCE_CODE, length);
    for (size_t symbol = 0; in_use < 2; symbol++) {
        in_use += !length[symbol];
        length[symbol] = 1;
    }
}

/* RFC 1951, 3.2.6. */
static void take_fixed_lengths(lengths *l)
{
    memset(l->literal, 8, 144);
    memset(l->literal + 144, 9, 256 - 144);
    memset(l->literal + 256, 7, 280 - 256);
    memset(l->literal + 280, 8, N_SYMBOLS - 280);
    memset(l->distance, 5, N_DISTANCES);
}

static uint64_t bits_of_symbols(const block *b, const lengths *l)
{
    uint64_t bits = 0;

    for (size_t symbol = 0; symbol < N_SYMBOLS; symbol++) bits += b->uses[symbol] * l->literal[symbol];
    for (size_t symbol = 0; symbol < N_DISTANCES; symbol++) bits += b->distance_uses[symbol] * l->distance[symbol];
    return bits;
}

void tc_deflate_block_make_codes(block *b)
{
    const uint64_t extra_bits = count_uses(b);
    lengths fixed;
    uint64_t fixed_bits;

    tc_huffman_lengths(b->uses, N_SYMBOLS, TC_DEFLATE_MAX_LITERAL_LENGTH, b->lengths.literal);
    make_distance_lengths(b->distance_uses, b->lengths.distance);
    b->header_bits = make_header(&b->header, &b->lengths);
    b->bits = b->header_bits + bits_of_symbols(b, &b->lengths) + extra_bits;
    take_fixed_lengths(&fixed);
    fixed_bits = TYPE_BITS + bits_of_symbols(b, &fixed) + extra_bits;
    b->type = DYNAMIC;
    if (fixed_bits < b->bits) {
        b->type = FIXED;
        b->header_bits = 0;
        b->lengths = fixed;
        b->bits = fixed_bits;
    }
    if (b->bits >= 8 * b->n + STORED_BITS) {
        b->type = STORED;
        b->header_bits = 0;
        b->bits = 8 * b->n + STORED_BITS;
    }
}

/* ---- output ---- */

static void put_match(const block *b, tc_deflate_match m, const codes *code, tc_deflate_writer *out)
{
    unsigned length_extra, distance_extra;
    const unsigned length = tc_deflate_length_symbol(m.length, &length_extra);
    const unsigned distance = tc_deflate_distance_symbol(m.distance, &distance_extra);
    const unsigned length_bits = b->lengths.literal[length], distance_bits = b->lengths.distance[distance];
    const uint32_t length_rest = (m.length - TC_DEFLATE_MIN_LENGTH) & ((1u << length_extra) - 1);
    const uint32_t distance_rest = (m.distance - 1u) & ((1u << distance_extra) - 1);

    tc_deflate_put(out, code->literal[length] | length_rest << length_bits, length_bits + length_extra);
    tc_deflate_put(out, code->distance[distance] | distance_rest << distance_bits, distance_bits + distance_extra);
}

static void put_symbols(const block *b, tc_deflate_emit *emit, tc_deflate_writer *out)
{
    tc_deflate_literals literals;
    codes code;
    size_t at = 0;

    tc_huffman_codes(b->lengths.literal, N_SYMBOLS, code.literal);
    tc_huffman_codes(b->lengths.distance, N_DISTANCES, code.distance);
    memcpy(literals.code, code.literal, sizeof literals.code);
    memcpy(literals.length, b->lengths.literal, sizeof literals.length);
    for (size_t i = 0; i < b->n_matches; i++) {
        const tc_deflate_match m = b->matches[i];

        emit(out, b->src + at, m.start - at, &literals);
        put_match(b, m, &code, out);
        at = m.start + m.length;
    }
    emit(out, b->src + at, b->n - at, &literals);
    tc_deflate_put(out, code.literal[END_OF_BLOCK], b->lengths.literal[END_OF_BLOCK]);
}

static void put_stored(const block *b, tc_deflate_writer *out)
{
    const uint64_t n = b->n;

    tc_deflate_put(out, 0, (8 - out->count) % 8);
    tc_deflate_put(out, n | (~n & 0xffff) << 16, 32);
    memcpy(out->next, b->src, b->n);
    out->next += b->n;
}

void tc_deflate_block_put(const block *b, bool is_last, tc_deflate_emit *emit, tc_deflate_writer *out)
{
    tc_deflate_put(out, is_last | (unsigned)b->type << 1, TYPE_BITS);
    if (b->type == STORED) {
        put_stored(b, out);
        return;
    }
    if (b->type == DYNAMIC) put_header(&b->header, out);
    put_symbols(b, emit, out);
}
