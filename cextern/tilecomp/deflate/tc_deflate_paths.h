/* What tc_deflate does to many bytes at a time, once for each CPU level; all give the same. */
#ifndef TC_DEFLATE_PATHS_H
#define TC_DEFLATE_PATHS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tc_cpu.h"

enum {
    TC_DEFLATE_MIN_RUN = 8,             /* bytes of a run after its first one; shorter ones cost less as literals */
    TC_DEFLATE_WORD = 8,                /* bytes that the writer may touch behind the stream */
    TC_DEFLATE_MAX_LITERAL_LENGTH = 14  /* bits, so that four codes and the rest of a byte fit into 64 */
};

/* Bits not yet stored, lowest first: fewer than 8 between two calls.  Storing may touch 8 bytes from `next` on. */
typedef struct {
    uint8_t *next;
    uint64_t bits;
    unsigned count;
} tc_deflate_writer;

static inline uint64_t tc_deflate_load64(const uint8_t *src)
{
    uint64_t word;

    memcpy(&word, src, sizeof word);
    return word;
}

/* Append up to 56 bits. */
static inline void tc_deflate_put(tc_deflate_writer *out, uint64_t bits, unsigned count)
{
    out->bits |= bits << out->count;
    memcpy(out->next, &out->bits, sizeof out->bits);
    out->count += count;
    out->next += out->count / 8;
    out->bits >>= out->count & ~7u;
    out->count &= 7;
}

/* Codes of the 256 literals, first bit lowest, and their lengths. */
typedef struct {
    uint16_t code[256];
    uint8_t length[256];
} tc_deflate_literals;

/* The first i in [from, end) from which TC_DEFLATE_MIN_RUN bytes equal the one before them, all in front of `end`;
 * else `end`.  There is a byte before `from`. */
typedef size_t tc_deflate_find_run(const uint8_t *src, size_t from, size_t end);
/* Append the codes of n bytes. */
typedef void tc_deflate_emit(tc_deflate_writer *out, const uint8_t *src, size_t n, const tc_deflate_literals *literals);

tc_deflate_find_run TC_LEVELS(tc_deflate_find_run);
tc_deflate_emit TC_LEVELS(tc_deflate_emit);

#endif
