#include "tc_batch.h"

#include <stdlib.h>
#include <string.h>

#include "tc_cfitsio.h"
#include "tc_gzip.h"
#include "tc_hcompress.h"
#include "tc_plio.h"
#include "tc_rice.h"
#include "tc_shuffle.h"

#define ALIGNMENT 64
#define SLACK 16 /* a group decodes at most this part of a tile more than is needed of it */
#define SCRATCH_OF_A_PIXEL 16 /* bytes: what HCOMPRESS_1 and gzip of 8-byte pixels take; the others need less */

/* One job while it is worked on. */
typedef struct {
    size_t number;
    const uint8_t *src;
    size_t src_len;
    size_t nx, n;  /* pixels: of the tile's first axis that is longer than 1; of the tile */
    size_t needed; /* pixels to decode: n, or up to the last that is wanted */
    tc_box box;
    tc_quantum quantum;
    tc_conversion conversion; /* but for `from`, which the decoder tells */
} tc_job;

/* Memory that grows to what the tile at hand needs and is kept for the next. */
typedef struct {
    uint8_t *memory;
    size_t nbytes;
} tc_block;

/* What one call works with. */
typedef struct {
    const tc_batch *batch;
    tc_block pixels;  /* decoded pixels that do not go straight to the output */
    tc_block working; /* what a decoder asks for; the bytes of a gzip tile before they are put in order */
    tc_gzip_decoder *gzip;
} tc_worker;

/* ---- memory ---- */

static size_t aligned_size(size_t nbytes) { return (nbytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* At least `nbytes`; what was in it is lost.  NULL: no memory. */
static uint8_t *reserve(tc_block *block, size_t nbytes)
{
    if (block->nbytes < nbytes) {
        free(block->memory);
        block->memory = aligned_alloc(ALIGNMENT, aligned_size(nbytes));
        block->nbytes = block->memory ? nbytes : 0;
    }
    return block->memory;
}

static size_t largest(const int64_t *values, size_t n)
{
    int64_t most = 0;

    for (size_t i = 0; i < n; i++)
        if (values[i] > most) most = values[i];
    return (size_t)most;
}

static size_t largest_tile(const tc_batch *batch)
{
    size_t n = 1;

    for (size_t a = 0; a < batch->n_axes; a++) n *= largest(batch->axis[a].size, batch->axis[a].n_tiles);
    return n;
}

/* RICE_1 tiles that are decoded side by side: as many as have room. */
static size_t group_size(const tc_batch *batch)
{
    const size_t n = largest_tile(batch);

    if (batch->image.algorithm != TC_RICE_1 || n == 0) return 1;
    const size_t fit = TC_BATCH_SCRATCH / aligned_size(n * batch->image.bytepix);
    return fit < 1 ? 1 : fit > TC_RICE_STREAMS_AT_ONCE ? TC_RICE_STREAMS_AT_ONCE : fit;
}

size_t tc_batch_scratch(const tc_batch *batch)
{
    return TC_BATCH_SCRATCH + SCRATCH_OF_A_PIXEL * largest_tile(batch);
}

/* ---- checks ---- */

static tc_status check_image(const tc_image *image)
{
    const bool floats = tc_type_is_float(image->stored);

    if (image->algorithm == TC_RICE_1) {
        if (image->bytepix != 1 && image->bytepix != 2 && image->bytepix != 4) return TC_BAD_PARAM;
        if (image->blocksize == 0 || image->blocksize > TC_RICE_MAX_BLOCKSIZE) return TC_BAD_PARAM;
    }
    if (image->stored > TC_F64 || image->result > TC_U64 || (image->quantized && !floats)) return TC_BAD_PARAM;
    if (image->is_mask) return floats ? TC_BAD_PARAM : TC_OK;
    switch (image->scaling) {
    case TC_SCALE_NONE: return image->result == image->stored ? TC_OK : TC_BAD_PARAM;
    case TC_SCALE_OFFSET:
        return !floats && image->result >= TC_I8 && tc_type_size(image->result) == tc_type_size(image->stored)
                   ? TC_OK : TC_BAD_PARAM;
    case TC_SCALE_LINEAR:
        return tc_type_is_float(image->result) && (!floats || image->result == image->stored) ? TC_OK : TC_BAD_PARAM;
    }
    return TC_BAD_PARAM;
}

/* Whether entry t of the table selects pixels of its tile and places of the output only. */
static bool entry_valid(const tc_axis *axis, size_t t)
{
    const int64_t size = axis->size[t], start = axis->start[t], count = axis->count[t], out = axis->out[t];

    if (size < 1 || size > INT32_MAX || count < 0 || start < 0) return false;
    if (count == 0) return true;
    if (axis->pixel) {
        if ((uint64_t)start > axis->n_picks || (uint64_t)count > axis->n_picks - (uint64_t)start) return false;
        for (int64_t i = start; i < start + count; i++)
            if (axis->pixel[i] < 0 || axis->pixel[i] >= size || axis->place[i] < 0 ||
                (uint64_t)axis->place[i] >= axis->extent)
                return false;
        return true;
    }
    const tc_box_axis inside = {(size_t)size, start, axis->step, (size_t)count, 0, NULL, NULL};
    return tc_box_axis_valid(&inside) && out >= 0 && (uint64_t)out < axis->extent && (uint64_t)count <= axis->extent - (uint64_t)out;
}

tc_status tc_batch_check(const tc_batch *batch)
{
    size_t n_jobs = 1, n_pixels = 1;

    if (batch->n_axes > TC_MAX_AXES) return TC_UNSUPPORTED;
    TC_TRY(check_image(&batch->image));
    for (size_t a = 0; a < batch->n_axes; a++) {
        const tc_axis *const axis = &batch->axis[a];
        for (size_t t = 0; t < axis->n_tiles; t++)
            if (!entry_valid(axis, t)) return TC_OUT_OF_RANGE;
        if (__builtin_mul_overflow(n_jobs, axis->n_tiles, &n_jobs)) return TC_OUT_OF_RANGE;
        if (__builtin_mul_overflow(n_pixels, largest(axis->size, axis->n_tiles), &n_pixels)) return TC_UNSUPPORTED;
    }
    if (n_jobs != batch->n_jobs) return TC_BAD_PARAM;
    return n_pixels > TC_MAX_TILE_PIXELS ? TC_UNSUPPORTED : TC_OK;
}

/* ---- a job ---- */

/* The tile of the job: its box from the tables, and how many pixels are to be decoded. */
static void locate(const tc_batch *batch, size_t number, tc_job *job)
{
    uint8_t *out = batch->job_out ? batch->job_out[number] : batch->out;

    job->number = number;
    job->nx = job->n = 1;
    job->box.n_axes = batch->n_axes;
    for (size_t a = batch->n_axes; a-- > 0;) {
        const tc_axis *const axis = &batch->axis[a];
        const size_t t = number % axis->n_tiles, size = (size_t)axis->size[t];
        tc_box_axis *const to = &job->box.axis[a];

        number /= axis->n_tiles;
        *to = (tc_box_axis){size, axis->start[t], axis->step, (size_t)axis->count[t], axis->stride, NULL, NULL};
        if (axis->pixel) {
            to->pixel = axis->pixel + axis->start[t];
            to->place = axis->place + axis->start[t];
        } else {
            out += (ptrdiff_t)axis->out[t] * axis->stride;
        }
        if (job->n == 1) job->nx = size;
        job->n *= size;
    }
    job->box.dst = out;
    job->needed = batch->whole ? job->n : tc_box_needed(&job->box);
}

static void describe(const tc_batch *batch, tc_job *job)
{
    const tc_image *const image = &batch->image;
    const size_t j = job->number;
    const bool has_zblank = batch->zblank != NULL;

    job->quantum = (tc_quantum){.method = image->dither, .zdither0 = image->zdither0, .row = (uint64_t)batch->row[j]};
    if (batch->zscale) {
        job->quantum.zscale = batch->zscale[j];
        job->quantum.zzero = batch->zzero[j];
    }
    if (has_zblank && batch->zblank[j] >= INT32_MIN && batch->zblank[j] <= INT32_MAX) {
        job->quantum.has_zblank = true;
        job->quantum.zblank = (int32_t)batch->zblank[j];
    }
    job->conversion = (tc_conversion){
        .stored = image->stored, .to = image->result, .scaling = image->scaling, .bscale = image->bscale,
        .bzero = image->bzero, .has_blank = image->has_blank, .blank = image->blank, .swap = image->swap};
    if (has_zblank && image->has_blank && !tc_type_is_float(image->stored) && batch->zblank[j] != image->blank) {
        job->conversion.renull = true;
        job->conversion.null = batch->zblank[j];
    }
}

static tc_column column_of(const tc_batch *batch, const tc_job *job) { return (tc_column)batch->column[job->number]; }

static bool is_quantized(const tc_batch *batch, const tc_job *job)
{
    return batch->image.quantized && column_of(batch, job) == TC_COLUMN_COMPRESSED;
}

/* Whether the decoder may write pixels of type `from` to the output itself: the whole tile lies there as the decoder
 * leaves it, and any conversion keeps the width. */
static bool is_direct(const tc_batch *batch, const tc_job *job, tc_type from)
{
    const size_t width = tc_type_size(from);
    const tc_image *const image = &batch->image;

    return !image->is_mask && job->needed == job->n && width == tc_type_size(image->result) &&
           width == tc_type_size(image->stored) && (uintptr_t)job->box.dst % width == 0 &&
           tc_box_is_dense(&job->box, width);
}

/* Where the decoder shall write; NULL: no memory. */
static void *target(tc_worker *worker, const tc_job *job, tc_type from)
{
    if (is_direct(worker->batch, job, from)) return job->box.dst;
    return reserve(&worker->pixels, job->n * tc_type_size(from)); /* all, for not every decoder can stop */
}

/* Take decoded pixels of type `from` at `pixels` to the output. */
static void finalize(const tc_worker *worker, tc_job *job, tc_type from, void *pixels)
{
    const tc_batch *const batch = worker->batch;
    const tc_image *const image = &batch->image;
    tc_conversion *const conversion = &job->conversion;

    conversion->from = from;
    if (image->is_mask) {
        const tc_conversion to_bytes = {.from = from, .stored = TC_U8, .to = TC_U8};
        tc_convert(&to_bytes, pixels, 0, job->needed, pixels); /* never wider: the write stays behind the read */
        tc_place_masked(&job->box, pixels, image->fill, tc_type_size(image->result));
        return;
    }
    if (is_quantized(batch, job)) conversion->quantum = &job->quantum;
    if (pixels == job->box.dst) {
        if (!tc_conversion_is_copy(conversion) || conversion->swap) tc_convert(conversion, pixels, 0, job->n, pixels);
    } else {
        tc_place(&job->box, conversion, pixels);
    }
}

static bool is_bad(tc_status status) { return status != TC_OK && status != TC_TRAILING; }

/* A tile in place of whose bytes the file has zeros ends early.  No writer is known that leaves bytes over; cut-off padding
 * and the like is shorter than this. */
#define MAX_UNUSED 16

/* Whether nothing but zeros follows, as in a file that was allocated and not filled; some bytes tell. */
static bool zeros_follow(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n && i < 2 * MAX_UNUSED; i++)
        if (bytes[i]) return false;
    return n > MAX_UNUSED;
}

/* Whether a stream of which only the first pixels were decoded may end early, by the bytes that they took or by those that
 * follow: then all of it has to be decoded. */
static bool may_end_early(const tc_job *job, size_t used)
{
    const double expected = (double)used * (double)job->n / (double)job->needed;

    if (job->needed == job->n || used > job->src_len) return false;
    return expected < (double)job->src_len / 4 || zeros_follow(job->src + used, job->src_len - used);
}

/* Write down how a job ended. */
static void conclude(const tc_batch *batch, const tc_job *job, tc_status status, size_t done, size_t used, size_t *n_bad)
{
    const size_t j = job->number;

    if (status == TC_OK && job->needed == job->n && used < job->src_len)
        status = job->src_len - used > MAX_UNUSED ? TC_UNUSED : TC_TRAILING;
    batch->status[j] = (int32_t)status;
    batch->done[j] = (int64_t)done;
    batch->used[j] = (int64_t)used;
    if (!is_bad(status)) return;
    ++*n_bad;
    if (batch->image.fill_bad) tc_place_fill(&job->box, batch->image.fill, tc_type_size(batch->image.result));
}

/* ---- decoders: pixels needed -> *pixels of type *from ---- */

typedef struct {
    void *pixels;
    tc_type from;
    size_t done, used;
} tc_decoded;

static tc_type integer_of_width(size_t width)
{
    return width == 1 ? TC_U8 : width == 2 ? TC_I16 : width == 4 ? TC_I32 : TC_I64;
}

static bool by_cfitsio(const tc_worker *worker) { return worker->batch->image.engine == TC_ENGINE_CFITSIO; }

static tc_status decode_rice(tc_worker *worker, const tc_job *job, tc_decoded *got)
{
    const tc_image *const image = &worker->batch->image;
    const uint8_t *const src = job->src;
    const size_t len = job->src_len, n = job->needed;
    const uint32_t block = image->blocksize;
    size_t *const used = &got->used, *const done = &got->done;
    void *dst;

    got->from = integer_of_width(image->bytepix);
    if (!(got->pixels = dst = target(worker, job, got->from))) return TC_NO_MEMORY;
    if (by_cfitsio(worker)) {
        if (image->bytepix == 1) return tc_cfitsio_rice_decode_u8(src, len, block, dst, n, used, done);
        if (image->bytepix == 2) return tc_cfitsio_rice_decode_i16(src, len, block, dst, n, used, done);
        return tc_cfitsio_rice_decode_i32(src, len, block, dst, n, used, done);
    }
    if (image->bytepix == 1) return tc_rice_decode_u8(src, len, block, dst, n, used, done);
    if (image->bytepix == 2) return tc_rice_decode_i16(src, len, block, dst, n, used, done);
    return tc_rice_decode_i32(src, len, block, dst, n, used, done);
}

static tc_status decode_plio(tc_worker *worker, const tc_job *job, tc_decoded *got)
{
    const tc_image *const image = &worker->batch->image;
    const int32_t offset = image->plio_offset ? 32768 : 0;
    const uint8_t *const src = job->src;
    const size_t len = job->src_len, n = job->needed;
    size_t *const used = &got->used, *const done = &got->done;
    void *dst;

    got->from = image->stored == TC_U8 || image->stored == TC_I16 ? image->stored : TC_I32;
    if (!(got->pixels = dst = target(worker, job, got->from))) return TC_NO_MEMORY;
    if (by_cfitsio(worker)) {
        if (got->from == TC_U8) return tc_cfitsio_plio_decode_u8(src, len, offset, dst, n, used, done);
        if (got->from == TC_I16) return tc_cfitsio_plio_decode_i16(src, len, offset, dst, n, used, done);
        return tc_cfitsio_plio_decode_i32(src, len, offset, dst, n, used, done);
    }
    if (got->from == TC_U8) return tc_plio_decode_u8(src, len, offset, dst, n, used, done);
    if (got->from == TC_I16) return tc_plio_decode_i16(src, len, offset, dst, n, used, done);
    return tc_plio_decode_i32(src, len, offset, dst, n, used, done);
}

static tc_status decode_hcompress(tc_worker *worker, const tc_job *job, tc_decoded *got)
{
    const tc_image *const image = &worker->batch->image;
    const int bits = image->stored == TC_U8 ? 8 : image->stored == TC_I16 ? 16 : 32;
    const size_t nx = job->nx, ny = job->n / job->nx;
    void *working;

    got->from = TC_I32;
    if (!(got->pixels = target(worker, job, TC_I32))) return TC_NO_MEMORY;
    if (!(working = reserve(&worker->working, tc_hcompress_scratch(nx, ny)))) return TC_NO_MEMORY;
    if (by_cfitsio(worker))
        TC_TRY(tc_cfitsio_hcompress_decode_i32(job->src, job->src_len, nx, ny, bits, image->smooth, got->pixels, working,
                                               &got->used));
    else
        TC_TRY(tc_hcompress_decode_i32(job->src, job->src_len, nx, ny, bits, image->smooth, got->pixels, working,
                                       &got->used));
    got->done = job->n;
    return TC_OK;
}

/* The type of big-endian pixels `width` bytes wide, or TC_SIZE_MISMATCH where the image cannot hold such. */
static tc_status type_of_width(const tc_batch *batch, const tc_job *job, size_t width, tc_type *type)
{
    const tc_type stored = batch->image.stored;

    if (!tc_type_is_float(stored) || is_quantized(batch, job)) {
        *type = integer_of_width(width);
        return TC_OK;
    }
    *type = stored;
    return width == tc_type_size(stored) ? TC_OK : TC_SIZE_MISMATCH;
}

/* Bytes of a pixel as writers code it. */
static size_t usual_width(const tc_batch *batch, const tc_job *job)
{
    return is_quantized(batch, job) ? sizeof(int32_t) : tc_type_size(batch->image.stored);
}

static tc_status decode_gzip(tc_worker *worker, const tc_job *job, bool shuffled, tc_decoded *got)
{
    size_t width;

    if (!worker->gzip && !(worker->gzip = tc_gzip_decoder_new())) return TC_NO_MEMORY;
    uint8_t *const bytes = reserve(&worker->working, job->n * sizeof(int64_t));
    if (!bytes) return TC_NO_MEMORY;
    TC_TRY(tc_gzip_decode(worker->gzip, job->src, job->src_len, job->n, sizeof(int64_t), bytes, &width, &got->used));
    TC_TRY(type_of_width(worker->batch, job, width, &got->from));
    /* half of a tile with the other half in a second member is no tile of narrow pixels */
    if (got->used < job->src_len && width < usual_width(worker->batch, job)) return TC_SIZE_MISMATCH;
    if (!(got->pixels = target(worker, job, got->from))) return TC_NO_MEMORY;
    if (shuffled) tc_unshuffle(bytes, job->n, width, got->pixels);
    else tc_byteswap(bytes, job->n, width, got->pixels);
    got->done = job->n;
    return TC_OK;
}

/* Big-endian pixels as they are: of the image's type, or as wide as their number says. */
static tc_status decode_raw(tc_worker *worker, const tc_job *job, tc_decoded *got)
{
    const size_t expected = tc_type_size(worker->batch->image.stored);
    const size_t exact = job->src_len % job->n == 0 ? job->src_len / job->n : 0;
    const bool lawful = exact == 1 || exact == 2 || exact == 4 || exact == 8;
    const size_t width = lawful ? exact : expected, found = job->src_len / width;

    TC_TRY(type_of_width(worker->batch, job, width, &got->from));
    got->done = found < job->needed ? found : job->needed;
    got->used = got->done * width;
    if (found < job->needed) return TC_TRUNCATED;
    if (!(got->pixels = target(worker, job, got->from))) return TC_NO_MEMORY;
    tc_byteswap(job->src, job->needed, width, got->pixels);
    return TC_OK;
}

static tc_status decode_compressed(tc_worker *worker, const tc_job *job, tc_decoded *got)
{
    const tc_image *const image = &worker->batch->image;
    const bool gives_integers = !tc_type_is_float(image->stored) || image->quantized;

    switch (image->algorithm) {
    case TC_GZIP_1: return decode_gzip(worker, job, false, got);
    case TC_GZIP_2: return decode_gzip(worker, job, true, got);
    case TC_NOCOMPRESS: return decode_raw(worker, job, got);
    case TC_RICE_1: return gives_integers ? decode_rice(worker, job, got) : TC_UNSUPPORTED;
    case TC_PLIO_1: return gives_integers ? decode_plio(worker, job, got) : TC_UNSUPPORTED;
    case TC_HCOMPRESS_1: return gives_integers ? decode_hcompress(worker, job, got) : TC_UNSUPPORTED;
    }
    return TC_BAD_PARAM;
}

static tc_status decode_column(tc_worker *worker, const tc_job *job, tc_decoded *got)
{
    switch (column_of(worker->batch, job)) {
    case TC_COLUMN_COMPRESSED: return decode_compressed(worker, job, got);
    case TC_COLUMN_GZIP: return decode_gzip(worker, job, false, got);
    case TC_COLUMN_UNCOMPRESSED: return decode_raw(worker, job, got);
    case TC_COLUMN_NONE: break;
    }
    return TC_MISSING;
}

static void decode_one(tc_worker *worker, tc_job *job, size_t *n_bad)
{
    tc_decoded got = {NULL, worker->batch->image.stored, 0, 0};
    tc_status status = decode_column(worker, job, &got);

    if (status == TC_OK && may_end_early(job, got.used)) {
        job->needed = job->n;
        status = decode_column(worker, job, &got);
    }
    if (status == TC_OK) finalize(worker, job, got.from, got.pixels);
    conclude(worker->batch, job, status, got.done, got.used, n_bad);
}

/* ---- groups ---- */

/* RICE_1 tiles that wait to be decoded side by side. */
typedef struct {
    tc_job jobs[TC_RICE_STREAMS_AT_ONCE];
    size_t n;
    size_t least, most; /* pixels that they need */
} tc_group;

/* Whether a job may join: tiles of one size, of which about as much is needed; a few may differ in that. */
static bool fits_group(const tc_group *group, const tc_job *job)
{
    const size_t least = job->needed < group->least ? job->needed : group->least;
    const size_t most = job->needed > group->most ? job->needed : group->most;

    return group->n == 0 || (job->n == group->jobs[0].n &&
                             (group->n < TC_RICE_LENGTHS_AT_ONCE || most - least <= job->n / SLACK));
}

/* Take the job that stands behind the last one of the group. */
static void join_group(tc_group *group)
{
    const size_t needed = group->jobs[group->n].needed;

    if (group->n == 0 || needed < group->least) group->least = needed;
    if (group->n == 0 || needed > group->most) group->most = needed;
    group->n++;
}

static void decode_group(tc_worker *worker, tc_group *group, size_t *n_bad)
{
    const tc_image *const image = &worker->batch->image;
    const tc_type from = integer_of_width(image->bytepix);
    const size_t slot = aligned_size(group->most * image->bytepix);
    uint8_t *const scratch = reserve(&worker->pixels, group->n * slot);
    tc_rice_stream streams[TC_RICE_STREAMS_AT_ONCE];
    size_t n_again = 0;

    for (size_t i = 0; i < group->n; i++) {
        const tc_job *const job = &group->jobs[i];
        void *const dst = !scratch || is_direct(worker->batch, job, from) ? job->box.dst : scratch + i * slot;
        const size_t n = group->n > TC_RICE_LENGTHS_AT_ONCE ? group->most : job->needed;
        streams[i] = (tc_rice_stream){job->src, job->src_len, dst, n, 0, 0, TC_OK};
    }
    if (scratch) tc_rice_decode_streams(streams, group->n, image->bytepix, image->blocksize);
    for (size_t i = 0; i < group->n; i++) {
        tc_job *const job = &group->jobs[i];
        if (!scratch) streams[i].status = TC_NO_MEMORY;
        const tc_status status = streams[i].done >= job->needed ? TC_OK : streams[i].status;
        if (status == TC_OK && may_end_early(job, streams[i].used)) {
            group->jobs[n_again++] = *job; /* later, for it takes the scratch */
            continue;
        }
        if (status == TC_OK) finalize(worker, job, from, streams[i].dst);
        conclude(worker->batch, job, status, streams[i].done, streams[i].used, n_bad);
    }
    for (size_t i = 0; i < n_again; i++) decode_one(worker, &group->jobs[i], n_bad);
    group->n = 0;
}

static bool is_rice_stream(const tc_batch *batch, const tc_job *job)
{
    const tc_image *const image = &batch->image;
    return image->algorithm == TC_RICE_1 && image->engine == TC_ENGINE_KERNEL &&
           column_of(batch, job) == TC_COLUMN_COMPRESSED && (image->quantized || !tc_type_is_float(image->stored));
}

/* Find the tile and its bytes.  False: there is nothing to decode, and the job is concluded. */
static bool open_job(const tc_batch *batch, size_t number, int64_t position, const uint8_t *src, size_t src_len,
                     tc_job *job, size_t *n_bad)
{
    const int64_t nbytes = batch->nbytes[number];

    locate(batch, number, job);
    job->src = src;
    job->src_len = 0;
    if (column_of(batch, job) == TC_COLUMN_NONE) {
        conclude(batch, job, batch->image.is_mask ? TC_OK : TC_MISSING, 0, 0, n_bad);
        return false;
    }
    if (job->needed == 0) {
        conclude(batch, job, TC_OK, 0, 0, n_bad);
        return false;
    }
    if (position < 0 || nbytes < 0 || (uint64_t)position > src_len || (uint64_t)nbytes > src_len - (uint64_t)position) {
        conclude(batch, job, TC_TRUNCATED, 0, 0, n_bad);
        return false;
    }
    job->src = src + position;
    job->src_len = (size_t)nbytes;
    describe(batch, job);
    return true;
}

static void close_worker(tc_worker *worker)
{
    if (worker->gzip) tc_gzip_decoder_free(worker->gzip);
    free(worker->pixels.memory);
    free(worker->working.memory);
}

tc_status tc_batch_decode(const tc_batch *batch, const int64_t *jobs, const int64_t *position, size_t n,
                          const uint8_t *src, size_t src_len, size_t *n_bad)
{
    const size_t side_by_side = group_size(batch);
    tc_worker worker = {.batch = batch};
    tc_group group;

    *n_bad = 0;
    group.n = 0;
    for (size_t i = 0; i < n; i++) {
        if (jobs[i] < 0 || (uint64_t)jobs[i] >= batch->n_jobs) return TC_BAD_PARAM;
        if (batch->job_out && !batch->job_out[jobs[i]]) return TC_BAD_PARAM;
    }
    for (size_t i = 0; i < n; i++) {
        tc_job *const next = &group.jobs[group.n];
        if (!open_job(batch, (size_t)jobs[i], position[i], src, src_len, next, n_bad)) continue;
        if (!is_rice_stream(batch, next)) {
            decode_one(&worker, next, n_bad);
            continue;
        }
        if (!fits_group(&group, next)) {
            const tc_job waiting = *next;
            decode_group(&worker, &group, n_bad);
            group.jobs[0] = waiting;
        }
        join_group(&group);
        if (group.n == side_by_side) decode_group(&worker, &group, n_bad);
    }
    if (group.n) decode_group(&worker, &group, n_bad);
    close_worker(&worker);
    return TC_OK;
}
