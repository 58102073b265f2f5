/* Whether a search for matches would pay, by a sample of the bytes. */
#ifndef TC_DEFLATE_SAMPLE_H
#define TC_DEFLATE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TC_DEFLATE_SLOT_BITS = 12 };

/* Where bytes of a block were seen last, and how they are compared. */
typedef struct {
    uint16_t position[1 << TC_DEFLATE_SLOT_BITS];
    uint64_t mask;       /* the first 3, 4 or 8 bytes, */
    bool is_long;        /* or 16 */
    unsigned match_bits; /* what a match costs beside log2 of its distance */
} tc_deflate_sample;

/* Begin with a block of n bytes, at most 65535, that takes so many bits without matches. */
void tc_deflate_sample_begin(tc_deflate_sample *sample, uint64_t bits, size_t n);

/* Bits that matches of a sample of src[from, to) with what was seen before would save over literals of the given lengths;
 * a part of what a full search would find, and next to nothing on noise.  The sample is added to what was seen. */
uint64_t tc_deflate_sample_gain(tc_deflate_sample *sample, const uint8_t *src, size_t from, size_t to,
                                const uint8_t *lengths);

#endif
