"""
Tiles of an image on disk replaced by new ones, the others left alone, the file valid at every moment.

Where it can be done, new tiles are appended to the heap and then named by their descriptors; otherwise the file is
written again beside the old one and takes its place by a rename.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from ..hdus import find_image
from ..sources.local import FileSource
from ..tiling.cards import BLOCK_SIZE, join_cards, keyword_of
from ..write.in_place import parts, runs_of_rows, sync, undone_on_failure, write_at
from .edited_image import EditedImage, NewTiles, no_tiles
from .rebuild import longest_counts, rebuild, sum_at, with_sums, with_value

__all__ = ["EditReport", "repack", "replace_pixels"]


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


def replace_pixels(path, index, values, *, hdu=None, scaled: bool = True, rounded: bool = False,
                   quantize_level: float | None = None, threads: int | None = None, engine: str | None = None) -> EditReport:
    """
    Replace pixels of a compressed image in a file; only the tiles that hold them are encoded again.

    Parameters
    ----------
    path : str or path-like
        The file.
    index : numpy index
        As of a section: integers, slices and Ellipsis, or one integer array or boolean mask in place of an axis.
    values : array_like
        The new pixels, scaled by BSCALE and BZERO as a section returns them; they broadcast against it.
    hdu : int, str or (str, int), optional
        By default the first compressed image.
    scaled : bool
        Whether `values` are scaled; False for stored pixels.
    rounded : bool
        Whether the nearest values that the image can hold will do, such as integers for floats.
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
        If the image would give other values back (see `rounded`), or values are masked, or do not broadcast.
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
        image = EditedImage(source, found, threads, engine)
        new = image.encoded(index, values, scaled=scaled, rounded=rounded, quantize_level=quantize_level)
        in_place = not len(new.row) or image.can_append(new)
    if len(new.row):
        (_append if in_place else rebuild)(path, image, new)
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
        image = EditedImage(source, find_image(source, hdu), None, None)
    rebuild(path, image, no_tiles())
    return before - os.path.getsize(path)


def _append(path: str, image: EditedImage, new: NewTiles) -> None:
    """Append tiles to the heap of the last HDU, then name them by their descriptors."""
    found, layout = image.found, image.layout
    heap_start = found.data_offset + layout.theap + layout.heap_nbytes
    heap_stop = heap_start + len(new.heap)
    table = image.edited(new, heap_start - found.data_offset, layout)
    old_rows = np.frombuffer(image.rows, np.uint8).reshape(layout.naxis2, layout.naxis1)[new.row]
    rows = table.take(new.row).to_bytes(old_rows.tobytes())
    values = {"PCOUNT": with_value(image.cards, "PCOUNT", layout.pcount + len(new.heap))} | longest_counts(image, table)
    with open(path, "r+b") as file, undone_on_failure(file, found.header_offset, heap_start, found.data_offset + layout.table_nbytes):
        gone = os.pread(file.fileno(), heap_stop - heap_start, heap_start)      # padding, which nothing says is zeros
        sums = sum_at(gone, heap_start), sum_at(new.heap, heap_start)
        for row, old, fresh in zip(new.row.tolist(), old_rows, parts(rows, layout.naxis1)):
            at = found.data_offset + row * layout.naxis1
            sums = sums[0] + sum_at(old, at), sums[1] + sum_at(fresh, at)
        cards = with_sums([values.get(keyword_of(card), card) for card in image.cards], image, new, sums)
        write_at(file, heap_start, new.heap + bytes(-(heap_stop - found.data_offset) % BLOCK_SIZE))
        sync(file)
        write_at(file, found.header_offset, join_cards(cards))
        sync(file)
        for row, run in runs_of_rows(new.row, rows, layout.naxis1):
            write_at(file, found.data_offset + row * layout.naxis1, run)
        sync(file)
