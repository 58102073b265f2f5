"""TileGrid: every pixel is in one tile, and rows count along the last axis first."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from support.strategies import tile_grids

from astropy_tilecomp.tiling.grid import TileGrid


@given(grid=tile_grids())
def test_every_pixel_is_in_exactly_one_tile(grid):
    seen = np.zeros(grid.image_shape, int)
    for row in range(grid.n_tiles):
        tile = grid.tile(row)
        assert grid.row(tile) == row
        assert seen[grid.box(tile)].shape == grid.shape_of(tile)
        assert min(grid.shape_of(tile)) >= 1
        seen[grid.box(tile)] += 1
    assert (seen == 1).all()


@given(grid=tile_grids())
def test_rows_follow_c_order(grid):
    assert [grid.tile(row) for row in range(grid.n_tiles)] == list(itertools.product(*map(range, grid.grid_shape)))


def test_edge_tiles_are_smaller():
    grid = TileGrid((50, 70), (17, 23))
    assert (grid.grid_shape, grid.n_tiles, grid.ndim) == ((3, 4), 12, 2)
    assert grid.box((2, 3)) == (slice(34, 50), slice(69, 70))
    assert grid.shape_of((2, 3)) == (16, 1)


def test_tile_larger_than_the_image_is_clipped():
    assert TileGrid((7, 11), (20, 64)) == TileGrid((7, 11), (7, 11))


def test_an_axis_without_pixels_has_no_tiles():
    grid = TileGrid((0, 5), (1, 5))
    assert (grid.grid_shape, grid.n_tiles) == ((0, 1), 0)
    with pytest.raises(IndexError, match="row 0 is outside the table of 0 rows"):
        grid.tile(0)


@pytest.mark.parametrize("row", [-1, 12])
def test_no_such_row(row):
    with pytest.raises(IndexError, match=f"row {row}"):
        TileGrid((50, 70), (17, 23)).tile(row)


@pytest.mark.parametrize("tile", [(3, 0), (0, 4), (-1, 0), (0,), (0, 0, 0)])
def test_no_such_tile(tile):
    grid = TileGrid((50, 70), (17, 23))
    for method in (grid.row, grid.box, grid.shape_of):
        with pytest.raises(IndexError, match="outside the grid"):
            method(tile)


@pytest.mark.parametrize(("image", "tile"), [((5, 5), (5,)), ((5,), (0,)), ((-1,), (1,))])
def test_shapes_that_do_not_fit(image, tile):
    with pytest.raises(ValueError, match="tile"):
        TileGrid(image, tile)


def test_rows_beyond_32_bits():
    grid = TileGrid((10**6, 10**6), (1, 1))
    assert grid.row((10**6 - 1, 10**6 - 1)) == 10**12 - 1
    assert grid.tile(10**12 - 1) == (10**6 - 1, 10**6 - 1)
