#include "tc_deflate.h"

#include <stdbool.h>
#include <string.h>

#include "tc_deflate_matches.h"
#include "tc_deflate_paths.h"
#include "tc_huffman.h"

enum {
    MAX_BLOCK = 32768,
    SHORTEST = 1024,  /* bytes of content, and */
    SHORTEST_PLANE = 512, /* of a plane, below which codes of their own would not pay */
    MIN_MATCH = TC_DEFLATE_MIN_MATCH,
    MAX_MATCH = 258,
    MAX_RUNS = MAX_BLOCK / (MIN_MATCH + 1) + 1,
    WORD = 8,         /* bytes that the writer may touch behind the stream */

    END_OF_BLOCK = 256,
    FIRST_LENGTH = 257,
    N_SYMBOLS = 286,
    N_DISTANCES = 2,  /* 1, which runs use, and 2: two codes of one bit, for every decoder takes a complete code */
    N_SENT = N_SYMBOLS + N_DISTANCES,

    N_LENGTH_CODES = 19,
    MAX_LENGTH_CODE = 7,
    REPEAT = 16,      /* the length before, 3 to 6 times */
    ZEROS = 17,       /* 3 to 10 zeros */
    MANY_ZEROS = 18,  /* 11 to 138 zeros */

    STORED = 0,
    DYNAMIC = 2,
    STORED_BITS = 40, /* header of a stored block, at most */
    SMALL_GAIN = 128  /* matches that would save a smaller part of the stream are not worth their time */
};

/* What differs between CPU levels. */
typedef struct {
    tc_deflate_find_run *find_run;
    tc_deflate_emit *emit;
} path;

static path path_of(tc_cpu cpu)
{
#if TC_CPU_X86
    if (cpu == TC_CPU_AVX512) return (path){tc_deflate_find_run_avx512, tc_deflate_emit_avx512};
    if (cpu == TC_CPU_AVX2) return (path){tc_deflate_find_run_avx2, tc_deflate_emit_avx2};
#endif
    (void)cpu;
    return (path){tc_deflate_find_run_portable, tc_deflate_emit_portable};
}

/* Bytes [start, stop) of a block equal the one before `start`. */
typedef struct {
    uint16_t start, stop;
} run;

/* The code lengths as they are sent: symbols with the bits that follow some of them. */
typedef struct {
    uint8_t symbol[N_SENT], extra[N_SENT];
    size_t n, n_literals; /* symbols; and codes of the literal alphabet they tell of */
    uint8_t length[N_LENGTH_CODES];
    size_t n_lengths; /* codes of these symbols that are sent */
} header;

typedef struct {
    const uint8_t *src;
    size_t n;
    run runs[MAX_RUNS];
    size_t n_runs;
    uint32_t uses[N_SYMBOLS];
    uint8_t length[N_SYMBOLS];
    header header;
    uint64_t bits; /* the whole block with codes of its own */
} block;

/* ---- runs ---- */

/* The first byte from `at` on that is not `value`, else `end`. */
static size_t end_of_run(const uint8_t *src, size_t at, size_t end, uint8_t value)
{
    const uint64_t word = value * UINT64_C(0x0101010101010101);

    for (; at + sizeof word <= end; at += sizeof word) {
        const uint64_t differ = tc_deflate_load64(src + at) ^ word;

        if (differ) return at + (unsigned)__builtin_ctzll(differ) / 8;
    }
    while (at < end && src[at] == value) at++;
    return at;
}

static void find_runs(block *b, bool is_first, const path *with)
{
    b->n_runs = 0;
    for (size_t at = is_first; (at = with->find_run(b->src, at, b->n)) < b->n;) {
        const size_t stop = end_of_run(b->src, at, b->n, b->src[(ptrdiff_t)at - 1]);

        b->runs[b->n_runs++] = (run){(uint16_t)at, (uint16_t)stop};
        at = stop;
    }
}

/* The length of the next match of a run; what is left is none or enough for another. */
static size_t next_match(size_t left)
{
    if (left <= MAX_MATCH) return left;
    return left - MAX_MATCH < 3 ? left - 3 : MAX_MATCH;
}

/* RFC 1951, 3.2.5: lengths share a symbol and are told apart by extra bits. */
static unsigned length_symbol(size_t length, unsigned *extra_bits)
{
    const unsigned above = (unsigned)length - 3;

    *extra_bits = 0;
    if (length == MAX_MATCH) return N_SYMBOLS - 1;
    if (above >= 8) *extra_bits = 29 - (unsigned)__builtin_clz(above);
    return FIRST_LENGTH + 4 * *extra_bits + (above >> *extra_bits);
}

/* ---- uses ---- */

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

/* Fill in `uses`; the extra bits of all matches, with the one bit of each distance. */
static uint64_t count_uses(block *b)
{
    histogram count = {0};
    uint64_t bits = 0;
    size_t at = 0;

    memset(b->uses, 0, sizeof b->uses);
    for (size_t i = 0; i < b->n_runs; i++) {
        count_literals(&count, b->src + at, b->runs[i].start - at);
        at = b->runs[i].stop;
        for (size_t left = at - b->runs[i].start, length; left; left -= length) {
            unsigned extra_bits;

            length = next_match(left);
            b->uses[length_symbol(length, &extra_bits)]++;
            bits += extra_bits + 1;
        }
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

/* Lay out the header that tells `length`; its bits. */
static uint64_t make_header(header *h, const uint8_t *length)
{
    uint8_t sent[N_SENT];
    uint32_t uses[N_LENGTH_CODES] = {0};
    uint64_t bits = 3 + 5 + 5 + 4;

    h->n = 0;
    h->n_literals = N_SYMBOLS;
    while (!length[h->n_literals - 1]) h->n_literals--;
    memcpy(sent, length, h->n_literals);
    memset(sent + h->n_literals, 1, N_DISTANCES);
    for (size_t i = 0, next, n = h->n_literals + N_DISTANCES; i < n; i = next) {
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

static void put_header(const header *h, bool is_last, tc_deflate_writer *out)
{
    uint16_t code[N_LENGTH_CODES];

    tc_huffman_codes(h->length, N_LENGTH_CODES, code);
    tc_deflate_put(out, is_last | DYNAMIC << 1, 3);
    tc_deflate_put(out, (h->n_literals - FIRST_LENGTH) | (N_DISTANCES - 1) << 5 | (h->n_lengths - 4) << 10, 14);
    for (size_t i = 0; i < h->n_lengths; i++) tc_deflate_put(out, h->length[length_order[i]], 3);
    for (size_t i = 0; i < h->n; i++) {
        const unsigned symbol = h->symbol[i];

        tc_deflate_put(out, code[symbol] | (uint32_t)h->extra[i] << h->length[symbol],
                       h->length[symbol] + extra_bits_of(symbol));
    }
}

/* ---- blocks ---- */

/* Find the runs and the codes of a block. */
static void prepare(block *b, bool is_first, const path *with)
{
    find_runs(b, is_first, with);
    b->bits = count_uses(b);
    tc_huffman_lengths(b->uses, N_SYMBOLS, TC_DEFLATE_MAX_LITERAL_LENGTH, b->length);
    for (size_t symbol = 0; symbol < N_SYMBOLS; symbol++) b->bits += b->uses[symbol] * b->length[symbol];
    b->bits += make_header(&b->header, b->length);
}

/* Bits that matches would save among the literals of a block, by a sample of them. */
static uint64_t match_gain(const block *b)
{
    tc_deflate_seen seen;
    uint64_t gain = 0;
    size_t at = 0;

    tc_deflate_seen_begin(&seen, b->bits, b->n);
    for (size_t i = 0; i < b->n_runs; i++) {
        gain += tc_deflate_match_gain(&seen, b->src, at, b->runs[i].start, b->length);
        at = b->runs[i].stop;
    }
    return gain + tc_deflate_match_gain(&seen, b->src, at, b->n, b->length);
}

static void put_run(tc_deflate_writer *out, size_t left, const uint8_t *lengths, const uint16_t *code)
{
    for (size_t length; left; left -= length) {
        unsigned extra_bits, symbol;

        length = next_match(left);
        symbol = length_symbol(length, &extra_bits);
        const uint32_t extra = (uint32_t)(length - 3) & ((1u << extra_bits) - 1);

        /* behind it one 0 bit, the code of distance 1 */
        tc_deflate_put(out, code[symbol] | extra << lengths[symbol], lengths[symbol] + extra_bits + 1);
    }
}

static void put_dynamic(const block *b, bool is_last, const path *with, tc_deflate_writer *out)
{
    tc_deflate_literals literals;
    uint16_t code[N_SYMBOLS];
    size_t at = 0;

    put_header(&b->header, is_last, out);
    tc_huffman_codes(b->length, N_SYMBOLS, code);
    memcpy(literals.code, code, sizeof literals.code);
    memcpy(literals.length, b->length, sizeof literals.length);
    for (size_t i = 0; i < b->n_runs; i++) {
        with->emit(out, b->src + at, b->runs[i].start - at, &literals);
        at = b->runs[i].stop;
        put_run(out, at - b->runs[i].start, b->length, code);
    }
    with->emit(out, b->src + at, b->n - at, &literals);
    tc_deflate_put(out, code[END_OF_BLOCK], b->length[END_OF_BLOCK]);
}

static void put_stored(const block *b, bool is_last, tc_deflate_writer *out)
{
    const uint64_t n = b->n;

    tc_deflate_put(out, is_last | STORED << 1, 3);
    tc_deflate_put(out, 0, (8 - out->count) % 8);
    tc_deflate_put(out, n | (~n & 0xffff) << 16, 32);
    memcpy(out->next, b->src, b->n);
    out->next += b->n;
}

/* ---- streams ---- */

/* Whether a plane is one byte over and over. */
static bool is_constant(const uint8_t *src, size_t n)
{
    return end_of_run(src, 0, n, src[0]) == n;
}

/* Where the block that starts at `start` ends: with its plane, or where constant planes end, or sooner in equal parts. */
static size_t end_of_block(const uint8_t *src, size_t start, size_t n, size_t plane)
{
    size_t left = start / plane * plane + plane - start;

    if (left >= n - start) left = n - start;
    if (is_constant(src + start, left))
        while (left <= MAX_BLOCK && start + left + plane <= n && left + plane <= MAX_BLOCK &&
               is_constant(src + start + left, plane))
            left += plane;
    return start + (left + (left - 1) / MAX_BLOCK) / ((left - 1) / MAX_BLOCK + 1);
}

size_t tc_deflate_bound(size_t n)
{
    const size_t n_blocks = n / SHORTEST_PLANE + n / MAX_BLOCK + 2;

    return n + STORED_BITS / 8 * n_blocks + WORD;
}

tc_status tc_deflate(tc_cpu cpu, const uint8_t *src, size_t n, size_t plane, uint8_t *dst, size_t dst_cap, size_t *used)
{
    const path with = path_of(cpu);
    tc_deflate_writer out = {.next = dst};
    uint64_t gain = 0;
    block b;

    *used = 0;
    if (n < SHORTEST || plane < SHORTEST_PLANE) return TC_REFUSED;
    for (size_t start = 0, end; start < n; start = end) {
        end = end_of_block(src, start, n, plane);
        b.src = src + start;
        b.n = end - start;
        prepare(&b, start == 0, &with);

        const bool is_stored = b.bits >= 8 * b.n + STORED_BITS;
        const uint64_t nbytes = is_stored ? b.n + STORED_BITS / 8 : b.bits / 8 + 1;

        if (nbytes + WORD > dst_cap - (size_t)(out.next - dst)) return TC_NO_SPACE;
        gain += match_gain(&b);
        if (gain > 8 * n / SMALL_GAIN) return TC_REFUSED;
        if (is_stored) put_stored(&b, end == n, &out);
        else put_dynamic(&b, end == n, &with, &out);
    }
    tc_deflate_put(&out, 0, (8 - out.count) % 8);
    *used = (size_t)(out.next - dst);
    return gain > 8 * *used / SMALL_GAIN ? TC_REFUSED : TC_OK;
}
