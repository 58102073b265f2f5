"""Parameters, selection and table to a plan: which bytes to fetch, and where in them each tile lies; no I/O."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .params import CompressionParams
from .selection import Selection
from .table import TileTable

__all__ = ["MAX_RANGE", "ReadPlan", "TileRanges", "coalesce", "plan"]

MAX_RANGE = 16 << 20
"""Bytes of a range at most, unless a single tile is longer."""

_SPARE = 5
"""Gaps that are read through take at most one byte for so many needed: a plan stays within 1.2 times its bytes."""


@dataclass(frozen=True, eq=False)
class TileRanges:
    """
    Byte ranges to fetch, and the place of each tile in them; every array is C-contiguous int64.

    Parameters
    ----------
    ranges : (m, 2) ndarray
        Start and stop of each range, counted from the start of the data unit, ascending.
    first : (m + 1,) ndarray
        The jobs ``jobs[first[i]:first[i + 1]]`` lie in range i.
    jobs : (k,) ndarray
        Job numbers, which are those of the tiles in `Selection` order, in the order of their bytes.
    position : (k,) ndarray
        Place of the first byte of each job in its range.
    needed_nbytes : int
        Bytes that belong to a tile; the ranges have at most 1.2 times as many.
    """

    ranges: np.ndarray
    first: np.ndarray
    jobs: np.ndarray
    position: np.ndarray
    needed_nbytes: int

    def __len__(self) -> int:
        return len(self.ranges)

    @property
    def nbytes(self) -> int:
        """Bytes to fetch."""
        return int((self.ranges[:, 1] - self.ranges[:, 0]).sum())

    def pairs(self) -> list[tuple[int, int]]:
        """Starts and stops as Python integers, what a byte source takes."""
        return [(start, stop) for start, stop in self.ranges.tolist()]


@dataclass(frozen=True, eq=False)
class ReadPlan:
    """
    All that is needed to read a selection once the ranges are fetched.

    Parameters
    ----------
    params : CompressionParams
        What is the same for every tile.
    selection : Selection
        The touched tiles; a job is one of them, numbered in their order.
    table : TileTable
        What the table says about each job.
    tiles : TileRanges
        Where the streams of the jobs are; jobs without usable bytes are not among them.
    masks : TileRanges or None
        Where the null masks are; None without such a column.
    faulty : (f,) ndarray of int64
        Jobs without usable bytes; ``table.reason(job)`` says why.
    """

    params: CompressionParams
    selection: Selection
    table: TileTable
    tiles: TileRanges
    masks: TileRanges | None
    faulty: np.ndarray

    @property
    def n_jobs(self) -> int:
        """Number of tiles to decode, with the faulty ones."""
        return len(self.tiles.jobs) + len(self.faulty)

    @property
    def nbytes(self) -> int:
        """Bytes to fetch."""
        return self.tiles.nbytes + (self.masks.nbytes if self.masks is not None else 0)


def plan(params: CompressionParams, selection: Selection, table: TileTable, *, jobs=None, gap: int = 0,
         max_range: int = MAX_RANGE) -> ReadPlan:
    """
    Plan the reading of a selection.

    Parameters
    ----------
    params : CompressionParams
        Parameters of the image.
    selection : Selection
        The tiles to read.
    table : TileTable
        The entries of ``selection.rows``, in that order.
    jobs : (k,) ndarray of int64, optional
        Numbers of the tiles to read, ascending; by default all of the selection.
    gap : int, optional
        A gap between tiles is read through if it is shorter than this, and the plan stays within 1.2 times its bytes.
    max_range : int, optional
        Bytes of a range at most, unless tiles that are longer or that overlap make it impossible.

    Returns
    -------
    ReadPlan
        Tile jobs and byte ranges.

    Raises
    ------
    ValueError
        If `table` does not have the rows of `selection`.
    """
    if table.row is not selection.rows and not np.array_equal(table.row, selection.rows):
        raise ValueError("the table entries are not those of the rows that the selection touches")
    if jobs is None and not table.fault.any():              # no entry is looked at twice
        readable, faulty = np.arange(len(table), dtype=np.int64), np.zeros(0, np.int64)
        offset, nbytes = table.offset, table.nbytes
    else:
        jobs = np.arange(len(table), dtype=np.int64) if jobs is None else np.asarray(jobs, np.int64)
        bad = table.fault[jobs] != 0
        readable, faulty = jobs[~bad], jobs[bad]
        offset, nbytes = table.offset[readable], table.nbytes[readable]
    tiles = coalesce(readable, offset, nbytes, gap=gap, max_range=max_range)
    masks = None
    if table.mask_offset is not None and table.mask_nbytes is not None:
        masked = readable[table.mask_nbytes[readable] > 0]
        masks = coalesce(masked, table.mask_offset[masked], table.mask_nbytes[masked], gap=gap, max_range=max_range)
    return ReadPlan(params, selection, table, tiles, masks, faulty)


def coalesce(jobs, offset, nbytes, *, gap: int = 0, max_range: int = MAX_RANGE) -> TileRanges:
    """
    Join the bytes of tiles into few ranges.

    Parameters
    ----------
    jobs, offset, nbytes : (k,) ndarray of int64
        Number of each tile, place and size of its bytes; they may stand in any order, overlap or be shared.
    gap, max_range : int, optional
        As for `plan`.

    Returns
    -------
    TileRanges
        The ranges, each tile wholly in one of them.
    """
    if not len(jobs):
        none = np.zeros(0, np.int64)
        return TileRanges(none.reshape(0, 2), np.zeros(1, np.int64), none, none, 0)
    jobs = np.asarray(jobs, np.int64)
    start, end = offset, offset + nbytes
    needed = int(end[-1] - start[0])
    if needed <= max_range and not (start[1:] != end[:-1]).any():   # end to end, as writers leave them
        ranges, first = np.array(((start[0], end[-1]),), np.int64), np.array((0, len(jobs)), np.int64)
        return TileRanges(ranges, first, jobs, start - start[0], needed)
    if (start[1:] < start[:-1]).any():
        order = np.argsort(start, kind="stable")
        jobs, start, end = jobs[order], start[order], end[order]
    reach = np.maximum.accumulate(end)
    hole = start[1:] - reach[:-1]
    parting = np.flatnonzero(hole > 0)
    needed = int(reach[-1] - start[0] - hole[parting].sum())
    if gap > 1 and len(parting):
        parting = parting[~_read_through(hole[parting], gap, needed // _SPARE)]
    first = np.zeros(len(parting) + 1, np.int64)
    first[1:] = parting + 1
    if reach[-1] - start[0] > max_range:
        first = _split_long(first, start, reach, hole, max_range)
    bounds = np.append(first, len(start))
    ranges = np.empty((len(first), 2), np.int64)
    ranges[:, 0], ranges[:, 1] = start[first], reach[bounds[1:] - 1]
    position = start - (ranges[0, 0] if len(ranges) == 1 else ranges[:, 0].repeat(bounds[1:] - bounds[:-1]))
    return TileRanges(ranges, bounds, jobs, position, needed)


def _read_through(hole: np.ndarray, gap: int, spare: int) -> np.ndarray:
    """Which holes are worth reading: those shorter than `gap`, of these the shortest that fit in `spare` bytes."""
    order = np.argsort(hole, kind="stable")
    fits = (hole[order] < gap) & (np.cumsum(hole[order]) <= spare)
    worth = np.empty(len(hole), bool)
    worth[order] = fits
    return worth


def _split_long(first: np.ndarray, start: np.ndarray, reach: np.ndarray, hole: np.ndarray, max_range: int) -> np.ndarray:
    """Cut ranges of more than `max_range` bytes where no tile overlaps the next."""
    last = np.append(first[1:], len(start)) - 1
    long = np.flatnonzero(reach[last] - start[first] > max_range)
    if not len(long):
        return first
    units = np.concatenate(([0], np.flatnonzero(hole >= 0) + 1))    # tiles, or runs of overlapping ones
    ends = reach[np.append(units[1:], len(start)) - 1]
    begin, after = np.searchsorted(units, first[long]), np.searchsorted(units, last[long], side="right")
    cuts = []
    for at, stop in zip(begin.tolist(), after.tolist()):
        while True:
            at = max(at + 1, int(np.searchsorted(ends, start[units[at]] + max_range, side="right")))
            if at >= stop:
                break
            cuts.append(units[at])
    return np.union1d(first, np.array(cuts, np.int64))
