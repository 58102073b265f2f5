"""What zarr asks of one chunk, a box, an outer product of arrays or single points, read through the steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import HeaderError, UnsupportedError
from ...read.reader import TileReader
from ...tiling.selection import select_outer
from .dtypes import as_type, check_type

__all__ = ["read_chunk"]


def read_chunk(reader: TileReader, selection: tuple, chunk_shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """
    Read ``chunk[selection]``.

    Raises
    ------
    HeaderError
        If the image has another shape, or pixels that `dtype` cannot hold.
    UnsupportedError
        If the selection has not as many entries as the chunk has axes.
    """
    n_lead = len(chunk_shape) - len(reader.shape)
    if n_lead < 0 or tuple(chunk_shape) != (1,) * n_lead + tuple(reader.shape):
        raise HeaderError(f"the image has shape {reader.shape}, the zarr array expects chunks of shape {tuple(chunk_shape)}")
    check_type(reader.result_dtype, dtype)
    is_array = [np.ndim(which) > 0 for which in selection]
    if not any(is_array):
        return as_type(_read_box(reader, selection, n_lead), dtype)
    if len(selection) != len(chunk_shape):
        raise UnsupportedError(f"a selection of {len(selection)} entries for a chunk of {len(chunk_shape)} axes: {selection}")
    if not all(is_array):
        return as_type(_read_mixed(reader, selection, n_lead), dtype)
    arrays = [np.asarray(which) for which in selection]
    if all(array.ndim == len(arrays) and array.size == array.shape[axis] for axis, array in enumerate(arrays)):
        pixels = _read_outer(reader, arrays, n_lead)
    else:
        pixels = _read_points(reader, arrays, n_lead)
    return as_type(pixels, dtype)


def _read_box(reader: TileReader, selection: tuple, n_lead: int) -> np.ndarray:
    pixels = reader.read(selection[n_lead:])
    return pixels[(np.newaxis,) * n_lead][selection[:n_lead]] if n_lead else pixels


def _read_mixed(reader: TileReader, selection: tuple, n_lead: int) -> np.ndarray:
    """Arrays beside slices and integers, as numpy has them: every position that an axis needs, and numpy's index into these."""
    needed: list[np.ndarray] = []
    at: list[Any] = []
    for which, size in zip(selection[n_lead:], reader.shape):
        if isinstance(which, slice):
            needed.append(np.arange(size)[which])
            at.append(slice(None))
        else:
            positions, inverse = np.unique(np.arange(size)[which], return_inverse=True)
            needed.append(positions)
            at.append(inverse.reshape(np.shape(np.arange(size)[which])) if np.ndim(which) else 0)
    pixels = reader.read(select_outer(reader.grid, needed))
    return pixels[(np.newaxis,) * n_lead][(*selection[:n_lead], *at)]


def _read_outer(reader: TileReader, arrays: list[np.ndarray], n_lead: int) -> np.ndarray:
    """Every combination of one entry from each array."""
    pixels = reader.read(select_outer(reader.grid, [array.ravel() for array in arrays[n_lead:]]))
    shape = tuple(array.size for array in arrays)
    return np.broadcast_to(pixels.reshape((1,) * n_lead + pixels.shape), shape)


def _read_points(reader: TileReader, arrays: list[np.ndarray], n_lead: int) -> np.ndarray:
    """One pixel for each entry of the broadcast arrays: tile by tile, the outer product of what its points need."""
    points = np.broadcast_arrays(*arrays)
    positions = np.stack([array.ravel() for array in points[n_lead:]])
    pixels = np.empty(positions.shape[1], reader.result_dtype)
    tiles = np.ravel_multi_index(
        positions // np.reshape(reader.grid.tile_shape, (-1, 1)), reader.grid.grid_shape
    ) if positions.size else np.zeros(0, np.int64)
    order = np.argsort(tiles, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(tiles[order])) + 1):
        if len(group):
            needed, at = zip(*(np.unique(axis[group], return_inverse=True) for axis in positions))
            pixels[group] = reader.read(select_outer(reader.grid, needed))[at]
    return pixels.reshape(points[0].shape)
