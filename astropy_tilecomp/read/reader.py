"""The whole reading path: header, table rows, plan, bytes, tiles, array."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import errors
from ..decode.batch import decode, decode_tiles
from ..decode.report import DamagedTile, DecodeReport
from ..decode.settings import fill_item
from ..threads import ForkSafeLock
from ..tiling.layout import TableLayout
from ..tiling.params import CompressionParams
from ..tiling.selection import Selection, select
from ..tiling.table import TileTable
from ..tiling.tile_plan import plan
from . import large_arrays
from .cache import DEFAULT_CACHE_BYTES, TileCache
from .limits import checked_on_error, checked_out, max_nbytes_allowed
from .table_rows import TableRows

__all__ = ["ReadStats", "TileReader", "reader_for"]


class ReadStats(NamedTuple):
    """
    What a reader did so far.

    Attributes
    ----------
    n_requests, nbytes : int
        Reads of its source, and the bytes that they gave.
    n_tiles, n_hits : int
        Tiles decoded, and tiles taken from the cache instead.
    """

    n_requests: int = 0
    nbytes: int = 0
    n_tiles: int = 0
    n_hits: int = 0


class TileReader:
    """
    Lazy reader of one compressed image; many threads may use it at once.

    Parameters
    ----------
    source : ByteSource
        The data unit of the HDU (main table and heap).
    header : mapping
        Keyword to value, of the header of the compressed table.
    threads : int, optional
        Threads to use at most; by default all that the pool has. 1 starts none.
    engine : {"kernel", "cfitsio"}, optional
        By default ASTROPY_TILECOMP_ENGINE, else "kernel".
    on_error : {"raise", "fill"}
        What to do about tiles that cannot be decoded.
    cache_bytes : int
        Size of the cache of decoded tiles; 0 turns it off.
    max_nbytes : int, optional
        Largest array, and largest scratch, to allocate; by default ASTROPY_TILECOMP_MAX_NBYTES, else half the memory.
    scaled : bool
        Apply BSCALE, BZERO and BLANK; False gives the stored pixels.
    unsigned : bool
        Return integers that BZERO only shifts as such; False gives floats.
    fill_value : scalar
        For the bad tiles of integer images without BLANK.
    ignore_blank : bool
        Leave integers that are equal to BLANK as they are; by default such images become floats with NaN.

    Attributes
    ----------
    params : CompressionParams
        What the header says.
    layout : TableLayout
        Where the table is in the data unit.
    grid : TileGrid
        The tiling.

    Raises
    ------
    HeaderError, UnsupportedError
        For what the header says.
    """

    def __init__(self, source, header: Mapping, *, threads: int | None = None, engine: str | None = None,
                 on_error: str = "raise", cache_bytes: int = DEFAULT_CACHE_BYTES, max_nbytes: int | None = None,
                 scaled: bool = True, unsigned: bool = True, fill_value=0, ignore_blank: bool = False):
        params = CompressionParams.from_header(header)
        params = params if unsigned else replace(params, unsigned=False)
        self.params = replace(params, blank=None) if ignore_blank else params
        self.layout = TableLayout.from_header(header)
        self.grid = self.params.grid
        self.on_error = checked_on_error(on_error)
        self._source = source
        self._options: dict[str, Any] = {"threads": threads, "engine": engine, "max_nbytes": max_nbytes_allowed(max_nbytes)}
        self._scaled, self._fill_value, self._cache_bytes = scaled, fill_value, cache_bytes
        self._start_anew()

    def _start_anew(self) -> None:
        self._rows = TableRows(self.layout, self._source)
        self._cache = TileCache(self._cache_bytes)
        self._lock = ForkSafeLock()
        self._counts, self._warned = [0, 0, 0, 0], False
        self._damaged: dict[int, DamagedTile] = {}

    def __getstate__(self):
        left_out = ("_rows", "_cache", "_lock", "_counts", "_damaged", "_warned")
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._start_anew()

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the image."""
        return self.params.image_shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def chunks(self) -> tuple[int, ...]:
        """Shape of a tile."""
        return self.params.tile_shape

    @property
    def dtype(self) -> np.dtype:
        """Type of the stored pixels; where BZERO only shifts integers to another type, that type."""
        return (self._scaled and self.params.offset_dtype) or self.params.dtype

    @property
    def result_dtype(self) -> np.dtype:
        """Type of the pixels that `read` gives."""
        return self.params.result_dtype if self._scaled else self.params.dtype

    @property
    def stats(self) -> ReadStats:
        """What was read and decoded so far."""
        return ReadStats(*self._counts)

    @property
    def damaged_tiles(self) -> list[DamagedTile]:
        """Tiles that were filled so far because they cannot be decoded, in row order."""
        with self._lock:
            return [self._damaged[row] for row in sorted(self._damaged)]

    def drop_cache(self) -> None:
        """Forget decoded tiles and table rows: the bytes of the source have changed."""
        self._rows, self._cache = TableRows(self.layout, self._source), TileCache(self._cache_bytes)

    def read(self, index=..., *, out: np.ndarray | None = None, threads: int | None = None,
             on_error: str | None = None) -> np.ndarray:
        """
        Read part of the image.

        Parameters
        ----------
        index : int, slice, Ellipsis, 1-D array of integers or booleans, a tuple of them, or a `Selection`
            As numpy takes it; one array at most.
        out : ndarray or buffer, optional
            Array to fill, of the shape and type of the result, in any strides and byte order.
        threads, on_error : optional
            Instead of what the reader was made with.

        Returns
        -------
        ndarray or numpy scalar
            `out`, or a new array of `result_dtype`; it shares no memory with the cache.

        Raises
        ------
        IndexError
            For what numpy refuses.
        CorruptTileError, TruncatedTileError
            For a tile that cannot be decoded, unless `on_error` is "fill".
        UnsupportedError
            If the result or the scratch takes more than `max_nbytes`.
        ValueError, TypeError
            If `out` has another shape, or is read-only; if it has another type, or is neither an array nor a buffer.
        """
        on_error = self.on_error if on_error is None else checked_on_error(on_error)
        options = self._options | {"on_error": on_error, "scaled": self._scaled}
        if threads is not None:
            options["threads"] = threads
        self._rows.check_present(self._options["max_nbytes"])
        selection = index if isinstance(index, Selection) else select(self.grid, index)
        result = self._new_result(selection) if out is None else checked_out(out, selection.shape, self.result_dtype)
        if result.size:
            table = self._table_of(selection)
            if self._is_worth_caching(selection):
                self._read_through_cache(selection, table, result, options)
            else:
                self._read_past_cache(selection, table, result, options)
        return result[()] if out is None and not result.ndim else result if out is None else out

    def _new_result(self, selection: Selection) -> np.ndarray:
        nbytes = prod(selection.shape) * self.result_dtype.itemsize
        if nbytes > self._options["max_nbytes"]:
            raise errors.UnsupportedError(
                f"a result of shape {selection.shape} and type {self.result_dtype} takes {nbytes} bytes, max_nbytes is"
                f" {self._options['max_nbytes']}"
            )
        return large_arrays.empty(selection.shape, self.result_dtype)

    def _table_of(self, selection: Selection) -> TileTable:
        """The table entries of the touched tiles."""
        table, n_requests, nbytes = self._rows.entries(selection.rows)
        self._count(ReadStats(n_requests, nbytes))
        return table

    def _plan(self, selection: Selection, table: TileTable, jobs=None):
        return plan(self.params, selection, table, jobs=jobs, gap=self._source.gap, max_range=self._source.max_range)

    def _read_past_cache(self, selection: Selection, table: TileTable, result: np.ndarray, options: dict) -> None:
        """Decode straight into the result, each tile as far as it is needed."""
        report = decode(self._plan(selection, table), self._source, result, fill_value=self._fill_value, **options)
        self._take_note(report)

    def _read_through_cache(self, selection: Selection, table: TileTable, result: np.ndarray, options: dict) -> None:
        """Take tiles from the cache, decode the others wholly and keep them."""
        rows = selection.rows.tolist()
        found = self._cache.get_many(rows)
        missing = np.array([job for job, row in enumerate(rows) if row not in found], np.int64)
        self._count(ReadStats(n_hits=len(found)))
        if len(missing):
            tiles, report = decode_tiles(self._plan(selection, table, missing), self._source, dtype=self.result_dtype, **options)
            self._take_note(report)
            fresh = {rows[job]: pixels for job, pixels in tiles}
            self._cache.put_many(fresh)
            found |= fresh
        for row, tile in zip(rows, selection):
            result[tile.out_box] = found[row][tile.tile_box] if row in found else self._fill_of(result)

    def _fill_of(self, result: np.ndarray):
        return fill_item(self.params, result.dtype, self._fill_value)[0]

    def _is_worth_caching(self, selection: Selection) -> bool:
        """
        Whether the tiles of a selection go through the cache.

        They do if all of them fit in, and some pixels of them are not selected: a tile that was handed out wholly is not
        asked for again.
        """
        fits = selection.n_tiles * self.params.tile_pixels * self.result_dtype.itemsize <= self._cache_bytes
        return fits and prod(int(axis.size.sum()) for axis in selection.axes) > prod(selection.shape)

    def _count(self, more: ReadStats) -> None:
        """Add to the statistics."""
        with self._lock:
            self._counts = [sum(pair) for pair in zip(self._counts, more)]

    def _take_note(self, report: DecodeReport) -> None:
        """Add up what was done, remember bad tiles, and warn of bytes left over, once."""
        self._count(ReadStats(report.n_requests, report.nbytes, report.n_tiles))
        if not (report.damaged or report.trailing):
            return
        with self._lock:
            self._damaged.update((tile.row, tile) for tile in report.damaged)
            warn = report.trailing and not self._warned
            self._warned |= bool(report.trailing)
        if warn:
            row, used, nbytes = report.trailing[0]
            warnings.warn(
                f"{self._source.name}: {len(report.trailing)} tiles have unused bytes, the first in row {row}: it is complete"
                f" after {used} of {nbytes} bytes; check these pixels",
                errors.TileCompWarning, stacklevel=4,
            )


def reader_for(found, source, **options) -> TileReader:
    """
    Read an image that was found in a file.

    Parameters
    ----------
    found : FoundHDU
        The HDU.
    source : ByteSource
        The whole file.
    **options
        As of `TileReader`.

    Raises
    ------
    HeaderError
        If the header breaks the format; the message names file and HDU.
    """
    with errors.header_errors_at(source.name, found.number):
        return TileReader(source.part(found.data_offset, found.end), found.header, **options)
