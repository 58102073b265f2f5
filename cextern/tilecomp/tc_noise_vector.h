/* The differences of a row, LANES windows at a time.  The including file defines, and this one undefines:
 *   LEVEL(x)             the name of a function for this CPU level and pixel type; TARGET its attribute
 *   NAME(x)              as in tc_noise_type.h
 *   PIXEL, WORD, LANES
 *   VECTOR               LANES pixels; + - * act on each
 *   LOAD(p), EQUAL(a, b) unaligned load; a mask with a bit for each lane
 *   STORE(p, v)          write |v| as WORDs
 *   STORE_KEPT(p, mask, v)  the same for the lanes of the mask only, one after the other */

TARGET static NAME(counts) LEVEL(differences)(const PIXEL *v, size_t m, WORD *second, WORD *third, WORD *fifth)
{
    const unsigned all = (1u << LANES) - 1;
    NAME(counts) n = {0, 0};
    size_t k = 0;

    for (; k + LANES + SPAN - 1 <= m; k += LANES) {
        const PIXEL *const w = v + k;
        const VECTOR w0 = LOAD(w), w2 = LOAD(w + 2), w4 = LOAD(w + 4), w5 = LOAD(w + 5), w6 = LOAD(w + 6), w8 = LOAD(w + 8);
        const unsigned flat3 = EQUAL(w4, w5) & EQUAL(w5, w6);
        const VECTOR e2 = w4 - w6, e3 = w4 + w4 - w2 - w6, e5 = w4 * 6 - w2 * 4 - w6 * 4 + w0 + w8;

        if (flat3 == 0) {
            STORE(second + n.n_second, e2);
            STORE(third + n.n_third, e3);
            STORE(fifth + n.n_third, e5);
            n.n_second += LANES;
            n.n_third += LANES;
        } else {
            const VECTOR w3 = LOAD(w + 3);
            const unsigned flat5 = flat3 & EQUAL(w2, w3) & EQUAL(w3, w4);

            STORE_KEPT(second + n.n_second, ~flat3 & all, e2);
            STORE_KEPT(third + n.n_third, ~flat5 & all, e3);
            STORE_KEPT(fifth + n.n_third, ~flat5 & all, e5);
            n.n_second += LANES - (size_t)__builtin_popcount(flat3);
            n.n_third += LANES - (size_t)__builtin_popcount(flat5);
        }
    }
    return NAME(add_differences)(v, k, m, n, second, third, fifth);
}

#undef LEVEL
#undef TARGET
#undef NAME
#undef PIXEL
#undef WORD
#undef LANES
#undef VECTOR
#undef LOAD
#undef EQUAL
#undef STORE
#undef STORE_KEPT
