"""The pixels that an index picks along one axis, tile by tile."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

__all__ = ["AxisSelection", "TileSelection", "positions_of", "select_axis", "select_positions"]

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


def select_positions(positions: np.ndarray, size: int, tile: int) -> AxisSelection:
    """Resolve an index array, as a slice where its entries lie at equal distances upwards."""
    steps = np.diff(positions)
    step = int(steps[0]) if len(steps) else 1
    if len(positions) and step > 0 and (steps == step).all():
        return _select_slice(slice(int(positions[0]), int(positions[-1]) + 1, step), size, tile)
    return _select_array(positions, size, tile)


def select_axis(which, axis: int, size: int, tile: int) -> AxisSelection:
    """Resolve the index of one axis."""
    if isinstance(which, slice):
        return _select_slice(which, size, tile)
    if isinstance(which, (list, tuple, np.ndarray)) and np.ndim(which) > 0:
        return _select_array(positions_of(which, axis, size), size, tile)
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


def positions_of(which, axis: int, size: int) -> np.ndarray:
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
