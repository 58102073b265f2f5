"""plan(): few ranges that hold every tile, within 1.2 times the bytes needed."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import byte_pieces

from astropy_tilecomp.tiling.grid import TileGrid
from astropy_tilecomp.tiling.layout import TableLayout
from astropy_tilecomp.tiling.params import CompressionParams
from astropy_tilecomp.tiling.selection import select
from astropy_tilecomp.tiling.table import TileTable
from astropy_tilecomp.tiling.tile_plan import MAX_RANGE, coalesce, plan

PARAMS = CompressionParams("RICE_1", 16, (40, 60), (10, 20))
GRID = TileGrid(PARAMS.image_shape, PARAMS.tile_shape)


def table_of(rows, offsets, nbytes, *, mask=None, pcount=5000):
    """Table entries of some rows out of descriptors of all."""
    names = ["COMPRESSED_DATA"] + (["NULL_PIXEL_MASK"] if mask is not None else [])
    header = {"NAXIS1": 8 * len(names), "NAXIS2": GRID.n_tiles, "PCOUNT": pcount, "TFIELDS": len(names)}
    for number, name in enumerate(names, 1):
        header |= {f"TTYPE{number}": name, f"TFORM{number}": "1PB"}
    record = np.stack([nbytes, offsets, *(mask if mask is not None else ())], axis=1).astype(">i4")
    layout = TableLayout.from_header(header)
    return TileTable.from_bytes(layout, record[rows].tobytes(), rows)


@settings(max_examples=300)
@given(pieces=byte_pieces(), gap=st.integers(0, 80), max_range=st.integers(1, 300), seed=st.integers(0, 9))
def test_ranges_hold_every_tile_and_little_else(pieces, gap, max_range, seed):
    offset, nbytes = pieces
    jobs = np.random.default_rng(seed).permutation(len(offset)) + 100
    got = coalesce(jobs, offset, nbytes, gap=gap, max_range=max_range)
    needed, read = np.zeros(600, bool), np.zeros(600, int)
    for start, size in zip(offset, nbytes):
        needed[start:start + size] = True
    for start, stop in got.pairs():
        read[start:stop] += 1
    assert read.max(initial=0) <= 1
    assert (read[needed] == 1).all()
    assert got.needed_nbytes == needed.sum()
    assert got.nbytes == read.sum() <= 1.2 * needed.sum()
    place = {int(job): n for n, job in enumerate(jobs)}
    assert sorted(got.jobs.tolist()) == sorted(place)
    for number, (start, stop) in enumerate(got.pairs()):
        for job, position in zip(got.jobs[got.first[number]:got.first[number + 1]],
                                 got.position[got.first[number]:got.first[number + 1]]):
            piece = place[int(job)]
            assert start + position == offset[piece]
            assert offset[piece] + nbytes[piece] <= stop
    check_long_ranges(got, offset, nbytes, max_range)


def check_long_ranges(got, offset, nbytes, max_range):
    """A range over the limit has no place inside where it could be cut."""
    for start, stop in got.pairs():
        if stop - start > max_range:
            cuts = [at for at in offset if start < at < stop
                    and not ((offset < at) & (offset + nbytes > at)).any() and not (offset + nbytes > stop).any()]
            sizes = np.diff([start, *sorted(set(cuts)), stop])
            assert len(sizes) == 1 or (sizes[:-1] + sizes[1:] > max_range).all() or sizes.max() > max_range


def test_neighbours_are_one_range():
    got = coalesce(np.arange(4), np.array([0, 10, 20, 30]), np.full(4, 10))
    assert (got.pairs(), got.position.tolist()) == ([(0, 40)], [0, 10, 20, 30])


def test_a_gap_is_read_through_if_it_is_short_and_cheap():
    offset, nbytes = np.array([0, 110, 200]), np.array([100, 80, 100])
    jobs = np.arange(3)
    assert coalesce(jobs, offset, nbytes, gap=0).pairs() == [(0, 100), (110, 190), (200, 300)]
    assert coalesce(jobs, offset, nbytes, gap=10).pairs() == [(0, 100), (110, 190), (200, 300)]
    assert coalesce(jobs, offset, nbytes, gap=11).pairs() == [(0, 300)]
    assert coalesce(jobs, np.array([0, 1000]), np.array([10, 10]), gap=10**6).pairs() == [(0, 10), (1000, 1010)]


def test_shared_and_reversed_tiles():
    got = coalesce(np.arange(4), np.array([30, 0, 30, 20]), np.array([10, 20, 10, 10]))
    assert got.pairs() == [(0, 40)]
    assert got.jobs.tolist() == [1, 3, 0, 2]
    assert got.position.tolist() == [0, 20, 30, 30]


def test_windows():
    nbytes = np.full(100, 1 << 20)
    got = coalesce(np.arange(100), np.cumsum(nbytes) - nbytes, nbytes)
    assert (got.ranges[:, 1] - got.ranges[:, 0]).max() == MAX_RANGE
    assert len(got) == 7
    one = coalesce(np.arange(1), np.array([5]), np.array([10 * MAX_RANGE]))
    assert one.pairs() == [(5, 5 + 10 * MAX_RANGE)]


def test_overlapping_tiles_are_never_fetched_twice():
    offset = np.arange(1000) * 1000
    nbytes = 10 * MAX_RANGE - offset
    got = coalesce(np.arange(1000), offset, nbytes)
    assert got.pairs() == [(0, 10 * MAX_RANGE)]


def test_nothing_to_read():
    got = coalesce(np.zeros(0, int), np.zeros(0, int), np.zeros(0, int))
    assert (len(got), got.nbytes, got.pairs(), got.first.tolist()) == (0, 0, [], [0])


def test_plan_of_a_cutout():
    nbytes = np.full(GRID.n_tiles, 100)
    selection = select(GRID, np.s_[5:15, 25:55])
    got = plan(PARAMS, selection, table_of(selection.rows, np.arange(GRID.n_tiles) * 100, nbytes))
    assert selection.rows.tolist() == [1, 2, 4, 5]
    theap = 8 * GRID.n_tiles
    assert got.tiles.pairs() == [(theap + 100, theap + 300), (theap + 400, theap + 600)]
    assert (got.n_jobs, got.nbytes, got.masks, len(got.faulty)) == (4, 400, None, 0)
    some = plan(PARAMS, selection, got.table, jobs=[0, 3])
    assert some.tiles.pairs() == [(theap + 100, theap + 200), (theap + 500, theap + 600)]
    assert some.tiles.jobs.tolist() == [0, 3]


def test_faulty_tiles_are_set_apart():
    nbytes = np.full(GRID.n_tiles, 100)
    nbytes[2], nbytes[4] = 0, 10**6
    selection = select(GRID, np.s_[5:15, 25:55])
    got = plan(PARAMS, selection, table_of(selection.rows, np.arange(GRID.n_tiles) * 100, nbytes))
    assert (got.tiles.jobs.tolist(), got.faulty.tolist(), got.n_jobs) == ([0, 3], [1, 2], 4)
    assert [got.table.reason(job) for job in got.faulty] == [
        "no column holds data for the tile",
        "descriptor (count 1000000, offset 400) does not lie in the heap of 5000 bytes",
    ]


def test_masks_have_ranges_of_their_own():
    nbytes, offset = np.full(GRID.n_tiles, 100), np.arange(GRID.n_tiles) * 100
    mask = np.where(np.arange(GRID.n_tiles) % 2, 7, 0), offset + 3000
    selection = select(GRID, ...)
    got = plan(PARAMS, selection, table_of(selection.rows, offset, nbytes, mask=mask))
    assert got.masks.jobs.tolist() == [1, 3, 5, 7, 9, 11]
    assert got.masks.nbytes == 6 * 7
    assert got.nbytes == 1200 + 42


def test_the_table_has_to_be_that_of_the_selection():
    selection = select(GRID, np.s_[5:15, 25:55])
    table = table_of(np.arange(3), np.zeros(12), np.ones(12))
    with pytest.raises(ValueError, match="not those of the rows"):
        plan(PARAMS, selection, table)


def lines_run(call):
    """How many lines of Python a call runs, and what it gives."""
    n_lines = 0

    def count(frame, event, argument):
        nonlocal n_lines
        n_lines += event == "line"
        return count

    sys.settrace(count)
    try:
        result = call()
    finally:
        sys.settrace(None)
    return n_lines, result


def test_a_million_tiles_take_no_loop():
    nbytes = np.random.default_rng(1).integers(100, 9000, 10**6)
    offset = np.cumsum(nbytes) - nbytes
    n_lines, got = lines_run(lambda: coalesce(np.arange(10**6), offset, nbytes))
    assert n_lines < 10_000
    assert got.nbytes == nbytes.sum()
    n_lines, sparse = lines_run(lambda: coalesce(np.arange(10**6)[::2], offset[::2], nbytes[::2], gap=4000))
    assert n_lines < 10_000
    assert sparse.nbytes <= 1.2 * nbytes[::2].sum()
