/* A batch of two tiles from the fuzzer's bytes: every algorithm, type, scaling and selection that they ask for. */
#include <stdlib.h>
#include <string.h>

#include "tc_batch.h"

#define HEAD 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len < HEAD) return 0;
    const int64_t width = 1 + data[0] % 16, height = 1 + data[1] % 8;
    const int64_t sizes[2][2] = {{height, 1}, {width, 0}}; /* two tiles down, the second of one row */
    const int64_t starts[2][2] = {{height > 1 && data[2] & 1, 0}, {data[2] >> 4 < width ? data[2] >> 4 : 0, 0}};
    const int64_t counts[2][2] = {{height - starts[0][0], 1}, {width - starts[1][0], 0}};
    const int64_t outs[2][2] = {{0, counts[0][0]}, {0, 0}};
    const int64_t rows[2] = {data[3], data[4]}, split = (int64_t)((len - HEAD) * (data[5] & 15) / 15);
    const int64_t nbytes[2] = {split, (int64_t)(len - HEAD) - split}, jobs[2] = {0, 1}, positions[2] = {0, split};
    const uint8_t columns[2] = {data[6] & 3, data[6] >> 2 & 3};
    const double zscale[2] = {0.5, 1e300}, zzero[2] = {3, -1e300};
    const int64_t zblank[2] = {(int8_t)data[7], INT32_MIN};
    int32_t status[2];
    int64_t done[2], used[2];
    static const uint32_t bytepix[4] = {1, 2, 4, 4};
    const tc_type stored = (tc_type)(data[8] % 6);
    const bool floats = tc_type_is_float(stored);
    tc_batch batch = {
        .image = {.algorithm = (tc_algorithm)(data[9] % 6), .bytepix = bytepix[data[10] & 3], .blocksize = 1 + data[11] % 40,
                  .smooth = data[12] & 1, .plio_offset = data[12] & 2, .quantized = floats && data[12] & 4,
                  .dither = (tc_dither_method)(data[13] % 3), .zdither0 = 1 + data[14], .stored = stored, .result = stored,
                  .swap = data[12] & 8, .scaling = (tc_scaling)(data[15] % 3), .bscale = 0.5, .bzero = 32768,
                  .has_blank = data[12] & 16, .blank = 4, .is_mask = data[12] & 32 && !floats, .fill_bad = data[12] & 64},
        .n_axes = 2, .n_jobs = 2,
        .row = rows, .nbytes = nbytes, .column = columns, .zscale = zscale, .zzero = zzero,
        .zblank = data[12] & 128 ? zblank : NULL, .status = status, .done = done, .used = used};
    if (batch.image.scaling == TC_SCALE_OFFSET) batch.image.result = (tc_type)(stored + TC_I8);
    if (batch.image.scaling == TC_SCALE_LINEAR && !floats) batch.image.result = data[13] & 128 ? TC_F64 : TC_F32;
    if (floats && batch.image.scaling == TC_SCALE_OFFSET) return 0;
    const ptrdiff_t itemsize = (ptrdiff_t)tc_type_size(batch.image.result);
    const size_t down = (size_t)(counts[0][0] + 1), across = (size_t)counts[1][0];
    uint8_t *const out = malloc(down * across * (size_t)itemsize); /* exactly, so that every step outside is seen */
    size_t n_bad;

    batch.out = out;
    batch.axis[0] = (tc_axis){2, sizes[0], starts[0], counts[0], outs[0], 1, itemsize * (ptrdiff_t)across, down, NULL, NULL, 0};
    batch.axis[1] = (tc_axis){1, sizes[1], starts[1], counts[1], outs[1], 1, itemsize, across, NULL, NULL, 0};
    if (tc_batch_check(&batch) != TC_OK) abort();
    tc_batch_decode(&batch, jobs, positions, 2, data + HEAD, len - HEAD, &n_bad);
    free(out);
    return 0;
}
