"""The table HDU that a `CompImageHDU` is written as: tiles that did not change keep their bytes, others are encoded."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from astropy.io import fits
from astropy.io.fits.fitsrec import FITS_rec
from astropy.io.fits.verify import VerifyWarning

from ...codecs.buffers import unmasked
from ...codecs.final_pixels import to_stored
from ...codecs.quantization import STANDARD_ZBLANK
from ...encode import EncodedTiles, encode
from ...tiling.cards import cards_of
from ...tiling.checksum import exchange, sum_of_pixels
from ...tiling.image_keywords import is_reserved
from ...tiling.image_sums import renew_image_checksums
from ...tiling.layout import TableLayout
from ...tiling.params import CompressionParams
from ...tiling.to_table import image_to_table, replace_image_cards
from ...write.hdu_builder import TileSpool
from ...write.raw_tiles import as_columns_allow
from .original import Original, n_rows, slabs
from .pixels import describe_pixels

__all__ = ["encoded_table", "give_rows", "stored_sum", "table_header", "with_header", "with_image_checksums"]


def encoded_table(data, params: CompressionParams, *, image: fits.Header | None = None, table: fits.Header | None = None,
                  quantize_level: float, original: Original | None = None, changed: np.ndarray | None = None,
                  threads: int | None = None, engine: str | None = None) -> fits.BinTableHDU:
    """
    Encode an image.

    Raises
    ------
    HeaderError, NotEncodableError
        If the algorithm cannot hold the pixels.
    """
    if params.quantized and params.zblank is None:
        params = replace(params, zblank=STANDARD_ZBLANK)
    spool = TileSpool(params)
    settings = {"quantize_level": quantize_level, "threads": threads, "engine": engine}
    for tiles in _all_tiles(data, params, original, changed, settings):
        spool.add(tiles)
    if params.zcmptype == "NOCOMPRESS":
        spool.column[:] = 1  # astropy keeps the bytes of such tiles there
    if table is None:
        return _table_of(spool, image=image, quantize_level=quantize_level)
    return _table_of(spool, table=table)


def _all_tiles(data, params, original, changed, settings) -> Iterator[EncodedTiles]:
    """The tiles of an image; of one that is not an array yet, such as dask's, some rows of tiles at a time are computed."""
    if 0 in params.image_shape:
        return
    if changed is None and isinstance(data, np.ndarray):
        yield from encode(data, params, **settings)
        return
    for first, slab in slabs(params.grid):
        if changed is None:
            yield from encode(data[slab], params, start=slab.start, **settings)
        else:
            yield from _mixed(original, changed, first, slab, data, params, settings)


def _mixed(original, changed, first, slab, data, params, settings) -> Iterator[EncodedTiles]:
    """The tiles of a slab: from the file where nothing changed, encoded where something did."""
    rows = np.arange(first, first + n_rows(original.grid, slab))
    yield from original.tiles(rows[~changed[rows]])
    if changed[rows].any():
        for tiles in encode(original.to_stored(data, slab), params, start=slab.start, **settings):
            yield from _picked(as_columns_allow(tiles, original.columns), changed[tiles.row : tiles.row + len(tiles)])


def _picked(tiles: EncodedTiles, wanted: np.ndarray) -> Iterator[EncodedTiles]:
    """Some of a piece of encoded tiles."""
    stops = np.cumsum(tiles.nbytes)
    rows = np.flatnonzero(wanted)
    for run in np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1):
        if len(run):
            here = slice(run[0], run[-1] + 1)
            heap = tiles.heap[stops[run[0]] - tiles.nbytes[run[0]] : stops[run[-1]]]
            fields = {name: getattr(tiles, name)[here] for name in ("column", "nbytes", "zscale", "zzero", "has_null")}
            yield EncodedTiles(tiles.row + int(run[0]), **fields, heap=heap)


def _table_of(spool: TileSpool, *, image: fits.Header | None = None, table: fits.Header | None = None,
              quantize_level: float | None = None) -> fits.BinTableHDU:
    """The HDU of collected tiles, under the header of an image, or one of a table in which what the tiles say is filled in."""
    params = spool.params
    has_null = params.quantized and spool.has_null.any()
    if table is None:
        rows = spool.table("astropy")
        params = params if has_null else replace(params, zblank=None)
        header = table_header(image, params, rows.layout, quantize_level)
    else:
        rows = spool.table("astropy", "Q" if str(table["TFORM1"]).lstrip("01").startswith("Q") else None)
        header = table.copy()
        if has_null and "ZBLANK" not in header:
            header["ZBLANK"] = params.zblank
        _describe(header, rows.layout)
    layout = rows.layout
    hdu = fits.BinTableHDU.fromstring(header.tostring().encode("ascii"))
    if not layout.naxis2:
        return hdu  # as read, without data: astropy would look for the longest tile in them
    hdu._load_variable_length_data = False
    hdu._manages_own_heap = True
    content = np.frombuffer(b"".join([rows.to_bytes(), *spool._heap.pieces()]), np.uint8)
    spool.close()
    records = content[: layout.table_nbytes].view(hdu.columns.dtype.newbyteorder(">"), np.recarray).view(FITS_rec)
    records._load_variable_length_data = False
    records._coldefs = hdu.columns
    records._heapoffset, records._heapsize = layout.table_nbytes, len(content) - layout.table_nbytes
    give_rows(hdu, header, records)
    return hdu


def table_header(image: fits.Header, params: CompressionParams, layout: TableLayout, quantize_level: float | None) -> fits.Header:
    """The header of a new table."""
    _warn_of_reserved(image)
    cards = cards_of(describe_pixels(image, params))
    level = quantize_level if params.quantized else None
    return fits.Header.fromstring("".join(image_to_table(cards, params, layout, style="astropy", quantize_level=level)))


def give_rows(table: fits.BinTableHDU, header: fits.Header, rows: FITS_rec | None) -> None:
    """Replace header and rows of a table, past astropy's own setter, which would take every tile out of the heap."""
    table.header = header
    header._modified = True  # else an update would leave the one in the file
    table.__dict__.pop("columns", None)
    table.__dict__["data"] = rows
    table._data_replaced = True
    table.__dict__["_populate_table_keywords"] = _leave_keywords


def _leave_keywords() -> None:
    """Keep astropy from moving cards of the image to the columns that they seem to describe."""



def _describe(header: fits.Header, layout: TableLayout) -> None:
    """Make a header say what the table has: its size and columns."""
    for number in range(1, header["TFIELDS"] + 1):
        if number > len(layout.columns):
            del header[f"TTYPE{number}"], header[f"TFORM{number}"]
    header["NAXIS1"], header["NAXIS2"], header["PCOUNT"] = layout.naxis1, layout.naxis2, layout.pcount
    header["TFIELDS"] = len(layout.columns)
    header.remove("THEAP", ignore_missing=True)
    after = "TFIELDS"
    for column in layout.columns:
        for keyword, value in ((f"TTYPE{column.number}", column.name), (f"TFORM{column.number}", column.form)):
            header.set(keyword, value, "", after=after)
            after = keyword


def with_header(table: fits.Header, image: fits.Header, params: CompressionParams | None = None) -> fits.Header:
    """The header of a table that keeps its tiles, with the cards of an edited image header."""
    _warn_of_reserved(image)
    described = describe_pixels(image, params or CompressionParams.from_header(table), scale=params is not None)
    header = fits.Header.fromstring("".join(replace_image_cards(cards_of(table), cards_of(described))))
    header._modified = True
    return header


def _warn_of_reserved(image: fits.Header) -> None:
    for keyword in dict.fromkeys(image):
        if is_reserved(keyword):
            message = f"Keyword {keyword!r} is reserved for use by the FITS Tiled Image Convention so will be ignored"
            warnings.warn(message, VerifyWarning, stacklevel=2)


def with_image_checksums(header: fits.Header, data_sum: int | None) -> fits.Header:
    """Renew the sums of the image, as far as the header of its table has them."""
    if data_sum is None:
        return header
    renewed = fits.Header.fromstring("".join(renew_image_checksums(cards_of(header), data_sum)))
    renewed._modified = True
    return renewed


def stored_sum(data, params: CompressionParams, to_pixels: Callable | None) -> int:
    """Add up the pixels of an image as they are stored uncompressed."""
    total = 0
    for _, slab in slabs(params.grid):
        pixels = unmasked(data[slab] if to_pixels is None else to_pixels(data, slab))
        if params.offset_dtype is not None and pixels.dtype.newbyteorder("=") == params.offset_dtype:
            pixels = to_stored(pixels, params)
        total += sum_of_pixels(pixels, (slab.start, *[0] * (pixels.ndim - 1)), params.image_shape)
    return exchange(0, 0, total) if total else 0
