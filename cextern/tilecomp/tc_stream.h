/* Copies that go past the caches, for outputs that are larger than they are: such a line of the output would be read
 * from memory, changed, and written back before anybody looks at it; stored past the caches it is written only. */
#ifndef TC_STREAM_H
#define TC_STREAM_H

#include <stddef.h>

/* Copy `n` bytes that do not overlap.  Other threads see them once tc_stream_end() was called by this one. */
void tc_stream_copy(void *dst, const void *src, size_t n);

void tc_stream_end(void);

#endif
