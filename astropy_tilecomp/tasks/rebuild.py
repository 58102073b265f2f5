"""The file of an edited image, written again beside the old one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import BinaryIO

import numpy as np

from ..errors import HeaderError
from ..keywords import GZIP_COMPRESSED_DATA
from ..tiling.cards import BLOCK_SIZE, format_card, join_cards, keyword_of
from ..tiling.checksum import DataSum, add_words, exchange, renew_checksums, stated_data_sum
from ..tiling.columns import COLUMN_NAMES, describe_column
from ..tiling.image_sums import image_data_sum, renew_image_checksums
from ..tiling.layout import TableLayout
from ..tiling.table import TileTable
from ..write.atomic import copy_range, replacing
from .edited_image import EditedImage, NewTiles

__all__ = ["longest_counts", "rebuild", "sum_at", "with_sums", "with_value"]


def sum_at(data, offset: int) -> int:
    """What bytes at an offset of the file contribute to the sum of a data unit; HDUs begin on a word."""
    return add_words(bytes(offset % 4) + bytes(data))


def with_sums(cards: list[str], image: EditedImage, new: NewTiles, sums: tuple[int, int] | None) -> list[str]:
    """The cards with right sums of the image, and with those of the table where it is known what left and what came."""
    before = image_data_sum(image.cards)
    if before is not None:
        cards = renew_image_checksums(cards, exchange(before, *new.pixel_sums) if len(new.row) else before)
    before = stated_data_sum(image.cards)
    return cards if sums is None or before is None else renew_checksums(cards, exchange(before, *sums))


def with_value(cards: list[str], keyword: str, value) -> str:
    """A card with another value and its old comment."""
    old = next(card for card in cards if keyword_of(card) == keyword)
    return format_card(keyword, value, old.partition("/")[2].strip())


def longest_counts(image: EditedImage, table: TileTable) -> dict[str, str]:
    """TFORM cards whose longest count is no longer true."""
    changed = {}
    for number, name in enumerate(COLUMN_NAMES):
        column = image.layout.fields.get(name) if name else None
        if column is None or "(" not in column.form:
            continue
        longest = int((table.nbytes[table.column == number] // column.width).max(initial=0))
        form = re.sub(r"\(.*\)", f"({longest})", column.form)
        if form != column.form:
            changed[f"TFORM{column.number}"] = with_value(image.cards, f"TFORM{column.number}", form)
    return changed


def rebuild(path: str, image: EditedImage, new: NewTiles) -> None:
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
        cards = with_sums(_cards_for(image, layout, placed, new), image, new, None)
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


def _move_other_columns(old: BinaryIO, image: EditedImage, rows: np.ndarray, start: int) -> bytes:
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


def _streams(old: BinaryIO, image: EditedImage, table: TileTable, new: NewTiles) -> Iterator[bytes]:
    """The streams of all tiles in row order, those of new ones from memory."""
    fresh = image.layout.data_nbytes  # where `edited` let the new tiles begin
    for start, nbytes in zip(table.offset.tolist(), table.nbytes.tolist()):
        if start >= fresh:
            yield new.heap[start - fresh:start - fresh + nbytes]
        else:
            yield os.pread(old.fileno(), nbytes, image.found.data_offset + start)


def _layout_for(image: EditedImage, new: NewTiles, n_others: int) -> TableLayout:
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


def _cards_for(image: EditedImage, layout: TableLayout, table: TileTable, new: NewTiles) -> list[str]:
    """The header of the rebuilt table, with the old sums."""
    values = {"NAXIS1": layout.naxis1, "PCOUNT": layout.pcount, "TFIELDS": len(layout.columns)}
    longest = longest_counts(image, table)
    cards = []
    for card in image.cards:
        keyword = keyword_of(card)
        if keyword == "THEAP":
            continue
        cards.append(longest[keyword] if keyword in longest
                     else with_value(image.cards, keyword, values[keyword]) if keyword in values else card)
    if len(layout.columns) > len(image.layout.columns):
        added = layout.columns[-1]
        at = max(n for n, card in enumerate(cards) if keyword_of(card).startswith("TFORM")) + 1
        cards[at:at] = [format_card(f"TTYPE{added.number}", added.name), format_card(f"TFORM{added.number}", added.form)]
    if new.has_null.any() and image.params.zblank is None:
        cards.append(format_card("ZBLANK", -2147483647, "null value in the compressed integer array"))
    return cards
