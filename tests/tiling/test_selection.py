"""select(): the meaning of an index is numpy's, and only tiles with a selected pixel are touched."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from support.strategies import array_indices, basic_indices, tile_grids

from astropy_tilecomp.tiling.axis_selection import KEPT_TILES
from astropy_tilecomp.tiling.grid import TileGrid
from astropy_tilecomp.tiling.selection import select, select_outer

GRID = TileGrid((50, 70), (17, 23))
IMAGE = np.arange(50 * 70).reshape(50, 70)


def image_of(grid):
    """An image in which every pixel has another value."""
    return np.arange(np.prod(grid.image_shape, dtype=int)).reshape(grid.image_shape)


def row_of_pixels(grid):
    """The table row of the tile of every pixel."""
    rows = np.zeros(grid.image_shape, int)
    for row in range(grid.n_tiles):
        rows[grid.box(grid.tile(row))] = row
    return rows


def assemble(grid, selection, image):
    """Put the pieces of the tiles together."""
    section = np.full(selection.shape, -1)
    for job in selection:
        section[job.out_box] = image[grid.box(job.tile)][job.tile_box]
    return section


def assemble_from_axes(grid, selection, image):
    """The same out of the arrays of each axis, as a decoder in C does it, pixel by pixel."""
    section = np.full(selection.shape, -1)
    for entry in np.ndindex(selection.touched_shape):
        tile = image[grid.box(tuple(int(axis.tile[e]) for axis, e in zip(selection.axes, entry)))]
        assert tile.shape == tuple(axis.size[e] for axis, e in zip(selection.axes, entry))
        for steps in np.ndindex(*(int(axis.count[e]) for axis, e in zip(selection.axes, entry))):
            pixel, place = [], [0] * section.ndim
            for axis, out_axis, e, k in zip(selection.axes, selection.out_axes, entry, steps):
                if axis.pixel is not None:
                    inside, out = axis.pixel[axis.start[e] + k], axis.place[axis.start[e] + k]
                else:
                    inside, out = axis.start[e] + k * axis.step, axis.out[e] + k
                pixel.append(inside)
                if out_axis is not None:
                    place[out_axis] = out
            section[tuple(place)] = tile[tuple(pixel)]
    return section


def check(grid, index):
    image = image_of(grid)
    selection = select(grid, index)
    expected = image[index]
    assert selection.shape == expected.shape
    assert_array_equal(assemble(grid, selection, image), expected)
    assert selection.rows.tolist() == np.unique(row_of_pixels(grid)[index]).tolist()
    assert len(selection) == selection.n_tiles == len(selection.rows)
    assert [grid.row(job.tile) for job in selection] == selection.rows.tolist()


@settings(max_examples=400)
@given(data=st.data())
def test_basic_index_equals_numpy(data):
    grid = data.draw(tile_grids())
    check(grid, data.draw(basic_indices(grid.image_shape, allow_newaxis=False)))


@settings(max_examples=300)
@given(data=st.data())
def test_one_array_index_equals_numpy(data):
    grid = data.draw(tile_grids())
    check(grid, data.draw(array_indices(grid.image_shape)))


@settings(max_examples=100)
@given(data=st.data())
def test_axis_arrays_describe_the_same(data):
    grid = data.draw(tile_grids(max_axes=3, max_size=7))
    kind = data.draw(st.sampled_from((array_indices, basic_indices)))
    index = data.draw(kind(grid.image_shape))
    try:
        selection = select(grid, index)
    except IndexError:
        assert any(which is None for which in index if isinstance(index, tuple)) or index is None
        return
    image = image_of(grid)
    assert_array_equal(assemble_from_axes(grid, selection, image), image[index])
    for axis in selection.axes:
        for array in (axis.tile, axis.size, axis.start, axis.count, axis.out, axis.pixel, axis.place):
            assert array is None or (array.dtype == np.int64 and array.flags.c_contiguous)
        assert (axis.count > 0).all()


@settings(max_examples=150)
@given(data=st.data())
def test_outer_product_of_arrays_equals_numpys_ix(data):
    grid = data.draw(tile_grids(max_axes=3, max_size=8))
    positions = []
    for size in grid.image_shape:
        entries = st.lists(st.integers(-size, size - 1), max_size=5) if size else st.just([])
        positions.append(np.array(data.draw(entries), np.int64))
    image = image_of(grid)
    selection = select_outer(grid, positions)
    expected = image[np.ix_(*positions)]
    assert selection.shape == expected.shape
    assert_array_equal(assemble_from_axes(grid, selection, image), expected)
    assert selection.rows.tolist() == np.unique(row_of_pixels(grid)[np.ix_(*positions)]).tolist()
    by_boxes = np.full(expected.shape, -1)
    for job in selection:
        by_boxes[job.out_box] = image[grid.box(job.tile)][job.tile_box]
    assert_array_equal(by_boxes, expected)


def test_outer_product_takes_an_array_for_each_axis():
    with pytest.raises(IndexError, match="1 index arrays for an image of 2 axes"):
        select_outer(GRID, [[1, 2]])
    with pytest.raises(IndexError, match="index 99 is out of bounds for axis 1"):
        select_outer(GRID, [[1, 2], [99]])
    assert select_outer(GRID, [[True] * 50, [3, 5, 7]]).shape == (50, 3)


@given(size=st.integers(1, 200), tile=st.integers(1, 40), which=st.data())
@example(size=100, tile=10, which=None)
def test_slices_of_one_long_axis(size, tile, which):
    index = slice(None, None, -7) if which is None else which.draw(st.slices(size))
    check(TileGrid((size,), (tile,)), index)


def test_a_coarse_step_touches_few_tiles():
    grid = TileGrid((4096, 4096), (256, 256))
    assert select(grid, np.s_[::500, ::500]).n_tiles == 81
    grid = TileGrid((2000, 2000), (100, 100))
    assert select(grid, np.s_[::500, ::500]).n_tiles == 16


@pytest.mark.parametrize("index", [
    np.s_[np.int64(3), np.uint8(4)], np.s_[np.array(3), 4], np.s_[...], np.s_[5], np.s_[..., 5], np.s_[5, ...],
    np.s_[::-1, ::-3], np.s_[10:10], np.s_[40:3], np.s_[[1, 40, 1]], np.s_[:, [True] * 70], np.s_[[]], np.s_[3, [69, 0]],
], ids=repr)
def test_forms_of_an_index(index):
    check(GRID, index)


def test_numpys_order_of_an_array_beside_an_integer():
    grid = TileGrid((4, 5, 6), (2, 2, 4))
    check(grid, np.s_[0, :, [1, 2, 5]])
    check(grid, np.s_[:, 0, [1, 2, 5]])
    check(grid, np.s_[[1, 2], :, 3])
    assert select(grid, np.s_[0, :, [1, 2, 5]]).out_axes == (None, 1, 0)


@pytest.mark.parametrize("index", [
    np.s_[50], np.s_[-51], np.s_[0, 70], np.s_[0, 0, 0], np.s_[..., ...], np.s_[1.5], np.s_["a"], np.s_[[50]],
    np.s_[:, [-71]], np.s_[[1.5]], np.s_[[True] * 49], np.s_[np.zeros(0)],
], ids=repr)
def test_index_errors_are_numpys(index):
    with pytest.raises(IndexError):
        IMAGE[index]
    with pytest.raises(IndexError):
        select(GRID, index)


@pytest.mark.parametrize(("index", "says"), [
    (np.s_[None], "newaxis"),
    (np.s_[:, None], "newaxis"),
    (np.s_[[1], [2]], "at most one axis"),
    (np.s_[[[1, 2]]], "an array of 2 axes"),
    (np.s_[True], "single boolean"),
    (np.s_[np.True_], "single boolean"),
    (np.s_[np.array(True)], "single boolean"),
    (np.s_[50], "index 50 is out of bounds for axis 0 with size 50"),
    (np.s_[0, 0, 0], "too many indices"),
    (np.s_[:, [3, 99]], "index 99 is out of bounds for axis 1 with size 70"),
], ids=repr)
def test_what_is_refused_is_named(index, says):
    with pytest.raises(IndexError, match=says):
        select(GRID, index)


def test_a_step_of_zero_is_a_value_error_as_in_numpy():
    with pytest.raises(ValueError, match="step"):
        select(GRID, np.s_[::0])


def test_a_million_tiles_need_no_loop():
    grid = TileGrid((4096 * 1024, 256), (4, 256))
    selection = select(grid, ...)
    assert selection.n_tiles == 2**20
    assert selection.rows[-1] == 2**20 - 1


def test_huge_image_and_small_cutout():
    grid = TileGrid((2**40, 2**20), (1024, 1024))
    selection = select(grid, np.s_[-1, -3:])
    assert selection.shape == (3,)
    assert selection.rows.tolist() == [grid.n_tiles - 1]


def test_equal_slices_share_their_tiles_and_nobody_can_change_them():
    one, other = select(GRID, np.s_[1:3]), select(GRID, np.s_[1:3])
    assert one.axes[0] is other.axes[0]
    with pytest.raises(ValueError, match="read-only"):
        one.axes[0].count[0] = 99


def test_slices_of_very_many_tiles_are_not_kept():
    grid = TileGrid((KEPT_TILES + 1, 5), (1, 5))
    assert select(grid, ...).axes[0] is not select(grid, ...).axes[0]
    assert select(grid, np.s_[1:]).axes[0] is select(grid, np.s_[1:]).axes[0]


@pytest.mark.parametrize("shape", [(0, 2**40), (2**40, 0), (3, 0, 2**40)])
def test_an_image_without_pixels_costs_nothing(shape):
    grid = TileGrid(shape, (1,) * len(shape))
    selection = select(grid, ...)
    assert selection.shape == shape and selection.n_tiles == 0 and list(selection) == []
    assert sum(axis.tile.size for axis in selection.axes) <= len(shape)
