"""A compressed image with blank tiles in place of damaged ones, its other tiles as they were."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import chain
from typing import BinaryIO

import numpy as np

from ..decode.report import DamagedTile
from ..decode.settings import fill_item
from ..encode import EncodedTiles, encode_box
from ..hdus import FoundHDU
from ..keywords import COMPRESSED_DATA, DATA_COLUMNS, GZIP_COMPRESSED_DATA
from ..sources.base import ByteSource
from ..tiling.cards import BLOCK_SIZE, format_card, join_cards, keyword_of
from ..tiling.checksum import DataSum, renew_checksums
from ..tiling.columns import COLUMN_NAMES, describe_column
from ..tiling.header_cards import split_cards
from ..tiling.image_sums import image_data_sum, renew_image_checksums
from ..tiling.layout import TableLayout
from ..tiling.params import CompressionParams
from ..tiling.table import TileTable
from ..write.raw_tiles import as_columns_allow
from .image_sum import sum_of_last_image

__all__ = ["PIECE_NBYTES", "write_repaired", "write_zeros"]

PIECE_NBYTES = 16 << 20


@dataclass(frozen=True)
class _Blanks:
    """New tiles for the bad ones: their rows, the number of the column they go to, their sizes, and their bytes."""

    row: np.ndarray
    column: int
    nbytes: np.ndarray
    heap: bytes


def write_zeros(file: BinaryIO, nbytes: int) -> None:
    """Write as many zeros, a piece at a time."""
    for at in range(0, nbytes, PIECE_NBYTES):
        file.write(bytes(min(PIECE_NBYTES, nbytes - at)))


def write_repaired(source, found: FoundHDU, file: BinaryIO, params: CompressionParams, table: TileTable, lost: list[DamagedTile],
                    fill_value: int, threads: int | None) -> None:
    """Write a compressed image: its table with new entries for lost tiles, the old heap, and the new tiles behind it."""
    old = table.layout
    heap_stop = min(found.data_offset + old.data_nbytes, source.nbytes)
    heap_start = min(found.data_offset + old.theap, heap_stop)
    blanks = _encode_blanks(params, lost, fill_value, threads, old.fields)
    layout = _new_layout(old, blanks, heap_stop - heap_start)
    table = _with_blanks(table, layout, blanks, heap_stop - heap_start)
    rows = _padded_rows(source, found, old, layout)
    data = chain(
        [table.to_bytes(rows)],
        (source.read(at, min(at + PIECE_NBYTES, heap_stop)) for at in range(heap_start, heap_stop, PIECE_NBYTES)),
        [blanks.heap],
    )
    cards = _new_cards(split_cards(source.read(found.header_offset, found.data_offset)), layout)
    start = file.tell()
    file.write(join_cards(cards))
    sums = DataSum()
    for piece in data:
        file.write(piece)
        sums.add(piece)
    write_zeros(file, -(layout.data_nbytes) % BLOCK_SIZE)
    if lost and image_data_sum(cards) is not None:
        cards = renew_image_checksums(cards, sum_of_last_image(file, threads))
    file.seek(start)
    file.write(join_cards(renew_checksums(cards, sums.total)))
    file.seek(0, os.SEEK_END)


def _encode_blanks(params: CompressionParams, lost: list[DamagedTile], fill_value: int, threads: int | None,
                   columns: Collection[str]) -> _Blanks:
    """
    A tile of nothing for each that was lost: NaN, BLANK, or `fill_value`.

    NaNs of a quantized image are kept as they are, gzipped or raw: what its integers say of undefined pixels stays as it was.
    """
    grid, dtype = params.grid, params.offset_dtype or params.dtype
    how = _lossless(params) if params.quantized else replace(params, hcomp_scale=0.0)
    fill = fill_item(params, dtype, fill_value)[0]
    pieces: list[EncodedTiles] = []
    name = GZIP_COMPRESSED_DATA if params.quantized else COMPRESSED_DATA
    for bad in lost:
        for piece in encode_box(np.full(grid.shape_of(bad.tile), fill), how, bad.tile, threads=threads):
            piece = replace(piece, column=np.full(len(piece), COLUMN_NAMES.index(name), np.uint8))
            pieces.append(as_columns_allow(piece, columns))
    column = int(pieces[0].column[0]) if pieces else COLUMN_NAMES.index(name)
    nbytes = np.array([piece.nbytes[0] for piece in pieces], np.int64)
    rows = np.array([bad.row for bad in lost], np.int64)
    return _Blanks(rows, column, nbytes, b"".join(piece.heap for piece in pieces))


def _lossless(params: CompressionParams) -> CompressionParams:
    """Parameters of floats that are gzipped as they are, as GZIP_COMPRESSED_DATA has them."""
    return replace(params, zcmptype="GZIP_1", quantized=False, zquantiz=None, zdither0=None, zscale=None, zzero=None, zblank=None)


def _new_layout(old: TableLayout, blanks: _Blanks, heap_nbytes: int) -> TableLayout:
    """The layout without a gap before the heap, with columns more if new tiles need them."""
    columns, naxis1 = list(old.columns), old.naxis1
    descriptor = next(column.descriptor for column in columns if column.descriptor)
    name = DATA_COLUMNS[blanks.column - 1]
    if len(blanks.row) and name not in old.fields:
        columns.append(describe_column(name, f"1{descriptor}B", len(columns) + 1, naxis1))
        naxis1 += columns[-1].nbytes
    return TableLayout(naxis1, old.naxis2, heap_nbytes + len(blanks.heap), naxis1 * old.naxis2, tuple(columns))


def _with_blanks(table: TileTable, layout: TableLayout, blanks: _Blanks, heap_nbytes: int) -> TileTable:
    """The table in its new layout, with the new tiles in place of the lost ones."""
    moved = layout.theap - table.layout.theap
    start = layout.theap + heap_nbytes + np.cumsum(blanks.nbytes) - blanks.nbytes
    new: dict[str, object] = {"column": blanks.column, "offset": start, "nbytes": blanks.nbytes, "fault": 0}
    new |= {name: 0 for name in ("zscale", "zzero") if getattr(table, name) is not None}
    if table.mask_nbytes is not None:
        new["mask_nbytes"] = 0
    changed = {name: getattr(table, name).copy() for name in new}
    changed["offset"] += moved
    for name, values in new.items():
        changed[name][blanks.row] = values
    if table.mask_offset is not None:
        changed["mask_offset"] = table.mask_offset + moved
    return replace(table, layout=layout, **changed)


def _padded_rows(source: ByteSource, found: FoundHDU, old: TableLayout, layout: TableLayout) -> bytes:
    """The rows as they stand in the file, as wide as the new layout wants them."""
    stop = min(found.data_offset + old.table_nbytes, source.nbytes)
    present = bytes(source.read(found.data_offset, stop)).ljust(old.table_nbytes, b"\0")
    rows = np.frombuffer(present, np.uint8).reshape(old.naxis2, old.naxis1)
    return np.pad(rows, ((0, 0), (0, layout.naxis1 - old.naxis1))).tobytes()


def _new_cards(cards: list[str], layout: TableLayout) -> list[str]:
    """The header of the repaired table, with the old sums."""
    values = {"NAXIS1": layout.naxis1, "PCOUNT": layout.pcount, "TFIELDS": len(layout.columns)}
    kept = []
    for card in cards:
        keyword = keyword_of(card)
        if keyword in values:
            card = format_card(keyword, values[keyword], card.partition("/")[2].strip())
        if keyword != "THEAP":
            kept.append(card)
    n_old = sum(keyword_of(card).startswith("TFORM") for card in cards)
    for column in layout.columns[n_old:]:
        at = max(n for n, card in enumerate(kept) if keyword_of(card).startswith("TFORM")) + 1
        kept[at:at] = [format_card(f"TTYPE{column.number}", column.name), format_card(f"TFORM{column.number}", column.form)]
    return kept
