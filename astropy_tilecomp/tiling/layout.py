"""The layout of a binary table: its columns, its rows, its heap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .. import keywords as kw
from ..errors import HeaderError, UnsupportedError
from ..threads import computed_once
from .columns import TILE_FIELDS, TableColumn, describe_column
from .values import HeaderValues

__all__ = ["TableLayout"]


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
        names = [column.name for column in self.columns if column.name in TILE_FIELDS and column.nbytes]
        for name in names:
            if names.count(name) > 1:
                raise HeaderError(f"{names.count(name)} columns are called {name}, expected one")
        if not any(name in kw.DATA_COLUMNS for name in names):
            raise HeaderError("no column holds the tiles, expected one of " + ", ".join(kw.DATA_COLUMNS))

    @computed_once
    def fields(self) -> dict[str, TableColumn]:
        """Columns that say something about the tiles, by their name."""
        return {column.name: column for column in self.columns if column.name in TILE_FIELDS and column.nbytes}

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
