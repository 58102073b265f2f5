/* The parts of HCOMPRESS_1 that exist once for every CPU level: the transform, its coefficients' signs, their bit planes. */
#include "tc_hcompress_planes_code.h"
#include "tc_hcompress_signs_code.h"
#include "tc_hcompress_transform.h"

#define COEF int32_t
#define UCOEF uint32_t
#define NAME(x) x##_i32
#include "tc_hcompress_rows.h"

#define COEF int64_t
#define UCOEF uint64_t
#define NAME(x) x##_i64
#include "tc_hcompress_rows.h"

void LEVEL(tc_hcompress_inverse)(const tc_hcompress_tile *tile, int64_t smooth_most, int64_t low, int64_t high,
                                 int32_t *dst)
{
    (tile->wide ? inverse_i64 : inverse_i32)(tile, smooth_most, low, high, dst);
}

void LEVEL(tc_hcompress_forward)(const tc_hcompress_tile *tile, const int32_t *src)
{
    (tile->wide ? forward_i64 : forward_i32)(tile, src);
}
