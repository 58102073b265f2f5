/* What libcfitsio (4.2 to 4.7) does not do by itself, and what is done about it here:
 *   fits_rdecomp*      read the first pixel and one byte ahead unchecked, look for a 1 past the end and test the end only
 *                      after a block: the copy is padded with ones, a block's worth of them
 *   fits_rcomp*        test their buffer only after a block: the buffer is longer than any stream by a block.  Pixels of 4
 *                      bytes in blocks of more than 32 may leave them with a difference they cannot hold: ours encodes those
 *   pl_l2pi            does not know the length of the list; leaves the output untouched for an empty one
 *   pl_p2li            does not know the size of its buffer, and loses 4095 zeros where a multiple of them stands before
 *                      a single pixel: ours encodes such tiles
 *   fits_hdecompress*  know neither length nor size of the tile, keep their state in globals, overflow their scratch where
 *                      the tile is one pixel wide and their 32-bit arithmetic on large tiles: always the 64-bit one, behind
 *                      a lock; tiles one pixel wide are left to our decoder, and those that a damaged scale drives past
 *                      64 bits, where their arithmetic means nothing.  Pixels are cut off to 32 bits, not clipped
 *   fits_hcompress*    do not test their buffer in one of two ways of writing a plane: it has room for the longest stream */
#include "tc_cfitsio.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tc_hcompress.h"
#include "tc_plio.h"
#include "tc_rice.h"

#ifndef TC_WITHOUT_CFITSIO

#include <fitsio.h>
#include <pthread.h>

typedef void any_function(void);

/* The prototypes come from the installed header, which decides between the forms they had over the years; nx is the
 * fast axis, which libcfitsio itself calls ny. */
typedef int plain_p2li(int *pixels, int first, short *list, int n);
typedef int sized_p2li(int *pixels, int first, short *list, size_t n_words, int n);
typedef int plain_l2pi(short *list, int first, int *pixels, int n);
typedef int sized_l2pi(short *list, size_t n_words, int first, int *pixels, int n);
typedef int plain_hdecompress(unsigned char *stream, int smooth, LONGLONG *pixels, int *nx, int *ny, int *scale,
                              int *status);
typedef int sized_hdecompress(unsigned char *stream, int smooth, LONGLONG *pixels, int n, int *nx, int *ny, int *scale,
                              int *status);

#if defined(__has_include)
#if __has_include(<fitsio2.h>)
#include <fitsio2.h>
#define TC_HAS_FITSIO2 1
#endif
#endif
#ifndef TC_HAS_FITSIO2
int fits_rcomp(int pixels[], int n, unsigned char *stream, int cap, int blocksize);
int fits_rcomp_short(short pixels[], int n, unsigned char *stream, int cap, int blocksize);
int fits_rcomp_byte(signed char pixels[], int n, unsigned char *stream, int cap, int blocksize);
int fits_rdecomp(unsigned char *stream, int len, unsigned int pixels[], int n, int blocksize);
int fits_rdecomp_short(unsigned char *stream, int len, unsigned short pixels[], int n, int blocksize);
int fits_rdecomp_byte(unsigned char *stream, int len, unsigned char pixels[], int n, int blocksize);
plain_p2li pl_p2li;
#if CFITSIO_MAJOR > 4 || (CFITSIO_MAJOR == 4 && CFITSIO_MINOR >= 7)
sized_l2pi pl_l2pi;
#else
plain_l2pi pl_l2pi;
#endif
#endif

#define TC_PAD 64                      /* bytes after a copy that may be looked at, never used */
#define TC_PLIO_LONGEST_RUN 4095
#define TC_PLIO_HEAD_WORDS 7

uint32_t tc_cfitsio_version(void)
{
    return CFITSIO_MAJOR * 10000u + CFITSIO_MINOR * 100u + CFITSIO_MICRO;
}

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static bool lock_unless(bool reentrant)
{
    if (!reentrant) pthread_mutex_lock(&one_at_a_time);
    return !reentrant;
}

static void unlock_if(bool locked)
{
    if (locked) pthread_mutex_unlock(&one_at_a_time);
}

/* `len` bytes of a stream, then `pad` bytes of value `fill`; NULL: no memory.  free() it. */
static uint8_t *padded_copy(const uint8_t *src, size_t len, size_t pad, int fill)
{
    uint8_t *const copy = malloc(len + pad);

    if (!copy) return NULL;
    memcpy(copy, src, len);
    memset(copy + len, fill, pad);
    return copy;
}

/* A finished stream to where the caller wants it. */
static tc_status deliver(const uint8_t *stream, size_t len, uint8_t *dst, size_t dst_cap, size_t *used)
{
    if (len > dst_cap) return TC_NO_SPACE;
    memcpy(dst, stream, len);
    *used = len;
    return TC_OK;
}

/* ---- RICE_1 ---- */

/* Whether a difference between neighbours, folded, needs all 32 bits, which fits_rcomp() cannot hold. */
static bool has_wide_difference(const int32_t *src, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const int32_t difference = (int32_t)((uint32_t)src[i] - (uint32_t)src[i - 1]);
        if (difference >= 1 << 30 || difference < -(1 << 30)) return true;
    }
    return false;
}

/* ---- PLIO_1 ---- */

static inline int call_plain_l2pi(any_function *l2pi, short *list, size_t n_words, int *pixels, int n)
{
    (void)n_words;
    return ((plain_l2pi *)l2pi)(list, 1, pixels, n);
}

static inline int call_sized_l2pi(any_function *l2pi, short *list, size_t n_words, int *pixels, int n)
{
    return ((sized_l2pi *)l2pi)(list, n_words, 1, pixels, n);
}

static inline int call_plain_p2li(any_function *p2li, int *pixels, short *list, size_t n_words, int n)
{
    (void)n_words;
    return ((plain_p2li *)p2li)(pixels, 1, list, n);
}

static inline int call_sized_p2li(any_function *p2li, int *pixels, short *list, size_t n_words, int n)
{
    return ((sized_p2li *)p2li)(pixels, 1, list, n_words, n);
}

#define CALL_L2PI(...)                                                                                                 \
    _Generic(&pl_l2pi, plain_l2pi *: call_plain_l2pi, sized_l2pi *: call_sized_l2pi)((any_function *)pl_l2pi, __VA_ARGS__)
#define CALL_P2LI(...)                                                                                                 \
    _Generic(&pl_p2li, plain_p2li *: call_plain_p2li, sized_p2li *: call_sized_p2li)((any_function *)pl_p2li, __VA_ARGS__)

/* The first n pixels of a list of `len` bytes that our decoder accepted. */
static tc_status plio_pixels(const uint8_t *src, size_t len, int *pixels, size_t n)
{
    const size_t n_words = len / 2;
    short *const list = calloc(n_words + TC_PAD, sizeof *list);
    bool locked;

    if (!list) return TC_NO_MEMORY;
    for (size_t i = 0; i < n_words; i++) list[i] = (short)(uint16_t)(src[2 * i] << 8 | src[2 * i + 1]);
    memset(pixels, 0, n * sizeof *pixels);
    locked = lock_unless(fits_is_reentrant());
    CALL_L2PI(list, n_words, pixels, (int)n);
    unlock_if(locked);
    free(list);
    return TC_OK;
}

/* ---- what RICE_1 and PLIO_1 have for each pixel type ---- */

#define PIXEL uint8_t
#define PIXEL_MIN 0
#define PIXEL_MAX UINT8_MAX
#define NAME(x) x##_u8
#define RDECOMP fits_rdecomp_byte
#define RCOMP fits_rcomp_byte
#define IS_TOO_WIDE(src, n) false
#include "tc_cfitsio_type.h"

#define PIXEL int16_t
#define PIXEL_MIN INT16_MIN
#define PIXEL_MAX INT16_MAX
#define NAME(x) x##_i16
#define RDECOMP fits_rdecomp_short
#define RCOMP fits_rcomp_short
#define IS_TOO_WIDE(src, n) false
#include "tc_cfitsio_type.h"

#define PIXEL int32_t
#define PIXEL_MIN INT32_MIN
#define PIXEL_MAX INT32_MAX
#define NAME(x) x##_i32
#define RDECOMP fits_rdecomp
#define RCOMP fits_rcomp
#define IS_TOO_WIDE(src, n) has_wide_difference(src, n)
#include "tc_cfitsio_type.h"

/* ---- the PLIO_1 encoder ---- */

/* Whether a multiple of 4095 zeros stands before a single pixel of some value. */
static bool loses_zeros(const int *pixels, size_t n)
{
    size_t zeros = 0;

    for (size_t i = 0; i < n; i++) {
        if (pixels[i] == 0) {
            zeros++;
            continue;
        }
        if (zeros > 0 && zeros % TC_PLIO_LONGEST_RUN == 0 && (i + 1 == n || pixels[i + 1] != pixels[i])) return true;
        zeros = 0;
    }
    return false;
}

/* The pixels as libcfitsio wants them; TC_OUT_OF_RANGE if one is no level of a list. */
static tc_status plio_levels(const int32_t *src, size_t n, int32_t offset, int *pixels)
{
    for (size_t i = 0; i < n; i++) {
        const int64_t level = (int64_t)src[i] + offset;
        if (level < 0 || level > TC_PLIO_MAX_VALUE) return TC_OUT_OF_RANGE;
        pixels[i] = (int)level;
    }
    return TC_OK;
}

static tc_status plio_list(int *pixels, size_t n, uint8_t *dst, size_t dst_cap, size_t *used)
{
    const size_t most_words = TC_PLIO_HEAD_WORDS + 3 * n + TC_PAD;
    short *const list = malloc(most_words * sizeof *list);
    size_t len;
    bool locked;
    int n_words;

    if (!list) return TC_NO_MEMORY;
    locked = lock_unless(fits_is_reentrant());
    n_words = CALL_P2LI(pixels, list, most_words, (int)n);
    unlock_if(locked);
    if (n_words <= 0 || (len = 2 * (size_t)n_words) > dst_cap) {
        free(list);
        return n_words <= 0 ? TC_CORRUPT : TC_NO_SPACE;
    }
    for (size_t i = 0; i < (size_t)n_words; i++) {
        dst[2 * i] = (uint8_t)((uint16_t)list[i] >> 8);
        dst[2 * i + 1] = (uint8_t)list[i];
    }
    free(list);
    *used = len;
    return TC_OK;
}

tc_status tc_cfitsio_plio_encode_i32(const int32_t *src, size_t n, int32_t offset, uint8_t *dst, size_t dst_cap,
                                     size_t *used)
{
    int *pixels;
    tc_status status;

    if (n == 0 || n > INT_MAX) return tc_plio_encode_i32(src, n, offset, dst, dst_cap, used);
    if (!(pixels = malloc(n * sizeof *pixels))) return TC_NO_MEMORY;
    status = plio_levels(src, n, offset, pixels);
    if (status == TC_OK)
        status = loses_zeros(pixels, n) ? tc_plio_encode_i32(src, n, offset, dst, dst_cap, used)
                                        : plio_list(pixels, n, dst, dst_cap, used);
    free(pixels);
    return status;
}

/* ---- HCOMPRESS_1 ---- */

static inline int call_plain_hdecompress(any_function *hdecompress, uint8_t *stream, int smooth, LONGLONG *pixels,
                                         int n, int *nx, int *ny, int *status)
{
    int scale;

    (void)n;
    return ((plain_hdecompress *)hdecompress)(stream, smooth, pixels, nx, ny, &scale, status);
}

static inline int call_sized_hdecompress(any_function *hdecompress, uint8_t *stream, int smooth, LONGLONG *pixels,
                                         int n, int *nx, int *ny, int *status)
{
    int scale;

    return ((sized_hdecompress *)hdecompress)(stream, smooth, pixels, n, nx, ny, &scale, status);
}

#define CALL_HDECOMPRESS(...)                                                                                          \
    _Generic(&fits_hdecompress64, plain_hdecompress *: call_plain_hdecompress,                                         \
             sized_hdecompress *: call_sized_hdecompress)((any_function *)fits_hdecompress64, __VA_ARGS__)

/* libcfitsio leaves the pixels as int, one after the other from the first byte of `pixels`, cut off to 32 bits.  A pixel
 * that our decoder clipped to the range of `bits` may have lost more than that, and keeps what it gave. */
static void take_pixels(const LONGLONG *pixels, size_t n, int bits, int32_t *dst)
{
    const int32_t least = bits == 8 ? 0 : bits == 16 ? INT16_MIN : INT32_MIN;
    const int32_t most = bits == 8 ? UINT8_MAX : bits == 16 ? INT16_MAX : INT32_MAX;

    for (size_t i = 0; i < n; i++) {
        int32_t pixel;
        memcpy(&pixel, (const char *)pixels + i * sizeof pixel, sizeof pixel);
        if (dst[i] != least && dst[i] != most) dst[i] = pixel < least ? least : pixel > most ? most : pixel;
    }
}

tc_status tc_cfitsio_hcompress_decode_i32(const uint8_t *src, size_t src_len, size_t nx, size_t ny, int bits,
                                          bool smooth, int32_t *dst, void *scratch, size_t *used)
{
    const size_t n = nx * ny;
    LONGLONG *pixels;
    uint8_t *copy;
    int found_nx = 0, found_ny = 0, status = 0;

    TC_TRY(tc_hcompress_decode_i32(src, src_len, nx, ny, bits, smooth, dst, scratch, used));
    if (nx == 1 || ny == 1 || tc_hcompress_wraps(src, src_len, smooth)) return TC_OK;
    if (n > INT_MAX) return TC_OUT_OF_RANGE;
    copy = padded_copy(src, *used, TC_PAD, 0);
    pixels = malloc(n * sizeof *pixels);
    if (copy && pixels) {
        pthread_mutex_lock(&one_at_a_time);
        CALL_HDECOMPRESS(copy, smooth, pixels, (int)n, &found_nx, &found_ny, &status);
        pthread_mutex_unlock(&one_at_a_time);
        if (status == 0) take_pixels(pixels, n, bits, dst);
    }
    const bool lacks_memory = !copy || !pixels;
    free(copy);
    free(pixels);
    if (lacks_memory) return TC_NO_MEMORY;
    return status != 0 || (size_t)found_nx != nx || (size_t)found_ny != ny ? TC_CORRUPT : TC_OK;
}

tc_status tc_cfitsio_hcompress_encode_i32(const int32_t *src, size_t nx, size_t ny, int32_t scale,
                                          uint8_t *dst, size_t dst_cap, void *scratch, size_t *used)
{
    const size_t bound = tc_hcompress_bound(nx, ny, 32), n = nx * ny;
    LONGLONG *pixels;
    uint8_t *stream;
    long len = (long)(bound + TC_PAD);
    int failed = 0;
    tc_status status = TC_NO_MEMORY;

    if (nx == 1 || ny == 1 || bound == 0)
        return tc_hcompress_encode_i32(src, nx, ny, scale, dst, dst_cap, scratch, used);
    if (n > INT_MAX) return TC_OUT_OF_RANGE;
    pixels = malloc(n * sizeof *pixels);
    stream = malloc(bound + TC_PAD);
    if (pixels && stream) {
        for (size_t i = 0; i < n; i++) pixels[i] = src[i];
        pthread_mutex_lock(&one_at_a_time);
        fits_hcompress64(pixels, (int)nx, (int)ny, scale, (char *)stream, &len, &failed);
        pthread_mutex_unlock(&one_at_a_time);
        status = failed ? TC_CORRUPT : deliver(stream, (size_t)len, dst, dst_cap, used);
    }
    free(pixels);
    free(stream);
    return status;
}

#else

uint32_t tc_cfitsio_version(void)
{
    return 0;
}

#define ABSENT(NAME, ...)                                                                                              \
    tc_status tc_cfitsio_##NAME(__VA_ARGS__)                                                                           \
    {                                                                                                                  \
        return TC_UNSUPPORTED;                                                                                         \
    }

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define ABSENT_RICE(NAME, PIXEL)                                                                                       \
    ABSENT(rice_decode_##NAME, const uint8_t *src, size_t src_len, uint32_t blocksize, PIXEL *dst, size_t n,           \
           size_t *used, size_t *done)                                                                                 \
    ABSENT(rice_encode_##NAME, const PIXEL *src, size_t n, uint32_t blocksize, uint8_t *dst, size_t dst_cap,           \
           size_t *used)
#define ABSENT_PLIO(NAME, PIXEL)                                                                                       \
    ABSENT(plio_decode_##NAME, const uint8_t *src, size_t src_len, int32_t offset, PIXEL *dst, size_t n, size_t *used, \
           size_t *done)

ABSENT_RICE(u8, uint8_t)
ABSENT_RICE(i16, int16_t)
ABSENT_RICE(i32, int32_t)
ABSENT_PLIO(u8, uint8_t)
ABSENT_PLIO(i16, int16_t)
ABSENT_PLIO(i32, int32_t)
ABSENT(plio_encode_i32, const int32_t *src, size_t n, int32_t offset, uint8_t *dst, size_t dst_cap, size_t *used)
ABSENT(hcompress_decode_i32, const uint8_t *src, size_t src_len, size_t nx, size_t ny, int bits, bool smooth,
       int32_t *dst, void *scratch, size_t *used)
ABSENT(hcompress_encode_i32, const int32_t *src, size_t nx, size_t ny, int32_t scale, uint8_t *dst,
       size_t dst_cap, void *scratch, size_t *used)

#endif
