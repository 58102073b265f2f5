"""ReadPlan and the bytes it asks for -> pixels in an array: whole batches of tiles, without the GIL, in threads."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import prod

import numpy as np

from . import threads as pool
from .codecs import _kernels
from .codecs import engine as engines
from .errors import CorruptTileError, TruncatedTileError, UnsupportedError
from .tiling.table import COLUMN_NAMES, Fault

__all__ = ["BadTile", "DecodeReport", "decode", "decode_tiles", "fill_item"]

RUN_NBYTES = 1 << 20
"""Bytes of tiles that a thread reads from a local source and decodes at a time; a tile may be longer."""

RUNS_PER_THREAD = 2
"""Runs that a thread takes at least, so that all are done at about the same time."""

SIDE_BY_SIDE = 32
"""RICE_1 tiles that are decoded at once; runs are cut at multiples of it."""

TIMES_AS_FAST = {"RICE_1": 18, "PLIO_1": 60, "HCOMPRESS_1": 2, "NOCOMPRESS": 60}
"""How many pixels are decoded in the time that gzip takes for one; a job that is done in a millisecond is left to one thread."""


@dataclass(frozen=True)
class BadTile:
    """
    A tile that could not be decoded.

    Attributes
    ----------
    tile : tuple of int
        Grid coordinates, C order.
    row : int
        Table row, counted from 0.
    box : tuple of slice
        Pixels of the image that it covers.
    error : Exception
        What `on_error="raise"` would have raised: its `reason`, `column`, `algorithm` and `byte_range` tell more.
    """

    tile: tuple[int, ...]
    row: int
    box: tuple[slice, ...]
    error: Exception


@dataclass(frozen=True)
class DecodeReport:
    """
    What one call did.

    Attributes
    ----------
    n_tiles, nbytes, n_requests : int
        Tiles decoded, bytes read and reads that took.
    bad : list of BadTile
        In row order.
    trailing : list of (int, int, int)
        Table row, bytes used and bytes given of each tile with bytes left over, in row order.
    """

    n_tiles: int
    nbytes: int
    n_requests: int
    bad: list
    trailing: list


def decode(plan, source, out: np.ndarray, *, threads: int | None = None, engine: str | None = None,
           on_error: str = "raise", scaled: bool = True, fill_value=0, max_nbytes: int | None = None,
           touched: bool = False) -> DecodeReport:
    """
    Decode the tiles of a plan into an array.

    Parameters
    ----------
    plan : ReadPlan
        Parameters, selection, table and byte ranges.
    source : ByteSource
        The data unit of the HDU.
    out : ndarray
        Array of the selection's shape and of the type that the image has with or without scaling, in any strides and
        byte order.
    threads : int, optional
        Threads to use at most; 1 starts none.
    engine : {"kernel", "cfitsio"}, optional
        By default ASTROPY_TILECOMP_ENGINE, else "kernel".
    on_error : {"raise", "fill"}
        What to do about bad tiles.
    scaled : bool
        Apply BSCALE, BZERO and BLANK.
    fill_value : scalar
        For bad tiles of integers without BLANK; BLANK and NaN come first.
    max_nbytes : int, optional
        Largest scratch to allocate.
    touched : bool
        Whether the memory of `out` has been written to, unlike that of ``numpy.empty``; the fastest way to fill it differs.

    Returns
    -------
    DecodeReport
        What was read, and which tiles are bad.

    Raises
    ------
    CorruptTileError, TruncatedTileError
        For the bad tile of the lowest row, unless `on_error` is "fill".
    UnsupportedError
        For lawful tiles that are not handled, or that need more scratch than `max_nbytes`.
    """
    selection = plan.selection
    image = _image_settings(plan.params, out.dtype, engine, scaled, fill_value)
    batch = _Batch(plan, image, selection.axes, out, selection.out_axes, touched=touched)
    n_pixels = prod(int(axis.size.sum()) for axis in selection.axes)
    return batch.decode(source, _thread_count(threads, plan.params, n_pixels), on_error, max_nbytes)


def decode_tiles(plan, source, *, threads: int | None = None, engine: str | None = None, on_error: str = "raise",
                 scaled: bool = True, max_nbytes: int | None = None, dtype: np.dtype) -> tuple[list, DecodeReport]:
    """
    Decode the tiles of a plan wholly, each into an array of its own.

    Parameters
    ----------
    plan, source, threads, engine, on_error, scaled, max_nbytes
        As of `decode`.
    dtype : numpy.dtype
        Type of the pixels that the image has with or without scaling.

    Returns
    -------
    tiles : list of (int, ndarray)
        Job number and pixels of each good tile of the plan.
    report : DecodeReport
        What was read, and which tiles are bad.

    Raises
    ------
    CorruptTileError, TruncatedTileError, UnsupportedError
        As `decode`.
    """
    selection = plan.selection
    tile_shape = tuple(int(axis.size.max(initial=1)) for axis in selection.axes)    # all may be edge tiles
    jobs = plan.tiles.jobs.tolist()
    pixels = {job: np.empty(tile_shape, dtype) for job in jobs}
    memory = [None] * selection.n_tiles
    for job in jobs:
        memory[job] = pixels[job].reshape(-1).view(np.uint8)
    axes = tuple(_whole_tiles(axis) for axis in selection.axes)
    image = _image_settings(plan.params, dtype, engine, scaled, 0)
    model = np.empty(tile_shape, dtype)                         # never touched: all tiles are laid out like it
    batch = _Batch(plan, image, axes, model, range(len(tile_shape)), tiles=memory, whole=True)
    n_threads = _thread_count(threads, plan.params, prod(tile_shape) * len(jobs))
    report = batch.decode(source, n_threads, on_error, max_nbytes)
    bad = {tile.row for tile in report.bad}
    boxes = [[slice(0, size) for size in axis.size.tolist()] for axis in selection.axes]
    return [
        (job, pixels[job][box]) for job, box in enumerate(product(*boxes))
        if job in pixels and int(plan.table.row[job]) not in bad
    ], report


def _thread_count(threads: int | None, params, n_pixels: int) -> int:
    """Threads that are worth their start: a job counts as many pixels as gzip would do in its time."""
    return pool.thread_count(threads, n_pixels // TIMES_AS_FAST.get(params.zcmptype, 1))


def _whole_tiles(axis):
    """An axis of a selection with every pixel of the tiles that it touches, each tile placed at 0."""
    zeros = np.zeros(len(axis.size), np.int64)
    return replace(axis, start=zeros, count=axis.size, out=zeros, step=1, pixel=None, place=None)


class _Batch:
    """
    The tiles of a plan on their way into one array.

    Parameters
    ----------
    plan : ReadPlan
    image : dict
        What is the same for every tile, as `_kernels.TileBatch` takes it.
    axes, out, out_axes, tiles, whole, touched
        Of `_kernels.TileBatch`.
    """

    def __init__(self, plan, image: dict, axes: Sequence, out: np.ndarray, out_axes: Sequence, *,
                 tiles: Sequence | None = None, whole: bool = False, touched: bool = False):
        if len(axes) > _kernels.MAX_AXES:
            raise UnsupportedError(f"an image of {len(axes)} axes: tiles of more than {_kernels.MAX_AXES} are not decoded")
        self.plan, self.image, self.out = plan, image, out
        self._place = (axes, out, out_axes)
        self._how = {"tiles": tiles, "whole": whole, "touched": touched}
        n_jobs = len(plan.table)
        self.status = np.zeros(n_jobs, np.int32)
        self.done, self.used = np.empty((2, n_jobs), np.int64)  # set with the status

    def decode(self, source, threads: int, on_error: str, max_nbytes: int | None) -> DecodeReport:
        """Decode everything; see the function `decode`."""
        plan = self.plan
        self.image["fill_bad"] = on_error == "fill"
        self.status[plan.faulty] = _kernels.STATUS["MISSING"]
        batch = self._tile_batch(self.image)
        threads = _threads_that_fit(threads, batch.scratch_nbytes, max_nbytes)
        for ranges in (plan.tiles, plan.masks):
            _require_ranges_that_fit(ranges, max_nbytes)
        tiles = _Reading(batch, plan.tiles, plan.table.nbytes, source)
        tiles.run(threads, self.image["algorithm"] == _kernels.ALGORITHM_CODES["RICE_1"])
        if on_error == "fill" and len(plan.faulty) and self._how["tiles"] is None:  # tiles by themselves: there is none to fill
            tiles.fill(plan.faulty)
        n_requests, nbytes = tiles.n_requests, tiles.nbytes
        trailing = self._trailing()
        most = 1 if on_error == "raise" else None               # a million errors are not made for the first of them
        bad = self._bad_tiles(source, tiles.n_bad + len(plan.faulty), plan.table.offset, plan.table.nbytes, None, most)
        if plan.masks is not None and len(plan.masks.jobs):
            masks = self._apply_masks(source, threads)
            n_requests, nbytes = n_requests + masks.n_requests, nbytes + masks.nbytes
            bad += self._bad_tiles(source, masks.n_bad, plan.table.mask_offset, plan.table.mask_nbytes, "NULL_PIXEL_MASK",
                                     most)
        if bad and on_error == "raise":
            raise bad[0].error
        return DecodeReport(len(plan.tiles.jobs), nbytes, n_requests, bad, trailing)

    def _tile_batch(self, image: dict, *, nbytes=None, column=None):
        """The native side of it."""
        table, params = self.plan.table, self.plan.params
        scalars = {}
        if params.quantized:
            for name in ("zscale", "zzero"):
                found = getattr(table, name)
                scalars[name] = np.full(len(table), getattr(params, name)) if found is None else found
        if table.zblank is not None:
            scalars["zblank"] = table.zblank
        elif _is_int64(params.zblank):
            scalars["zblank"] = np.full(len(table), params.zblank, np.int64)
        return _kernels.TileBatch(
            image, *self._place, table.row, table.nbytes if nbytes is None else nbytes,
            table.column if column is None else column, self.status, self.done, self.used, **scalars, **self._how,
        )

    def _apply_masks(self, source, threads: int) -> _Reading:
        """Make the pixels undefined that the null masks name, once the tiles are in place."""
        plan = self.plan
        if self.out.dtype.kind != "f" and plan.params.blank is None:
            raise UnsupportedError("NULL_PIXEL_MASK makes integers undefined, and the header has no BLANK for them")
        image = self.image | _mask_settings(plan.params, self.out.dtype)
        was_bad = self._bad_jobs()
        column = np.full(len(plan.table), COLUMN_NAMES.index("COMPRESSED_DATA"), np.uint8)
        column[was_bad] = 0
        self.status[was_bad] = 0                                # they have been told of
        masks = _Reading(self._tile_batch(image, nbytes=plan.table.mask_nbytes, column=column), plan.masks,
                         plan.table.mask_nbytes, source)
        masks.run(threads, image["algorithm"] == _kernels.ALGORITHM_CODES["RICE_1"])
        return masks

    def _trailing(self) -> list[tuple[int, int, int]]:
        """Row, bytes used and bytes given of the tiles with bytes left over."""
        if not self.status.any():
            return []
        table = self.plan.table
        jobs = np.flatnonzero(self.status == _kernels.STATUS["TRAILING"])
        return list(zip(table.row[jobs].tolist(), self.used[jobs].tolist(), table.nbytes[jobs].tolist()))

    def _bad_jobs(self) -> np.ndarray:
        good = (_kernels.STATUS["OK"], _kernels.STATUS["TRAILING"])
        return np.flatnonzero((self.status != good[0]) & (self.status != good[1]))

    def _bad_tiles(self, source, n_bad: int, offset, nbytes, column: str | None, most: int | None) -> list:
        """What is known of each bad job, in row order; of the first `most` of them."""
        if not n_bad:
            return []
        jobs = self._bad_jobs()[:most].tolist()
        return [self._bad_tile(job, source, int(offset[job]), int(nbytes[job]), column) for job in jobs]

    def _bad_tile(self, job: int, source, offset: int, nbytes: int, column: str | None) -> BadTile:
        plan = self.plan
        row = int(plan.table.row[job])
        grid = plan.selection.grid
        tile = grid.tile(row)
        start = source.offset + offset
        facts = {"tile": tile, "row": row, "algorithm": plan.params.zcmptype}
        fault = plan.table.fault[job]
        if fault != Fault.NONE:
            kind = TruncatedTileError if fault == Fault.OUTSIDE_FILE else CorruptTileError
            error = kind(plan.table.reason(job), **facts)
        else:
            error = engines.error_of(
                int(self.status[job]), done=int(self.done[job]), used=int(self.used[job]), n_pixels=prod(grid.shape_of(tile)),
                column=column or COLUMN_NAMES[plan.table.column[job]], byte_range=(start, start + nbytes), **facts,
            )
        return BadTile(tile, row, grid.box(tile), error)


class _Reading:
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


def _threads_that_fit(threads: int, scratch_nbytes: int, max_nbytes: int | None) -> int:
    """As many threads as have scratch within `max_nbytes`, at most `threads`."""
    if max_nbytes is None or scratch_nbytes * threads <= max_nbytes:
        return threads
    if scratch_nbytes > max_nbytes:
        raise UnsupportedError(f"decoding a tile needs {scratch_nbytes} bytes of scratch, max_nbytes is {max_nbytes}")
    return max_nbytes // scratch_nbytes


def _require_ranges_that_fit(ranges, max_nbytes: int | None) -> None:
    """Refuse a stream that the file may have and memory has no place for: a file of a terabyte takes a few kilobytes of a disk."""
    longest = 0 if ranges is None else int((ranges.ranges[:, 1] - ranges.ranges[:, 0]).max(initial=0))
    if max_nbytes is not None and longest > max_nbytes:
        raise UnsupportedError(f"the stream of a tile takes {longest} bytes, max_nbytes is {max_nbytes}")


_reusable = threading.local()


def _window(nbytes: int) -> memoryview:
    """Memory for the bytes of a run: one piece for each thread, used again, unless an odd tile needs more."""
    if nbytes > 2 * RUN_NBYTES:
        return memoryview(np.empty(nbytes, np.uint8))
    window = getattr(_reusable, "window", None)
    if window is None or len(window) < nbytes:
        window = _reusable.window = None                        # the old one goes before the new one comes
        window = _reusable.window = memoryview(np.empty(max(nbytes, RUN_NBYTES // 4), np.uint8))
    return window[:nbytes]


def _image_settings(params, dtype: np.dtype, engine: str | None, scaled: bool, fill_value) -> dict:
    """What is the same for every tile of an image, as `_kernels.TileBatch` takes it."""
    native = dtype.newbyteorder("=")
    expected = params.result_dtype if scaled else params.dtype
    if native != expected:
        raise TypeError(f"the output has the type {dtype.str}, the image has {expected.str}")
    if not scaled or (params.zbitpix < 0 and not params.scaled):
        scaling = "none"
    elif params.offset_dtype is not None:
        scaling = "offset"
    else:
        scaling = "linear" if native.kind == "f" else "none"
    has_blank = params.zbitpix > 0 and _is_int64(params.blank)
    return {
        "algorithm": _kernels.ALGORITHM_CODES[params.zcmptype],
        "engine": _kernels.ENGINE_CODES[engines.choose(engine)],
        "bytepix": params.bytepix, "blocksize": params.blocksize, "smooth": params.smooth,
        "plio_offset": params.plio_offset, "quantized": params.quantized,
        "dither": params.dither_method, "zdither0": params.zdither0 or 1,
        "stored": _type_code(params.dtype), "result": _type_code(native), "swap": not dtype.isnative,
        "scaling": _kernels.SCALING_CODES[scaling], "bscale": float(params.bscale), "bzero": float(params.bzero),
        "has_blank": has_blank, "blank": params.blank if has_blank else 0, "is_mask": False, "fill_bad": False,
        "fill": fill_item(params, dtype, fill_value).view(np.uint8),
    }


def _is_int64(number: int | None) -> bool:
    """Whether a pixel can have this value."""
    return number is not None and -(2**63) <= number < 2**63


def _mask_settings(params, dtype: np.dtype) -> dict:
    """What differs when the tiles are null masks: bytes, compressed with ZMASKCMP, that say where to fill."""
    return {
        "algorithm": _kernels.ALGORITHM_CODES[params.zmaskcmp], "bytepix": 1, "blocksize": 32, "smooth": False,
        "plio_offset": False, "quantized": False, "stored": _type_code(np.dtype("u1")), "is_mask": True,
        "fill": fill_item(params, dtype, 0).view(np.uint8),
    }


def _type_code(dtype: np.dtype) -> int:
    return _kernels.TYPE_CODES[f"{dtype.kind}{dtype.itemsize}"]


def fill_item(params, dtype: np.dtype, fill_value) -> np.ndarray:
    """
    What bad tiles and masked pixels are filled with.

    Parameters
    ----------
    params : CompressionParams
        What the header says.
    dtype : numpy.dtype
        Type of the output.
    fill_value : scalar
        For integers without BLANK.

    Returns
    -------
    (1,) ndarray of dtype
        NaN; BLANK where the header has one; else `fill_value`.
    """
    value = fill_value
    if dtype.kind == "f":
        value = np.nan
    elif params.blank is not None:
        blank = params.blank + (int(params.bzero) if dtype.newbyteorder("=") == params.offset_dtype else 0)
        limits = np.iinfo(dtype)
        value = blank if limits.min <= blank <= limits.max else fill_value
    return np.array([value], dtype)
