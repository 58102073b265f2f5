/* Any bytes to libcfitsio behind its bridge: never out of bounds, and what our own kernels say of them. */
#include "tc_cfitsio.h"

#include <stdlib.h>
#include <string.h>

#include "tc_hcompress.h"
#include "tc_plio.h"
#include "tc_rice.h"

#define MOST_PIXELS 256

static int32_t from_ours[MOST_PIXELS], from_theirs[MOST_PIXELS];
static size_t scratch[(16 * MOST_PIXELS + 4096) / sizeof(size_t)];

static void require(int holds)
{
    if (!holds) abort();
}

static void require_equal(tc_status ours, tc_status theirs, size_t n)
{
    require(ours == theirs);
    require(ours != TC_OK || memcmp(from_ours, from_theirs, n * sizeof *from_ours) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n, used = 0, done = 0, their_used = 0, their_done = 0;
    const uint8_t *src;

    if (size < 3) return 0;
    n = 1u + data[1];
    src = data + 3;
    size -= 3;
    switch (data[0] % 3) {
    case 0: {
        const uint32_t blocksize = 1u + data[2];
        const tc_status status = tc_rice_decode_i32(src, size, blocksize, from_ours, n, &used, &done);
        require_equal(status, tc_cfitsio_rice_decode_i32(src, size, blocksize, from_theirs, n, &their_used, &their_done), n);
        break;
    }
    case 1: {
        const tc_status status = tc_plio_decode_i32(src, size, data[2], from_ours, n, &used, &done);
        require_equal(status, tc_cfitsio_plio_decode_i32(src, size, data[2], from_theirs, n, &their_used, &their_done), n);
        break;
    }
    default: {
        const size_t nx = 1u + data[1] % 16, ny = 1u + data[1] / 16;
        const int bits = 8 << data[2] % 3;
        const bool smooth = data[2] & 4;
        const tc_status status = tc_hcompress_decode_i32(src, size, nx, ny, bits, smooth, from_ours, scratch, &used);
        const tc_status theirs =
            tc_cfitsio_hcompress_decode_i32(src, size, nx, ny, bits, smooth, from_theirs, scratch, &their_used);
        require_equal(status, theirs, nx * ny);
    }
    }
    require(used == their_used && done == their_done);
    return 0;
}
