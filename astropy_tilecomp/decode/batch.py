"""ReadPlan and the bytes it asks for -> pixels in an array: whole batches of tiles, without the GIL, in threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from .. import threads as pool
from ..codecs import _kernels
from ..codecs import engine as engines
from ..codecs.gzip_fault import exact_status
from ..errors import CorruptTileError, TruncatedTileError, UnsupportedError
from ..keywords import COMPRESSED_DATA, GZIP_COMPRESSED_DATA, MASK_COLUMNS
from ..tiling.columns import COLUMN_NAMES
from ..tiling.descriptors import Fault
from .report import DamagedTile, DecodeReport
from .runs import Runs
from .settings import image_settings, is_int64, mask_settings

__all__ = ["decode", "decode_tiles"]

MAX_WIDTH = 8
"""Bytes of a pixel at most."""

TIMES_AS_FAST = {"RICE_1": 18, "PLIO_1": 60, "HCOMPRESS_1": 2, "NOCOMPRESS": 60}
"""How many pixels are decoded in the time that gzip takes for one; a job that is done in a millisecond is left to one thread."""


def decode(plan, source, out: np.ndarray, *, threads: int | None = None, engine: str | None = None,
           on_error: str = "raise", scaled: bool = True, fill_value=0, max_nbytes: int | None = None) -> DecodeReport:
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
    image = image_settings(plan.params, out.dtype, engine, scaled, fill_value)
    batch = _Batch(plan, image, selection.axes, out, selection.out_axes)
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
    image = image_settings(plan.params, dtype, engine, scaled, 0)
    model = np.empty(tile_shape, dtype)                         # never touched: all tiles are laid out like it
    batch = _Batch(plan, image, axes, model, range(len(tile_shape)), tiles=memory, whole=True)
    n_threads = _thread_count(threads, plan.params, prod(tile_shape) * len(jobs))
    report = batch.decode(source, n_threads, on_error, max_nbytes)
    bad = {tile.row for tile in report.damaged}
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
    axes, out, out_axes, tiles, whole
        Of `_kernels.TileBatch`.
    """

    def __init__(self, plan, image: dict, axes: Sequence, out: np.ndarray, out_axes: Sequence, *,
                 tiles: Sequence | None = None, whole: bool = False):
        if len(axes) > _kernels.MAX_AXES:
            raise UnsupportedError(f"an image of {len(axes)} axes: tiles of more than {_kernels.MAX_AXES} are not decoded")
        self.plan, self.image, self.out = plan, image, out
        self._place = (axes, out, out_axes)
        self._how: dict[str, Any] = {"tiles": tiles, "whole": whole}
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
        tiles = Runs(batch, plan.tiles, plan.table.nbytes, source)
        tiles.run(threads, self.image["algorithm"] == _kernels.ALGORITHM_CODES["RICE_1"])
        if on_error == "fill" and len(plan.faulty) and self._how["tiles"] is None:  # tiles by themselves: there is none to fill
            tiles.fill(plan.faulty)
        n_requests, nbytes = tiles.n_requests, tiles.nbytes
        trailing = self._trailing()
        most = 1 if on_error == "raise" else None               # a million errors are not made for the first of them
        bad = self._damaged_tiles(source, tiles.n_bad + len(plan.faulty), plan.table.offset, plan.table.nbytes, None, most)
        if plan.masks is not None and len(plan.masks.jobs):
            masks = self._apply_masks(source, threads)
            n_requests, nbytes = n_requests + masks.n_requests, nbytes + masks.nbytes
            bad += self._damaged_tiles(source, masks.n_bad, plan.table.mask_offset, plan.table.mask_nbytes, "NULL_PIXEL_MASK",
                                     most)
        if bad and on_error == "raise":
            raise bad[0].error
        return DecodeReport(len(plan.tiles.jobs), nbytes, n_requests, bad, trailing)

    def _tile_batch(self, image: dict, *, nbytes=None, column=None):
        """The native side of it."""
        table, params = self.plan.table, self.plan.params
        scalars: dict[str, Any] = {}
        if params.quantized:
            for name in ("zscale", "zzero"):
                found = getattr(table, name)
                scalars[name] = np.full(len(table), getattr(params, name)) if found is None else found
        if table.zblank is not None:
            scalars["zblank"] = table.zblank
        elif is_int64(params.zblank):
            scalars["zblank"] = np.full(len(table), params.zblank, np.int64)
        axes, out, out_axes = self._place
        return _kernels.TileBatch(
            image, axes, out, out_axes, table.row, table.nbytes if nbytes is None else nbytes,
            table.column if column is None else column, self.status, self.done, self.used, **scalars, **self._how,
        )

    def _apply_masks(self, source, threads: int) -> Runs:
        """Make the pixels undefined that the null masks name, once the tiles are in place."""
        plan = self.plan
        if self.out.dtype.kind != "f" and plan.params.blank is None:
            raise UnsupportedError("NULL_PIXEL_MASK makes integers undefined, and the header has no BLANK for them")
        image = self.image | mask_settings(plan.params, self.out.dtype)
        was_bad = self._damaged_jobs()
        column = np.full(len(plan.table), COLUMN_NAMES.index("COMPRESSED_DATA"), np.uint8)
        column[was_bad] = 0
        self.status[was_bad] = 0                                # they have been told of
        masks = Runs(self._tile_batch(image, nbytes=plan.table.mask_nbytes, column=column), plan.masks,
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

    def _damaged_jobs(self) -> np.ndarray:
        good = (_kernels.STATUS["OK"], _kernels.STATUS["TRAILING"])
        return np.flatnonzero((self.status != good[0]) & (self.status != good[1]))

    def _damaged_tiles(self, source, n_bad: int, offset, nbytes, column: str | None, most: int | None) -> list:
        """What is known of each bad job, in row order; of the first `most` of them."""
        if not n_bad:
            return []
        jobs = self._damaged_jobs()[:most].tolist()
        return [self._damaged_tile(job, source, int(offset[job]), int(nbytes[job]), column) for job in jobs]

    def _damaged_tile(self, job: int, source, offset: int, nbytes: int, column: str | None) -> DamagedTile:
        plan = self.plan
        row = int(plan.table.row[job])
        grid = plan.selection.grid
        tile = grid.tile(row)
        start = source.offset + offset
        facts = {"tile": tile, "row": row, "algorithm": plan.params.zcmptype}
        fault = plan.table.fault[job]
        error: Exception
        if fault != Fault.NONE:
            kind = TruncatedTileError if fault == Fault.OUTSIDE_FILE else CorruptTileError
            error = kind(plan.table.reason(job), **facts)
        else:
            status, n_pixels, column = int(self.status[job]), prod(grid.shape_of(tile)), column or COLUMN_NAMES[plan.table.column[job]]
            if self._is_gzip(column):
                status = exact_status(status, bytes(source.read(offset, offset + nbytes)), MAX_WIDTH * n_pixels)
            error = engines.to_error(
                status, done=int(self.done[job]), used=int(self.used[job]), n_pixels=n_pixels, column=column,
                byte_range=(start, start + nbytes), **facts,
            )
        return DamagedTile(tile, row, grid.box(tile), error)

    def _is_gzip(self, column: str | None) -> bool:
        """Whether the tiles of a column are gzip members."""
        algorithm = {COMPRESSED_DATA: self.plan.params.zcmptype, MASK_COLUMNS[0]: self.plan.params.zmaskcmp}.get(column or "", "")
        return column == GZIP_COMPRESSED_DATA or algorithm in ("GZIP_1", "GZIP_2")


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
