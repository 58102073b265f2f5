/* The PLIO decoder for one pixel type, a template: tc_plio.c includes it once for each.  The includer defines
 *   PIXEL, PIXEL_MIN, PIXEL_MAX   the type and its range
 *   DECODE(name)                  the name of this copy of a function
 * Runs are short, mostly.  So a run is filled in whole blocks of 64 bytes, what is too much being overwritten by the
 * next one, as long as a block more fits in; near the end of the tile pixel by pixel. */

typedef PIXEL DECODE(vector) __attribute__((vector_size(16)));

enum { DECODE(block) = 64 / sizeof(PIXEL) };

static inline PIXEL DECODE(clip)(int64_t v)
{
    return (PIXEL)(v < PIXEL_MIN ? PIXEL_MIN : v > PIXEL_MAX ? PIXEL_MAX : v);
}

/* At least n pixels, and up to a block more. */
static inline void DECODE(fill_blocks)(PIXEL *dst, PIXEL value, size_t n)
{
    const DECODE(vector) all = (DECODE(vector)){0} + value;

    for (size_t i = 0;;) {
        for (size_t k = 0; k < DECODE(block); k += DECODE(block) / 4) memcpy(dst + i + k, &all, sizeof all);
        i += DECODE(block);
        if (i >= n) break;
    }
}

static inline void DECODE(fill)(PIXEL *dst, PIXEL value, size_t n)
{
    for (size_t i = 0; i < n; i++) dst[i] = value;
}

static inline tc_status DECODE(decode)(list *in, int32_t offset, PIXEL *dst, size_t n, size_t *done)
{
    const PIXEL zero = DECODE(clip)(-(int64_t)offset);
    size_t x = 0;

    while (in->next < in->end && x < n) {
        pixel_run r;
        const tc_status status = next_run(in, &r);

        if (status != TC_OK) {
            *done = x;
            return status;
        }
        const PIXEL level = DECODE(clip)(in->level - offset);
        if (n - x >= r.zeros + r.levels + DECODE(block)) {
            DECODE(fill_blocks)(dst + x, zero, r.zeros);
            DECODE(fill_blocks)(dst + x + r.zeros, level, r.levels);
            x += r.zeros + r.levels;
        } else {
            const size_t zeros = least(r.zeros, n - x), levels = least(r.levels, n - x - zeros);

            DECODE(fill)(dst + x, zero, zeros);
            DECODE(fill)(dst + x + zeros, level, levels);
            x += zeros + levels;
        }
    }
    DECODE(fill)(dst + x, zero, n - x);
    *done = n;
    return TC_OK;
}
