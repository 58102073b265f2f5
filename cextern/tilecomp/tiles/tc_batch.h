/* Many tiles of one image in one call: decoded, finalized and placed in the output, with a status for each.
 *
 * The selection is separable: a table for each axis says what the touched tiles along it give to the output; a job is one
 * tile of the grid they span, and its number unravels over that grid in C order.  So 4096 tiles cost 4096 numbers in
 * a few arrays, and no object each.
 *
 * A batch is only read while it decodes, apart from the entries of the jobs at hand in `status`, `done` and `used`: many threads
 * may work on disjoint jobs of one batch.  Scratch of each call: what the decoders of its tiles ask for, at most 16 bytes a
 * pixel of the largest tile (a little more where tiles are one pixel wide), or TC_BATCH_SCRATCH if that is more. */
#ifndef TC_BATCH_H
#define TC_BATCH_H

#include "tc_place.h"
#include "tc_status.h"

#define TC_BATCH_SCRATCH ((size_t)4 << 20) /* bytes; room for a group of tiles that are decoded side by side */
#define TC_MAX_TILE_PIXELS ((size_t)INT32_MAX)

typedef enum { TC_RICE_1, TC_GZIP_1, TC_GZIP_2, TC_PLIO_1, TC_HCOMPRESS_1, TC_NOCOMPRESS } tc_algorithm;

typedef enum { TC_ENGINE_KERNEL, TC_ENGINE_CFITSIO } tc_engine;

/* Where the table has the data of a tile. */
typedef enum { TC_COLUMN_NONE, TC_COLUMN_COMPRESSED, TC_COLUMN_GZIP, TC_COLUMN_UNCOMPRESSED } tc_column;

/* What is the same for every tile. */
typedef struct {
    tc_algorithm algorithm;
    tc_engine engine;
    uint32_t bytepix, blocksize;  /* RICE_1 */
    bool smooth;                  /* HCOMPRESS_1 */
    bool plio_offset;             /* PLIO_1: 32768 is to be subtracted (16 bit with BZERO 32768) */
    bool quantized;
    tc_dither_method dither;
    int64_t zdither0;
    tc_type stored, result;       /* type of ZBITPIX; type of the output */
    bool swap;                    /* the output is in the other byte order */
    tc_scaling scaling;
    double bscale, bzero;
    bool has_blank;
    int64_t blank;                /* stored value of undefined pixels of an integer image */
    bool is_mask;                 /* tiles are masks of 0 and not 0: `fill` goes where the mask is not 0, nothing elsewhere */
    bool fill_bad;                /* fill the boxes of bad tiles; otherwise they keep what was there */
    uint8_t fill[8];              /* one item of the output, in its byte order */
} tc_image;

/* The touched tiles along one axis, entry by entry. */
typedef struct {
    size_t n_tiles;
    const int64_t *size;          /* pixels of the tile along this axis */
    const int64_t *start, *count; /* its first pixel wanted, and how many */
    const int64_t *out;           /* the place in the output of its first pixel */
    int64_t step;
    ptrdiff_t stride;             /* bytes from one place of the output to the next; any where the axis is indexed away */
    size_t extent;                /* places that the output has along this axis */
    const int64_t *pixel, *place; /* NULL, or an index array: pixels in the tile and places, of which start[t] is the first */
    size_t n_picks;               /* their length */
} tc_axis;

typedef struct {
    tc_image image;
    size_t n_axes, n_jobs;
    tc_axis axis[TC_MAX_AXES];    /* slowest first; the product of their n_tiles is n_jobs */
    uint8_t *out;                 /* where place 0 of every axis is */
    uint8_t **job_out;            /* NULL: all jobs share `out`; else where that of each job is, NULL for jobs never asked for */
    bool whole;                   /* decode tiles to the end, whatever is needed of them */
    /* for each job */
    const int64_t *row, *nbytes;
    const uint8_t *column;        /* tc_column */
    const double *zscale, *zzero; /* NULL where nothing is quantized */
    const int64_t *zblank;        /* NULL, or the integer of undefined pixels */
    int32_t *status;              /* set: tc_status; TC_TRAILING: a few bytes were left over, TC_UNUSED: many */
    int64_t *done, *used;         /* set: pixels decoded, and bytes of the stream that took */
} tc_batch;

/* TC_OK, or TC_BAD_PARAM / TC_UNSUPPORTED / TC_OUT_OF_RANGE: what tc_batch_decode() relies on does not hold. */
tc_status tc_batch_check(const tc_batch *batch);

/* The most scratch that one call of tc_batch_decode() takes, in bytes. */
size_t tc_batch_scratch(const tc_batch *batch);

/* Decode the `n` jobs whose numbers are in `jobs`; the bytes of jobs[i] begin at src + position[i].  A job whose bytes
 * do not lie in [src, src + src_len) is TC_TRUNCATED.  `*n_bad`: jobs with a status other than TC_OK and TC_TRAILING.
 * Returned: TC_OK, whatever the status of single jobs, or TC_BAD_PARAM for a job that does not exist, with nothing done. */
tc_status tc_batch_decode(const tc_batch *batch, const int64_t *jobs, const int64_t *position, size_t n,
                          const uint8_t *src, size_t src_len, size_t *n_bad);

#endif
