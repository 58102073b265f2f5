#include "tc_deflate_sample.h"

#include <string.h>

#include "tc_deflate_paths.h"
#include "tc_deflate_symbols.h"

enum {
    WINDOW = 256, /* in each window of so many bytes, */
    DENSE = 32,   /* every position is looked up in the first ones, */
    STEP = 4      /* and every fourth in the others */
};

/* Bits that the match of src[at, end) with what begins at `before` saves over literals, if any; its length. */
static uint64_t gain_of_match(const uint8_t *src, size_t before, size_t at, size_t end, const uint8_t *lengths,
                              unsigned match_bits, size_t *length)
{
    const size_t most = end - at < TC_DEFLATE_MAX_LENGTH ? end - at : TC_DEFLATE_MAX_LENGTH;
    const uint64_t match = match_bits + 31u - (unsigned)__builtin_clz((unsigned)(at - before));
    uint64_t literals = 0;
    size_t i = 0;

    for (; i < most && src[before + i] == src[at + i]; i++) literals += lengths[src[at + i]];
    *length = i;
    return literals > match ? literals - match : 0;
}

/* The fewer bits a byte takes, the more bytes are equal by chance, and the more a match lengthens the codes of others. */
void tc_deflate_sample_begin(tc_deflate_sample *sample, uint64_t bits, size_t n)
{
    memset(sample->position, 0, sizeof sample->position);
    sample->mask = bits >= 5 * n ? 0xffffff : bits >= 4 * n ? UINT32_MAX : UINT64_MAX;
    sample->is_long = bits < 2 * n;
    sample->match_bits = bits >= 5 * n ? 9 : bits >= 2 * n ? 14 : 20;
}

uint64_t tc_deflate_sample_gain(tc_deflate_sample *sample, const uint8_t *src, size_t from, size_t to,
                                const uint8_t *lengths)
{
    uint64_t gain = 0;

    for (size_t at = from ? from : 1; at + 2 * sizeof(uint64_t) <= to;) { /* 0 is the place before all that are looked up */
        const uint64_t gram = tc_deflate_load64(src + at) & sample->mask;
        uint16_t *const slot = &sample->position[gram * 0x9e3779b97f4a7c15u >> (64 - TC_DEFLATE_SLOT_BITS)];
        const size_t before = *slot;

        *slot = (uint16_t)at;
        if ((tc_deflate_load64(src + before) & sample->mask) == gram &&
            (!sample->is_long || tc_deflate_load64(src + before + 8) == tc_deflate_load64(src + at + 8))) {
            size_t length;
            const uint64_t saved = gain_of_match(src, before, at, to, lengths, sample->match_bits, &length);

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
