"""Descriptors of variable-length columns: where in the heap the bytes of a row are, and what can be wrong with them."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from .. import keywords as kw
from .layout import TableLayout

__all__ = ["GOOD", "MISSING", "OUTSIDE_HEAP", "Fault", "descriptors", "faults_of", "look_up", "write_descriptors"]


class Fault(IntEnum):
    """Why the table gives no usable bytes for a tile."""

    NONE = 0
    MISSING = 1
    OUTSIDE_HEAP = 2
    OUTSIDE_FILE = 3


GOOD, MISSING, OUTSIDE_HEAP, _OUTSIDE_FILE = map(int, Fault)    # numpy compares plain integers several times as fast


def descriptors(field: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts and offsets of a field of descriptors, (n,) int64 each."""
    return field[:, 0].astype(np.int64), field[:, 1].astype(np.int64)


def write_descriptors(layout: TableLayout, record: np.ndarray, name: str, here: np.ndarray, offset, nbytes):
    """Fill a field of descriptors for the tiles that are in this column."""
    if name not in layout.fields:
        if here.any():
            raise ValueError(f"the table has no column {name}, which {np.count_nonzero(here)} tiles need")
        return
    column = layout.fields[name]
    count, start = nbytes // column.width, offset - layout.theap
    largest = 2**32 - 1 if column.descriptor == "P" else 2**63 - 1
    if here.any() and not (start[here].min() >= 0 and max(count[here].max(), start[here].max()) <= largest):
        raise ValueError(f"a {column.descriptor} descriptor of column {name} cannot hold its place in the heap")
    record[name][:, 0] = np.where(here, count, 0)
    record[name][:, 1] = np.where(here, start, 0)


def look_up(layout: TableLayout, record: np.ndarray) -> tuple:
    """Find the column of each tile, with count, offset and bytes of an element; the first column with a count wins."""
    present = [(number, name) for number, name in enumerate(kw.DATA_COLUMNS, 1) if name in layout.fields]
    number, name = present[0]
    count, offset = descriptors(record[name])
    width: int | np.ndarray = layout.fields[name].width
    column = (count != 0).astype(np.uint8)
    column *= number
    for number, name in present[1:]:
        found, start = descriptors(record[name])
        here = (column == 0) & (found != 0)
        if here.any():
            column[here], count[here], offset[here] = number, found[here], start[here]
            width = np.where(here, layout.fields[name].width, width)
    return column, count, offset, width


def faults_of(layout: TableLayout, count, offset, width, nbytes, available: int) -> np.ndarray:
    """Hold descriptors against the heap and the file; a negative number is a huge one without its sign."""
    heap = layout.heap_nbytes
    stop = offset + nbytes                                  # wraps round only where a number is outside by itself
    if _all_lie_within(count, offset, stop, min(heap, available - layout.theap)):
        return np.zeros(len(count), np.uint8)
    outside = (count.view(np.uint64) > np.asarray(heap // width, np.uint64)) | (offset.view(np.uint64) > np.uint64(heap))
    outside |= stop > heap
    fault = outside.astype(np.uint8)
    fault *= OUTSIDE_HEAP
    fault[(stop > available - layout.theap) & ~outside] = _OUTSIDE_FILE
    return fault


def _all_lie_within(count, offset, stop, limit: int) -> bool:
    """Whether every descriptor lies in the first `limit` bytes of the heap, told by the largest numbers; the usual case."""
    if not len(count) or not 0 <= limit < 2**56:            # there no sum wraps round
        return False
    most = max(int(count.view(np.uint64).max()), int(offset.view(np.uint64).max()))
    return most <= limit and int(stop.max()) <= limit
