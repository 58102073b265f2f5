/* The bit planes of one quadrant of HCOMPRESS coefficients, both ways; tc_hcompress_planes_code.h describes their coding. */
#ifndef TC_HCOMPRESS_PLANES_H
#define TC_HCOMPRESS_PLANES_H

#include <stddef.h>
#include <stdint.h>

#include "tc_bits.h"
#include "tc_hcompress_cells.h"
#include "tc_status.h"

#define TC_HCOMPRESS_MAX_PLANES 62

/* Bytes of scratch for a quadrant of any number of planes. */
size_t tc_hcompress_planes_scratch(size_t height, size_t width);

/* Read all planes and store the magnitudes.  TC_TRUNCATED, TC_BAD_CODE. */
tc_status tc_hcompress_read_quadrant(tc_bits *in, const tc_hcompress_quadrant *quadrant, void *scratch);

/* Write the planes of the magnitudes, which are less than 2^n_planes. */
void tc_hcompress_write_quadrant(tc_bit_writer *out, const tc_hcompress_quadrant *quadrant, void *scratch);

#endif
