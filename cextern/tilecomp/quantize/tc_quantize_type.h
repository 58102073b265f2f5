/* Quantization of one pixel type; a part of tc_quantize_code.h.  The including file defines, and this one undefines:
 *   PIXEL    the type
 *   NAME(x)  the name of a function for it
 * NaN is replaced before it is converted, which would be undefined. */

/* n pixels, with as many random numbers. */
static void NAME(dithered)(const PIXEL *src, const float *numbers, size_t n, const tc_quantum *quantum, int32_t *dst)
{
    const double zscale = quantum->zscale, zzero = quantum->zzero;
    const bool marks_zero = quantum->method == TC_DITHER_2;
    const int32_t zblank = quantum->zblank;
    uint64_t zzero_bits;

    memcpy(&zzero_bits, &zzero, sizeof zzero_bits);
    for (size_t i = 0; i < n; i++) {
        const bool null = src[i] != src[i], zero = marks_zero & (src[i] == 0);
        const double pixel = tc_choose_f64(null, zzero_bits, src[i]);
        const double level = (pixel - zzero) / zscale + (double)numbers[i] - 0.5;
        const int32_t integer = (int32_t)(level + copysign(0.5, level));

        dst[i] = tc_choose_i32(null, zblank, tc_choose_i32(zero, TC_ZERO_MARKER, integer));
    }
}

static void NAME(not_dithered)(const PIXEL *src, size_t n, const tc_quantum *quantum, int32_t *dst)
{
    const double zscale = quantum->zscale, zzero = quantum->zzero;
    const int32_t zblank = quantum->zblank;
    uint64_t zzero_bits;

    memcpy(&zzero_bits, &zzero, sizeof zzero_bits);
    for (size_t i = 0; i < n; i++) {
        const bool null = src[i] != src[i];
        const double pixel = tc_choose_f64(null, zzero_bits, src[i]);
        const double level = (pixel - zzero) / zscale;

        dst[i] = tc_choose_i32(null, zblank, (int32_t)(level + copysign(0.5, level)));
    }
}

static void NAME(to_integers)(const PIXEL *src, size_t n, const tc_quantum *quantum, int32_t *dst)
{
    tc_dither dither = tc_dither_start(quantum->row, quantum->zdither0);

    if (quantum->method == TC_NO_DITHER) {
        NAME(not_dithered)(src, n, quantum, dst);
        return;
    }
    for (size_t done = 0, count; done < n; done += count) {
        const float *const numbers = tc_dither_run(&dither, n - done, &count);

        NAME(dithered)(src + done, numbers, count, quantum, dst + done);
    }
}

tc_status LEVEL(NAME(tc_quantize))(const PIXEL *src, size_t nx, size_t ny, uint64_t row,
                                   const tc_quantize_request *request, void *scratch, int32_t *dst, tc_quantum *quantum)
{
    tc_noise found;

    if (!lawful(request, nx, ny)) return TC_BAD_PARAM;
    found = request->q < 0 ? NAME(tc_noise_range)(src, nx * ny) : NAME(tc_noise)(src, nx, ny, scratch);
    *quantum = (tc_quantum){.method = request->method, .zdither0 = request->zdither0, .row = row,
                            .has_zblank = found.n_valid < nx * ny, .zblank = request->zblank};
    if (found.has_infinite || nx * ny == 1) return TC_REFUSED;
    if (found.n_valid == 0 && request->q >= 0) found.max = 1;
    TC_TRY(choose_quantum(request, &found, (PIXEL)found.max - (PIXEL)found.min, (PIXEL)found.min + (PIXEL)found.max,
                          quantum));
    NAME(to_integers)(src, nx * ny, quantum, dst);
    return TC_OK;
}

#undef PIXEL
#undef NAME
