"""From a numpy index to the tiles it touches, with a box inside each and one in the output."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from ..computed import computed_once
from .grid import TileGrid

__all__ = ["AxisSelection", "Selection", "TileSelection", "select", "select_outer"]

N_KEPT, KEPT_TILES = 16, 16384
"""Slices whose tiles are remembered, and how many tiles of one at most."""


class TileSelection(NamedTuple):
    """
    What one tile gives to the result: ``result[out_box] = pixels_of_the_tile[tile_box]``.

    Parameters
    ----------
    tile : tuple of int
        Grid coordinates, C order.
    tile_box : tuple
        Numpy index into the pixels of the tile: slices, integers for dropped axes, and one integer array at most; or, of an
        outer product of more of them, an open mesh of arrays as ``numpy.ix_`` makes it.
    out_box : tuple
        Numpy index into the result: slices, and one integer array at most; or an open mesh.
    """

    tile: tuple
    tile_box: tuple
    out_box: tuple


@dataclass(frozen=True, eq=False)
class AxisSelection:
    """
    What an index selects along one axis, tile by tile; every array is C-contiguous int64.

    Parameters
    ----------
    tile : (n,) ndarray
        Grid coordinates of the touched tiles, ascending; a tile that holds no selected pixel is not among them.
    size : (n,) ndarray
        Pixels of each tile along this axis.
    start, count : (n,) ndarray
        First selected pixel inside each tile, and the number of them. With an index array: the first entry of `pixel`
        and `place`, and the number of them.
    out : (n,) ndarray
        Place in the result of the first selected pixel; the others follow at a distance of 1.
    step : int
        Distance of the selected pixels inside a tile; negative where the index runs backwards.
    length : int
        Number of pixels that are selected along this axis.
    dropped : bool
        Whether the axis was indexed by an integer and is absent from the result.
    pixel, place : (m,) ndarray or None
        Only with an index array: pixels inside their tiles and their places in the result, ordered by tile.
    """

    tile: np.ndarray
    size: np.ndarray
    start: np.ndarray
    count: np.ndarray
    out: np.ndarray
    step: int
    length: int
    dropped: bool = False
    pixel: np.ndarray | None = None
    place: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.tile)

    def boxes(self, entry: int) -> tuple:
        """
        Indices of one touched tile along this axis.

        Parameters
        ----------
        entry : int
            Which of the touched tiles.

        Returns
        -------
        inside, out : int, slice or ndarray
            Index inside the tile, and index into the result.
        """
        start, count, out = int(self.start[entry]), int(self.count[entry]), int(self.out[entry])
        if self.dropped:
            return start, 0
        if self.pixel is not None and self.place is not None:
            return self.pixel[start:start + count], self.place[start:start + count]
        stop = start + count * self.step
        return slice(start, stop if stop >= 0 else None, self.step), slice(out, out + count)


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
        _select_axis(which, number, size, tile)
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
        _select_positions(_positions(which, number, size), size, tile)
        for number, (which, size, tile) in enumerate(zip(positions, grid.image_shape, grid.tile_shape))
    )
    return Selection(grid, axes, tuple(range(grid.ndim)), tuple(axis.length for axis in axes))


def _select_positions(positions: np.ndarray, size: int, tile: int) -> AxisSelection:
    """Resolve an index array, as a slice where its entries lie at equal distances upwards."""
    steps = np.diff(positions)
    step = int(steps[0]) if len(steps) else 1
    if len(positions) and step > 0 and (steps == step).all():
        return _select_slice(slice(int(positions[0]), int(positions[-1]) + 1, step), size, tile)
    return _select_array(positions, size, tile)


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


def _select_axis(which, axis: int, size: int, tile: int) -> AxisSelection:
    """Resolve the index of one axis."""
    if isinstance(which, slice):
        return _select_slice(which, size, tile)
    if isinstance(which, (list, tuple, np.ndarray)) and np.ndim(which) > 0:
        return _select_array(_positions(which, axis, size), size, tile)
    if isinstance(which, (bool, np.bool_)) or (isinstance(which, np.ndarray) and which.dtype == bool):
        raise IndexError("a single boolean would add an axis, which is not supported in the index of an image section")
    try:
        position = operator.index(which)
    except TypeError:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`) and one integer or boolean array are valid indices,"
            f" found {type(which).__name__}"
        ) from None
    if not -size <= position < size:
        raise IndexError(f"index {position} is out of bounds for axis {axis} with size {size}")
    return _select_integer(position % size, size, tile)


def _select_integer(position: int, size: int, tile: int) -> AxisSelection:
    first, start = divmod(position, tile)
    numbers = np.array((first, min(tile, size - first * tile), start, 1, 0), np.int64)
    tiles, sizes, starts, count, out = numbers.reshape(5, 1)
    return AxisSelection(tiles, sizes, starts, count, out, step=1, length=1, dropped=True)


def _select_slice(which: slice, size: int, tile: int) -> AxisSelection:
    """Resolve a slice."""
    start, stop, step = which.indices(size)
    resolve = _remembered_range if abs(stop - start) <= KEPT_TILES * tile else _select_range
    return resolve(start, stop, step, size, tile)


def _select_range(start: int, stop: int, step: int, size: int, tile: int) -> AxisSelection:
    """
    Resolve a slice without open ends.

    The selected pixels are ``low + k * stride``, k = 0 .. length - 1, ascending; tile t holds those with k from
    ``first[t]`` up to ``after[t]``. A backward slice gives the same pixels to the result in the other direction.
    """
    length = len(range(start, stop, step))
    stride = abs(step) if length > 1 else 1                 # a single pixel has no step, and a huge one would not fit
    step = stride if step > 0 else -stride
    low = start if step > 0 else start + (length - 1) * step
    if length == 0:
        tiles = first = after = np.zeros(0, np.int64)
    elif stride > tile:                                     # at most one pixel in a tile, and tiles without any
        first = np.arange(length, dtype=np.int64)
        after = first + 1
        tiles = (low + first * stride) // tile
    else:                                                   # no tile between the first and the last one is left out
        lowest, highest = low // tile, (low + (length - 1) * stride) // tile
        tiles = np.arange(lowest, highest + 1, dtype=np.int64)
        bounds = np.arange(lowest * tile - low, (highest + 1) * tile - low + 1, tile, dtype=np.int64)
        if stride > 1:
            bounds = -(bounds // -stride)
        bounds[0], bounds[-1] = 0, length
        first, after = bounds[:-1], bounds[1:]
    origin = tiles * tile                                   # where each tile begins, counted from the first pixel
    origin -= low
    if step > 0:
        inside, out = (first if stride == 1 else first * stride) - origin, first
    else:
        inside, out = (after - 1) * stride - origin, length - after
    sizes = np.minimum(size - low - origin, tile)
    arrays = tiles, sizes, inside, after - first, np.ascontiguousarray(out)     # part of `bounds`, or turned round
    for array in arrays:
        array.flags.writeable = False                           # shared by all that ask
    return AxisSelection(*arrays, step=step, length=length)


_remembered_range = lru_cache(N_KEPT)(_select_range)        # images of one survey, or frames of a film, are alike


def _positions(which, axis: int, size: int) -> np.ndarray:
    """Pixels that an integer array or a boolean mask names, 0 or more, in its order."""
    array = np.asarray(which)
    if array.ndim != 1:
        raise IndexError(f"an array of {array.ndim} axes cannot index axis {axis} of an image section, only one of 1 axis")
    if array.dtype == bool:
        if len(array) != size:
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis}; size of axis is {size} but size of"
                f" corresponding boolean axis is {len(array)}"
            )
        return np.flatnonzero(array).astype(np.int64, copy=False)
    if array.size == 0 and not isinstance(which, np.ndarray):
        return np.zeros(0, np.int64)
    if array.dtype.kind not in "iu":
        raise IndexError(f"arrays used as indices must be of integer (or boolean) type, found {array.dtype}")
    bad = np.flatnonzero((array < -size) | (array >= size))
    if len(bad):
        raise IndexError(f"index {array[bad[0]]} is out of bounds for axis {axis} with size {size}")
    array = array.astype(np.int64)
    return np.where(array < 0, array + size, array)


def _select_array(positions: np.ndarray, size: int, tile: int) -> AxisSelection:
    """Resolve an index array: its entries ordered by tile, and the entries of each tile in the order of the array."""
    tile_of = positions // tile
    place = np.argsort(tile_of, kind="stable")
    tiles, start, count = np.unique(tile_of[place], return_index=True, return_counts=True)
    return AxisSelection(
        tiles, np.minimum(size - tiles * tile, tile), start.astype(np.int64), count.astype(np.int64),
        np.zeros(len(tiles), np.int64), step=1, length=len(positions),
        pixel=positions[place] - tile_of[place] * tile, place=place.astype(np.int64),
    )
