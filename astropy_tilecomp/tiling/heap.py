"""Encoded tiles to the rows of the table and the order of the heap: the plan run backwards."""

from __future__ import annotations

import numpy as np

from .. import keywords as kw
from .columns import COLUMN_NAMES, TableColumn, describe_column
from .layout import TableLayout
from .params import CompressionParams
from .shapes import STYLES
from .table import TileTable

__all__ = ["descriptor_for", "lay_out", "table_layout"]

_CODE_OF_BITPIX = {8: "B", 16: "I", 32: "J", 64: "K", -32: "E", -64: "D"}
_SCALAR_FORMS = {"ZSCALE": "1D", "ZZERO": "1D", "ZBLANK": "1J"}
_LARGEST_P_HEAP = 2**31 - 1


def descriptor_for(heap_nbytes: int) -> str:
    """
    Choose the kind of descriptors.

    Parameters
    ----------
    heap_nbytes : int
        Size of the heap, or an upper bound of it.

    Returns
    -------
    str
        "P" up to 2**31 - 1 bytes, for readers that take its words as signed; "Q" beyond.
    """
    return "P" if heap_nbytes <= _LARGEST_P_HEAP else "Q"


def table_layout(params: CompressionParams, column, nbytes, *, style: str = "cfitsio", descriptor: str | None = None,
                 has_zblank: bool = False) -> TableLayout:
    """
    Choose the columns of a table.

    Parameters
    ----------
    params : CompressionParams
        Parameters of the image.
    column : (n,) ndarray of int
        Column that holds each tile: 1 COMPRESSED_DATA, 2 GZIP_COMPRESSED_DATA, 3 UNCOMPRESSED_DATA.
    nbytes : (n,) ndarray of int64
        Bytes of each tile.
    style : {"cfitsio", "astropy"}, optional
        Columns and their order. cfitsio adds GZIP_COMPRESSED_DATA at the end and only if a tile is in it; astropy always
        puts it second for quantized floats.
    descriptor : {"P", "Q"}, optional
        By default what the size of the heap asks for.
    has_zblank : bool, optional
        Add a column ZBLANK.

    Returns
    -------
    TableLayout
        The layout of table and heap, without a gap.
    """
    if style not in STYLES:
        raise ValueError(f"style is {style!r}, expected one of {', '.join(STYLES)}")
    column, nbytes = np.asarray(column), np.asarray(nbytes, np.int64)
    heap_nbytes = int(nbytes.sum())
    descriptor = descriptor_for(heap_nbytes) if descriptor is None else descriptor
    scalars = ["ZSCALE", "ZZERO"] if params.quantized else []
    used = {name for number, name in enumerate(COLUMN_NAMES) if name and (column == number).any()}
    fallbacks = [name for name in kw.DATA_COLUMNS[1:] if name in used]
    if style == "astropy":
        if params.quantized and kw.GZIP_COMPRESSED_DATA not in fallbacks:
            fallbacks.insert(0, kw.GZIP_COMPRESSED_DATA)
        names = [kw.COMPRESSED_DATA, *fallbacks, *scalars]
    else:
        names = [kw.COMPRESSED_DATA, *scalars, *fallbacks]
    if has_zblank:
        names.append("ZBLANK")
    columns: list[TableColumn] = []
    for number, name in enumerate(names, 1):
        form = _SCALAR_FORMS.get(name) or _data_form(params, name, descriptor, column, nbytes)
        offset = columns[-1].offset + columns[-1].nbytes if columns else 0
        columns.append(describe_column(name, form, number, offset))
    naxis1 = columns[-1].offset + columns[-1].nbytes
    return TableLayout(naxis1, len(nbytes), heap_nbytes, naxis1 * len(nbytes), tuple(columns))


def lay_out(params: CompressionParams, column, nbytes, *, zscale=None, zzero=None, zblank=None, style: str = "cfitsio",
            descriptor: str | None = None) -> TileTable:
    """
    Describe encoded tiles that follow one another in the heap, in row order.

    Parameters
    ----------
    params : CompressionParams
        Parameters of the image.
    column, nbytes : (n,) ndarray of int
        Column and number of bytes of each tile; n is the number of tiles.
    zscale, zzero : (n,) ndarray of float64, optional
        Scale and zero point of quantized tiles; they count as 0 for tiles in another column.
    zblank : (n,) ndarray of int64, optional
        Value of undefined pixels, if it is not the same for all tiles.
    style, descriptor : str, optional
        As for `table_layout`.

    Returns
    -------
    TileTable
        The table; `TileTable.to_bytes` gives its bytes.

    Raises
    ------
    ValueError
        If an array does not have an entry for each tile, or the scales of a quantized image are missing.
    """
    column, nbytes = np.asarray(column, np.uint8), np.asarray(nbytes, np.int64)
    given = {"column": column, "nbytes": nbytes, "zscale": zscale, "zzero": zzero, "zblank": zblank}
    for name, array in given.items():
        if array is not None and np.shape(array) != (params.n_tiles,):
            raise ValueError(f"{name} has shape {np.shape(array)}, expected ({params.n_tiles},), an entry for each tile")
    if params.quantized and (zscale is None or zzero is None):
        raise ValueError("a quantized image needs zscale and zzero for each tile")
    layout = table_layout(params, column, nbytes, style=style, descriptor=descriptor, has_zblank=zblank is not None)
    quantized = column == 1
    scale, zero = (
        np.where(quantized, np.asarray(array, np.float64), 0.0) if params.quantized else None for array in (zscale, zzero)
    )
    start = np.cumsum(nbytes) - nbytes
    widths = np.array([1, *(layout.fields[name].width if name in layout.fields else 1 for name in kw.DATA_COLUMNS)])
    return TileTable(
        np.arange(params.n_tiles, dtype=np.int64), column, start + layout.theap, nbytes, scale, zero,
        None if zblank is None else np.asarray(zblank, np.int64), None, None,
        np.zeros(params.n_tiles, np.uint8), nbytes // widths[column], start, layout,
    )


def _data_form(params: CompressionParams, name: str, descriptor: str, column: np.ndarray, nbytes: np.ndarray) -> str:
    """TFORM of a column of tiles, with the longest count in it."""
    if name == kw.UNCOMPRESSED_DATA:
        code = _CODE_OF_BITPIX[params.zbitpix]
    else:
        code = "I" if name == kw.COMPRESSED_DATA and params.zcmptype == "PLIO_1" else "B"
    here = nbytes[column == COLUMN_NAMES.index(name)]
    width = describe_column(name, f"1{descriptor}{code}", 1, 0).width
    return f"1{descriptor}{code}({int(here.max(initial=0)) // width})"
