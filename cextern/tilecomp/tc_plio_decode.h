/* The PLIO decoder for one pixel type, a template: tc_plio.c includes it once for each.  The includer defines
 *   PIXEL, PIXEL_MIN, PIXEL_MAX   the type and its range
 *   DECODE(name)                  the name of this copy of a function
 * Most pixels of a mask are 0, in runs of any length.  So the tile is filled with 0 first, and a run of it is stepped over. */

typedef PIXEL DECODE(vector) __attribute__((vector_size(16)));

static inline PIXEL DECODE(clip)(int64_t v)
{
    return (PIXEL)(v < PIXEL_MIN ? PIXEL_MIN : v > PIXEL_MAX ? PIXEL_MAX : v);
}

static inline void DECODE(fill)(PIXEL *dst, PIXEL value, size_t n)
{
    const DECODE(vector) all = (DECODE(vector)){0} + value;
    const size_t whole = sizeof all / sizeof(PIXEL);

    if (n < whole) {
        for (size_t i = 0; i < n; i++) dst[i] = value;
        return;
    }
    for (size_t i = 0; i < n - whole; i += whole) memcpy(dst + i, &all, sizeof all);
    memcpy(dst + n - whole, &all, sizeof all);
}

static inline tc_status DECODE(decode)(list *in, int32_t offset, PIXEL *dst, size_t n, size_t *done)
{
    const PIXEL zero = DECODE(clip)(-(int64_t)offset);
    size_t x = 0;

    if (zero == 0) memset(dst, 0, n * sizeof *dst);
    else DECODE(fill)(dst, zero, n);
    while (in->next < in->end && x < n) {
        pixel_run r;
        const tc_status status = next_run(in, &r);

        if (status != TC_OK) {
            *done = x;
            return status;
        }
        const PIXEL level = DECODE(clip)(in->level - offset);
        x += least(r.zeros, n - x);
        if (x == n) break;
        dst[x] = r.levels ? level : zero; /* free of branches, for most runs are of one pixel or none */
        if (r.levels > 1) DECODE(fill)(dst + x, level, least(r.levels, n - x));
        x += least(r.levels, n - x);
    }
    *done = n;
    return TC_OK;
}
