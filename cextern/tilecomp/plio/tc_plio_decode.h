/* The PLIO decoder for one pixel type; a part of tc_plio.c.  The including file defines, and this one undefines:
 *   PIXEL, PIXEL_MIN, PIXEL_MAX  the type and its range
 *   NAME(x)                      the name of a function for it
 * Most pixels of a mask are 0, in runs of any length.  So the tile is filled with 0 first, and a run of it is stepped over. */

typedef PIXEL NAME(vector) __attribute__((vector_size(16)));

static inline PIXEL NAME(clip)(int64_t v)
{
    return (PIXEL)(v < PIXEL_MIN ? PIXEL_MIN : v > PIXEL_MAX ? PIXEL_MAX : v);
}

static inline void NAME(fill)(PIXEL *dst, PIXEL value, size_t n)
{
    const NAME(vector) all = (NAME(vector)){0} + value;
    const size_t whole = sizeof all / sizeof(PIXEL);

    if (n < whole) {
        for (size_t i = 0; i < n; i++) dst[i] = value;
        return;
    }
    for (size_t i = 0; i < n - whole; i += whole) memcpy(dst + i, &all, sizeof all);
    memcpy(dst + n - whole, &all, sizeof all);
}

static inline tc_status NAME(decode_list)(list *in, int32_t offset, PIXEL *dst, size_t n, size_t *done)
{
    const PIXEL zero = NAME(clip)(-(int64_t)offset);
    size_t x = 0;

    if (zero == 0) memset(dst, 0, n * sizeof *dst);
    else NAME(fill)(dst, zero, n);
    while (in->next < in->end && x < n) {
        pixel_run r;
        const tc_status status = next_run(in, &r);

        if (status != TC_OK) {
            *done = x;
            return status;
        }
        const PIXEL level = NAME(clip)(in->level - offset);
        x += least(r.zeros, n - x);
        if (x == n) break;
        dst[x] = r.levels ? level : zero; /* free of branches, for most runs are of one pixel or none */
        if (r.levels > 1) NAME(fill)(dst + x, level, least(r.levels, n - x));
        x += least(r.levels, n - x);
    }
    *done = n;
    return TC_OK;
}

tc_status NAME(tc_plio_decode)(const uint8_t *src, size_t src_len, int32_t offset, PIXEL *dst, size_t n, size_t *used,
                               size_t *done)
{
    list in = {0};

    *used = *done = 0;
    TC_TRY(open_list(src, src_len, &in));
    TC_TRY(NAME(decode_list)(&in, offset, dst, n, done));
    *used = 2 * in.end;
    return TC_OK;
}

#undef PIXEL
#undef PIXEL_MIN
#undef PIXEL_MAX
#undef NAME
