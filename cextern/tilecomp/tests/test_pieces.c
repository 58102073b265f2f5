#include "tc_pieces.h"

#include <pthread.h>
#include <stdbool.h>

#include "tc_test.h"

enum { MEGABYTE = 1 << 20, N_THREADS = 8, N_TURNS = 200, MANY = 100 };

static void test_a_piece_serves_again(void)
{
    tc_pieces *const pieces = tc_pieces_new(64 * MEGABYTE, 128 * MEGABYTE);
    size_t size, other_size;
    uint8_t *const first = tc_pieces_take(pieces, 5 * MEGABYTE + 1, &size);

    TC_CHECK_EQ((uintptr_t)first % TC_PIECES_HUGE_PAGE, 0);
    TC_CHECK(size > 5 * MEGABYTE && size < 6 * MEGABYTE);
    memset(first, 1, size);
    tc_pieces_give(pieces, first, size);
    TC_CHECK_EQ(tc_pieces_kept(pieces), size);
    uint8_t *const again = tc_pieces_take(pieces, 4 * MEGABYTE, &other_size);
    TC_CHECK(again == first);
    TC_CHECK_EQ(other_size, 4 * MEGABYTE); /* the system has the rest */
    TC_CHECK_EQ(tc_pieces_kept(pieces), 0);
    uint8_t *const second = tc_pieces_take(pieces, 4 * MEGABYTE, &other_size);
    TC_CHECK(second + other_size <= again || again + other_size <= second);
    tc_pieces_give(pieces, again, other_size);
    tc_pieces_give(pieces, second, other_size);
    tc_pieces_free(pieces);
}

static void test_the_shortest_that_does_is_taken_and_none_of_more_than_twice_the_size(void)
{
    static const size_t lengths[3] = {16, 9, 12};
    tc_pieces *const pieces = tc_pieces_new(64 * MEGABYTE, 128 * MEGABYTE);
    uint8_t *given[3], *taken[3];
    size_t size[3], small;

    for (int i = 0; i < 3; i++) given[i] = tc_pieces_take(pieces, lengths[i] * MEGABYTE, &size[i]);
    for (int i = 0; i < 3; i++) tc_pieces_give(pieces, given[i], size[i]);
    uint8_t *const short_one = tc_pieces_take(pieces, 4 * MEGABYTE, &small);
    TC_CHECK_EQ(small, 4 * MEGABYTE);
    TC_CHECK_EQ(tc_pieces_kept(pieces), 37 * MEGABYTE);
    taken[0] = tc_pieces_take(pieces, 8 * MEGABYTE, &size[0]);
    TC_CHECK(taken[0] == given[1]);
    taken[1] = tc_pieces_take(pieces, 13 * MEGABYTE, &size[1]);
    TC_CHECK(taken[1] == given[0]);
    taken[2] = tc_pieces_take(pieces, 12 * MEGABYTE, &size[2]);
    TC_CHECK(taken[2] == given[2]);
    for (int i = 0; i < 3; i++) tc_pieces_give(pieces, taken[i], size[i]);
    tc_pieces_give(pieces, short_one, small);
    tc_pieces_free(pieces);
}

static void test_not_more_than_so_much_is_kept(void)
{
    tc_pieces *const pieces = tc_pieces_new(6 * MEGABYTE, 13 * MEGABYTE);
    static const size_t lengths[5] = {5, 4, 7, 6, 3};
    static const size_t kept[5] = {5, 9, 9, 10, 13}; /* 7 is too long; for 6, the 5 goes */
    uint8_t *given[5], *many[MANY];
    size_t size[5];

    for (int i = 0; i < 5; i++) given[i] = tc_pieces_take(pieces, lengths[i] * MEGABYTE, &size[i]);
    for (int i = 0; i < 5; i++) {
        tc_pieces_give(pieces, given[i], size[i]);
        TC_CHECK_EQ(tc_pieces_kept(pieces), kept[i] * MEGABYTE);
    }
    tc_pieces_clear(pieces);
    TC_CHECK_EQ(tc_pieces_kept(pieces), 0);
    for (int i = 0; i < MANY; i++) many[i] = tc_pieces_take(pieces, 1, &size[0]);
    for (int i = 0; i < MANY; i++) tc_pieces_give(pieces, many[i], size[0]);
    TC_CHECK(tc_pieces_kept(pieces) > 0 && tc_pieces_kept(pieces) < MANY * size[0]);
    tc_pieces_free(pieces);
}

static void test_sizes_that_nobody_has(void)
{
    tc_pieces *const pieces = tc_pieces_new(MEGABYTE, MEGABYTE);
    size_t size;

    TC_CHECK(tc_pieces_take(pieces, 0, &size) == NULL);
    TC_CHECK(tc_pieces_take(pieces, SIZE_MAX, &size) == NULL);
    TC_CHECK(tc_pieces_take(pieces, SIZE_MAX / 2 - 1, &size) == NULL);
    tc_pieces_free(pieces);
    tc_pieces_free(NULL);
}

/* Each thread writes its number all over its pieces, and finds nothing else there. */
static void *take_and_give(void *arg)
{
    tc_pieces *const pieces = ((void **)arg)[0];
    const uint8_t number = (uint8_t)(uintptr_t)((void **)arg)[1];
    bool *const good = ((void **)arg)[2];
    uint64_t seed = number;

    *good = true;
    for (int turn = 0; turn < N_TURNS; turn++) {
        size_t size, nbytes = 1 + tc_random(&seed) % 40000;
        uint8_t *const piece = tc_pieces_take(pieces, nbytes, &size);

        memset(piece, number, nbytes);
        for (size_t i = 0; i < nbytes; i++) *good &= piece[i] == number;
        tc_pieces_give(pieces, piece, size);
    }
    return NULL;
}

static void test_threads_never_share_a_piece(void)
{
    tc_pieces *const pieces = tc_pieces_new(MEGABYTE, MEGABYTE);
    pthread_t threads[N_THREADS];
    void *args[N_THREADS][3];
    bool good[N_THREADS];

    for (uintptr_t t = 0; t < N_THREADS; t++) {
        args[t][0] = pieces;
        args[t][1] = (void *)(t + 1);
        args[t][2] = &good[t];
        TC_CHECK_EQ(pthread_create(&threads[t], NULL, take_and_give, args[t]), 0);
    }
    for (int t = 0; t < N_THREADS; t++) {
        pthread_join(threads[t], NULL);
        TC_CHECK(good[t]);
    }
    TC_CHECK(tc_pieces_kept(pieces) > 0 && tc_pieces_kept(pieces) <= MEGABYTE);
    tc_pieces_free(pieces);
}

int main(void)
{
    TC_RUN(test_a_piece_serves_again);
    TC_RUN(test_the_shortest_that_does_is_taken_and_none_of_more_than_twice_the_size);
    TC_RUN(test_not_more_than_so_much_is_kept);
    TC_RUN(test_sizes_that_nobody_has);
    TC_RUN(test_threads_never_share_a_piece);
    return tc_test_summary();
}
