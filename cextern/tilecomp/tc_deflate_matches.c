#include "tc_deflate_matches.h"

#include <string.h>

enum {
    MAX_MATCH = 258,
    MATCH_BITS = 14, /* what a match costs beside log2 of its distance: its symbols, and how they lengthen other codes */
    WINDOW = 256,    /* in each window of so many bytes, */
    DENSE = 32,      /* every position is looked up in the first ones, */
    STEP = 4         /* and every fourth in the others */
};

static inline uint64_t load64(const uint8_t *src)
{
    uint64_t word;

    memcpy(&word, src, sizeof word);
    return word;
}

/* Bits that the match of src[at, end) with what begins at `before` saves over literals, if any; its length. */
static uint64_t gain_of_match(const uint8_t *src, size_t before, size_t at, size_t end, const uint8_t *lengths,
                              size_t *length)
{
    const size_t most = end - at < MAX_MATCH ? end - at : MAX_MATCH;
    const uint64_t match = MATCH_BITS + 31u - (unsigned)__builtin_clz((unsigned)(at - before));
    uint64_t literals = 0;
    size_t i = 0;

    for (; i < most && src[before + i] == src[at + i]; i++) literals += lengths[src[at + i]];
    *length = i;
    return literals > match ? literals - match : 0;
}

void tc_deflate_seen_begin(tc_deflate_seen *seen, uint64_t bits, size_t n)
{
    memset(seen->position, 0, sizeof seen->position);
    seen->mask = bits >= 4 * n ? UINT32_MAX : UINT64_MAX;
    seen->is_long = bits < 2 * n;
}

uint64_t tc_deflate_match_gain(tc_deflate_seen *seen, const uint8_t *src, size_t from, size_t to, const uint8_t *lengths)
{
    uint64_t gain = 0;

    for (size_t at = from ? from : 1; at + 2 * sizeof(uint64_t) <= to;) { /* 0 is the place before all that are looked up */
        const uint64_t gram = load64(src + at) & seen->mask;
        uint16_t *const slot = &seen->position[gram * 0x9e3779b97f4a7c15u >> (64 - TC_DEFLATE_SLOT_BITS)];
        const size_t before = *slot;

        *slot = (uint16_t)at;
        if ((load64(src + before) & seen->mask) == gram && (!seen->is_long || load64(src + before + 8) == load64(src + at + 8))) {
            size_t length;
            const uint64_t saved = gain_of_match(src, before, at, to, lengths, &length);

            if (saved) {
                gain += saved;
                at += length;
                continue;
            }
        }
        at += at % WINDOW < DENSE ? 1 : STEP;
    }
    return gain;
}
