#include <pthread.h>

#include "tc_batch.h"
#include "tc_gzip.h"
#include "tc_hcompress.h"
#include "tc_plio.h"
#include "tc_rice.h"
#include "tc_shuffle.h"
#include "tc_test.h"

#define ROWS 37
#define COLUMNS 61
#define TILE_ROWS 5
#define TILE_COLUMNS 16
#define N_DOWN 8 /* tiles */
#define N_ACROSS 4
#define N_TILES (N_DOWN * N_ACROSS)
#define ROOM 8192 /* bytes for the stream of a tile */

/* An image, its tiles as streams, and the tables of a selection. */
typedef struct {
    int32_t image[ROWS][COLUMNS];
    uint8_t streams[N_TILES * ROOM];
    int64_t size[2][N_DOWN], start[2][N_DOWN], count[2][N_DOWN], out_at[2][N_DOWN];
    int64_t row[N_TILES], nbytes[N_TILES], jobs[N_TILES], position[N_TILES], done[N_TILES], used[N_TILES];
    int32_t status[N_TILES];
    uint8_t column[N_TILES];
    double zscale[N_TILES], zzero[N_TILES];
    int32_t out[ROWS * COLUMNS];
    tc_batch batch;
} tc_scene;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static void copy_tile(const tc_scene *scene, size_t job, int32_t *tile, size_t *nx, size_t *ny)
{
    const size_t i = job / N_ACROSS, j = job % N_ACROSS;

    *ny = (size_t)scene->size[0][i];
    *nx = (size_t)scene->size[1][j];
    for (size_t y = 0; y < *ny; y++)
        memcpy(tile + y * *nx, &scene->image[i * TILE_ROWS + y][j * TILE_COLUMNS], *nx * sizeof *tile);
}

/* Encode a tile by the algorithm of the scene; its length. */
static size_t encode(const tc_scene *scene, const int32_t *tile, size_t nx, size_t ny, uint8_t *dst)
{
    const tc_image *const image = &scene->batch.image;
    const size_t n = nx * ny;
    size_t used = 0;
    uint8_t bytes[TILE_ROWS * TILE_COLUMNS * 4];
    tc_status status = TC_OK;

    if (image->algorithm == TC_RICE_1) {
        status = tc_rice_encode_i32(tile, n, image->blocksize, dst, ROOM, &used);
    } else if (image->algorithm == TC_PLIO_1) {
        status = tc_plio_encode_i32(tile, n, 0, dst, ROOM, &used);
    } else if (image->algorithm == TC_HCOMPRESS_1) {
        void *const scratch = malloc(tc_hcompress_scratch(nx, ny));
        status = tc_hcompress_encode_i32(tile, nx, ny, 0, dst, ROOM, scratch, &used);
        free(scratch);
    } else if (image->algorithm == TC_NOCOMPRESS) {
        tc_byteswap(tile, n, 4, dst);
        used = 4 * n;
    } else {
        tc_gzip_encoder *const encoder = tc_gzip_encoder_new(1);
        if (image->algorithm == TC_GZIP_2) tc_shuffle(tile, n, 4, bytes);
        else tc_byteswap(tile, n, 4, bytes);
        status = tc_gzip_encode(encoder, bytes, 4 * n, 4 * n, dst, ROOM, &used);
        tc_gzip_encoder_free(encoder);
    }
    TC_CHECK_EQ(status, TC_OK);
    return used;
}

/* The whole image, int32, tiles encoded by `algorithm`, the output in C order. */
static tc_scene *new_scene(tc_algorithm algorithm)
{
    tc_scene *const scene = calloc(1, sizeof *scene);
    uint64_t state = 5;

    scene->batch = (tc_batch){
        .image = {.algorithm = algorithm, .bytepix = 4, .blocksize = 32, .zdither0 = 1, .stored = TC_I32, .result = TC_I32},
        .n_axes = 2, .n_jobs = N_TILES, .out = (uint8_t *)scene->out, .row = scene->row, .nbytes = scene->nbytes,
        .column = scene->column, .status = scene->status, .done = scene->done, .used = scene->used};
    for (size_t y = 0; y < ROWS; y++)
        for (size_t x = 0; x < COLUMNS; x++) scene->image[y][x] = (int32_t)(1000 + 30 * y + (tc_random(&state) & 15));
    for (size_t a = 0; a < 2; a++) {
        const int64_t whole = a ? COLUMNS : ROWS, tile = a ? TILE_COLUMNS : TILE_ROWS;
        for (int64_t t = 0; t < (a ? N_ACROSS : N_DOWN); t++) {
            scene->size[a][t] = scene->count[a][t] = smaller(tile, whole - t * tile);
            scene->out_at[a][t] = t * tile;
        }
        scene->batch.axis[a] = (tc_axis){a ? N_ACROSS : N_DOWN, scene->size[a], scene->start[a], scene->count[a],
                                         scene->out_at[a], 1, a ? 4 : 4 * COLUMNS, (size_t)whole, NULL, NULL, 0};
    }
    for (size_t job = 0; job < N_TILES; job++) {
        int32_t tile[TILE_ROWS * TILE_COLUMNS];
        size_t nx, ny;
        scene->row[job] = scene->jobs[job] = (int64_t)job;
        scene->position[job] = (int64_t)(job * ROOM);
        scene->column[job] = TC_COLUMN_COMPRESSED;
        copy_tile(scene, job, tile, &nx, &ny);
        scene->nbytes[job] = (int64_t)encode(scene, tile, nx, ny, scene->streams + job * ROOM);
    }
    return scene;
}

static size_t decode_all(tc_scene *scene)
{
    size_t n_bad = 99;

    TC_CHECK_EQ(tc_batch_check(&scene->batch), TC_OK);
    TC_CHECK_EQ(tc_batch_decode(&scene->batch, scene->jobs, scene->position, N_TILES, scene->streams,
                                sizeof scene->streams, &n_bad), TC_OK);
    return n_bad;
}

static const tc_algorithm every_algorithm[] = {TC_RICE_1, TC_GZIP_1, TC_GZIP_2, TC_PLIO_1, TC_HCOMPRESS_1, TC_NOCOMPRESS};
#define N_ALGORITHMS (sizeof every_algorithm / sizeof *every_algorithm)

static void test_whole_image(void)
{
    for (size_t i = 0; i < N_ALGORITHMS; i++) {
        tc_scene *const scene = new_scene(every_algorithm[i]);
        TC_CHECK_EQ(decode_all(scene), 0);
        TC_CHECK_BYTES(scene->out, scene->image, sizeof scene->out);
        for (size_t job = 0; job < N_TILES; job++) {
            TC_CHECK_EQ(scene->status[job], TC_OK);
            TC_CHECK_EQ(scene->used[job], scene->nbytes[job]);
        }
        free(scene);
    }
}

static void test_jobs_in_any_order_and_wider_output(void)
{
    for (size_t i = 0; i < N_ALGORITHMS; i++) {
        tc_scene *const scene = new_scene(every_algorithm[i]);
        double *const out = malloc(ROWS * COLUMNS * sizeof *out);
        scene->batch.image.scaling = TC_SCALE_LINEAR;
        scene->batch.image.bscale = 0.5;
        scene->batch.image.bzero = 3;
        scene->batch.image.result = TC_F64;
        scene->batch.out = (uint8_t *)(out + COLUMNS - 1); /* columns backwards */
        scene->batch.axis[0].stride = COLUMNS * 8;
        scene->batch.axis[1].stride = -8;
        for (size_t job = 0; job < N_TILES; job++) {
            scene->jobs[job] = (int64_t)(N_TILES - 1 - job);
            scene->position[job] = scene->jobs[job] * ROOM;
        }
        TC_CHECK_EQ(decode_all(scene), 0);
        for (size_t y = 0; y < ROWS; y++)
            for (size_t x = 0; x < COLUMNS; x++)
                TC_CHECK(out[y * COLUMNS + COLUMNS - 1 - x] == scene->image[y][x] * 0.5 + 3);
        free(out);
        free(scene);
    }
}

/* Every second row and every third column, from the back: decoding may stop early, and gives the same pixels. */
static void test_selection(void)
{
    for (size_t i = 0; i < N_ALGORITHMS; i++) {
        tc_scene *const scene = new_scene(every_algorithm[i]);
        int32_t wanted[19 * 21], *at = wanted;
        for (size_t y = 0; y < ROWS; y += 2)
            for (size_t x = 0; x < COLUMNS; x += 3) *at++ = scene->image[y][COLUMNS - 1 - x];
        for (size_t a = 0; a < 2; a++) {
            const int64_t whole = a ? COLUMNS : ROWS, tile = a ? TILE_COLUMNS : TILE_ROWS, step = a ? 3 : 2;
            for (int64_t t = 0; t < (a ? N_ACROSS : N_DOWN); t++) {
                int64_t first = -1, last = -1, n = 0;
                for (int64_t k = 0; k * step < whole; k++) {
                    const int64_t pixel = a ? whole - 1 - k * step : k * step;
                    if (pixel / tile != t) continue;
                    if (first < 0) first = pixel, scene->out_at[a][t] = k;
                    last = pixel;
                    n++;
                }
                TC_CHECK(last >= 0);
                scene->start[a][t] = first - t * tile;
                scene->count[a][t] = n;
            }
            scene->batch.axis[a].step = a ? -step : step;
            scene->batch.axis[a].extent = a ? 21 : 19;
            scene->batch.axis[a].stride = a ? 4 : 4 * 21;
        }
        TC_CHECK_EQ(decode_all(scene), 0);
        TC_CHECK_BYTES(scene->out, wanted, sizeof wanted);
        free(scene);
    }
}

/* Of each tile the first pixel alone, a tile a call: decoders that cannot stop early still have room for the whole tile. */
static void test_first_pixels(void)
{
    for (size_t i = 0; i < N_ALGORITHMS; i++) {
        tc_scene *const scene = new_scene(every_algorithm[i]);
        size_t n_bad = 0;
        for (size_t a = 0; a < 2; a++) {
            const size_t n_tiles = scene->batch.axis[a].n_tiles;
            for (size_t t = 0; t < n_tiles; t++) {
                scene->count[a][t] = 1;
                scene->out_at[a][t] = (int64_t)t;
            }
            scene->batch.axis[a].extent = n_tiles;
            scene->batch.axis[a].stride = a ? 4 : 4 * N_ACROSS;
        }
        TC_CHECK_EQ(tc_batch_check(&scene->batch), TC_OK);
        for (size_t job = 0; job < N_TILES; job++) {
            TC_CHECK_EQ(tc_batch_decode(&scene->batch, &scene->jobs[job], &scene->position[job], 1, scene->streams,
                                        sizeof scene->streams, &n_bad), TC_OK);
            TC_CHECK_EQ(scene->status[job], TC_OK);
            TC_CHECK_EQ(scene->out[job], scene->image[job / N_ACROSS * TILE_ROWS][job % N_ACROSS * TILE_COLUMNS]);
        }
        free(scene);
    }
}

static void test_quantized_in_groups_equals_one_by_one(void)
{
    tc_scene *const scene = new_scene(TC_RICE_1);
    float *const out = (float *)scene->out;
    tc_image *const image = &scene->batch.image;

    image->quantized = true;
    image->dither = TC_DITHER_1;
    image->stored = image->result = TC_F32;
    for (size_t job = 0; job < N_TILES; job++) {
        scene->zscale[job] = 0.25 + (double)job;
        scene->zzero[job] = -(double)job;
    }
    scene->batch.zscale = scene->zscale;
    scene->batch.zzero = scene->zzero;
    TC_CHECK_EQ(decode_all(scene), 0);
    for (size_t job = 0; job < N_TILES; job++) {
        int32_t tile[TILE_ROWS * TILE_COLUMNS];
        float values[TILE_ROWS * TILE_COLUMNS];
        size_t nx, ny;
        const tc_quantum quantum = {scene->zscale[job], scene->zzero[job], TC_DITHER_1, 1, job, false, 0};
        copy_tile(scene, job, tile, &nx, &ny);
        tc_dequantize_i32_f32(tile, 0, nx * ny, &quantum, values);
        for (size_t y = 0; y < ny; y++)
            TC_CHECK_BYTES(out + (job / N_ACROSS * TILE_ROWS + y) * COLUMNS + job % N_ACROSS * TILE_COLUMNS,
                           values + y * nx, nx * sizeof *values);
    }
    free(scene);
}

static void test_bad_tiles_are_told_and_filled(void)
{
    const int32_t fill = -77;

    for (size_t i = 0; i < N_ALGORITHMS; i++) {
        tc_scene *const scene = new_scene(every_algorithm[i]);
        scene->batch.image.fill_bad = true;
        memcpy(scene->batch.image.fill, &fill, sizeof fill);
        scene->nbytes[3] = 5;                                          /* cut */
        scene->column[9] = TC_COLUMN_NONE;
        scene->position[17] = (int64_t)sizeof scene->streams - 1;      /* past the end of the bytes */
        scene->position[20] = -4;
        scene->nbytes[21] += 3;                                        /* spare bytes */
        TC_CHECK_EQ(decode_all(scene), 4);
        for (size_t job = 0; job < N_TILES; job++) {
            const size_t y = job / N_ACROSS * TILE_ROWS, x = job % N_ACROSS * TILE_COLUMNS;
            const bool bad = job == 3 || job == 9 || job == 17 || job == 20;
            TC_CHECK_EQ(scene->status[job] != TC_OK && scene->status[job] != TC_TRAILING, bad);
            TC_CHECK_EQ(scene->out[y * COLUMNS + x], bad ? fill : scene->image[y][x]);
        }
        TC_CHECK_EQ(scene->status[9], TC_MISSING);
        TC_CHECK_EQ(scene->status[17], TC_TRUNCATED);
        TC_CHECK_EQ(scene->status[21], TC_TRAILING);
        TC_CHECK_EQ(scene->used[21], scene->nbytes[21] - 3);
        free(scene);
    }
}

static void test_fallback_columns(void)
{
    tc_scene *const scene = new_scene(TC_RICE_1);
    tc_gzip_encoder *const encoder = tc_gzip_encoder_new(1);

    for (size_t job = 0; job < N_TILES; job += 3) {
        int32_t tile[TILE_ROWS * TILE_COLUMNS];
        uint8_t bytes[sizeof tile];
        size_t nx, ny, used;
        copy_tile(scene, job, tile, &nx, &ny);
        tc_byteswap(tile, nx * ny, 4, bytes);
        if (job % 2) {
            scene->column[job] = TC_COLUMN_UNCOMPRESSED;
            scene->nbytes[job] = (int64_t)(4 * nx * ny);
            memcpy(scene->streams + job * ROOM, bytes, 4 * nx * ny);
        } else {
            scene->column[job] = TC_COLUMN_GZIP;
            TC_CHECK_EQ(tc_gzip_encode(encoder, bytes, 4 * nx * ny, 4 * nx * ny, scene->streams + job * ROOM, ROOM, &used), TC_OK);
            scene->nbytes[job] = (int64_t)used;
        }
    }
    TC_CHECK_EQ(decode_all(scene), 0);
    TC_CHECK_BYTES(scene->out, scene->image, sizeof scene->out);
    tc_gzip_encoder_free(encoder);
    free(scene);
}

static void test_masks_fill_where_they_are_set(void)
{
    const tc_algorithm maskers[] = {TC_RICE_1, TC_GZIP_1, TC_PLIO_1, TC_HCOMPRESS_1};
    const int32_t fill = -1;

    for (size_t i = 0; i < 4; i++) {
        tc_scene *const scene = new_scene(maskers[i]);
        for (size_t y = 0; y < ROWS; y++)
            for (size_t x = 0; x < COLUMNS; x++) scene->image[y][x] = (x * y) % 7 == 3;
        for (size_t job = 0; job < N_TILES; job++) {
            int32_t tile[TILE_ROWS * TILE_COLUMNS];
            size_t nx, ny;
            copy_tile(scene, job, tile, &nx, &ny);
            scene->nbytes[job] = (int64_t)encode(scene, tile, nx, ny, scene->streams + job * ROOM);
        }
        scene->column[5] = TC_COLUMN_NONE; /* no mask: no undefined pixels */
        scene->batch.image.is_mask = true;
        scene->batch.image.stored = TC_U8;
        memcpy(scene->batch.image.fill, &fill, sizeof fill);
        for (size_t k = 0; k < ROWS * COLUMNS; k++) scene->out[k] = (int32_t)k;
        TC_CHECK_EQ(decode_all(scene), 0);
        for (size_t y = 0; y < ROWS; y++)
            for (size_t x = 0; x < COLUMNS; x++) {
                const bool set = scene->image[y][x] && y / TILE_ROWS * N_ACROSS + x / TILE_COLUMNS != 5;
                TC_CHECK_EQ(scene->out[y * COLUMNS + x], set ? fill : (int32_t)(y * COLUMNS + x));
            }
        free(scene);
    }
}

static void test_tables_that_do_not_fit_are_refused(void)
{
    tc_scene *const scene = new_scene(TC_RICE_1);
    tc_batch *const batch = &scene->batch;
    size_t n_bad;
    const int64_t job = N_TILES, zero = 0;

    batch->n_jobs = N_TILES - 1;
    TC_CHECK_EQ(tc_batch_check(batch), TC_BAD_PARAM);
    batch->n_jobs = N_TILES;
    scene->out_at[1][3] += 1; /* past the output */
    TC_CHECK_EQ(tc_batch_check(batch), TC_OUT_OF_RANGE);
    scene->out_at[1][3] -= 1;
    scene->start[0][2] = 1; /* past the tile */
    TC_CHECK_EQ(tc_batch_check(batch), TC_OUT_OF_RANGE);
    scene->start[0][2] = 0;
    scene->size[0][0] = scene->size[1][0] = 1 << 20; /* 2^40 pixels */
    TC_CHECK_EQ(tc_batch_check(batch), TC_UNSUPPORTED);
    scene->size[0][0] = TILE_ROWS;
    scene->size[1][0] = TILE_COLUMNS;
    batch->image.bytepix = 3;
    TC_CHECK_EQ(tc_batch_check(batch), TC_BAD_PARAM);
    batch->image.bytepix = 4;
    batch->image.result = TC_F32;
    TC_CHECK_EQ(tc_batch_check(batch), TC_BAD_PARAM);
    batch->image.result = TC_I32;
    TC_CHECK_EQ(tc_batch_decode(batch, &job, &zero, 1, scene->streams, ROOM, &n_bad), TC_BAD_PARAM);
    free(scene);
}

/* ---- threads ---- */

#define N_THREADS 4

typedef struct {
    tc_scene *scene;
    size_t first;
} tc_share;

static void *decode_share(void *argument)
{
    const tc_share *const share = argument;
    tc_scene *const scene = share->scene;
    size_t n_bad = 0;

    for (size_t job = share->first; job < N_TILES; job += N_THREADS)
        tc_batch_decode(&scene->batch, &scene->jobs[job], &scene->position[job], 1, scene->streams, sizeof scene->streams,
                        &n_bad);
    return NULL;
}

static void test_threads_share_a_batch(void)
{
    for (size_t i = 0; i < N_ALGORITHMS; i++) {
        tc_scene *const scene = new_scene(every_algorithm[i]);
        pthread_t threads[N_THREADS];
        tc_share shares[N_THREADS];
        for (size_t t = 0; t < N_THREADS; t++) {
            shares[t] = (tc_share){scene, t};
            TC_CHECK_EQ(pthread_create(&threads[t], NULL, decode_share, &shares[t]), 0);
        }
        for (size_t t = 0; t < N_THREADS; t++) pthread_join(threads[t], NULL);
        TC_CHECK_BYTES(scene->out, scene->image, sizeof scene->out);
        free(scene);
    }
}

int main(void)
{
    TC_RUN(test_whole_image);
    TC_RUN(test_jobs_in_any_order_and_wider_output);
    TC_RUN(test_selection);
    TC_RUN(test_first_pixels);
    TC_RUN(test_quantized_in_groups_equals_one_by_one);
    TC_RUN(test_bad_tiles_are_told_and_filled);
    TC_RUN(test_fallback_columns);
    TC_RUN(test_masks_fill_where_they_are_set);
    TC_RUN(test_tables_that_do_not_fit_are_refused);
    TC_RUN(test_threads_share_a_batch);
    return tc_test_summary();
}
