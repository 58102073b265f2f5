#include "tc_deflate_matches.h"

#include <string.h>

#include "tc_choose.h"

enum {
    MIN_LENGTH = TC_DEFLATE_MIN_LENGTH,
    MAX_LENGTH = TC_DEFLATE_MAX_LENGTH,
    WORD = sizeof(uint64_t),
    FAR = 6,          /* bytes that are the same where a longer match may begin */
    SYMBOL_BITS = 2,  /* of length and distance of a match: few, for where matches are many they are short */
    LONG_HERE = 64,   /* a match of this length is not held against another at its place, */
    LONG_AHEAD = 16,  /* and one of this length against none a byte later */
    MIN_BITS = 10   /* of slots */
};

/* ---- runs ---- */

size_t tc_deflate_end_of_run(const uint8_t *src, size_t at, size_t end, uint8_t value)
{
    const uint64_t word = value * UINT64_C(0x0101010101010101);

    for (; at + sizeof word <= end; at += sizeof word) {
        const uint64_t differ = tc_deflate_load64(src + at) ^ word;

        if (differ) return at + (unsigned)__builtin_ctzll(differ) / 8;
    }
    while (at < end && src[at] == value) at++;
    return at;
}

/* The length of the next match of a run; what is left is none or enough for another. */
static size_t next_length(size_t left)
{
    if (left <= MAX_LENGTH) return left;
    return left - MAX_LENGTH < MIN_LENGTH ? left - MIN_LENGTH : MAX_LENGTH;
}

size_t tc_deflate_find_runs(tc_deflate_find_run *find_run, const uint8_t *src, size_t n, bool is_first,
                            tc_deflate_match *matches)
{
    size_t n_matches = 0;

    for (size_t at = is_first; (at = find_run(src, at, n)) < n;) {
        const size_t stop = tc_deflate_end_of_run(src, at, n, src[(ptrdiff_t)at - 1]);

        while (at < stop) {
            const size_t length = next_length(stop - at);

            matches[n_matches++] = (tc_deflate_match){(uint32_t)at, (uint16_t)length, 1};
            at += length;
        }
    }
    return n_matches;
}

/* ---- all matches ---- */

typedef struct {
    unsigned length, distance;
    int gain; /* bits saved over literals */
} candidate;

/* The slot of the first `nbytes` of a word. */
TC_INLINE size_t slot_of(const tc_deflate_seen *seen, uint64_t word, unsigned nbytes)
{
    return (word << (64 - 8 * nbytes)) * 0x9e3779b97f4a7c15u >> (64 - seen->bits);
}

/* How many bytes from a and b on are equal, of at most n; the first 8 of each differ by `differ`. */
TC_INLINE size_t equal_bytes(const uint8_t *a, const uint8_t *b, size_t n, uint64_t differ)
{
    size_t i = 0;

    while (!differ) {
        i += WORD;
        if (i + WORD > n) {
            while (i < n && a[i] == b[i]) i++;
            return i;
        }
        differ = tc_deflate_load64(a + i) ^ tc_deflate_load64(b + i);
    }
    return i + (unsigned)__builtin_ctzll(differ) / 8;
}

/* Take the match of src[at, to) with what begins `distance` before if `nbytes` at least are equal and it gains more than
 * `best`. */
TC_INLINE void consider(candidate *best, const uint8_t *src, size_t at, size_t to, size_t distance, unsigned nbytes,
                        const uint16_t *literals)
{
    if (distance > at) distance = 0;
    const uint64_t differ = tc_deflate_load64(src + at) ^ tc_deflate_load64(src + at - distance);

    if (differ << (64 - 8 * nbytes) || distance - 1 >= TC_DEFLATE_MAX_DISTANCE) return;

    const size_t most = to - at < MAX_LENGTH ? to - at : MAX_LENGTH;
    const unsigned length = (unsigned)equal_bytes(src + at, src + at - distance, most, differ);
    unsigned length_bits, distance_bits;

    tc_deflate_length_symbol(length, &length_bits);
    tc_deflate_distance_symbol((unsigned)distance, &distance_bits);
    const int gain = (uint16_t)(literals[length] - literals[0]) - (int)(SYMBOL_BITS + length_bits + distance_bits);

    if (gain > best->gain) *best = (candidate){length, (unsigned)distance, gain};
}

/* The match at `at` that gains more than `least` bits, if any.  The nearest place with the same three bytes is the cheapest;
 * at those with the same six a longer match may begin. */
TC_INLINE candidate best_match(const tc_deflate_seen *seen, const uint8_t *src, size_t at, size_t to, int least,
                               const uint16_t *literals)
{
    const uint64_t word = tc_deflate_load64(src + at);
    const uint16_t three = seen->three[slot_of(seen, word, MIN_LENGTH)];
    const uint32_t six = seen->six[slot_of(seen, word, FAR)];
    candidate best = {.gain = least};

    consider(&best, src, at, to, (uint16_t)(at - three), MIN_LENGTH, literals);
    consider(&best, src, at, to, (uint16_t)(at - six), FAR, literals);
    if (best.length && best.length < LONG_HERE) consider(&best, src, at, to, (uint16_t)(at - (six >> 16)), FAR, literals);
    return best;
}

TC_INLINE void remember(tc_deflate_seen *seen, const uint8_t *src, size_t at)
{
    const uint64_t word = tc_deflate_load64(src + at);
    uint32_t *const six = &seen->six[slot_of(seen, word, FAR)];

    seen->three[slot_of(seen, word, MIN_LENGTH)] = (uint16_t)at;
    *six = *six << 16 | (uint16_t)at;
}

static void sum_literals(tc_deflate_seen *seen, const uint8_t *src, size_t n, const uint8_t *literal_bits)
{
    seen->literals[0] = 0;
    for (size_t i = 0; i < n; i++) seen->literals[i + 1] = (uint16_t)(seen->literals[i] + literal_bits[src[i]]);
}

void tc_deflate_seen_begin(tc_deflate_seen *seen, size_t n)
{
    seen->bits = MIN_BITS;
    while (seen->bits < TC_DEFLATE_SEEN_BITS && n >> seen->bits) seen->bits++;
    memset(seen->three, 0, sizeof *seen->three << seen->bits);
    memset(seen->six, 0, sizeof *seen->six << seen->bits);
}

/* A short match is held back while one that begins a byte later gains more.  What repeats itself is remembered by its first
 * bytes, so that the like of it matches from there on, and by its last ones. */
size_t tc_deflate_find_matches(tc_deflate_seen *seen, const uint8_t *src, size_t from, size_t to,
                               const uint8_t *literal_bits, tc_deflate_match *matches)
{
    const size_t last = to - from < WORD ? from : to - WORD + 1; /* whole words may be read before it */
    candidate held = {0};
    size_t n = 0;

    sum_literals(seen, src + from, to - from, literal_bits);
    for (size_t at = from; at < last; at++) {
        const candidate found = best_match(seen, src, at, to, held.gain, seen->literals + (at - from));

        if (found.length) held = found;

        const bool repeats = held.length > held.distance;

        if (!repeats) remember(seen, src, at);
        if (!held.length || (found.length && found.length < LONG_AHEAD && at + 1 < last)) continue;

        const size_t start = found.length ? at : at - 1, stop = start + held.length;

        matches[n++] = (tc_deflate_match){(uint32_t)(start - from), (uint16_t)held.length, (uint16_t)held.distance};
        if (repeats && stop - at > FAR) at = stop - FAR;
        while (++at < stop && at < last) remember(seen, src, at);
        at = stop - 1;
        held = (candidate){0};
    }
    return n;
}
