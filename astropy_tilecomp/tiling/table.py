"""The main table of a compressed image: which bytes hold each tile, and the numbers that belong to it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum

import numpy as np

from .. import keywords as kw
from ..computed import computed_once
from ..errors import HeaderError, TruncatedTileError, UnsupportedError
from .values import HeaderValues

__all__ = ["COLUMN_NAMES", "Fault", "TableColumn", "TableLayout", "TileTable", "describe_column"]

COLUMN_NAMES = (None, *kw.DATA_COLUMNS)
"""Name of the column that holds a tile, by the number in `TileTable.column`; 0 stands for none."""

_FORM = re.compile(r"\s*(\d*)([PQ]?)([LXBIJKAEDCM])(.*)", re.ASCII | re.IGNORECASE)
_WIDTHS = {"L": 1, "B": 1, "A": 1, "I": 2, "J": 4, "E": 4, "K": 8, "D": 8, "C": 8, "M": 16}
_CODES = {"B": "u1", "I": ">i2", "J": ">i4", "K": ">i8", "E": ">f4", "D": ">f8"}
_DESCRIPTOR_SIZES = {"P": 8, "Q": 16}
_DESCRIPTORS = {"P": (">u4", 2), "Q": (">i8", 2)}


class Fault(IntEnum):
    """Why the table gives no usable bytes for a tile."""

    NONE = 0
    MISSING = 1
    OUTSIDE_HEAP = 2
    OUTSIDE_FILE = 3


_GOOD, _MISSING, _OUTSIDE_HEAP, _OUTSIDE_FILE = map(int, Fault)    # numpy compares plain integers several times as fast


@dataclass(frozen=True)
class TableColumn:
    """
    One column of the table.

    Parameters
    ----------
    name : str
        TTYPE in upper case.
    number : int
        Number of the column, counted from 1 as in TTYPEn.
    form : str
        TFORM as written.
    offset, nbytes : int
        Place in a row, and size.
    descriptor : str
        P or Q for variable-length arrays, else empty.
    code : str
        FITS letter of the elements.
    repeat : int
        Number of elements, of descriptors for variable-length arrays.
    """

    name: str
    number: int
    form: str
    offset: int
    nbytes: int
    descriptor: str
    code: str
    repeat: int

    @property
    def width(self) -> int:
        """Bytes of an element."""
        return _WIDTHS[self.code]

    @property
    def field_dtype(self):
        """Numpy type of the field as it stands in the table."""
        return _DESCRIPTORS[self.descriptor] if self.descriptor else _CODES[self.code]


@dataclass(frozen=True)
class TableLayout:
    """
    Where everything is in the data unit of a compressed image.

    Parameters
    ----------
    naxis1, naxis2 : int
        Bytes of a row, and number of rows.
    pcount : int
        Bytes after the table: the heap, and a gap before it.
    theap : int
        Start of the heap, counted from the start of the data unit.
    columns : tuple of TableColumn
        All columns, in their order.
    """

    naxis1: int
    naxis2: int
    pcount: int
    theap: int
    columns: tuple[TableColumn, ...]

    @classmethod
    def from_header(cls, header: Mapping) -> TableLayout:
        """
        Read the layout from the header of the table.

        Parameters
        ----------
        header : mapping of str to object
            An astropy Header, a dict or what `read_cards` gives.

        Returns
        -------
        TableLayout
            The layout; no number in it has been held against a file.

        Raises
        ------
        HeaderError
            If a keyword is missing or has a value that the format does not allow, as a THEAP inside of the table.
        UnsupportedError
            For rows of 2 GiB or more, and for data units of 2**63 bytes or more.
        """
        values = HeaderValues(header)
        naxis1, naxis2 = (values.integer(keyword, low=0) for keyword in ("NAXIS1", "NAXIS2"))
        pcount = values.integer("PCOUNT", 0, low=0)
        table_nbytes = naxis1 * naxis2
        theap = values.integer("THEAP", table_nbytes, low=table_nbytes, high=table_nbytes + pcount)
        n_columns = values.integer("TFIELDS", low=1, high=999)
        columns, offset = [], 0
        for number in range(1, n_columns + 1):
            name, form = values.text(f"TTYPE{number}", ""), values.text(f"TFORM{number}")
            columns.append(describe_column(name, form, number, offset))
            offset += columns[-1].nbytes
        if offset > naxis1:
            raise HeaderError(keyword="NAXIS1", found=naxis1, expected=f"{offset} or more, the width of the columns")
        if naxis1 > 2**31 - 1:
            raise UnsupportedError(f"NAXIS1 is {naxis1}: rows of 2 GiB or more are not supported")
        if table_nbytes + pcount > 2**63 - 1:
            raise UnsupportedError(f"NAXIS2 is {naxis2} and PCOUNT {pcount}: a data unit of 2**63 bytes or more")
        return cls(naxis1, naxis2, pcount, theap, tuple(columns))

    def __post_init__(self):
        names = [column.name for column in self.columns if column.name in _FIELDS and column.nbytes]
        for name in names:
            if names.count(name) > 1:
                raise HeaderError(f"{names.count(name)} columns are called {name}, expected one")
        if not any(name in kw.DATA_COLUMNS for name in names):
            raise HeaderError("no column holds the tiles, expected one of " + ", ".join(kw.DATA_COLUMNS))

    @computed_once
    def fields(self) -> dict[str, TableColumn]:
        """Columns that say something about the tiles, by their name."""
        return {column.name: column for column in self.columns if column.name in _FIELDS and column.nbytes}

    @property
    def mask_field(self) -> TableColumn | None:
        """The column of null masks, None without one."""
        return next((self.fields[name] for name in kw.MASK_COLUMNS if name in self.fields), None)

    @computed_once
    def dtype(self) -> np.dtype:
        """Structured type of a row, big-endian, with the fields that say something about the tiles."""
        fields = self.fields.values()
        return np.dtype({
            "names": [column.name for column in fields],
            "formats": [column.field_dtype for column in fields],
            "offsets": [column.offset for column in fields],
            "itemsize": self.naxis1,
        })

    @property
    def table_nbytes(self) -> int:
        """Bytes of the table without the heap."""
        return self.naxis1 * self.naxis2

    @property
    def heap_nbytes(self) -> int:
        """Bytes of the heap."""
        return self.data_nbytes - self.theap

    @property
    def data_nbytes(self) -> int:
        """Bytes of table, gap and heap, without the padding of the data unit."""
        return self.table_nbytes + self.pcount

    def row_ranges(self, rows, gap: int = 0) -> list[tuple[int, int]]:
        """
        Byte ranges that hold table rows.

        Parameters
        ----------
        rows : (n,) ndarray of int64
            Rows, ascending, counted from 0.
        gap : int, optional
            Rows that are not wanted are read through if they take up to this many bytes between wanted ones.

        Returns
        -------
        list of (int, int)
            Starts and stops, counted from the start of the data unit, ascending.

        Raises
        ------
        IndexError
            If the table has no such row.
        """
        rows = self._checked(rows)
        if not len(rows):
            return []
        start = rows * self.naxis1
        parted = start[1:] - start[:-1] > self.naxis1 + gap
        last = start[:-1][parted].tolist() + start[-1:].tolist()
        return list(zip(start[:1].tolist() + start[1:][parted].tolist(), (stop + self.naxis1 for stop in last)))

    def _checked(self, rows) -> np.ndarray:
        """Rows as int64, known to lie in the table."""
        rows = np.asarray(rows, np.int64)
        if len(rows) and not (rows[0] >= 0 and rows[-1] < self.naxis2):
            raise IndexError(f"rows {rows[0]} to {rows[-1]} are not all in the table of {self.naxis2} rows")
        return rows


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
        column, count, heap_offset, width = _look_up(layout, record)
        available = layout.data_nbytes if available is None else available
        nbytes = count * width
        fault = _faults(layout, count, heap_offset, width, nbytes, available)
        fault[column == 0] = _MISSING
        mask_offset = mask_nbytes = None
        mask = layout.mask_field
        if mask is not None:
            found, start = _descriptors(record[mask.name])
            mask_fault = _faults(layout, found, start, mask.width, found * mask.width, available)
            worse = (fault == _GOOD) & (mask_fault != _GOOD) & (found != 0)
            fault[worse], count[worse], heap_offset[worse] = mask_fault[worse], found[worse], start[worse]
            has_mask = (found != 0) & (fault == _GOOD)
            mask_offset = np.where(has_mask, start + layout.theap, 0)
            mask_nbytes = np.where(has_mask, found * mask.width, 0)
        offset = heap_offset + layout.theap
        if fault.any():
            column[fault != _GOOD] = offset[fault != _GOOD] = nbytes[fault != _GOOD] = 0
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
            _write_descriptors(layout, record, name, self.column == number, self.offset, self.nbytes)
        if layout.mask_field is not None and self.mask_nbytes is not None:
            mask = layout.mask_field.name
            _write_descriptors(layout, record, mask, self.mask_nbytes > 0, self.mask_offset, self.mask_nbytes)
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
        if fault == _GOOD:
            return ""
        if fault == _MISSING:
            return "no column holds data for the tile"
        descriptor = f"descriptor (count {self.count[entry]}, offset {self.heap_offset[entry]})"
        if fault == _OUTSIDE_HEAP:
            return f"{descriptor} does not lie in the heap of {self.layout.heap_nbytes} bytes"
        return f"{descriptor} lies beyond the end of the file"


def describe_column(name: str, form: str, number: int, offset: int) -> TableColumn:
    """
    Describe a column.

    Parameters
    ----------
    name, form : str
        TTYPE and TFORM.
    number : int
        Number of the column, counted from 1.
    offset : int
        Place in a row.

    Returns
    -------
    TableColumn
        The column.

    Raises
    ------
    HeaderError
        If the form is none of FITS, or not one that a column of this name may have.
    """
    match = _FORM.fullmatch(form)
    if match is None:
        raise HeaderError(keyword=f"TFORM{number}", found=form, expected="a format of FITS binary tables")
    repeat = int(match[1]) if match[1] else 1
    descriptor, code = match[2].upper(), match[3].upper()
    if descriptor and repeat > 1:
        raise HeaderError(keyword=f"TFORM{number}", found=form, expected="one descriptor at most")
    if descriptor:
        nbytes = repeat * _DESCRIPTOR_SIZES[descriptor]
    else:
        nbytes = -(-repeat // 8) if code == "X" else repeat * _WIDTHS[code]
    column = TableColumn(name.upper(), number, form, offset, nbytes, descriptor, code, repeat)
    if column.name in _FIELDS and nbytes:
        _check_field(column)
    return column


def _check_field(column: TableColumn):
    """Refuse a column of a known name that has an unknown form."""
    if column.name in kw.SCALAR_COLUMNS:
        codes = "BIJK" if column.name == "ZBLANK" else "BIJKED"
        fits = not column.descriptor and column.repeat == 1 and column.code in codes
        expected = f"one number of type {', '.join(codes)} in column {column.name}"
    else:
        fits = bool(column.descriptor) and column.code != "X"
        expected = f"a P or Q descriptor in column {column.name}"
    if not fits:
        raise HeaderError(keyword=f"TFORM{column.number}", found=column.form, expected=expected)


def _descriptors(field: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts and offsets of a field of descriptors, (n,) int64 each."""
    return field[:, 0].astype(np.int64), field[:, 1].astype(np.int64)


def _write_descriptors(layout: TableLayout, record: np.ndarray, name: str, here: np.ndarray, offset, nbytes):
    """Fill a field of descriptors for the tiles that are in this column."""
    if name not in layout.fields:
        if here.any():
            raise ValueError(f"the table has no column {name}, which {np.count_nonzero(here)} tiles need")
        return
    column = layout.fields[name]
    count, start = nbytes // column.width, offset - layout.theap
    largest = 2**32 - 1 if column.descriptor == "P" else 2**63 - 1
    if here.any() and not (start[here].min() >= 0 and max(count[here].max(), start[here].max()) <= largest):
        raise ValueError(f"a {column.descriptor} descriptor of column {name} cannot hold its place in the heap")
    record[name][:, 0] = np.where(here, count, 0)
    record[name][:, 1] = np.where(here, start, 0)


def _look_up(layout: TableLayout, record: np.ndarray) -> tuple:
    """Find the column of each tile, with count, offset and bytes of an element; the first column with a count wins."""
    present = [(number, name) for number, name in enumerate(kw.DATA_COLUMNS, 1) if name in layout.fields]
    number, name = present[0]
    count, offset = _descriptors(record[name])
    width: int | np.ndarray = layout.fields[name].width
    column = (count != 0).astype(np.uint8)
    column *= number
    for number, name in present[1:]:
        found, start = _descriptors(record[name])
        here = (column == 0) & (found != 0)
        if here.any():
            column[here], count[here], offset[here] = number, found[here], start[here]
            width = np.where(here, layout.fields[name].width, width)
    return column, count, offset, width


def _faults(layout: TableLayout, count, offset, width, nbytes, available: int) -> np.ndarray:
    """Hold descriptors against the heap and the file; a negative number is a huge one without its sign."""
    heap = layout.heap_nbytes
    stop = offset + nbytes                                  # wraps round only where a number is outside by itself
    if _all_lie_within(count, offset, stop, min(heap, available - layout.theap)):
        return np.zeros(len(count), np.uint8)
    outside = (count.view(np.uint64) > np.asarray(heap // width, np.uint64)) | (offset.view(np.uint64) > np.uint64(heap))
    outside |= stop > heap
    fault = outside.astype(np.uint8)
    fault *= _OUTSIDE_HEAP
    fault[(stop > available - layout.theap) & ~outside] = _OUTSIDE_FILE
    return fault


def _all_lie_within(count, offset, stop, limit: int) -> bool:
    """Whether every descriptor lies in the first `limit` bytes of the heap, told by the largest numbers; the usual case."""
    if not len(count) or not 0 <= limit < 2**56:            # there no sum wraps round
        return False
    most = max(int(count.view(np.uint64).max()), int(offset.view(np.uint64).max()))
    return most <= limit and int(stop.max()) <= limit


_FIELDS = frozenset((*kw.DATA_COLUMNS, *kw.SCALAR_COLUMNS, *kw.MASK_COLUMNS))
