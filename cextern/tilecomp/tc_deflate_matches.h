/* Whether a search for matches would pay. */
#ifndef TC_DEFLATE_MATCHES_H
#define TC_DEFLATE_MATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TC_DEFLATE_SLOT_BITS = 10 };

/* Where bytes of a block were seen last, and how many of them are compared at once. */
typedef struct {
    uint16_t position[1 << TC_DEFLATE_SLOT_BITS];
    uint64_t mask; /* the first 4 or 8 bytes */
    bool is_long;  /* 16 bytes */
} tc_deflate_seen;

/* Begin with a block of n bytes, at most 65535, that takes so many bits without matches. */
void tc_deflate_seen_begin(tc_deflate_seen *seen, uint64_t bits, size_t n);

/* Bits that matches of a sample of src[from, to) with what was seen before would save over literals of the given lengths;
 * a part of what a full search would find, and next to nothing on noise.  The sample is added to what was seen. */
uint64_t tc_deflate_match_gain(tc_deflate_seen *seen, const uint8_t *src, size_t from, size_t to, const uint8_t *lengths);

#endif
