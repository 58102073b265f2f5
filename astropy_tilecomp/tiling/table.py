"""The main table of a compressed image: which bytes hold each tile, and the numbers that belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from .. import keywords as kw
from ..errors import TruncatedTileError
from .descriptors import GOOD, MISSING, OUTSIDE_HEAP, descriptors, faults_of, look_up, write_descriptors
from .layout import TableLayout

__all__ = ["TileTable"]


@dataclass(frozen=True, eq=False)
class TileTable:
    """
    What the table says about some tiles: one entry a tile in every array.

    Parameters
    ----------
    row : (n,) ndarray of int64
        Table rows, counted from 0.
    column : (n,) ndarray of uint8
        Column with the bytes of the tile: 0 none, 1 COMPRESSED_DATA, 2 GZIP_COMPRESSED_DATA, 3 UNCOMPRESSED_DATA.
    offset, nbytes : (n,) ndarray of int64
        Place of these bytes, counted from the start of the data unit, and how many; 0 and 0 where there is a fault.
    zscale, zzero : (n,) ndarray of float64 or None
        Scale and zero point; None without such a column.
    zblank : (n,) ndarray of int64 or None
        Value of undefined pixels among the coded integers; None without such a column.
    mask_offset, mask_nbytes : (n,) ndarray of int64 or None
        Place and size of the null mask, 0 and 0 for tiles without; None without such a column.
    fault : (n,) ndarray of uint8
        `Fault` of each tile; every descriptor was held against the heap and the file.
    count, heap_offset : (n,) ndarray of int64
        The descriptor at fault where there is one, else that of the bytes, as it stands in the table.
    layout : TableLayout
        Layout of the data unit.
    """

    row: np.ndarray
    column: np.ndarray
    offset: np.ndarray
    nbytes: np.ndarray
    zscale: np.ndarray | None
    zzero: np.ndarray | None
    zblank: np.ndarray | None
    mask_offset: np.ndarray | None
    mask_nbytes: np.ndarray | None
    fault: np.ndarray
    count: np.ndarray
    heap_offset: np.ndarray
    layout: TableLayout

    def __len__(self) -> int:
        return len(self.row)

    @classmethod
    def from_bytes(cls, layout: TableLayout, data, rows=None, *, available: int | None = None) -> TileTable:
        """
        Read rows of the table.

        Parameters
        ----------
        layout : TableLayout
            Layout of the data unit.
        data : bytes-like
            The bytes of these rows, one after the other, and nothing else.
        rows : (n,) ndarray of int64, optional
            Which rows they are, ascending; by default the whole table.
        available : int, optional
            Bytes of the data unit that the file really holds; by default all that the header announces.

        Returns
        -------
        TileTable
            One entry for each row.

        Raises
        ------
        TruncatedTileError
            If there are fewer bytes than the rows need.
        IndexError
            If the table has no such row.
        """
        rows = np.arange(layout.naxis2, dtype=np.int64) if rows is None else layout._checked(rows)
        nbytes = memoryview(data).nbytes
        if nbytes < len(rows) * layout.naxis1:
            raise TruncatedTileError(
                f"the table ends after {nbytes} bytes, {len(rows)} rows of {layout.naxis1} bytes were expected"
            )
        record = np.frombuffer(data, layout.dtype, len(rows))
        return cls._from_record(layout, record, rows, available)

    @classmethod
    def from_buffers(cls, layout: TableLayout, ranges: Sequence, buffers: Sequence, rows, *,
                     available: int | None = None) -> TileTable:
        """
        Read rows of the table out of fetched ranges.

        Parameters
        ----------
        layout : TableLayout
            Layout of the data unit.
        ranges : sequence of (int, int)
            What `TableLayout.row_ranges` gave for the rows, with any gap.
        buffers : sequence of bytes-like
            The bytes of each range.
        rows : (n,) ndarray of int64
            The rows, ascending.
        available : int, optional
            Bytes of the data unit that the file really holds.

        Returns
        -------
        TileTable
            One entry for each row.

        Raises
        ------
        TruncatedTileError
            If a buffer is shorter than its range.
        """
        rows = layout._checked(rows)
        records = []
        for (start, stop), data in zip(ranges, buffers, strict=True):
            nbytes = memoryview(data).nbytes
            if nbytes < stop - start:
                raise TruncatedTileError(
                    f"the table ends {nbytes} bytes after byte {start} of the data unit, expected {stop - start}"
                )
            first, after = start // layout.naxis1, stop // layout.naxis1
            wanted = rows[np.searchsorted(rows, first):np.searchsorted(rows, after)]
            record = np.frombuffer(data, layout.dtype, after - first)
            records.append(record if len(wanted) == after - first else record[wanted - first])
        record = records[0] if len(records) == 1 else np.concatenate([np.empty(0, layout.dtype), *records])
        return cls._from_record(layout, record, rows, available)

    @classmethod
    def _from_record(cls, layout: TableLayout, record: np.ndarray, rows: np.ndarray, available: int | None) -> TileTable:
        """Read the fields of a structured array of rows."""
        column, count, heap_offset, width = look_up(layout, record)
        available = layout.data_nbytes if available is None else available
        nbytes = count * width
        fault = faults_of(layout, count, heap_offset, width, nbytes, available)
        fault[column == 0] = MISSING
        mask_offset = mask_nbytes = None
        mask = layout.mask_field
        if mask is not None:
            found, start = descriptors(record[mask.name])
            mask_fault = faults_of(layout, found, start, mask.width, found * mask.width, available)
            worse = (fault == GOOD) & (mask_fault != GOOD) & (found != 0)
            fault[worse], count[worse], heap_offset[worse] = mask_fault[worse], found[worse], start[worse]
            has_mask = (found != 0) & (fault == GOOD)
            mask_offset = np.where(has_mask, start + layout.theap, 0)
            mask_nbytes = np.where(has_mask, found * mask.width, 0)
        offset = heap_offset + layout.theap
        if fault.any():
            column[fault != GOOD] = offset[fault != GOOD] = nbytes[fault != GOOD] = 0
        scalars = {
            name: record[name].astype(kind) if name in layout.fields else None
            for name, kind in zip(kw.SCALAR_COLUMNS, (np.float64, np.float64, np.int64))
        }
        return cls(
            rows, column, offset, nbytes, scalars["ZSCALE"], scalars["ZZERO"], scalars["ZBLANK"],
            mask_offset, mask_nbytes, fault, count, heap_offset, layout,
        )

    def take(self, entries) -> TileTable:
        """
        Some of the entries.

        Parameters
        ----------
        entries : (k,) ndarray of int64 or bool
            Which ones, as numpy indexes.

        Returns
        -------
        TileTable
            With the same layout.
        """
        arrays = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "layout"}
        return replace(self, **{name: array[entries] for name, array in arrays.items() if array is not None})

    def to_bytes(self, base=None) -> bytes:
        """
        Write the rows.

        Parameters
        ----------
        base : bytes-like, optional
            Rows to start from, for columns that say nothing about tiles; by default zeros.

        Returns
        -------
        bytes
            One row for each entry; descriptors that are not used are (0, 0).

        Raises
        ------
        ValueError
            If there is a fault, or a place that the descriptors cannot hold.
        """
        if self.fault.any():
            raise ValueError(f"row {self.row[self.fault != 0][0]} has no bytes that the table could name")
        layout = self.layout
        record = np.zeros(len(self), layout.dtype)
        if base is not None:
            record = np.frombuffer(bytearray(base), layout.dtype, len(self))
        for number, name in enumerate(kw.DATA_COLUMNS, 1):
            write_descriptors(layout, record, name, self.column == number, self.offset, self.nbytes)
        if layout.mask_field is not None and self.mask_nbytes is not None:
            mask = layout.mask_field.name
            write_descriptors(layout, record, mask, self.mask_nbytes > 0, self.mask_offset, self.mask_nbytes)
        for name, values in zip(kw.SCALAR_COLUMNS, (self.zscale, self.zzero, self.zblank)):
            if name in layout.fields:
                record[name] = values
        return record.tobytes()

    def reason(self, entry: int) -> str:
        """
        Say what is wrong with the descriptor of a tile.

        Parameters
        ----------
        entry : int
            Which entry of the arrays.

        Returns
        -------
        str
            The reason, empty where nothing is wrong.
        """
        fault = int(self.fault[entry])
        if fault == GOOD:
            return ""
        if fault == MISSING:
            return "no column holds data for the tile"
        descriptor = f"descriptor (count {self.count[entry]}, offset {self.heap_offset[entry]})"
        if fault == OUTSIDE_HEAP:
            return f"{descriptor} does not lie in the heap of {self.layout.heap_nbytes} bytes"
        return f"{descriptor} lies beyond the end of the file"
