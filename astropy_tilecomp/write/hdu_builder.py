"""The encoded tiles of one image as they arrive, in any order, and the HDU that they become."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import BinaryIO

import numpy as np

from ..codecs.quantization import CFITSIO_ZBLANK
from ..encode import EncodedTiles
from ..tiling.cards import BLOCK_SIZE, CARD_SIZE, join_cards
from ..tiling.checksum import DataSum, with_checksums
from ..tiling.heap import lay_out
from ..tiling.params import CompressionParams
from ..tiling.table import TileTable
from ..tiling.to_table import image_to_table

__all__ = ["TileSpool"]

SPILL_NBYTES = 64 << 20
"""A heap of more bytes is kept in a temporary file."""

_PIECE_NBYTES = 4 << 20


class TileSpool:
    """
    Collects encoded tiles and writes them as an HDU.

    Parameters
    ----------
    params : CompressionParams
        Parameters of the image.
    folder : str, optional
        Where a large heap is kept meanwhile; by default the usual place for temporary files.
    """

    def __init__(self, params: CompressionParams, folder: str | None = None):
        n = params.n_tiles
        self.params = params
        self.column, self.nbytes, self.position = np.zeros(n, np.uint8), np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.zscale, self.zzero, self.has_null = np.zeros(n), np.zeros(n), np.zeros(n, bool)
        self._heap = _Heap(folder)

    def add(self, tiles: EncodedTiles) -> None:
        """
        Take tiles.

        Raises
        ------
        ValueError
            If one of them was taken before.
        """
        rows = slice(tiles.row, tiles.row + len(tiles))
        twice = np.flatnonzero(self.column[rows])
        if len(twice):
            raise ValueError(f"the tile in row {tiles.row + twice[0]} was written before")
        for name in ("column", "nbytes", "zscale", "zzero", "has_null"):
            getattr(self, name)[rows] = getattr(tiles, name)
        self.position[rows] = self.heap_nbytes + np.cumsum(tiles.nbytes) - tiles.nbytes
        self._heap.append(tiles.heap)

    @property
    def heap_nbytes(self) -> int:
        """Size of the heap so far."""
        return self._heap.nbytes

    @property
    def missing(self) -> np.ndarray:
        """Rows of the tiles that were not written yet."""
        return np.flatnonzero(self.column == 0)

    def table(self, style: str = "cfitsio", descriptor: str | None = None) -> TileTable:
        """The table of all tiles; ZBLANK is among the parameters if a tile has undefined pixels."""
        scales = {"zscale": self.zscale, "zzero": self.zzero} if self.params.quantized else {}
        table = lay_out(self.params, self.column, self.nbytes, style=style, descriptor=descriptor, **scales)
        return replace(table, offset=self.position + table.layout.theap, heap_offset=self.position)

    def write_hdu(self, file: BinaryIO, cards: Sequence[str], *, style: str = "cfitsio", quantize_level: float | None = None,
                  descriptor: str | None = None, checksum: bool = False, spare_blocks: int = 0) -> int:
        """
        Write header, table and heap.

        Raises
        ------
        ValueError
            If a tile is missing.
        """
        if len(self.missing):
            raise ValueError(f"{len(self.missing)} tiles were not written, the first of them in row {self.missing[0]}")
        params = self.params
        if params.quantized and params.zblank is None and self.has_null.any():
            params = replace(params, zblank=CFITSIO_ZBLANK)
        table = self.table(style, descriptor)
        header = image_to_table(cards, params, table.layout, style=style, quantize_level=quantize_level)
        rows = table.to_bytes()
        header = _with_spare_blocks(header, spare_blocks)
        if checksum:
            header = with_checksums(header, self._data_sum(rows))
        start = file.tell()
        file.write(join_cards(header))
        for piece in self._data(rows):
            file.write(piece)
        return file.tell() - start

    def _data(self, rows: bytes) -> Iterator[bytes | memoryview]:
        """The data unit with its padding, in pieces."""
        yield rows
        yield from self._heap.pieces()
        yield bytes(-(len(rows) + self.heap_nbytes) % BLOCK_SIZE)

    def _data_sum(self, rows: bytes) -> int:
        sums = DataSum()
        for piece in self._data(rows):
            sums.add(piece)
        return sums.total

    def close(self) -> None:
        """Give up what was collected."""
        self._heap.close()


class _Heap:
    """Bytes that are only appended: in memory, and in an unnamed file once they are many."""

    def __init__(self, folder: str | None):
        self._folder = folder
        self._file: BinaryIO | None = None
        self._parts: list[memoryview] = []
        self.nbytes = 0

    def append(self, part: memoryview) -> None:
        self._parts.append(part)
        self.nbytes += len(part)
        if self._file is None and self.nbytes > SPILL_NBYTES:
            self._file = tempfile.TemporaryFile(dir=self._folder)
        if self._file is not None:
            self._file.writelines(self._parts)
            self._parts.clear()

    def pieces(self) -> Iterator[bytes | memoryview]:
        if self._file is None:
            yield from self._parts
            return
        self._file.seek(0)
        while piece := self._file.read(_PIECE_NBYTES):
            yield piece

    def close(self) -> None:
        self._parts.clear()
        if self._file is not None:
            self._file.close()


def _with_spare_blocks(header: list[str], n_blocks: int) -> list[str]:
    """Blank cards at the end, such that the header has `n_blocks` more blocks than it needs."""
    per_block = BLOCK_SIZE // CARD_SIZE
    needed = -(-(len(header) + 1) // per_block) * per_block
    if n_blocks == 0:
        return header
    return header + [" " * CARD_SIZE] * (needed + n_blocks * per_block - len(header) - 1)
