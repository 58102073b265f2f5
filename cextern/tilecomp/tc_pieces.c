#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, madvise */
#include "tc_pieces.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_PIECES = 32, PATIENCE = 10000 /* turns left to others by who needs the list */ };

typedef struct {
    uint8_t *memory;
    size_t size;
} piece;

struct tc_pieces {
    size_t largest, most, page;
    atomic_flag busy;
    piece kept[MOST_PIECES]; /* the one that was given back first is the first */
    size_t n;
};

tc_pieces *tc_pieces_new(size_t largest, size_t most)
{
    tc_pieces *const pieces = calloc(1, sizeof *pieces);

    if (!pieces) return NULL;
    pieces->largest = largest;
    pieces->most = most;
    pieces->page = (size_t)sysconf(_SC_PAGESIZE);
    atomic_flag_clear(&pieces->busy);
    return pieces;
}

void tc_pieces_free(tc_pieces *pieces)
{
    if (!pieces) return;
    tc_pieces_clear(pieces);
    free(pieces);
}

/* ---- the list: held for as long as it takes to change it, never over a call of the system ---- */

static bool enter(tc_pieces *pieces) { return !atomic_flag_test_and_set_explicit(&pieces->busy, memory_order_acquire); }

/* The same for who cannot do without; in vain in a child whose list was in use when it was forked. */
static bool wait_and_enter(tc_pieces *pieces)
{
    for (int turn = 0; turn < PATIENCE; turn++) {
        if (enter(pieces)) return true;
        sched_yield();
    }
    return false;
}

static void leave(tc_pieces *pieces) { atomic_flag_clear_explicit(&pieces->busy, memory_order_release); }

static piece take_out(tc_pieces *pieces, size_t i)
{
    const piece out = pieces->kept[i];

    for (pieces->n--; i < pieces->n; i++) pieces->kept[i] = pieces->kept[i + 1];
    return out;
}

static size_t total(const tc_pieces *pieces)
{
    size_t sum = 0;

    for (size_t i = 0; i < pieces->n; i++) sum += pieces->kept[i].size;
    return sum;
}

/* Take out the oldest pieces, and say how many, until one more of `size` can be kept. */
static size_t make_room(tc_pieces *pieces, size_t size, piece old[MOST_PIECES])
{
    size_t n_old = 0;

    while (pieces->n == MOST_PIECES || total(pieces) > pieces->most - size) old[n_old++] = take_out(pieces, 0);
    return n_old;
}

/* The shortest piece that does, but not one of more than twice the size; pieces->n if there is none. */
static size_t best_fit(const tc_pieces *pieces, size_t size)
{
    size_t best = pieces->n;

    for (size_t i = 0; i < pieces->n; i++)
        if (pieces->kept[i].size >= size && pieces->kept[i].size / 2 <= size &&
            (best == pieces->n || pieces->kept[i].size < pieces->kept[best].size))
            best = i;
    return best;
}

/* ---- the system ---- */

/* Advice that the system does not know is none. */
static void advise(void *memory, size_t size, int advice)
{
    if (size) (void)madvise(memory, size, advice);
}

/* Fresh memory that begins with a huge page, and is made of such as far as they go. */
static uint8_t *map(size_t size)
{
    uint8_t *const all = mmap(NULL, size + TC_PIECES_HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const size_t before = all == MAP_FAILED ? 0 : -(uintptr_t)all % TC_PIECES_HUGE_PAGE;

    if (all == MAP_FAILED) return NULL;
    if (before) munmap(all, before);
    munmap(all + before + size, TC_PIECES_HUGE_PAGE - before);
#ifdef MADV_HUGEPAGE
    advise(all + before, size / TC_PIECES_HUGE_PAGE * TC_PIECES_HUGE_PAGE, MADV_HUGEPAGE);
#endif
    return all + before;
}

static void unmap(const piece *pieces, size_t n)
{
    for (size_t i = 0; i < n; i++) munmap(pieces[i].memory, pieces[i].size);
}

/* ---- pieces ---- */

void *tc_pieces_take(tc_pieces *pieces, size_t nbytes, size_t *size)
{
    piece found = {NULL, 0};
    uint8_t *fresh;

    if (nbytes == 0 || nbytes > SIZE_MAX / 2) return NULL;
    *size = (nbytes + pieces->page - 1) / pieces->page * pieces->page;
    if (enter(pieces)) {
        const size_t best = best_fit(pieces, *size);
        if (best < pieces->n) found = take_out(pieces, best);
        leave(pieces);
    }
    if (found.memory) {
        if (found.size > *size) munmap(found.memory + *size, found.size - *size); /* no array holds more than it needs */
        return found.memory;
    }
    fresh = map(*size);
    if (fresh) return fresh;
    tc_pieces_clear(pieces);
    return map(*size);
}

void tc_pieces_give(tc_pieces *pieces, void *memory, size_t size)
{
    const bool to_keep = size <= pieces->largest && size <= pieces->most;
    piece old[MOST_PIECES];
    size_t n_old;

#ifdef MADV_FREE
    if (to_keep) advise(memory, size, MADV_FREE);
#endif
    if (!to_keep || !enter(pieces)) {
        munmap(memory, size);
        return;
    }
    n_old = make_room(pieces, size, old);
    pieces->kept[pieces->n++] = (piece){memory, size};
    leave(pieces);
    unmap(old, n_old);
}

size_t tc_pieces_kept(tc_pieces *pieces)
{
    size_t sum = 0;

    if (enter(pieces)) {
        sum = total(pieces);
        leave(pieces);
    }
    return sum;
}

void tc_pieces_clear(tc_pieces *pieces)
{
    piece old[MOST_PIECES];
    size_t n_old;

    if (!wait_and_enter(pieces)) return;
    n_old = make_room(pieces, pieces->most, old);
    leave(pieces);
    unmap(old, n_old);
}
