#include "tc_select.h"

#include "tc_cpu.h"

TC_BY_LEVEL(uint32_t, tc_select_u32, (const uint32_t *list, size_t n, size_t t, uint32_t *scratch), (list, n, t, scratch))
TC_BY_LEVEL(uint64_t, tc_select_u64, (const uint64_t *list, size_t n, size_t t, uint64_t *scratch), (list, n, t, scratch))
TC_BY_LEVEL(uint32_t, tc_select_exchanging_u32, (uint32_t *list, size_t n), (list, n))
TC_BY_LEVEL(uint64_t, tc_select_exchanging_u64, (uint64_t *list, size_t n), (list, n))
