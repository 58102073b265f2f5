/* Dequantization of one pair of types; a part of tc_quantize_code.h.  The including file defines
 *   STORED, NAME(x)          the type of the integers, and the name of a function for the pair; this file undefines them
 *   VALUE, CHOOSE, NAN_BITS  the type of the values, the function of tc_choose.h for it and its NaN */

/* n pixels, with as many random numbers. */
static void NAME(undithered)(const STORED *src, const float *numbers, size_t n, const tc_quantum *quantum, VALUE *dst)
{
    const double zscale = quantum->zscale, zzero = quantum->zzero;
    const bool marks_zero = quantum->method == TC_DITHER_2, has_zblank = quantum->has_zblank;
    const int32_t zblank = quantum->zblank;

    for (size_t i = 0; i < n; i++) {
        VALUE value = (VALUE)(((double)src[i] - (double)numbers[i] + 0.5) * zscale + zzero);

        value = CHOOSE(marks_zero & TC_MARKS_ZERO((int32_t)src[i]), 0, value);
        dst[i] = CHOOSE(has_zblank & (src[i] == zblank), NAN_BITS, value);
    }
}

static void NAME(scaled)(const STORED *src, size_t n, const tc_quantum *quantum, VALUE *dst)
{
    const double zscale = quantum->zscale, zzero = quantum->zzero;
    const bool has_zblank = quantum->has_zblank;
    const int32_t zblank = quantum->zblank;

    for (size_t i = 0; i < n; i++) {
        const VALUE value = (VALUE)((double)src[i] * zscale + zzero);

        dst[i] = CHOOSE(has_zblank & (src[i] == zblank), NAN_BITS, value);
    }
}

void LEVEL(NAME(tc_dequantize))(const STORED *src, size_t first, size_t n, const tc_quantum *quantum, VALUE *dst)
{
    if (quantum->method == TC_NO_DITHER) {
        NAME(scaled)(src, n, quantum, dst);
        return;
    }
    tc_dither dither = tc_dither_skip(tc_dither_start(quantum->row, quantum->zdither0), first);
    for (size_t done = 0, count; done < n; done += count) {
        const float *const numbers = tc_dither_run(&dither, n - done, &count);

        NAME(undithered)(src + done, numbers, count, quantum, dst + done);
    }
}

#undef STORED
#undef NAME
