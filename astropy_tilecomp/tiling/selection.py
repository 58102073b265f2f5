"""From a numpy index to the tiles it touches, with a box inside each and one in the output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from ..threads import computed_once
from .axis_selection import AxisSelection, TileSelection, positions_of, select_axis, select_positions
from .grid import TileGrid

__all__ = ["Selection", "select", "select_outer"]


@dataclass(frozen=True, eq=False)
class Selection:
    """
    The tiles that an index touches; iterating gives a `TileSelection` for each, in row order.

    Parameters
    ----------
    grid : TileGrid
        The tiling.
    axes : tuple of AxisSelection
        One for each axis of the image; the selection is their product.
    out_axes : tuple of (int or None)
        Axis of the result that each axis of the image becomes; None where it is dropped.
    shape : tuple of int
        Shape of the result, equal to that of numpy.
    gap : int, optional
        Axis before which an Ellipsis stood that was no axis: it can separate an index array from an integer.
    """

    grid: TileGrid
    axes: tuple[AxisSelection, ...]
    out_axes: tuple[int | None, ...]
    shape: tuple[int, ...]
    gap: int | None = None

    @property
    def touched_shape(self) -> tuple[int, ...]:
        """Number of touched tiles along each axis."""
        return tuple(len(axis) for axis in self.axes)

    @property
    def n_tiles(self) -> int:
        """Number of touched tiles."""
        return prod(self.touched_shape)

    def __len__(self) -> int:
        return self.n_tiles

    @computed_once
    def rows(self) -> np.ndarray:
        """(n_tiles,) ndarray of int64: table rows of the touched tiles, ascending."""
        rows = np.zeros(1, np.int64)
        for axis, stride in zip(self.axes, self.grid.row_strides):
            tiles = axis.tile * stride if stride > 1 else axis.tile
            rows = rows + tiles if len(tiles) == 1 or len(rows) == 1 else (rows[:, np.newaxis] + tiles).reshape(-1)
        return rows

    def __iter__(self) -> Iterator[TileSelection]:
        kept = sorted((out, axis) for axis, out in enumerate(self.out_axes) if out is not None)
        boxes = [[axis.boxes(entry) for entry in range(len(axis))] for axis in self.axes]
        tiles = (axis.tile.tolist() for axis in self.axes)
        is_mesh = sum(axis.pixel is not None for axis in self.axes) > 1
        for tile, pairs in zip(product(*tiles), product(*boxes)):
            tile_box, out_box = tuple(inside for inside, _ in pairs), tuple(pairs[axis][1] for _, axis in kept)
            if self.gap is not None:
                tile_box = (*tile_box[:self.gap], ..., *tile_box[self.gap:])
            yield TileSelection(tile, *map(_open_mesh, (tile_box, out_box))) if is_mesh else TileSelection(tile, tile_box, out_box)


def _open_mesh(box: tuple) -> tuple:
    """Every combination of the positions along each axis."""
    return np.ix_(*(np.arange(at.start, at.stop, at.step) if isinstance(at, slice) else at for at in box))


def select(grid: TileGrid, index) -> Selection:
    """
    Find the tiles that a numpy index touches.

    Parameters
    ----------
    grid : TileGrid
        The tiling of the image.
    index : object
        Integers, slices with any step, Ellipsis, a tuple of them; one of them may be a 1-D integer array or a boolean
        mask along its axis. The meaning is numpy's.

    Returns
    -------
    Selection
        Touched tiles, with a box inside each and one in the result.

    Raises
    ------
    IndexError
        Where numpy raises one; also for ``numpy.newaxis``, for more than one array and for arrays that are not 1-D.
    """
    indices, gap = _per_axis(index, grid.ndim)
    # without pixels there is no tile, however many there would be along an axis
    tile_shape = [max(size, 1) for size in grid.image_shape] if 0 in grid.image_shape else grid.tile_shape
    axes = tuple(
        select_axis(which, number, size, tile)
        for number, (which, size, tile) in enumerate(zip(indices, grid.image_shape, tile_shape))
    )
    order = _result_order(axes, gap)
    out_axes: list[int | None] = [None] * len(axes)
    for out, axis in enumerate(order):
        out_axes[axis] = out
    separates = gap if any(axis.place is not None for axis in axes) else None
    return Selection(grid, axes, tuple(out_axes), tuple(axes[axis].length for axis in order), separates)


def select_outer(grid: TileGrid, positions) -> Selection:
    """
    Find the tiles that an outer product of index arrays touches.

    Parameters
    ----------
    grid : TileGrid
        The tiling of the image.
    positions : sequence of 1-D integer arrays or boolean masks
        One for each axis; the result holds every combination, as with ``numpy.ix_``.

    Returns
    -------
    Selection
        Its shape is that of the lengths of the arrays.

    Raises
    ------
    IndexError
        If an entry lies outside of the image, or there are not as many arrays as axes.
    """
    if len(positions) != grid.ndim:
        raise IndexError(f"{len(positions)} index arrays for an image of {grid.ndim} axes")
    axes = tuple(
        select_positions(positions_of(which, number, size), size, tile)
        for number, (which, size, tile) in enumerate(zip(positions, grid.image_shape, grid.tile_shape))
    )
    return Selection(grid, axes, tuple(range(grid.ndim)), tuple(axis.length for axis in axes))


def _per_axis(index, ndim: int) -> tuple[list, int | None]:
    """One entry for each axis, Ellipsis and missing axes as whole slices; and the axis before which Ellipsis is no axis."""
    indices = list(index) if isinstance(index, tuple) else [index]
    if any(which is None for which in indices):
        raise IndexError("numpy.newaxis is not supported in the index of an image section")
    n_ellipses = sum(which is Ellipsis for which in indices)
    if n_ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    n_given = len(indices) - n_ellipses
    if n_given > ndim:
        raise IndexError(f"too many indices for array: array is {ndim}-dimensional, but {n_given} were indexed")
    at = next((n for n, which in enumerate(indices) if which is Ellipsis), len(indices))
    indices[at:at + n_ellipses] = [slice(None)] * (ndim - n_given)
    return indices, at if n_ellipses and n_given == ndim else None


def _result_order(axes: tuple[AxisSelection, ...], gap: int | None) -> list[int]:
    """
    Axes of the image in the order of the result.

    Numpy puts an index array first if a slice separates it from an integer, or an Ellipsis, even one of no axes before `gap`.
    """
    order = [number for number, axis in enumerate(axes) if not axis.dropped]
    array = next((number for number in order if axes[number].place is not None), None)
    if array is None:
        return order
    if sum(axes[number].place is not None for number in order) > 1:
        raise IndexError("at most one axis of an image section can be indexed by an array; index the others by slices")
    advanced = [number for number, axis in enumerate(axes) if axis.dropped or number == array]
    if advanced[-1] - advanced[0] + 1 > len(advanced) or (gap is not None and advanced[0] < gap <= advanced[-1]):
        order.remove(array)
        order.insert(0, array)
    return order
