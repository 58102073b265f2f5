"""The tiles of an image in slabs along its first axis, each small enough for the memory, bad tiles and all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from ..decode.batch import decode
from ..decode.report import DecodeReport
from ..errors import UnsupportedError
from ..hdus import FoundHDU
from ..sources.base import ByteSource
from ..tiling.axis_selection import TileSelection
from ..tiling.params import CompressionParams
from ..tiling.selection import Selection, select
from ..tiling.table import TileTable
from ..tiling.tile_plan import plan
from .limits import max_nbytes_allowed

__all__ = ["Slab", "slabs_of"]

SLAB_NBYTES = 32 << 20
"""Bytes of pixels that are decoded at a time, about."""


@dataclass(frozen=True)
class Slab:
    """
    Some rows of whole tiles.

    Parameters
    ----------
    data : ByteSource
        The data unit.
    params : CompressionParams
        Parameters of the image.
    selection : Selection
        The pixels of the slab.
    table : TileTable
        The entries of its tiles.
    threads : int or None
        Threads to use at most.
    max_nbytes : int
        Largest scratch to allocate.
    """

    data: ByteSource
    params: CompressionParams
    selection: Selection
    table: TileTable
    threads: int | None
    max_nbytes: int

    def __iter__(self) -> Iterator[tuple[TileSelection, int, tuple[int, int]]]:
        """Each tile: its place, its table row, and its bytes in the file."""
        starts = (self.data.offset + self.table.offset).tolist()
        for where, row, start, nbytes in zip(self.selection, self.table.row.tolist(), starts, self.table.nbytes.tolist()):
            yield where, row, (start, start + nbytes)

    def decoded(self, engine: str | None = None) -> tuple[np.ndarray, DecodeReport]:
        """Decode the tiles."""
        pixels = np.zeros(self.selection.shape, self.params.dtype)
        job = plan(self.params, self.selection, self.table, gap=self.data.gap, max_range=self.data.max_range)
        report = decode(job, self.data, pixels, engine=engine, on_error="fill", scaled=False, threads=self.threads,
                        max_nbytes=self.max_nbytes)
        return pixels, report


def slabs_of(source: ByteSource, found: FoundHDU, params: CompressionParams, table: TileTable, *, threads: int | None = None,
             max_nbytes: int | None = None) -> Iterator[Slab]:
    """
    Cut an image into slabs.

    Raises
    ------
    UnsupportedError
        If one row of tiles takes more than `max_nbytes`.
    """
    data = source.part(found.data_offset, min(found.end, source.nbytes))
    grid, limit = params.grid, max_nbytes_allowed(max_nbytes)
    if not params.n_pixels:
        return
    row_nbytes = prod(grid.image_shape[1:]) * params.dtype.itemsize * grid.tile_shape[0]
    if row_nbytes > limit:
        raise UnsupportedError(f"tiles of shape {grid.tile_shape}: a row of them takes {row_nbytes} bytes, max_nbytes is {limit}")
    step = max(1, SLAB_NBYTES // row_nbytes) * grid.tile_shape[0]
    for start in range(0, grid.image_shape[0], step):
        selection = select(grid, slice(start, min(start + step, grid.image_shape[0])))
        yield Slab(data, params, selection, table.take(selection.rows), threads, limit)
