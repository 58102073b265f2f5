/* The range of float pixels; a part of tc_noise_code.h.  The including file defines, and this one undefines:
 *   PIXEL, NAME(x)  a pixel, and the name of a function for it
 *   KEY, KEY_MAX    the signed integer of its width, and the largest one
 * Floats are compared as integers that order as they do, for such loops become vector code.  Only where infinity or NaN turn
 * up, each pixel is looked at. */

TC_INLINE KEY NAME(key)(PIXEL pixel)
{
    KEY bits;

    memcpy(&bits, &pixel, sizeof bits);
    return bits < 0 ? bits ^ KEY_MAX : bits;
}

static PIXEL NAME(pixel)(KEY key)
{
    PIXEL pixel;

    key = key < 0 ? key ^ KEY_MAX : key;
    memcpy(&pixel, &key, sizeof pixel);
    return pixel;
}

static tc_noise NAME(survey_defined)(const PIXEL *src, size_t n)
{
    tc_noise found = {0};

    for (size_t i = 0; i < n; i++) {
        const double pixel = src[i];

        if (isnan(pixel)) continue;
        if (found.n_valid++ == 0) found.min = found.max = pixel;
        found.has_infinite |= isinf(pixel) != 0;
        if (pixel < found.min) found.min = pixel;
        if (pixel > found.max) found.max = pixel;
    }
    return found;
}

tc_noise LEVEL(NAME(tc_noise_range))(const PIXEL *src, size_t n)
{
    KEY low = KEY_MAX, high = -KEY_MAX;

    for (size_t i = 0; i < n; i++) {
        const KEY key = NAME(key)(src[i]);

        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    if (n == 0 || low <= NAME(key)(-(PIXEL)INFINITY) || high >= NAME(key)((PIXEL)INFINITY))
        return NAME(survey_defined)(src, n);
    return (tc_noise){.n_valid = n, .min = (double)NAME(pixel)(low), .max = (double)NAME(pixel)(high)};
}

#undef PIXEL
#undef NAME
#undef KEY
#undef KEY_MAX
