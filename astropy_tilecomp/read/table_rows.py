"""The table of an image: whole, or row by row as it is needed."""

from __future__ import annotations

import numpy as np

from .. import errors
from ..errors import TruncatedTileError
from ..hdus import FoundHDU
from ..sources.base import ByteSource
from ..threads import ForkSafeLock
from ..tiling.layout import TableLayout
from ..tiling.params import CompressionParams
from ..tiling.table import TileTable

__all__ = ["TableRows", "read_table"]


class TableRows:
    """
    Rows of the table, read when they are asked for and kept.

    Parameters
    ----------
    layout : TableLayout
    source : ByteSource
        The data unit.
    """

    def __init__(self, layout: TableLayout, source):
        self._layout, self._source = layout, source
        self._known = np.zeros(0, bool)
        self._bytes = np.zeros((0, layout.naxis1), np.uint8)
        self._lock = ForkSafeLock()

    def check_present(self, max_nbytes: int) -> None:
        """Raise unless the file holds the whole table, without which nothing that the header says has been earned, and memory can."""
        if self._layout.table_nbytes > self._source.nbytes:
            raise errors.TruncatedTileError(
                f"{self._source.name}: the table of {self._layout.naxis2} rows takes {self._layout.table_nbytes} bytes, the"
                f" file has {self._source.nbytes} of them"
            )
        if self._layout.table_nbytes > max_nbytes:
            raise errors.UnsupportedError(
                f"{self._source.name}: the table takes {self._layout.table_nbytes} bytes, max_nbytes is {max_nbytes}"
            )

    def entries(self, rows: np.ndarray) -> tuple[TileTable, int, int]:
        """The entries of some rows."""
        layout = self._layout
        with self._lock:
            if len(self._known) != layout.naxis2:
                self._bytes = np.empty((layout.naxis2, layout.naxis1), np.uint8)
                self._known = np.zeros(layout.naxis2, bool)
        in_one_piece = rows[-1] - rows[0] == len(rows) - 1
        part = slice(rows[0], rows[-1] + 1) if in_one_piece else rows
        ranges = [] if self._known[part].all() else self._unknown_ranges(rows)
        for (start, stop), data in zip(ranges, self._source.read_ranges(ranges)):
            wanted = slice(start // layout.naxis1, stop // layout.naxis1)
            self._bytes[wanted] = np.frombuffer(data, np.uint8).reshape(-1, layout.naxis1)
            self._known[wanted] = True
        table = TileTable.from_bytes(layout, self._bytes[part], rows, available=self._source.nbytes)
        return table, len(ranges), sum(stop - start for start, stop in ranges)

    def _unknown_ranges(self, rows: np.ndarray) -> list[tuple[int, int]]:
        """What to read of the table so that `rows` are known: a short one of a remote file at once."""
        unknown = rows[~self._known[rows]]
        if len(unknown) and self._layout.table_nbytes <= self._source.table_cache:
            return [(0, self._layout.table_nbytes)]
        return self._layout.row_ranges(unknown, self._source.gap)


def read_table(source: ByteSource, found: FoundHDU) -> tuple[CompressionParams, TileTable]:
    """
    Read the whole table of a compressed image.

    Raises
    ------
    HeaderError, UnsupportedError
        If the header breaks the format.
    TruncatedTileError
        If the file ends before the table does.
    """
    params, layout = CompressionParams.from_header(found.header), TableLayout.from_header(found.header)
    data = source.part(found.data_offset, min(found.end, source.nbytes))
    if layout.table_nbytes > data.nbytes:
        raise TruncatedTileError(f"the table takes {layout.table_nbytes} bytes, the file has {data.nbytes} of them")
    return params, TileTable.from_bytes(layout, data.read(0, layout.table_nbytes), available=data.nbytes)
