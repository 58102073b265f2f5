/* The bit planes of one quadrant of HCOMPRESS coefficients, both ways; tc_hcompress_planes.c describes their coding. */
#ifndef TC_HCOMPRESS_PLANES_H
#define TC_HCOMPRESS_PLANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tc_bits.h"
#include "tc_status.h"

#define TC_HCOMPRESS_MAX_PLANES 62

typedef struct {
    size_t height, width;
    unsigned n_planes;
    void *coef;    /* its first magnitude, of type int32_t (at most 31 planes) or int64_t */
    size_t stride; /* elements between the rows of coef */
    bool wide;     /* int64_t */
} tc_hcompress_quadrant;

/* Bytes of scratch for a quadrant of any number of planes. */
size_t tc_hcompress_planes_scratch(size_t height, size_t width);

/* Read all planes and store the magnitudes.  TC_TRUNCATED, TC_BAD_CODE. */
tc_status tc_hcompress_read_quadrant(tc_bits *in, const tc_hcompress_quadrant *quadrant, void *scratch);

/* Write the planes of the magnitudes, which are less than 2^n_planes. */
void tc_hcompress_write_quadrant(tc_bit_writer *out, const tc_hcompress_quadrant *quadrant, void *scratch);

#endif
