/* The element that would stand at an index if the list were sorted.  The noise estimate takes medians of absolute
 * differences: not negative, so floats are selected by their bits, which order as the values do. */
#ifndef TC_SELECT_H
#define TC_SELECT_H

#include <stddef.h>
#include <stdint.h>

/* Elements that `scratch` has to have room for. */
#define TC_SELECT_SCRATCH(n) (2 * (n) + 64)

/* list[t] after sorting; 0 <= t < n. */
uint32_t tc_select_u32(const uint32_t *list, size_t n, size_t t, uint32_t *scratch);
uint64_t tc_select_u64(const uint64_t *list, size_t n, size_t t, uint64_t *scratch);

/* The lower median, list[(n - 1) / 2] after sorting, n >= 1, by exactly the exchanges that CFITSIO's quickselect makes:
 * the order in which the list is left behind becomes part of its noise estimate. */
uint32_t tc_select_exchanging_u32(uint32_t *list, size_t n);
uint64_t tc_select_exchanging_u64(uint64_t *list, size_t n);

#endif
