/* tc_shuffle_code.h for pixels of one width.  The including file defines, and this one undefines:
 *   WORD           a pixel as an unsigned integer
 *   NAME(x)        the name of a function for it
 *   SWAPPED(word)  the bytes of a word in reverse
 * Pixels need no alignment: memcpy() of one is a load or a store. */

static void NAME(byteswap)(const uint8_t *restrict src, size_t n, uint8_t *restrict dst)
{
    for (size_t i = 0; i < n; i++) {
        WORD pixel;

        memcpy(&pixel, src + i * sizeof pixel, sizeof pixel);
        pixel = SWAPPED(pixel);
        memcpy(dst + i * sizeof pixel, &pixel, sizeof pixel);
    }
}

static void NAME(byteswap_in_place)(uint8_t *data, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        WORD pixel;

        memcpy(&pixel, data + i * sizeof pixel, sizeof pixel);
        pixel = SWAPPED(pixel);
        memcpy(data + i * sizeof pixel, &pixel, sizeof pixel);
    }
}

/* Two planes at a time. */
static void NAME(shuffle)(const uint8_t *restrict src, size_t n, uint8_t *restrict dst)
{
    for (size_t byte = 0; byte < sizeof(WORD); byte += 2) {
        uint8_t *restrict const high = dst + byte * n, *restrict const low = high + n;

        for (size_t i = 0; i < n; i++) {
            high[i] = src[(i + 1) * sizeof(WORD) - 1 - byte];
            low[i] = src[(i + 1) * sizeof(WORD) - 2 - byte];
        }
    }
}

static void NAME(unshuffle)(const uint8_t *restrict src, size_t n, uint8_t *restrict dst)
{
    for (size_t i = 0; i < n; i++) {
        WORD pixel = src[i];

        for (size_t byte = 1; byte < sizeof pixel; byte++) pixel = (WORD)(pixel << 8 | src[byte * n + i]);
        memcpy(dst + i * sizeof pixel, &pixel, sizeof pixel);
    }
}

#undef WORD
#undef NAME
#undef SWAPPED
