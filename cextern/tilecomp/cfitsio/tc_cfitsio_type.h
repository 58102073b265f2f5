/* libcfitsio's RICE_1, both ways, and its PLIO_1 decoder for one pixel type; a part of tc_cfitsio.c.  The including file
 * defines, and this one undefines:
 *   PIXEL, PIXEL_MIN, PIXEL_MAX  the type and its range
 *   NAME(x)                      the name of a function for it
 *   RDECOMP, RCOMP               libcfitsio's functions, which take int, short or char of either sign
 *   IS_TOO_WIDE(src, n)          whether RCOMP may lose such differences in long blocks */

tc_status NAME(tc_cfitsio_rice_decode)(const uint8_t *src, size_t src_len, uint32_t blocksize, PIXEL *dst, size_t n,
                                       size_t *used, size_t *done)
{
    const size_t pad = (size_t)blocksize * sizeof *dst + TC_PAD;
    uint8_t *copy;
    bool locked;
    int failed;

    TC_TRY(NAME(tc_rice_decode)(src, src_len, blocksize, dst, n, used, done));
    if (n == 0) return TC_OK;
    if (n > INT_MAX || *used > INT_MAX) return TC_OUT_OF_RANGE;
    if (!(copy = padded_copy(src, *used, pad, 0xff))) return TC_NO_MEMORY;
    locked = lock_unless(fits_is_reentrant());
    failed = RDECOMP(copy, (int)*used, (void *)dst, (int)n, (int)blocksize);
    unlock_if(locked);
    free(copy);
    return failed ? TC_CORRUPT : TC_OK;
}

tc_status NAME(tc_cfitsio_rice_encode)(const PIXEL *src, size_t n, uint32_t blocksize, uint8_t *dst, size_t dst_cap,
                                       size_t *used)
{
    size_t cap;
    PIXEL *pixels;
    uint8_t *stream;
    tc_status status = TC_NO_MEMORY;

    if (n == 0 || blocksize == 0 || blocksize > TC_RICE_MAX_BLOCKSIZE) return TC_BAD_PARAM;
    if ((cap = tc_rice_bound(n, sizeof *src, blocksize)) > INT_MAX / 2) return TC_OUT_OF_RANGE;
    if (blocksize > 32 && IS_TOO_WIDE(src, n)) return NAME(tc_rice_encode)(src, n, blocksize, dst, dst_cap, used);
    pixels = malloc(n * sizeof *src);
    stream = malloc(cap + (size_t)blocksize * sizeof *src + TC_PAD);
    if (pixels && stream) {
        memcpy(pixels, src, n * sizeof *src);
        const bool locked = lock_unless(fits_is_reentrant());
        const int len = RCOMP((void *)pixels, (int)n, stream, (int)(cap + TC_PAD), (int)blocksize);
        unlock_if(locked);
        status = len < 0 ? TC_CORRUPT : deliver(stream, (size_t)len, dst, dst_cap, used);
    }
    free(pixels);
    free(stream);
    return status;
}

tc_status NAME(tc_cfitsio_plio_decode)(const uint8_t *src, size_t src_len, int32_t offset, PIXEL *dst, size_t n,
                                       size_t *used, size_t *done)
{
    int *pixels;
    tc_status status;

    TC_TRY(NAME(tc_plio_decode)(src, src_len, offset, dst, n, used, done));
    if (n == 0) return TC_OK;
    if (n > INT_MAX) return TC_OUT_OF_RANGE;
    if (!(pixels = malloc(n * sizeof *pixels))) return TC_NO_MEMORY;
    status = plio_pixels(src, *used, pixels, n);
    for (size_t i = 0; status == TC_OK && i < n; i++) {
        const int64_t pixel = (int64_t)pixels[i] - offset;
        dst[i] = (PIXEL)(pixel < PIXEL_MIN ? PIXEL_MIN : pixel > PIXEL_MAX ? PIXEL_MAX : pixel);
    }
    free(pixels);
    return status;
}

#undef PIXEL
#undef PIXEL_MIN
#undef PIXEL_MAX
#undef NAME
#undef RDECOMP
#undef RCOMP
#undef IS_TOO_WIDE
