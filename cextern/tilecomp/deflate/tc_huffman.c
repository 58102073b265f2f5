#include "tc_huffman.h"

#include <string.h>

enum { MAX_SYMBOLS = TC_HUFFMAN_MAX_SYMBOLS, SYMBOL_BITS = 9, SYMBOL_MASK = (1 << SYMBOL_BITS) - 1, DIGIT_BITS = 8,
       N_DIGITS = 1 << DIGIT_BITS, MAX_DEPTH = MAX_SYMBOLS };

/* One pass of a radix sort by the digit at `shift`. */
static void sort_by_digit(const uint32_t *restrict src, size_t n, unsigned shift, uint32_t *restrict dst)
{
    uint16_t place[N_DIGITS] = {0};
    unsigned sum = 0;

    for (size_t i = 0; i < n; i++) place[src[i] >> shift & (N_DIGITS - 1)]++;
    for (size_t digit = 0; digit < N_DIGITS; digit++) {
        const unsigned count = place[digit];

        place[digit] = (uint16_t)sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++) dst[place[src[i] >> shift & (N_DIGITS - 1)]++] = src[i];
}

/* The symbols in use, rarest first, each as count << SYMBOL_BITS | symbol; how many they are. */
static size_t sort_symbols(const uint32_t *counts, size_t n, uint32_t *sorted)
{
    uint32_t other[MAX_SYMBOLS + 1] = {0}, all_bits = 0;
    size_t used = 0;

    for (size_t symbol = 0; symbol < n; symbol++) {
        other[used] = counts[symbol] << SYMBOL_BITS | (uint32_t)symbol;
        used += counts[symbol] != 0;
        all_bits |= counts[symbol];
    }
    sort_by_digit(other, used, SYMBOL_BITS, sorted);
    if (all_bits < N_DIGITS) return used;
    memcpy(other, sorted, used * sizeof *other);
    sort_by_digit(other, used, SYMBOL_BITS + DIGIT_BITS, sorted);
    return used;
}

/* How many leaves of the Huffman tree lie at each depth.  The two lightest nodes are joined again and again; leaves come
 * sorted and joined nodes arise in order of weight, so the lightest is always at the head of one of two queues. */
static void count_depths(const uint32_t *sorted, size_t n, uint32_t *at_depth)
{
    uint32_t leaf[MAX_SYMBOLS + 1], joined[MAX_SYMBOLS + 1];
    uint16_t parent[2 * MAX_SYMBOLS], depth[MAX_SYMBOLS];
    size_t next_leaf = 0, next_joined = 0;

    for (size_t i = 0; i < n; i++) leaf[i] = sorted[i] >> SYMBOL_BITS;
    leaf[n] = joined[0] = UINT32_MAX;
    for (size_t node = 0; node + 1 < n; node++) {
        uint32_t weight = 0;

        for (int child = 0; child < 2; child++) {
            const uint32_t a = leaf[next_leaf], b = joined[next_joined];
            const size_t is_leaf = a <= b;

            parent[is_leaf ? next_leaf : MAX_SYMBOLS + next_joined] = (uint16_t)node;
            weight += is_leaf ? a : b;
            next_leaf += is_leaf;
            next_joined += !is_leaf;
        }
        joined[node] = weight;
        joined[node + 1] = UINT32_MAX;
    }
    depth[n - 2] = 0;
    for (size_t node = n - 2; node-- > 0;) depth[node] = (uint16_t)(depth[parent[MAX_SYMBOLS + node]] + 1);
    for (size_t i = 0; i < n; i++) at_depth[depth[parent[i]] + 1]++;
}

/* Lift the leaves below the limit up to it, then lower others until the code fits: the sum of 2^-length is 1 again. */
static void limit_depths(uint32_t *at_depth, size_t n, unsigned limit)
{
    uint32_t sum = 0;

    for (size_t depth = limit + 1; depth < n; depth++) at_depth[limit] += at_depth[depth];
    for (unsigned depth = 1; depth <= limit; depth++) sum += at_depth[depth] << (limit - depth);
    for (; sum > 1u << limit; sum--) {
        unsigned depth = limit - 1;

        while (!at_depth[depth]) depth--;
        at_depth[limit]--;
        at_depth[depth]--;
        at_depth[depth + 1] += 2;
    }
}

void tc_huffman_lengths(const uint32_t *counts, size_t n, unsigned limit, uint8_t *lengths)
{
    uint32_t sorted[MAX_SYMBOLS + 1], at_depth[MAX_DEPTH + 1] = {0};
    const size_t used = sort_symbols(counts, n, sorted);
    size_t i = 0;

    memset(lengths, 0, n);
    if (used < 2) {
        if (used) lengths[sorted[0] & SYMBOL_MASK] = 1;
        return;
    }
    count_depths(sorted, used, at_depth);
    limit_depths(at_depth, used, limit);
    for (unsigned length = limit; length > 0; length--)
        for (uint32_t left = at_depth[length]; left > 0; left--) lengths[sorted[i++] & SYMBOL_MASK] = (uint8_t)length;
}

static uint16_t reversed(uint16_t bits)
{
    bits = (uint16_t)((bits & 0x5555) << 1 | (bits >> 1 & 0x5555));
    bits = (uint16_t)((bits & 0x3333) << 2 | (bits >> 2 & 0x3333));
    bits = (uint16_t)((bits & 0x0f0f) << 4 | (bits >> 4 & 0x0f0f));
    return (uint16_t)(bits << 8 | bits >> 8);
}

void tc_huffman_codes(const uint8_t *lengths, size_t n, uint16_t *codes)
{
    uint32_t next[TC_HUFFMAN_MAX_LENGTH + 1] = {0}, uses[TC_HUFFMAN_MAX_LENGTH + 1] = {0};

    for (size_t symbol = 0; symbol < n; symbol++) uses[lengths[symbol]]++;
    uses[0] = 0;
    for (unsigned length = 1; length <= TC_HUFFMAN_MAX_LENGTH; length++)
        next[length] = (next[length - 1] + uses[length - 1]) << 1;
    for (unsigned length = 1; length <= TC_HUFFMAN_MAX_LENGTH; length++) next[length] <<= 16 - length;
    for (size_t symbol = 0; symbol < n; symbol++) { /* left-aligned: then the reversal needs no shift of its own */
        const unsigned length = lengths[symbol];

        codes[symbol] = 0;
        if (!length) continue;
        codes[symbol] = (uint16_t)next[length];
        next[length] += 1u << (16 - length);
    }
    for (size_t symbol = 0; symbol < n; symbol++) codes[symbol] = reversed(codes[symbol]);
}
