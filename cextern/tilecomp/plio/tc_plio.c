/* PLIO_1, FITS 4.0 section 10.4.3.  A tile is a list of big-endian 16-bit words, made for masks.
 *   head        0, 7, -100, L mod 32768, L div 32768, 0, 0: L is the number of words with the head, 7 that of the head
 *               old form: x, x, L > 0, and the instructions begin at word 3
 *   instruction a code in bits 14 to 12 and a number D in the low 12 bits; bit 15 is 0
 * The state is a position x = 0 and a level pv = 1.
 *   0 ZN  D pixels of 0                      1 SH  pv = next word * 4096 + D
 *   4 HN  D pixels of pv                     2 IH  pv += D            3 DH  pv -= D
 *   5 PN  D - 1 pixels of 0, one of pv       6 IS  pv += D, one pixel   7 DS  pv -= D, one pixel
 * Pixels that the list does not reach are 0; what would lie behind the last one is dropped.  Levels are 0 ... 2^24 - 1.
 * Reads stay in [src, src + src_len), writes in [dst, dst + n).  Time is bounded by L + n. */
#include "tc_plio.h"

#include <stdbool.h>
#include <string.h>

#define HEAD_WORDS 7u
#define OLD_HEAD_WORDS 3u
#define NEW_FORM (-100)
#define WORD_LIMIT 32768u /* a word is less, for it counts as signed */
#define MAX 4095u        /* of what 12 bits hold */

enum { ZN, SH, IH, DH, HN, PN, IS, DS };

static int16_t load_word(const uint8_t *words, size_t i)
{
    return (int16_t)(words[2 * i] << 8 | words[2 * i + 1]);
}

typedef struct {
    const uint8_t *words;
    size_t next, end; /* words of the list */
    int64_t level;
} list;

/* Find the instructions and hold the length that the list states against what is there. */
static tc_status open_list(const uint8_t *src, size_t src_len, list *in)
{
    const size_t n_words = src_len / 2;
    size_t length, first;

    if (n_words < OLD_HEAD_WORDS) return TC_TRUNCATED;
    if (load_word(src, 2) > 0) {
        first = OLD_HEAD_WORDS;
        length = load_word(src, 2) < (int)OLD_HEAD_WORDS ? OLD_HEAD_WORDS : (size_t)load_word(src, 2);
    } else {
        if (load_word(src, 2) != NEW_FORM) return TC_CORRUPT;
        if (n_words < HEAD_WORDS) return TC_TRUNCATED;
        if (load_word(src, 1) <= 0 || load_word(src, 3) < 0 || load_word(src, 4) < 0) return TC_CORRUPT;
        first = (size_t)load_word(src, 1);
        length = (size_t)load_word(src, 3) + (size_t)load_word(src, 4) * WORD_LIMIT;
    }
    if (length < first) return TC_CORRUPT;
    if (length > n_words) return TC_TRUNCATED;
    *in = (list){src, first, length, 1};
    return TC_OK;
}

typedef struct {
    size_t zeros, levels; /* pixels of 0, then pixels of the level */
} pixel_run;

/* SH takes the upper bits of the level from the next word. */
static tc_status set_level(list *in, int32_t low)
{
    if (in->next == in->end) return TC_TRUNCATED;
    const int32_t high = load_word(in->words, in->next++);
    if (high < 0 || high > (int32_t)MAX) return TC_OUT_OF_RANGE;
    in->level = (int64_t)high << 12 | low;
    return TC_OK;
}

/* The pixels of the next instruction, free of branches but for what is rare; it may change the level first. */
static inline tc_status next_run(list *in, pixel_run *r)
{
    const int32_t word = load_word(in->words, in->next++), code = word >> 12, d = word & (int32_t)MAX;

    if (word < 0) return TC_BAD_CODE;
    in->level += code == IH || code == IS ? d : code == DH || code == DS ? -d : 0;
    r->zeros = code == ZN ? (size_t)d : code == PN && d > 0 ? (size_t)d - 1 : 0;
    r->levels = code == HN ? (size_t)d : code == IS || code == DS || (code == PN && d > 0);
    if (code == SH) return set_level(in, d);
    return in->level < 0 || in->level > TC_PLIO_MAX_VALUE ? TC_OUT_OF_RANGE : TC_OK;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

#define PIXEL int32_t
#define PIXEL_MIN INT32_MIN
#define PIXEL_MAX INT32_MAX
#define NAME(x) x##_i32
#include "tc_plio_decode.h"

#define PIXEL int16_t
#define PIXEL_MIN INT16_MIN
#define PIXEL_MAX INT16_MAX
#define NAME(x) x##_i16
#include "tc_plio_decode.h"

#define PIXEL uint8_t
#define PIXEL_MIN 0
#define PIXEL_MAX UINT8_MAX
#define NAME(x) x##_u8
#include "tc_plio_decode.h"

/* ---- encoding ---- */

/* SH, its word and HN for every pixel are the worst case. */
size_t tc_plio_bound(size_t n)
{
    return 2 * (HEAD_WORDS + 3 * n);
}

typedef struct {
    uint8_t *dst;
    size_t cap, n; /* words */
    bool full;
} word_writer;

static void store_word(uint8_t *dst, size_t i, uint32_t word)
{
    dst[2 * i] = (uint8_t)(word >> 8);
    dst[2 * i + 1] = (uint8_t)word;
}

static void put_word(word_writer *out, int code, uint32_t d)
{
    if (out->n < out->cap)
        store_word(out->dst, out->n++, (uint32_t)code << 12 | d);
    else
        out->full = true;
}

static void put_runs(word_writer *out, int code, size_t n)
{
    for (; n > 0; n -= n < MAX ? n : MAX) put_word(out, code, (uint32_t)(n < MAX ? n : MAX));
}

/* `zeros` pixels of 0, then `run` of `value`, where `level` is the one that the decoder has. */
static void put_group(word_writer *out, size_t zeros, size_t run, int64_t value, int64_t level)
{
    const int64_t step = value - level;

    if (step > (int64_t)MAX || step < -(int64_t)MAX) {
        put_word(out, SH, (uint32_t)(value & MAX));
        put_word(out, 0, (uint32_t)(value >> 12));
    } else if (step != 0) {
        const bool single = run == 1 && zeros == 0;

        put_word(out, step > 0 ? (single ? IS : IH) : (single ? DS : DH), (uint32_t)(step > 0 ? step : -step));
        if (single) return;
    }
    /* PN is one zero longer than the run it stands for: after a full last ZN it would not hold, and HN follows */
    if (run == 1 && zeros % MAX != 0) {
        put_runs(out, ZN, zeros - zeros % MAX);
        put_word(out, PN, (uint32_t)(zeros % MAX + 1));
        return;
    }
    put_runs(out, ZN, zeros);
    put_runs(out, HN, run);
}

/* How many of n pixels, n >= 1, are equal to the first one before another comes. */
static size_t run_length(const int32_t *px, size_t n)
{
    size_t i = 1;

    for (int32_t differences = 0; i + 8 <= n; i += 8) {
        for (size_t k = 0; k < 8; k++) differences |= px[i + k] ^ px[0];
        if (differences) break;
    }
    while (i < n && px[i] == px[0]) i++;
    return i;
}

static bool in_range(const int32_t *src, size_t n, int32_t offset)
{
    int32_t low = n ? src[0] : 0, high = low;

    for (size_t i = 0; i < n; i++) {
        low = src[i] < low ? src[i] : low;
        high = src[i] > high ? src[i] : high;
    }
    return n == 0 || ((int64_t)low + offset >= 0 && (int64_t)high + offset <= TC_PLIO_MAX_VALUE);
}

static tc_status finish_list(word_writer *out, size_t *used)
{
    if (out->full) return TC_NO_SPACE;
    if (out->n / WORD_LIMIT >= WORD_LIMIT) return TC_UNSUPPORTED; /* its length does not fit the head */
    store_word(out->dst, 3, (uint32_t)(out->n % WORD_LIMIT));
    store_word(out->dst, 4, (uint32_t)(out->n / WORD_LIMIT));
    *used = 2 * out->n;
    return TC_OK;
}

tc_status tc_plio_encode_i32(const int32_t *src, size_t n, int32_t offset, uint8_t *dst, size_t dst_cap, size_t *used)
{
    static const uint8_t head[2 * HEAD_WORDS] = {0, 0, 0, HEAD_WORDS, 0xff, 0x9c};
    word_writer out = {dst, dst_cap / 2, HEAD_WORDS, false};
    int64_t level = 1;

    *used = 0;
    if (!in_range(src, n, offset)) return TC_OUT_OF_RANGE;
    if (out.cap < HEAD_WORDS) return TC_NO_SPACE;
    memcpy(dst, head, sizeof head);
    for (size_t i = 0; i < n;) {
        const size_t zeros = src[i] + offset == 0 ? run_length(src + i, n - i) : 0;

        i += zeros;
        if (i == n) {
            put_runs(&out, ZN, zeros);
            break;
        }
        const size_t run = run_length(src + i, n - i);
        const int32_t value = src[i] + offset;
        put_group(&out, zeros, run, value, level);
        level = value;
        i += run;
    }
    return finish_list(&out, used);
}
