"""An image in a file, with all that an edit needs to know of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from ..codecs.buffers import differing, unmasked
from ..codecs.final_pixels import to_stored, to_stored_exactly
from ..codecs.hcompress import stated_scale
from ..encode import encode_box
from ..errors import HeaderError, UnsupportedError
from ..hdus import FoundHDU, require_complete
from ..keywords import FPACK_QUANTIZE_LEVEL, MASK_COLUMNS
from ..read.reader import TileReader
from ..sources.local import FileSource
from ..tiling.cards import keyword_of, parse_value
from ..tiling.checksum import sum_of_pixels
from ..tiling.columns import COLUMN_NAMES
from ..tiling.header_cards import split_cards
from ..tiling.layout import TableLayout
from ..tiling.params import CompressionParams
from ..tiling.selection import Selection, select
from ..tiling.table import TileTable
from ..write.raw_tiles import as_columns_allow

__all__ = ["EditedImage", "NewTiles", "no_tiles"]

_LARGEST_P = 2**31 - 1


@dataclass(frozen=True)
class NewTiles:
    """Encoded tiles of some rows; arrays as in `EncodedTiles`."""

    row: np.ndarray
    column: np.ndarray
    nbytes: np.ndarray
    zscale: np.ndarray
    zzero: np.ndarray
    has_null: np.ndarray
    heap: bytes
    pixel_sums: tuple[int, int] = (0, 0)  # what the old pixels and the new ones contribute to the sum over the image


class EditedImage:
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

    def encoded(self, index, values, *, scaled: bool, rounded: bool, quantize_level: float | None) -> NewTiles:
        """The tiles that an assignment changes, with the new pixels in them."""
        selection = select(self._reader.grid, index)
        values = unmasked(values)
        params = self.params if scaled else replace(self.params, bscale=1, bzero=0, blank=None)
        stored = (to_stored if rounded else to_stored_exactly)(values, params)
        values = np.broadcast_to(stored.reshape(values.shape), selection.shape)
        if not values.size:
            return no_tiles()
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
            pieces += [as_columns_allow(piece, self.layout.fields) for piece in encoded]
            first = [part.start for part in box]
            sums = [total + sum_of_pixels(part, first, params.image_shape) for total, part in zip(sums, (old, pixels))]
        if not rows:
            return no_tiles()
        arrays = {name: np.concatenate([getattr(piece, name) for piece in pieces])
                  for name in ("column", "nbytes", "zscale", "zzero", "has_null")}
        return NewTiles(np.array(rows), **arrays, heap=b"".join(piece.heap for piece in pieces), pixel_sums=(sums[0], sums[1]))

    def _with_scale_of(self, selection: Selection) -> CompressionParams:
        """The parameters, with the scale that stands in the streams of an HCOMPRESS_1 image: headers mean different things."""
        if self.params.zcmptype != "HCOMPRESS_1":
            return self.params
        for row in selection.rows:
            if self.table.column[row] == 1 and self.table.nbytes[row] >= 14:
                return replace(self.params, hcomp_scale=0.0 - stated_scale(self._source.read, int(self.table.offset[row])))
        return replace(self.params, hcomp_scale=0.0)

    def can_append(self, new: NewTiles) -> bool:
        """Whether the file as it is can take the tiles: the HDU is the last, and has the columns and keywords they need."""
        names = {COLUMN_NAMES[number] for number in np.unique(new.column).tolist()}
        heap_end = self.layout.heap_nbytes + len(new.heap)
        narrow = any(self.layout.fields[name].descriptor == "P" for name in names & self.layout.fields.keys())
        padded = self.found.end <= self._source.offset + self._source.nbytes
        return (
            self.is_last and padded and names <= self.layout.fields.keys() and (self.params.zblank is not None or not new.has_null.any())
            and not (narrow and heap_end > _LARGEST_P)
        )

    def edited(self, new: NewTiles, start: int, layout: TableLayout) -> TileTable:
        """The table with new tiles whose bytes follow one another from `start` of the data unit on."""
        table = self.table
        values = {"column": new.column, "offset": start + np.cumsum(new.nbytes) - new.nbytes, "nbytes": new.nbytes, "fault": 0}
        values |= {name: getattr(new, name) for name in ("zscale", "zzero") if getattr(table, name) is not None}
        changed = {name: getattr(table, name).copy() for name in values}
        for name, value in values.items():
            changed[name][new.row] = value
        return replace(table, layout=layout, **changed)


def no_tiles() -> NewTiles:
    """New tiles of an edit that changes nothing."""
    none = np.zeros(0, np.int64)
    return NewTiles(none, none.astype(np.uint8), none, np.zeros(0), np.zeros(0), np.zeros(0, bool), b"")


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
    return FPACK_QUANTIZE_LEVEL
