/* Memory for large arrays that serves one after the other.
 *
 * The system supplies fresh memory page by page, as zeros, which takes up to half of the time of reading a whole image.  So
 * pieces that are given back are kept, as long as they are not too many, and the system is told that their pages are free: it
 * takes them back when it runs short.  Any thread may take and give pieces at any time, and nobody waits for long: whoever finds
 * another thread at the list of pieces does without.  To a child that was forked while a thread was there, what was kept is
 * lost. */
#ifndef TC_PIECES_H
#define TC_PIECES_H

#include <stddef.h>

#define TC_PIECES_HUGE_PAGE ((size_t)2 << 20)

typedef struct tc_pieces tc_pieces;

/* Pieces of up to `largest` bytes are kept, and `most` bytes in all.  NULL: no memory. */
tc_pieces *tc_pieces_new(size_t largest, size_t most);
void tc_pieces_free(tc_pieces *pieces); /* no piece is on loan */

/* A piece of nbytes > 0, and its size, in whole pages; it begins with a huge page, and what it holds is of no meaning.
 * NULL: the system has none, even after all that were kept went back to it. */
void *tc_pieces_take(tc_pieces *pieces, size_t nbytes, size_t *size);
void tc_pieces_give(tc_pieces *pieces, void *piece, size_t size);

/* Bytes of the pieces that are kept; and give them back to the system. */
size_t tc_pieces_kept(tc_pieces *pieces);
void tc_pieces_clear(tc_pieces *pieces);

#endif
