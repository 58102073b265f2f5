/* Many tiles of one image in one call: gathered from a strided array, prepared (quantized, offset), encoded one after the
 * other into a buffer, with what the table has to say of each.
 *
 * A tc_encode_image is only read: many threads may encode disjoint tiles of one.  Integer types stand for the stored
 * pixels that FITS gives them: TC_U16, TC_U32, TC_U64 and TC_I8 are stored with the top bit turned over (BZERO 2^15, 2^31,
 * 2^63, -128). */
#ifndef TC_ENCODE_H
#define TC_ENCODE_H

#include "tc_batch.h"

typedef struct {
    /* the array, or a slab of the image that begins at table row `first_row` */
    const uint8_t *pixels;
    tc_type type;
    bool swap;                          /* it is in the other byte order */
    size_t n_axes;                      /* slowest first, as the next three */
    int64_t shape[TC_MAX_AXES];
    int64_t tile_shape[TC_MAX_AXES];
    int64_t stride[TC_MAX_AXES];        /* bytes */
    int64_t first_row;

    tc_algorithm algorithm;
    tc_engine engine;
    uint32_t bytepix, blocksize;        /* RICE_1; bytepix at least the width of the pixels */
    float hcompress_scale;              /* 0: lossless; > 0: times the noise of the tile; < 0: minus the scale itself */
    bool plio_offset;                   /* PLIO_1: 32768 is to be added (16 bit with BZERO 32768) */
    int gzip_level;
    bool quantized;                     /* floats become integers */
    tc_quantize_request request;        /* how */
} tc_encode_image;

/* What became of one tile. */
typedef struct {
    int64_t nbytes;       /* in the heap */
    double zscale, zzero; /* 0 where it is not quantized */
    uint8_t column;       /* tc_column */
    uint8_t has_null;     /* floats: the tile has undefined pixels */
    int32_t status;       /* TC_OK; TC_OUT_OF_RANGE: the algorithm cannot hold a pixel; TC_UNSUPPORTED; TC_NO_SPACE: never
                           * with tc_encode_bound() bytes */
} tc_encoded_tile;

/* TC_OK, or TC_BAD_PARAM / TC_UNSUPPORTED / TC_OUT_OF_RANGE: what the functions below rely on does not hold. */
tc_status tc_encode_check(const tc_encode_image *image);

/* Number of tiles of the array, and the most bytes that `n` of its tiles can take together. */
int64_t tc_encode_tile_count(const tc_encode_image *image);
size_t tc_encode_bound(const tc_encode_image *image, size_t n);

/* Encode the tiles first ... first + n - 1 (counted over the array in C order), one behind the other, into `dst`; `*used`
 * bytes are written.  A tile that floats cannot be quantized in is kept as gzipped floats (TC_COLUMN_GZIP).
 * Returned: TC_OK, whatever the status of single tiles, or TC_NO_MEMORY with nothing done. */
tc_status tc_encode_tiles(const tc_encode_image *image, int64_t first, size_t n, uint8_t *dst, size_t dst_cap,
                          tc_encoded_tile *tiles, size_t *used);

#endif
