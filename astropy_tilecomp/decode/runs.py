"""Runs of tiles, read and decoded by several threads."""

from __future__ import annotations

import threading
from contextlib import closing
from itertools import pairwise

import numpy as np

from .. import threads as pool

__all__ = ["Runs"]

RUN_NBYTES = 1 << 20
"""Bytes of tiles that a thread reads from a local source and decodes at a time; a tile may be longer."""

RUNS_PER_THREAD = 2
"""Runs that a thread takes at least, so that all are done at about the same time."""

SIDE_BY_SIDE = 32
"""RICE_1 tiles that are decoded at once; runs are cut at multiples of it."""


class Runs:
    """
    Runs of jobs, read and decoded by several threads.

    Parameters
    ----------
    batch : _kernels.TileBatch
    tiles : TileRanges
        Where the bytes of the jobs are.
    nbytes : (n,) ndarray of int64
        Bytes of each job of the batch.
    source : ByteSource
    """

    def __init__(self, batch, tiles, nbytes: np.ndarray, source):
        self._batch, self._tiles, self._source = batch, tiles, source
        self._stop = tiles.position + nbytes[tiles.jobs]        # end of each job in its range
        self._lock = threading.Lock()
        self.n_bad = self.n_requests = self.nbytes = 0

    def run(self, threads: int, side_by_side: bool) -> None:
        """Read and decode all jobs."""
        if not self._source.is_local:
            with closing(self._source.iter_ranges(self._tiles.pairs())) as arriving:
                pool.run(self._decode_range, arriving, max(1, min(threads, len(self._tiles))))
            return
        pool.run(self._decode_run, self._runs(threads, side_by_side), threads)

    def fill(self, jobs: np.ndarray) -> None:
        """Fill the boxes of jobs that have no bytes."""
        self._batch.decode(jobs, np.zeros(len(jobs), np.int64), b"")

    def _runs(self, threads: int, side_by_side: bool) -> list[tuple[int, int]]:
        """Cut the jobs, in the order of their bytes, into runs: first job and the one after the last."""
        tiles, n_jobs = self._tiles, len(self._tiles.jobs)
        if not n_jobs:
            return []
        share = -(-n_jobs // threads)
        unit = min(SIDE_BY_SIDE, share) if side_by_side else 1
        n_units = -(-n_jobs // unit)
        n_runs = max(-(-tiles.nbytes // RUN_NBYTES), RUNS_PER_THREAD * threads if threads > 1 else 1)
        n_runs = min(-(-n_runs // threads) * threads, n_units)
        edges = [min(run * n_units // n_runs * unit, n_jobs) for run in range(n_runs + 1)]
        return list(pairwise(edges))

    def _decode_run(self, run: tuple[int, int]) -> None:
        """Read the bytes of a run of jobs and decode them."""
        pieces, position = self._pieces(*run)
        self._decode(*run, position, self._read(pieces))

    def _decode_range(self, arrived: tuple[int, memoryview]) -> None:
        """Decode the jobs of a range whose bytes are there."""
        number, data = arrived
        start, stop = self._tiles.first[number:number + 2].tolist()
        self._note_read(1, len(data))
        self._decode(start, stop, self._tiles.position[start:stop], data)

    def _decode(self, start: int, stop: int, position: np.ndarray, data) -> None:
        n_bad = self._batch.decode(self._tiles.jobs[start:stop], position, data)
        if n_bad:
            with self._lock:
                self.n_bad += n_bad

    def _note_read(self, n_requests: int, nbytes: int) -> None:
        with self._lock:
            self.n_requests += n_requests
            self.nbytes += nbytes

    def _pieces(self, start: int, stop: int) -> tuple[list, np.ndarray]:
        """Byte ranges that a run needs, and the place of each of its jobs in them when they are put end to end."""
        tiles = self._tiles
        number = int(np.searchsorted(tiles.first, start, side="right")) - 1
        pieces, positions, total = [], [], 0
        while start < stop:
            after = min(stop, int(tiles.first[number + 1]))
            first = int(tiles.position[start])
            last = int(self._stop[start:after].max())
            origin = int(tiles.ranges[number, 0])
            pieces.append((origin + first, origin + last))
            positions.append(tiles.position[start:after] + (total - first))
            total += last - first
            start, number = after, number + 1
        return pieces, positions[0] if len(positions) == 1 else np.concatenate(positions)

    def _read(self, pieces: list) -> memoryview:
        """The bytes of some ranges of a local source, end to end."""
        total = sum(stop - start for start, stop in pieces)
        buffer = _window(total)
        at = 0
        for start, stop in pieces:
            self._source.readinto((start, stop), buffer[at:at + stop - start])
            at += stop - start
        self._note_read(len(pieces), total)
        return buffer


_reusable = threading.local()


def _window(nbytes: int) -> memoryview:
    """Memory for the bytes of a run: one piece for each thread, used again, unless an odd tile needs more."""
    if nbytes > 2 * RUN_NBYTES:
        return np.empty(nbytes, np.uint8).data
    window = getattr(_reusable, "window", None)
    if window is None or len(window) < nbytes:
        window = _reusable.window = None                        # the old one goes before the new one comes
        window = _reusable.window = np.empty(max(nbytes, RUN_NBYTES // 4), np.uint8).data
    return window[:nbytes]
