/* The signs of one coefficient type; a part of tc_hcompress_signs_code.h.  The including file defines, and this one undefines:
 *   COEF, UCOEF  the signed and the unsigned type of a coefficient
 *   NAME(x)      the name of a function for it */

/* A magnitude with a sign, 0 or 1; 0 stays 0. */
TC_INLINE COEF NAME(with_sign)(COEF v, uint32_t scale, uint64_t sign)
{
    return (COEF)((((UCOEF)v * scale) ^ -(UCOEF)sign) + (UCOEF)sign);
}

/* Without branches while a window has a bit for each of the next coefficients, then one by one. */
static tc_status NAME(read_signs)(tc_bits *in, COEF *coef, size_t n, uint32_t scale)
{
    size_t i = 0;

    while (n - i >= TC_BITS_WINDOW && tc_bits_left(in) >= TC_BITS_WINDOW) {
        uint64_t window = tc_bits_peek(in);
        unsigned count = 0;

        for (const size_t end = i + TC_BITS_WINDOW; i < end; i++) {
            const unsigned has_sign = coef[i] != 0;

            coef[i] = NAME(with_sign)(coef[i], scale, window >> 63);
            window <<= has_sign;
            count += has_sign;
        }
        tc_bits_skip(in, count);
    }
    for (; i < n; i++) {
        uint32_t sign;

        if (coef[i] == 0) continue;
        TC_TRY(tc_bits_get(in, 1, &sign));
        coef[i] = NAME(with_sign)(coef[i], scale, sign);
    }
    return TC_OK;
}

static void NAME(take_signs)(tc_bit_writer *out, COEF *coef, size_t n, uint32_t scale)
{
    for (size_t i = 0; i < n; i++) {
        const int64_t v = tc_hcompress_digitize(coef[i], scale);
        const uint64_t negative = v < 0;

        tc_bits_put(out, negative, v != 0);
        coef[i] = (COEF)(((uint64_t)v ^ -negative) + negative); /* the magnitude */
    }
}

#undef COEF
#undef UCOEF
#undef NAME
