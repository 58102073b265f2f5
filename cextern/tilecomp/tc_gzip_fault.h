/* Why a gzip member cannot be inflated: libdeflate says only that it cannot. */
#ifndef TC_GZIP_FAULT_H
#define TC_GZIP_FAULT_H

#include <stddef.h>
#include <stdint.h>

#include "tc_status.h"

/* Walk through a member (RFC 1952) and its deflate blocks (RFC 1951) without inflating them.
 *   TC_BAD_MAGIC     it does not begin as a gzip member of deflate blocks
 *   TC_TRUNCATED     everything up to the end of `src` is lawful, but the member goes on
 *   TC_CORRUPT       something in it is not lawful
 *   TC_BAD_CHECKSUM  the member is complete: what it states of its content cannot be true */
tc_status tc_gzip_fault(const uint8_t *src, size_t src_len);

#endif
