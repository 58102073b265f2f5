#include "tc_select.h"

#include <stdbool.h>

#include "tc_cpu.h"

#define SAMPLE 64  /* lists up to this size are answered by counting */
#define MARGIN 8   /* ranks of the sample on each side of the expected one: two standard deviations */
#define PADDING 16 /* elements that a vector store may write past the last one that counts */

#define WORD uint32_t
#define NAME(x) x##_u32
#include "tc_select_width.h"
#undef WORD
#undef NAME

#define WORD uint64_t
#define NAME(x) x##_u64
#include "tc_select_width.h"
