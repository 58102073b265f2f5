"""
Tiles of an image on disk replaced by new ones, the others left alone, the file valid at every moment.

Where it can be done, new tiles are appended to the heap and then named by their descriptors; otherwise the file is built
anew beside the old one and takes its place by a rename.
"""

from __future__ import annotations

import os
import re
import struct
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np

from .atomic import copy_range, replacing
from .codecs.buffers import unmasked
from .codecs.finalize import to_stored
from .encode import encode_box
from .errors import HeaderError, UnsupportedError, cut_file_error
from .files import FoundHDU, find_image
from .keywords import GZIP_COMPRESSED_DATA, MASK_COLUMNS
from .read import TileReader
from .sources import FileSource
from .tiling.cards import BLOCK_SIZE, CARD_SIZE, format_card, join_cards, keyword_of, parse_value, split_cards
from .tiling.checksum import add_words, with_checksums
from .tiling.params import CompressionParams
from .tiling.selection import Selection, select
from .tiling.table import COLUMN_NAMES, TableLayout, TileTable, describe_column

__all__ = ["EditReport", "repack", "replace_pixels"]

_SUMS = ("CHECKSUM", "DATASUM")
_SUMS_OF_IMAGE = ("ZHECKSUM", "ZDATASUM")
_BLANK_CARD = " " * CARD_SIZE
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
    New tiles follow the old heap, whose bytes stay where they are: `repack` closes the gaps. They are synced before the
    descriptors that name them, checksums are taken out before and made anew afterwards, so a crash at any moment leaves a
    valid file. Where the HDU is not the last one, or needs a column or keyword that it does not have, the file is built
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
        if found.data_end > source.nbytes:
            raise cut_file_error(source.name, found.number, found.data_end, source.nbytes)
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
        params, pieces = self._with_scale_of(selection), []
        for where in selection:
            box = self._reader.grid.box(where.tile)
            pixels = self._reader.read(box)
            pixels[where.tile_box] = values[where.out_box]
            pieces += encode_box(pixels, params, where.tile, quantize_level=level, **self._encoding)
        arrays = (np.concatenate([getattr(piece, name) for piece in pieces])
                  for name in ("column", "nbytes", "zscale", "zzero", "has_null"))
        return _NewTiles(selection.rows, *arrays, b"".join(piece.heap for piece in pieces))

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
    heap_end = layout.theap + layout.heap_nbytes
    table = image.edited(new, heap_end, layout)
    old_rows = np.frombuffer(image.rows, np.uint8).reshape(layout.naxis2, layout.naxis1)[new.row]
    rows = table.take(new.row).to_bytes(old_rows.tobytes())
    with open(path, "r+b") as file:
        _overwrite_cards(file, found, image.cards, dict.fromkeys((*_SUMS, *_SUMS_OF_IMAGE), _BLANK_CARD))
        _sync(file)
        end = found.data_offset + heap_end + len(new.heap)
        _write_at(file, found.data_offset + heap_end, new.heap + bytes(-(end - found.data_offset) % BLOCK_SIZE))
        _sync(file)
        pcount = {"PCOUNT": _with_value(image.cards, "PCOUNT", layout.pcount + len(new.heap))}
        _overwrite_cards(file, found, image.cards, pcount | _longest_counts(image, table))
        _sync(file)
        for number, row in enumerate(new.row.tolist()):
            place = found.data_offset + row * layout.naxis1
            _write_at(file, place, rows[number * layout.naxis1:(number + 1) * layout.naxis1])
        _sync(file)
        if any(keyword_of(card) in _SUMS for card in image.cards):
            cards = _current_cards(file, found, image.cards)
            _overwrite_cards(file, found, image.cards, _sums(file, found, cards, end))
            _sync(file)


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _write_at(file: BinaryIO, offset: int, data: bytes) -> None:
    file.flush()
    while data:
        n = os.pwrite(file.fileno(), data, offset)
        data, offset = data[n:], offset + n


def _overwrite_cards(file: BinaryIO, found: FoundHDU, cards: list[str], new: dict[str, str]) -> None:
    """Write cards over those of the same keyword; the header keeps its length."""
    for number, card in enumerate(cards):
        keyword = keyword_of(card)
        if keyword in new:
            _write_at(file, found.header_offset + number * CARD_SIZE, new[keyword].encode("latin-1"))


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


def _current_cards(file: BinaryIO, found: FoundHDU, cards: list[str]) -> list[str]:
    """The cards as they stand in the file, with the old ones in place of the checksums that were taken out."""
    now = split_cards(os.pread(file.fileno(), found.data_offset - found.header_offset, found.header_offset))
    return [old if keyword_of(old) in _SUMS else new for old, new in zip(cards, now, strict=True)]


def _sums(file: BinaryIO, found: FoundHDU, cards: list[str], end: int) -> dict[str, str]:
    """Cards of right checksums, as far as the header has them."""
    total, at = 0, found.data_offset
    stop = found.data_offset - (-(end - found.data_offset) // BLOCK_SIZE) * BLOCK_SIZE
    while at < stop:
        piece = os.pread(file.fileno(), min(1 << 24, stop - at), at)
        total, at = add_words(piece, total), at + len(piece)
    new = with_checksums(cards, total)
    return {keyword_of(card): card for card in new[:len(cards)] if keyword_of(card) in _SUMS}


def _rebuild(path: str, image: _Image, new: _NewTiles) -> None:
    """Write the file anew with the tiles of the image in row order, and put it in place of the old one."""
    found = image.found
    layout = _layout_for(image, new)
    table = image.edited(new, image.layout.data_nbytes, image.layout)
    order = np.concatenate(([0], np.cumsum(table.nbytes)))
    placed = replace(table, layout=layout, offset=layout.theap + order[:-1])
    padding = layout.naxis1 - image.layout.naxis1
    base = np.frombuffer(image.rows, np.uint8).reshape(image.layout.naxis2, image.layout.naxis1)
    rows = placed.to_bytes(np.pad(base, ((0, 0), (0, padding))).tobytes())
    cards = _cards_for(image, layout, placed, new)
    with open(path, "rb") as old, replacing(path, overwrite=True) as file:
        copy_range(old, 0, found.header_offset, file)
        start = file.tell()
        file.write(join_cards(cards))
        data_start = file.tell()
        file.write(rows)
        _copy_tiles(old, image, table, new, file)
        end = file.tell()
        file.write(bytes(-(end - data_start) % BLOCK_SIZE))
        stop = file.tell()
        if any(keyword_of(card) in _SUMS for card in cards):
            file.flush()
            here = replace(found, header_offset=start, data_offset=data_start, data_end=end)
            sums = _sums(file, here, cards, end)
            _overwrite_cards(file, here, cards, sums)
            file.seek(stop)
        size = os.fstat(old.fileno()).st_size
        copy_range(old, min(found.end, size), size, file)


def _copy_tiles(old: BinaryIO, image: _Image, table: TileTable, new: _NewTiles, file: BinaryIO) -> None:
    """The streams of all tiles in row order, those of new ones from memory."""
    fresh = image.layout.data_nbytes  # where `edited` let the new tiles begin
    for start, nbytes in zip(table.offset.tolist(), table.nbytes.tolist()):
        if start >= fresh:
            file.write(new.heap[start - fresh:start - fresh + nbytes])
        else:
            file.write(os.pread(old.fileno(), nbytes, image.found.data_offset + start))


def _layout_for(image: _Image, new: _NewTiles) -> TableLayout:
    """The layout without gaps, with a column more if a tile fell back and there is none for it."""
    columns = list(image.layout.columns)
    naxis1 = image.layout.naxis1
    descriptor = next(column.descriptor for column in columns if column.descriptor)
    if (new.column == COLUMN_NAMES.index(GZIP_COMPRESSED_DATA)).any() and GZIP_COMPRESSED_DATA not in image.layout.fields:
        columns.append(describe_column(GZIP_COMPRESSED_DATA, f"1{descriptor}B", len(columns) + 1, naxis1))
        naxis1 += columns[-1].nbytes
    nbytes = image.table.nbytes.copy()
    nbytes[new.row] = new.nbytes
    return TableLayout(naxis1, image.layout.naxis2, int(nbytes.sum()), naxis1 * image.layout.naxis2, tuple(columns))


def _cards_for(image: _Image, layout: TableLayout, table: TileTable, new: _NewTiles) -> list[str]:
    """The header of the rebuilt table; checksums that cannot be right any more are left out."""
    values = {"NAXIS1": layout.naxis1, "PCOUNT": layout.pcount, "TFIELDS": len(layout.columns)}
    dropped = {"THEAP", *(_SUMS_OF_IMAGE if len(new.row) else ())}
    longest = _longest_counts(image, table)
    cards = []
    for card in image.cards:
        keyword = keyword_of(card)
        if keyword in dropped:
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
