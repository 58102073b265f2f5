#include "tc_encode.h"

#include <math.h>
#include <stdlib.h>

#include "tc_cfitsio.h"
#include "tc_gather.h"
#include "tc_gzip.h"
#include "tc_hcompress.h"
#include "tc_noise.h"
#include "tc_plio.h"
#include "tc_rice.h"
#include "tc_shuffle.h"

#define PLIO_OFFSET 32768
#define ALIGNMENT 64

/* ---- what the image asks for ---- */

/* The type of the stored pixels, and whether their top bit was turned over on the way. */
static tc_type stored_type(tc_type type, bool *flip)
{
    static const tc_type stored[] = {[TC_U8] = TC_U8,   [TC_I16] = TC_I16, [TC_I32] = TC_I32, [TC_I64] = TC_I64,
                                     [TC_F32] = TC_F32, [TC_F64] = TC_F64, [TC_I8] = TC_U8,   [TC_U16] = TC_I16,
                                     [TC_U32] = TC_I32, [TC_U64] = TC_I64};

    *flip = stored[type] != type;
    return stored[type];
}

static bool keeps_bytes(tc_algorithm algorithm)
{
    return algorithm == TC_GZIP_1 || algorithm == TC_GZIP_2 || algorithm == TC_NOCOMPRESS;
}

static tc_status check_shape(const tc_encode_image *image)
{
    int64_t n_pixels = 1, n_tile = 1;

    if (image->n_axes < 1 || image->n_axes > TC_MAX_AXES || image->first_row < 0) return TC_BAD_PARAM;
    for (size_t axis = 0; axis < image->n_axes; axis++) {
        const int64_t size = image->shape[axis], tile = image->tile_shape[axis];

        if (size < 0 || tile < 1) return TC_BAD_PARAM;
        if (size && __builtin_mul_overflow(n_pixels, size, &n_pixels)) return TC_UNSUPPORTED;
        if (size && __builtin_mul_overflow(n_tile, tile < size ? tile : size, &n_tile)) return TC_UNSUPPORTED;
    }
    return n_tile > (int64_t)TC_MAX_TILE_PIXELS ? TC_UNSUPPORTED : TC_OK;
}

tc_status tc_encode_check(const tc_encode_image *image)
{
    bool flip;

    TC_TRY(check_shape(image));
    if (image->type > TC_U64 || image->algorithm > TC_NOCOMPRESS) return TC_BAD_PARAM;

    const tc_type stored = stored_type(image->type, &flip);
    const size_t width = image->quantized ? sizeof(int32_t) : tc_type_size(stored);

    if (image->quantized && (!tc_type_is_float(stored) || image->algorithm == TC_NOCOMPRESS)) return TC_BAD_PARAM;
    if (!image->quantized && !keeps_bytes(image->algorithm) && (tc_type_is_float(stored) || width > sizeof(int32_t)))
        return TC_UNSUPPORTED;
    if (image->quantized && !(isfinite(image->request.q) && image->request.method <= TC_DITHER_2)) return TC_BAD_PARAM;
    if (image->algorithm == TC_RICE_1) {
        if (image->bytepix != width && image->bytepix != sizeof(int32_t)) return TC_BAD_PARAM;
        if (image->blocksize < 1 || image->blocksize > TC_RICE_MAX_BLOCKSIZE) return TC_BAD_PARAM;
    }
    return isfinite(image->hcompress_scale) ? TC_OK : TC_BAD_PARAM;
}

static int64_t tiles_along(const tc_encode_image *image, size_t axis)
{
    const int64_t size = image->shape[axis], tile = image->tile_shape[axis];

    return size / tile + (size % tile != 0);
}

int64_t tc_encode_tile_count(const tc_encode_image *image)
{
    int64_t count = 1;

    for (size_t axis = 0; axis < image->n_axes; axis++) count *= tiles_along(image, axis);
    return count;
}

/* ---- one tile of the grid ---- */

typedef struct {
    uint64_t row;  /* of the table */
    size_t n;      /* pixels */
    size_t nx, ny; /* as a plane: the fastest axis longer than 1, and all others */
    size_t size[TC_MAX_AXES];
    tc_strided box;
} tile_place;

static size_t axis_size(const tc_encode_image *image, size_t axis, int64_t tile)
{
    const int64_t left = image->shape[axis] - tile * image->tile_shape[axis];

    return (size_t)(left < image->tile_shape[axis] ? left : image->tile_shape[axis]);
}

static void measure(tile_place *place, size_t n_axes)
{
    place->n = place->nx = 1;
    for (size_t axis = n_axes; axis-- > 0;) {
        if (place->nx == 1) place->nx = place->size[axis];
        place->n *= place->size[axis];
    }
    place->ny = place->nx ? place->n / place->nx : 0;
}

/* The tile that no other is larger than: the first one. */
static tile_place largest_tile(const tc_encode_image *image)
{
    tile_place place = {0};

    for (size_t axis = 0; axis < image->n_axes; axis++) place.size[axis] = axis_size(image, axis, 0);
    measure(&place, image->n_axes);
    return place;
}

static void locate(const tc_encode_image *image, int64_t index, tile_place *place)
{
    const uint8_t *first = image->pixels;

    place->row = (uint64_t)(image->first_row + index);
    for (size_t axis = image->n_axes; axis-- > 0;) {
        const int64_t along = tiles_along(image, axis), tile = index % along;

        index /= along;
        place->size[axis] = axis_size(image, axis, tile);
        first += tile * image->tile_shape[axis] * image->stride[axis];
    }
    measure(place, image->n_axes);
    place->box = (tc_strided){first, image->n_axes, place->size, image->stride, tc_type_size(image->type)};
}

/* ---- room to work in ---- */

typedef struct {
    const tc_encode_image *image;
    uint8_t *block;
    void *gathered;    /* a tile of stored pixels */
    int32_t *integers; /* a tile of int32: quantized, or widened */
    uint8_t *bytes;    /* a tile in the byte order that is deflated */
    void *scratch;     /* of the noise estimate, quantization, HCOMPRESS */
    size_t scratch_size;
    tc_gzip_encoder *gzip;
} workspace;

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t scratch_size(const tc_encode_image *image, const tile_place *place)
{
    size_t size = 0;

    if (image->quantized)
        size = image->type == TC_F32 ? tc_quantize_scratch_f32(place->nx, place->ny)
                                     : tc_quantize_scratch_f64(place->nx, place->ny);
    if (image->algorithm == TC_HCOMPRESS_1) {
        size = larger(size, tc_hcompress_scratch(place->nx, place->ny));
        if (image->hcompress_scale > 0) size = larger(size, tc_noise_scratch_i32(place->nx, place->ny));
    }
    return size;
}

static size_t aligned(size_t nbytes)
{
    return (nbytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Make the scratch large enough for a tile; an edge tile can need more than a whole one. */
static tc_status provide_scratch(workspace *work, const tile_place *place)
{
    const size_t needed = scratch_size(work->image, place);

    if (needed <= work->scratch_size) return TC_OK;
    free(work->scratch);
    work->scratch = aligned_alloc(ALIGNMENT, aligned(needed));
    work->scratch_size = work->scratch ? needed : 0;
    return work->scratch ? TC_OK : TC_NO_MEMORY;
}

static tc_status open_workspace(const tc_encode_image *image, workspace *work)
{
    const tile_place largest = largest_tile(image);
    const size_t gathered = aligned(largest.n * tc_type_size(image->type));
    const size_t integers = aligned(largest.n * sizeof(int32_t));

    *work = (workspace){.image = image};
    work->block = aligned_alloc(ALIGNMENT, gathered + integers + larger(gathered, integers) + ALIGNMENT);
    work->gzip = tc_gzip_encoder_new(image->gzip_level);
    if (!work->block || !work->gzip) return TC_NO_MEMORY;
    work->gathered = work->block;
    work->integers = (int32_t *)(void *)(work->block + gathered);
    work->bytes = work->block + gathered + integers;
    return TC_OK;
}

static void close_workspace(workspace *work)
{
    tc_gzip_encoder_free(work->gzip);
    free(work->scratch);
    free(work->block);
}

/* ---- the algorithms ---- */

/* Where the bytes of a tile go. */
typedef struct {
    uint8_t *dst;
    size_t cap;
} room;

static tc_status encode_bytes(workspace *work, const void *pixels, size_t n, size_t width, bool shuffled, room to,
                              size_t *used)
{
    if (shuffled) tc_shuffle(pixels, n, width, work->bytes);
    else tc_byteswap(pixels, n, width, work->bytes);
    return tc_gzip_encode(work->gzip, work->bytes, n * width, shuffled ? n : 0, to.dst, to.cap, used);
}

static tc_status encode_raw(const void *pixels, size_t n, size_t width, room to, size_t *used)
{
    *used = n * width;
    if (to.cap < *used) return TC_NO_SPACE;
    tc_byteswap(pixels, n, width, to.dst);
    return TC_OK;
}

static tc_status encode_rice(const tc_encode_image *image, const void *pixels, size_t n, tc_type type, room to,
                             size_t *used)
{
    const bool cfitsio = image->engine == TC_ENGINE_CFITSIO;

    switch (type) {
    case TC_U8:
        return (cfitsio ? tc_cfitsio_rice_encode_u8 : tc_rice_encode_u8)(pixels, n, image->blocksize, to.dst, to.cap, used);
    case TC_I16:
        return (cfitsio ? tc_cfitsio_rice_encode_i16 : tc_rice_encode_i16)(pixels, n, image->blocksize, to.dst, to.cap,
                                                                           used);
    default:
        return (cfitsio ? tc_cfitsio_rice_encode_i32 : tc_rice_encode_i32)(pixels, n, image->blocksize, to.dst, to.cap,
                                                                           used);
    }
}

static tc_status encode_plio(const tc_encode_image *image, const int32_t *integers, size_t n, room to, size_t *used)
{
    const int32_t offset = image->plio_offset ? PLIO_OFFSET : 0;

    return (image->engine == TC_ENGINE_CFITSIO ? tc_cfitsio_plio_encode_i32 : tc_plio_encode_i32)(
        integers, n, offset, to.dst, to.cap, used);
}

/* The divisor for one tile.  Undefined pixels would not outlive a lossy transform: a tile with some is not divided. */
static tc_status hcompress_scale(const workspace *work, const int32_t *integers, const tile_place *place, bool has_null,
                                 int32_t *scale)
{
    float request = work->image->hcompress_scale;

    *scale = 0;
    if (request == 0 || has_null) return TC_OK;
    if (request > 0) {
        const tc_noise noise = tc_noise_i32(integers, place->nx, place->ny, false, 0, work->scratch);

        request = (float)((double)request * tc_noise_sigma(&noise));
    } else {
        request = -request;
    }
    if (!((double)request + 0.5 < 2147483648.0)) return TC_OUT_OF_RANGE;
    *scale = (int32_t)((double)request + 0.5);
    return TC_OK;
}

static tc_status encode_hcompress(workspace *work, const int32_t *integers, const tile_place *place, bool has_null,
                                  room to, size_t *used)
{
    int32_t scale;

    TC_TRY(hcompress_scale(work, integers, place, has_null, &scale));
    return (work->image->engine == TC_ENGINE_CFITSIO ? tc_cfitsio_hcompress_encode_i32 : tc_hcompress_encode_i32)(
        integers, place->nx, place->ny, scale, to.dst, to.cap, work->scratch, used);
}

/* Stored integers as int32; the tile itself where they are so already. */
static const int32_t *widen(workspace *work, const void *pixels, size_t n, tc_type type)
{
    const uint8_t *const u8 = pixels;
    const int16_t *const i16 = pixels;

    if (type == TC_I32) return pixels;
    if (type == TC_U8)
        for (size_t i = 0; i < n; i++) work->integers[i] = u8[i];
    else
        for (size_t i = 0; i < n; i++) work->integers[i] = i16[i];
    return work->integers;
}

/* Pixels of `type`, stored or quantized, by the algorithm of the image. */
static tc_status encode_pixels(workspace *work, const void *pixels, tc_type type, const tile_place *place, bool has_null,
                               room to, size_t *used)
{
    const tc_encode_image *const image = work->image;
    const size_t width = tc_type_size(type);

    switch (image->algorithm) {
    case TC_RICE_1:
        if (image->bytepix == width) return encode_rice(image, pixels, place->n, type, to, used);
        return encode_rice(image, widen(work, pixels, place->n, type), place->n, TC_I32, to, used);
    case TC_PLIO_1: return encode_plio(image, widen(work, pixels, place->n, type), place->n, to, used);
    case TC_HCOMPRESS_1:
        return encode_hcompress(work, widen(work, pixels, place->n, type), place, has_null, to, used);
    case TC_GZIP_1: return encode_bytes(work, pixels, place->n, width, false, to, used);
    case TC_GZIP_2: return encode_bytes(work, pixels, place->n, width, true, to, used);
    case TC_NOCOMPRESS: return encode_raw(pixels, place->n, width, to, used);
    }
    return TC_BAD_PARAM;
}

/* ---- one tile from the array to its bytes ---- */

static tc_status quantize(workspace *work, const void *pixels, const tile_place *place, tc_quantum *quantum)
{
    const tc_quantize_request *const request = &work->image->request;

    if (work->image->type == TC_F32)
        return tc_quantize_f32(pixels, place->nx, place->ny, place->row, request, work->scratch, work->integers, quantum);
    return tc_quantize_f64(pixels, place->nx, place->ny, place->row, request, work->scratch, work->integers, quantum);
}

static tc_status encode_quantized(workspace *work, const void *pixels, const tile_place *place, room to,
                                  tc_encoded_tile *tile, size_t *used)
{
    tc_quantum quantum = {0};
    const tc_status status = quantize(work, pixels, place, &quantum);
    const bool unmarkable = quantum.has_zblank && work->image->algorithm == TC_PLIO_1; /* it has no negative integers */

    tile->has_null = quantum.has_zblank;
    if (status == TC_REFUSED || (status == TC_OK && unmarkable)) {
        tile->column = TC_COLUMN_GZIP;
        return encode_bytes(work, pixels, place->n, tc_type_size(work->image->type), false, to, used);
    }
    TC_TRY(status);
    tile->zscale = quantum.zscale;
    tile->zzero = quantum.zzero;
    return encode_pixels(work, work->integers, TC_I32, place, quantum.has_zblank, to, used);
}

static tc_status encode_tile(workspace *work, int64_t index, room to, tc_encoded_tile *tile, size_t *used)
{
    const tc_encode_image *const image = work->image;
    const void *pixels;
    tile_place place;
    bool flip;
    const tc_type stored = stored_type(image->type, &flip);

    locate(image, index, &place);
    TC_TRY(provide_scratch(work, &place));
    if (!image->swap && !flip && tc_strided_is_packed(&place.box)) {
        pixels = place.box.first;
    } else {
        tc_gather(&place.box, image->swap, flip, work->gathered);
        pixels = work->gathered;
    }
    tile->column = image->algorithm == TC_NOCOMPRESS ? TC_COLUMN_UNCOMPRESSED : TC_COLUMN_COMPRESSED;
    if (image->quantized) return encode_quantized(work, pixels, &place, to, tile, used);
    return encode_pixels(work, pixels, stored, &place, false, to, used);
}

tc_status tc_encode_tiles(const tc_encode_image *image, int64_t first, size_t n, uint8_t *dst, size_t dst_cap,
                          tc_encoded_tile *tiles, size_t *used)
{
    workspace work;
    const tc_status status = open_workspace(image, &work);

    *used = 0;
    for (size_t i = 0; status == TC_OK && i < n; i++) {
        size_t nbytes = 0;

        tiles[i] = (tc_encoded_tile){0};
        tiles[i].status = encode_tile(&work, first + (int64_t)i, (room){dst + *used, dst_cap - *used}, &tiles[i], &nbytes);
        if (tiles[i].status != TC_OK) nbytes = 0;
        tiles[i].nbytes = (int64_t)nbytes;
        *used += nbytes;
    }
    close_workspace(&work);
    return status;
}

/* ---- how much it can become ---- */

static size_t tile_bound(const tc_encode_image *image)
{
    const tile_place largest = largest_tile(image);
    const size_t raw = largest.n * tc_type_size(image->type);
    const size_t width = image->quantized ? sizeof(int32_t) : tc_type_size(image->type);
    size_t bound = raw;

    switch (image->algorithm) {
    case TC_RICE_1: bound = tc_rice_bound(largest.n, image->bytepix, image->blocksize); break;
    case TC_PLIO_1: bound = tc_plio_bound(largest.n); break;
    case TC_HCOMPRESS_1: bound = tc_hcompress_bound(largest.nx, largest.ny, 8 * (int)width); break;
    case TC_GZIP_1:
    case TC_GZIP_2: bound = tc_gzip_bound(larger(raw, largest.n * width)); break;
    case TC_NOCOMPRESS: break;
    }
    return image->quantized ? larger(bound, tc_gzip_bound(raw)) : bound;
}

size_t tc_encode_bound(const tc_encode_image *image, size_t n)
{
    size_t bound;

    return __builtin_mul_overflow(tile_bound(image), n, &bound) ? SIZE_MAX : bound;
}
