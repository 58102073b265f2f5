"""Columns of a binary table, as TTYPEn and TFORMn describe them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .. import keywords as kw
from ..errors import HeaderError

__all__ = [
    "CODES",
    "COLUMN_NAMES",
    "DESCRIPTORS",
    "DESCRIPTOR_SIZES",
    "TILE_FIELDS",
    "WIDTHS",
    "TableColumn",
    "check_field",
    "describe_column",
]

COLUMN_NAMES: tuple[Any, ...] = (None, *kw.DATA_COLUMNS)
"""Name of the column that holds a tile, by the number in `TileTable.column`; 0 stands for none."""

_FORM = re.compile(r"\s*(\d*)([PQ]?)([LXBIJKAEDCM])(.*)", re.ASCII | re.IGNORECASE)
WIDTHS = {"L": 1, "B": 1, "A": 1, "I": 2, "J": 4, "E": 4, "K": 8, "D": 8, "C": 8, "M": 16}
CODES = {"B": "u1", "I": ">i2", "J": ">i4", "K": ">i8", "E": ">f4", "D": ">f8"}
DESCRIPTOR_SIZES = {"P": 8, "Q": 16}
DESCRIPTORS = {"P": (">u4", 2), "Q": (">i8", 2)}


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
        return WIDTHS[self.code]

    @property
    def field_dtype(self):
        """Numpy type of the field as it stands in the table."""
        return DESCRIPTORS[self.descriptor] if self.descriptor else CODES[self.code]


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
        nbytes = repeat * DESCRIPTOR_SIZES[descriptor]
    else:
        nbytes = -(-repeat // 8) if code == "X" else repeat * WIDTHS[code]
    column = TableColumn(name.upper(), number, form, offset, nbytes, descriptor, code, repeat)
    if column.name in TILE_FIELDS and nbytes:
        check_field(column)
    return column


def check_field(column: TableColumn):
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


TILE_FIELDS = frozenset((*kw.DATA_COLUMNS, *kw.SCALAR_COLUMNS, *kw.MASK_COLUMNS))
