"""
Tiles of an image on disk replaced by new ones, the others left alone, the file valid at every moment.

Where it can be done, new tiles are appended to the heap and then named by their descriptors; otherwise the file is built
anew beside the old one and takes its place by a rename.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import BinaryIO

import numpy as np

from .atomic import copy_range, replacing
from .codecs.buffers import differing, unmasked
from .codecs.finalize import to_stored
from .encode import EncodedTiles, encode_box
from .errors import HeaderError, UnsupportedError
from .files import FoundHDU, find_image, require_complete
from .keywords import GZIP_COMPRESSED_DATA, MASK_COLUMNS, UNCOMPRESSED_DATA
from .read import TileReader
from .sources import FileSource
from .tiling.cards import BLOCK_SIZE, format_card, join_cards, keyword_of, parse_value, split_cards
from .tiling.checksum import DataSum, add_words, exchange, renew_checksums, stated_data_sum, sum_of_pixels
from .tiling.header import image_data_sum, renew_image_checksums
from .tiling.params import CompressionParams
from .tiling.selection import Selection, select
from .tiling.table import COLUMN_NAMES, TableLayout, TileTable, describe_column

__all__ = ["EditReport", "repack", "replace_pixels"]

_SUMS = ("CHECKSUM", "DATASUM")
MAX_ROWS_NBYTES = 4096
"""Rows are switched in writes of at most so many bytes: a killed process was never seen to leave a part of one."""

_LARGEST_P = 2**31 - 1


@dataclass(frozen=True)
class EditReport:
    """
    What replacing pixels did.

    Attributes
    ----------
    in_place : bool
        Whether the file was edited in place; else it was built anew.
    n_tiles : int
        Tiles that were encoded.
    nbytes : int
        Bytes of them.
    """

    in_place: bool
    n_tiles: int
    nbytes: int


@dataclass(frozen=True)
class _NewTiles:
    """Encoded tiles of some rows; arrays as in `EncodedTiles`."""

    row: np.ndarray
    column: np.ndarray
    nbytes: np.ndarray
    zscale: np.ndarray
    zzero: np.ndarray
    has_null: np.ndarray
    heap: bytes
    pixel_sums: tuple[int, int] = (0, 0)  # what the old pixels and the new ones contribute to the sum over the image


def replace_pixels(path, index, values, *, hdu=None, scaled: bool = True, quantize_level: float | None = None,
                   threads: int | None = None, engine: str | None = None) -> EditReport:
    """
    Replace pixels of a compressed image in a file; only the tiles that hold them are encoded again.

    Parameters
    ----------
    path : str or path-like
        The file.
    index : numpy index
        As of a section: integers, slices and Ellipsis, or one integer array or boolean mask in place of an axis.
    values : array_like
        The new pixels, scaled by BSCALE and BZERO as a section returns them, and rounded in an image of integers; they
        broadcast against it.
    hdu : int, str or (str, int), optional
        By default the first compressed image.
    scaled : bool
        Whether `values` are scaled; False for stored pixels.
    quantize_level : float, optional
        By default the one that the header states, else 4.
    threads, engine : optional
        As of `TileReader`.

    Returns
    -------
    EditReport

    Raises
    ------
    UnsupportedError
        If the image has a column of null masks, or of ZBLANK.
    HeaderError
        If the header breaks the format, or a card that has to be edited is out of place.
    NotEncodableError
        If the algorithm cannot hold the pixels.
    ValueError
        If values do not fit the type of the image, are masked, or do not broadcast.
    TypeError
        If they are no real numbers.

    Notes
    -----
    New tiles follow the old heap, whose bytes stay where they are: `repack` closes the gaps. Tiles whose pixels do not change
    are not written. New tiles are synced before the header, and that before the descriptors that name them, in writes of 4 KiB
    at most: after a crash each tile is the old or the new one, and at worst a sum is stale, which `verify` reports. Sums that
    the HDU has are updated by what left and what came. If anything fails, such as for want of space, the file is as before.
    Where the HDU is not the last one, or needs a column or keyword that it does not have, the file is built
    anew beside the old one, and takes its place at the end.
    """
    path = os.path.realpath(os.fspath(path))
    with FileSource(path) as source:
        found = find_image(source, hdu)
        image = _Image(source, found, threads, engine)
        new = image.encoded(index, values, scaled, quantize_level)
        in_place = not len(new.row) or image.can_append(new)
    if len(new.row):
        (_append if in_place else _rebuild)(path, image, new)
    return EditReport(in_place, len(new.row), len(new.heap))


def repack(path, *, hdu=None) -> int:
    """
    Close the gaps that replaced tiles left in the heap of an image.

    Parameters
    ----------
    path : str or path-like
        The file; it is built anew beside the old one, which it replaces at the end.
    hdu : int, str or (str, int), optional
        By default the first compressed image.

    Returns
    -------
    int
        Bytes that the file has less than before.

    Raises
    ------
    UnsupportedError
        If the image has a column of null masks, or of ZBLANK.
    """
    path = os.path.realpath(os.fspath(path))
    before = os.path.getsize(path)
    with FileSource(path) as source:
        image = _Image(source, find_image(source, hdu), None, None)
    _rebuild(path, image, _no_tiles())
    return before - os.path.getsize(path)


class _Image:
    """One compressed image of a file, with all that an edit needs to know of it."""

    def __init__(self, source: FileSource, found: FoundHDU, threads, engine):
        require_complete(source, found)
        self.found = found
        self.params = CompressionParams.from_header(found.header)
        self.layout = TableLayout.from_header(found.header)
        for name in (*MASK_COLUMNS, "ZBLANK"):
            if name in self.layout.fields:
                raise UnsupportedError(f"{source.name}: tiles of an image with a column {name} are not replaced")
        self.cards = split_cards(source.read(found.header_offset, found.data_offset))
        edited = {"PCOUNT", *(f"TFORM{column.number}" for column in self.layout.columns)}
        for keyword in edited.difference(map(keyword_of, self.cards)):
            raise HeaderError(source.name, keyword=keyword, expected='a card with "=" in column 9, which can be edited')
        self.is_last = found.end >= source.nbytes
        self._source = source.part(found.data_offset, found.end)
        self._reader = TileReader(self._source, found.header, scaled=False, cache_bytes=0, threads=threads, engine=engine)
        self._encoding = {"threads": threads, "engine": engine}
        self.rows = bytes(self._source.read(0, self.layout.table_nbytes))
        self.table = TileTable.from_bytes(self.layout, self.rows, available=self._source.nbytes)

    def encoded(self, index, values, scaled: bool, quantize_level: float | None) -> _NewTiles:
        """The tiles that an assignment changes, with the new pixels in them."""
        selection = select(self._reader.grid, index)
        values = unmasked(values)
        params = self.params if scaled else replace(self.params, bscale=1, bzero=0)
        values = np.broadcast_to(to_stored(values, params).reshape(values.shape), selection.shape)
        if not values.size:
            return _no_tiles()
        level = _stated_level(self.cards) if quantize_level is None else quantize_level
        params, pieces, rows, sums = self._with_scale_of(selection), [], [], [0, 0]
        for where, row in zip(selection, selection.rows.tolist()):
            box = self._reader.grid.box(where.tile)
            old = self._reader.read(box)
            pixels = old.copy()
            pixels[where.tile_box] = values[where.out_box]
            if not differing(pixels, old).any():
                continue
            rows.append(row)
            encoded = encode_box(pixels, params, where.tile, quantize_level=level, **self._encoding)
            pieces += [self._as_column_allows(piece, pixels) for piece in encoded]
            first = [part.start for part in box]
            sums = [total + sum_of_pixels(part, first, params.image_shape) for total, part in zip(sums, (old, pixels))]
        if not rows:
            return _no_tiles()
        arrays = (np.concatenate([getattr(piece, name) for piece in pieces])
                  for name in ("column", "nbytes", "zscale", "zzero", "has_null"))
        return _NewTiles(np.array(rows), *arrays, b"".join(piece.heap for piece in pieces), tuple(sums))

    def _as_column_allows(self, tile: EncodedTiles, pixels: np.ndarray) -> EncodedTiles:
        """A tile that could not be quantized, kept raw where the table does so: cfitsio reads only one of the two columns."""
        has = self.layout.fields
        if tile.column[0] != COLUMN_NAMES.index(GZIP_COMPRESSED_DATA) or GZIP_COMPRESSED_DATA in has or UNCOMPRESSED_DATA not in has:
            return tile
        raw = pixels.astype(pixels.dtype.newbyteorder(">")).tobytes()
        column = np.array([COLUMN_NAMES.index(UNCOMPRESSED_DATA)], np.uint8)
        return replace(tile, column=column, nbytes=np.array([len(raw)]), heap=memoryview(raw))

    def _with_scale_of(self, selection: Selection) -> CompressionParams:
        """The parameters, with the scale that stands in the streams of an HCOMPRESS_1 image: headers mean different things."""
        if self.params.zcmptype != "HCOMPRESS_1":
            return self.params
        for row in selection.rows:
            if self.table.column[row] == 1 and self.table.nbytes[row] >= 14:
                start = int(self.table.offset[row])
                (scale,) = struct.unpack(">i", self._source.read(start + 10, start + 14))
                return replace(self.params, hcomp_scale=-float(scale) if scale > 1 else 0.0)
        return replace(self.params, hcomp_scale=0.0)

    def can_append(self, new: _NewTiles) -> bool:
        """Whether the file as it is can take the tiles: the HDU is the last, and has the columns and keywords they need."""
        names = {COLUMN_NAMES[number] for number in np.unique(new.column).tolist()}
        heap_end = self.layout.heap_nbytes + len(new.heap)
        narrow = any(self.layout.fields[name].descriptor == "P" for name in names & self.layout.fields.keys())
        padded = self.found.end <= self._source.offset + self._source.nbytes
        return (
            self.is_last and padded and names <= self.layout.fields.keys() and (self.params.zblank is not None or not new.has_null.any())
            and not (narrow and heap_end > _LARGEST_P)
        )

    def edited(self, new: _NewTiles, start: int, layout: TableLayout) -> TileTable:
        """The table with new tiles whose bytes follow one another from `start` of the data unit on."""
        table = self.table
        values = {"column": new.column, "offset": start + np.cumsum(new.nbytes) - new.nbytes, "nbytes": new.nbytes, "fault": 0}
        values |= {name: getattr(new, name) for name in ("zscale", "zzero") if getattr(table, name) is not None}
        changed = {name: getattr(table, name).copy() for name in values}
        for name, value in values.items():
            changed[name][new.row] = value
        return replace(table, layout=layout, **changed)


def _no_tiles() -> _NewTiles:
    none = np.zeros(0, np.int64)
    return _NewTiles(none, none.astype(np.uint8), none, np.zeros(0), np.zeros(0), np.zeros(0, bool), b"")


def _stated_level(cards: list[str]) -> float:
    """The quantization level that the header states, in NOISEBIT or in HISTORY."""
    values = {keyword_of(card): parse_value(card[10:]) for card in cards}
    for keyword, value in values.items():
        if keyword.startswith("ZNAME") and value == "NOISEBIT":
            return float(values.get(keyword.replace("ZNAME", "ZVAL"), 16))
    for card in cards:
        match = re.match(r"HISTORY\s+q = (\S+) / quantized level", card)
        if match:
            return float(match[1])
    return 4.0


def _append(path: str, image: _Image, new: _NewTiles) -> None:
    """Append tiles to the heap of the last HDU, then name them by their descriptors."""
    found, layout = image.found, image.layout
    heap_start = found.data_offset + layout.theap + layout.heap_nbytes
    heap_stop = heap_start + len(new.heap)
    table = image.edited(new, heap_start - found.data_offset, layout)
    old_rows = np.frombuffer(image.rows, np.uint8).reshape(layout.naxis2, layout.naxis1)[new.row]
    rows = table.take(new.row).to_bytes(old_rows.tobytes())
    values = {"PCOUNT": _with_value(image.cards, "PCOUNT", layout.pcount + len(new.heap))} | _longest_counts(image, table)
    with open(path, "r+b") as file, _undone_on_failure(file, found.header_offset, heap_start, found.data_offset + layout.table_nbytes):
        gone = os.pread(file.fileno(), heap_stop - heap_start, heap_start)      # padding, which nothing says is zeros
        sums = _sum_at(gone, heap_start), _sum_at(new.heap, heap_start)
        for row, old, fresh in zip(new.row.tolist(), old_rows, _parts(rows, layout.naxis1)):
            at = found.data_offset + row * layout.naxis1
            sums = sums[0] + _sum_at(old, at), sums[1] + _sum_at(fresh, at)
        cards = _with_sums([values.get(keyword_of(card), card) for card in image.cards], image, new, sums)
        _write_at(file, heap_start, new.heap + bytes(-(heap_stop - found.data_offset) % BLOCK_SIZE))
        _sync(file)
        _write_at(file, found.header_offset, join_cards(cards))
        _sync(file)
        for row, run in _runs(new.row, rows, layout.naxis1):
            _write_at(file, found.data_offset + row * layout.naxis1, run)
        _sync(file)


@contextmanager
def _undone_on_failure(file: BinaryIO, header_offset: int, heap_stop: int, rows_stop: int) -> Iterator[None]:
    """Put header and rows back as they were, and cut off what was appended, if anything goes wrong."""
    size = os.fstat(file.fileno()).st_size
    start = os.pread(file.fileno(), rows_stop - header_offset, header_offset)
    tail = os.pread(file.fileno(), size - heap_stop, heap_stop)
    try:
        yield
    except BaseException:
        _write_at(file, header_offset, start)
        _write_at(file, heap_stop, tail)
        os.ftruncate(file.fileno(), size)
        _sync(file)
        raise


def _parts(data: bytes, nbytes: int) -> Iterator[bytes]:
    """The pieces of some bytes, each as long."""
    return (data[at:at + nbytes] for at in range(0, len(data), nbytes))


def _runs(numbers: np.ndarray, rows: bytes, naxis1: int) -> Iterator[tuple[int, bytes]]:
    """Rows that follow one another, of `MAX_ROWS_NBYTES` at most: the number of the first, and their bytes."""
    start = 0
    for stop in range(1, len(numbers) + 1):
        ends = stop == len(numbers) or numbers[stop] != numbers[stop - 1] + 1 or (stop - start + 1) * naxis1 > MAX_ROWS_NBYTES
        if ends:
            yield int(numbers[start]), rows[start * naxis1:stop * naxis1]
            start = stop


def _sum_at(data, offset: int) -> int:
    """What bytes at an offset of the file contribute to the sum of a data unit; HDUs begin on a word."""
    return add_words(bytes(offset % 4) + bytes(data))


def _with_sums(cards: list[str], image: _Image, new: _NewTiles, sums: tuple[int, int] | None) -> list[str]:
    """The cards with right sums of the image, and with those of the table where it is known what left and what came."""
    before = image_data_sum(image.cards)
    if before is not None:
        cards = renew_image_checksums(cards, exchange(before, *new.pixel_sums) if len(new.row) else before)
    before = stated_data_sum(image.cards)
    return cards if sums is None or before is None else renew_checksums(cards, exchange(before, *sums))


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _write_at(file: BinaryIO, offset: int, data: bytes) -> None:
    file.flush()
    while data:
        n = os.pwrite(file.fileno(), data, offset)
        data, offset = data[n:], offset + n


def _with_value(cards: list[str], keyword: str, value) -> str:
    """A card with another value and its old comment."""
    old = next(card for card in cards if keyword_of(card) == keyword)
    return format_card(keyword, value, old.partition("/")[2].strip())


def _longest_counts(image: _Image, table: TileTable) -> dict[str, str]:
    """TFORM cards whose longest count is no longer true."""
    changed = {}
    for number, name in enumerate(COLUMN_NAMES):
        column = image.layout.fields.get(name) if name else None
        if column is None or "(" not in column.form:
            continue
        longest = int((table.nbytes[table.column == number] // column.width).max(initial=0))
        form = re.sub(r"\(.*\)", f"({longest})", column.form)
        if form != column.form:
            changed[f"TFORM{column.number}"] = _with_value(image.cards, f"TFORM{column.number}", form)
    return changed


def _rebuild(path: str, image: _Image, new: _NewTiles) -> None:
    """Write the file anew with the tiles of the image in row order, and put it in place of the old one."""
    found = image.found
    table = image.edited(new, image.layout.data_nbytes, image.layout)
    with open(path, "rb") as old, replacing(path, overwrite=True) as file:
        rows = np.frombuffer(bytearray(image.rows), np.uint8).reshape(image.layout.naxis2, image.layout.naxis1)
        others = _move_other_columns(old, image, rows, int(table.nbytes.sum()))
        layout = _layout_for(image, new, len(others))
        offset = layout.theap + np.cumsum(table.nbytes) - table.nbytes
        placed = replace(table, layout=layout, offset=offset)
        data = chain(
            [placed.to_bytes(np.pad(rows, ((0, 0), (0, layout.naxis1 - image.layout.naxis1))).tobytes())],
            _streams(old, image, table, new), [others, bytes(-layout.data_nbytes % BLOCK_SIZE)],
        )
        cards = _with_sums(_cards_for(image, layout, placed, new), image, new, None)
        copy_range(old, 0, found.header_offset, file)
        file.write(join_cards(cards))
        sums = DataSum()
        for piece in data:
            file.write(piece)
            sums.add(piece)
        end = file.tell()
        file.seek(found.header_offset)
        file.write(join_cards(renew_checksums(cards, sums.total)))
        file.seek(end)
        size = os.fstat(old.fileno()).st_size
        copy_range(old, min(found.end, size), size, file)


def _move_other_columns(old: BinaryIO, image: _Image, rows: np.ndarray, start: int) -> bytes:
    """Heap bytes of the columns that hold no tiles; their descriptors in `rows` name the new places, from `start` on."""
    layout, heap, kept = image.layout, image.found.data_offset + image.layout.theap, bytearray()
    for column in layout.columns:
        if not column.descriptor or column.name in layout.fields or not column.nbytes:
            continue
        places = rows[:, column.offset:column.offset + column.nbytes].copy().view(np.dtype(column.field_dtype).base).reshape(len(rows), 2)
        for row, (count, offset) in enumerate(places.tolist()):
            nbytes = -(-count // 8) if column.code == "X" else count * column.width
            if min(count, offset) < 0 or offset + nbytes > layout.heap_nbytes:
                raise HeaderError(f"row {row}: column {column.name} has {nbytes} bytes at {offset} of a heap of {layout.heap_nbytes}")
            places[row] = count, start + len(kept) if count else 0
            kept += os.pread(old.fileno(), nbytes, heap + offset)
        rows[:, column.offset:column.offset + column.nbytes] = np.ascontiguousarray(places).view(np.uint8).reshape(len(rows), -1)
    return bytes(kept)


def _streams(old: BinaryIO, image: _Image, table: TileTable, new: _NewTiles) -> Iterator[bytes]:
    """The streams of all tiles in row order, those of new ones from memory."""
    fresh = image.layout.data_nbytes  # where `edited` let the new tiles begin
    for start, nbytes in zip(table.offset.tolist(), table.nbytes.tolist()):
        if start >= fresh:
            yield new.heap[start - fresh:start - fresh + nbytes]
        else:
            yield os.pread(old.fileno(), nbytes, image.found.data_offset + start)


def _layout_for(image: _Image, new: _NewTiles, n_others: int) -> TableLayout:
    """The layout without gaps, with a column more if a tile fell back and there is none for it."""
    columns = list(image.layout.columns)
    naxis1 = image.layout.naxis1
    descriptor = next(column.descriptor for column in columns if column.descriptor)
    if (new.column == COLUMN_NAMES.index(GZIP_COMPRESSED_DATA)).any() and GZIP_COMPRESSED_DATA not in image.layout.fields:
        columns.append(describe_column(GZIP_COMPRESSED_DATA, f"1{descriptor}B", len(columns) + 1, naxis1))
        naxis1 += columns[-1].nbytes
    nbytes = image.table.nbytes.copy()
    nbytes[new.row] = new.nbytes
    return TableLayout(naxis1, image.layout.naxis2, int(nbytes.sum()) + n_others, naxis1 * image.layout.naxis2, tuple(columns))


def _cards_for(image: _Image, layout: TableLayout, table: TileTable, new: _NewTiles) -> list[str]:
    """The header of the rebuilt table, with the old sums."""
    values = {"NAXIS1": layout.naxis1, "PCOUNT": layout.pcount, "TFIELDS": len(layout.columns)}
    longest = _longest_counts(image, table)
    cards = []
    for card in image.cards:
        keyword = keyword_of(card)
        if keyword == "THEAP":
            continue
        cards.append(longest[keyword] if keyword in longest
                     else _with_value(image.cards, keyword, values[keyword]) if keyword in values else card)
    if len(layout.columns) > len(image.layout.columns):
        added = layout.columns[-1]
        at = max(n for n, card in enumerate(cards) if keyword_of(card).startswith("TFORM")) + 1
        cards[at:at] = [format_card(f"TTYPE{added.number}", added.name), format_card(f"TFORM{added.number}", added.form)]
    if new.has_null.any() and image.params.zblank is None:
        cards.append(format_card("ZBLANK", -2147483647, "null value in the compressed integer array"))
    return cards
