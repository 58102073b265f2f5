"""The compressed image as it is in the file: which of its tiles changed, and which can be kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np

from ...codecs.buffers import differing, unmasked
from ...codecs.final_pixels import finalize, to_stored
from ...codecs.hcompress import stated_scale
from ...codecs.quantization import CFITSIO_ZBLANK, STANDARD_ZBLANK
from ...encode import EncodedTiles
from ...errors import CorruptTileError
from ...keywords import GZIP_COMPRESSED_DATA
from ...read.reader import TileReader
from ...tiling.grid import TileGrid
from ...tiling.layout import TableLayout
from ...tiling.table import TileTable
from .pixels import exactly_stored, nearest_stored

__all__ = ["Original", "n_rows", "slabs"]

SLAB_PIXELS = 1 << 22
"""Pixels that are compared with the file, or computed, at a time; a row of tiles may have more."""

_ENCODED_COLUMNS = {"COMPRESSED_DATA", "GZIP_COMPRESSED_DATA", "UNCOMPRESSED_DATA", "ZSCALE", "ZZERO"}


class Original:
    """
    The compressed image as it is in the file, of which tiles may be kept.

    Parameters
    ----------
    reader : TileReader
        Reads the file; gives pixels of the type that the data has.
    header : mapping
        Header of the table.
    source : ByteSource
        Its data unit.
    read : callable
        Gives the pixels of an index as the user saw them.
    read_stored : callable
        Gives the stored pixels of an index.
    scaled : bool
        Whether the user saw them scaled; False for stored pixels.
    """

    def __init__(self, reader: TileReader, header, source, read: Callable, read_stored: Callable, *, scaled: bool = True):
        self.params, self.grid = reader.params, reader.grid
        self.header, self._source, self._read, self._read_stored = header, source, read, read_stored
        self._layout = TableLayout.from_header(header)
        self._scaled = scaled and reader.params.offset_dtype is None and (reader.params.scaled or reader.params.blank is not None)

    @property
    def columns(self) -> set[str]:
        """Names of the columns of the table."""
        return {column.name.upper() for column in self._layout.columns}

    @property
    def can_mix(self) -> bool:
        """Whether newly encoded tiles can stand beside the old ones, under the header that there is."""
        names = self.columns
        return (
            names <= _ENCODED_COLUMNS and self.params.zscale is None
            and (not self.params.quantized or self.params.zblank in (None, CFITSIO_ZBLANK, STANDARD_ZBLANK))
            and not (self.params.zcmptype == "NOCOMPRESS" and "UNCOMPRESSED_DATA" in names)
        )

    def changed_tiles(self, data) -> np.ndarray:
        """Compare an image with the file."""
        changed = np.zeros(self.grid.n_tiles, bool)
        for first, slab in slabs(self.grid):
            differs = self._compared(unmasked(data[slab]), slab)
            changed[first : first + differs.size] = differs.ravel()
        return changed

    def holds(self, data, changed: np.ndarray, *, rounded: bool = False) -> bool:
        """Tell whether new pixels can be stored beside the old ones, and come back as they are."""
        if not self.can_mix:
            return False
        if not self._scaled or self.params.quantized:
            return True
        stored = nearest_stored if rounded else exactly_stored
        return all(
            stored(unmasked(data[slab]), self.params) is not None
            for first, slab in slabs(self.grid) if changed[first : first + n_rows(self.grid, slab)].any()
        )

    def to_stored(self, data, slab: slice) -> np.ndarray:
        """What is encoded for a slab, if `holds` is true: pixels that did not change keep their stored integers."""
        if not self._scaled:
            return data[slab]
        pixels = unmasked(data[slab])
        stored = to_stored(pixels, self.params)
        if self.params.zbitpix > 0:
            with suppress(CorruptTileError):
                old = self._read_stored(slab)
                same = ~differing(pixels, finalize(old, self.params, column=GZIP_COMPRESSED_DATA))
                stored[same] = old[same]
        return stored

    def _compared(self, pixels: np.ndarray, slab: slice) -> np.ndarray:
        """For each tile of a slab whether it differs from the file; all do if one of them is damaged."""
        try:
            differs = differing(pixels, self._read(slab))
        except CorruptTileError:
            differs = np.ones(pixels.shape, bool)
        for axis, size in enumerate(self.grid.tile_shape):
            differs = np.logical_or.reduceat(differs, np.arange(0, differs.shape[axis], size), axis)
        return differs

    def tiles(self, rows: np.ndarray) -> Iterator[EncodedTiles]:
        """The tiles of some rows as they are in the file."""
        table = self._table()
        for run in np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1):
            if len(run) == 0:
                continue
            here = slice(run[0], run[-1] + 1)
            ranges = [(start, start + nbytes) for start, nbytes in zip(table.offset[here].tolist(), table.nbytes[here].tolist())]
            zscale, zzero = (np.zeros(len(run)) if array is None else array[here] for array in (table.zscale, table.zzero))
            heap = memoryview(b"".join(self._source.read_ranges(ranges)))
            yield EncodedTiles(int(run[0]), table.column[here], table.nbytes[here], zscale, zzero, np.zeros(len(run), bool), heap)

    def hcompress_scale(self) -> int:
        """The scale in the first HCOMPRESS_1 stream, which is the one that counts; 0 if there is none."""
        table = self._table()
        coded = np.flatnonzero((table.column == 1) & (table.nbytes >= 14))
        if len(coded) == 0:
            return 0
        return stated_scale(self._source.read, int(table.offset[coded[0]]))

    def _table(self) -> TileTable:
        nbytes = min(self._layout.table_nbytes, self._source.nbytes)
        return TileTable.from_bytes(self._layout, self._source.read(0, nbytes), available=self._source.nbytes)


def slabs(grid: TileGrid) -> Iterator[tuple[int, slice]]:
    """Rows of tiles along the first axis, some at a time: the table row of the first tile, and the slice of the image."""
    size, tile = grid.image_shape[0], grid.tile_shape[0]
    pixels = max(1, int(np.prod(grid.image_shape[1:], dtype=object)) * tile)
    step = max(1, SLAB_PIXELS // pixels) * tile
    per_row = int(np.prod(grid.grid_shape[1:], dtype=object))
    for start in range(0, size, step):
        yield start // tile * per_row, slice(start, min(start + step, size))


def n_rows(grid: TileGrid, slab: slice) -> int:
    """Table rows of the tiles of a slab."""
    return -(-(slab.stop - slab.start) // grid.tile_shape[0]) * int(np.prod(grid.grid_shape[1:], dtype=object))
