"""The whole writing path: array, parameters, tiles, heap and table, header, file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

import numpy as np

from ..codecs.buffers import unmasked
from ..encode import EncodedTiles, encode, encode_box
from ..hdus import require_complete, walk
from ..keywords import DEFAULT_QUANTIZE_LEVEL
from ..sources.local import FileSource
from ..tiling.cards import join_cards
from ..tiling.grid import TileGrid
from ..tiling.to_image import null_primary
from .atomic import copy_range, replacing_fits
from .cards import image_cards
from .hdu_builder import TileSpool
from .params import params_for, resolve_seed

__all__ = ["TileWriter", "write_image"]


class TileWriter:
    """
    Write a compressed image piece by piece to a new file, or to the end of one.

    Parameters
    ----------
    path : str or path-like
        The file. It appears, or changes, only when the writer is closed without an error.
    shape : sequence of int
        Shape of the image, C order.
    dtype : dtype_like
        Type of the pixels.
    header : astropy Header, mapping or sequence of card images, optional
        Header of the image; a mapping is one of keywords to values.
    name : str, optional
        EXTNAME.
    append : bool
        Add the image to an existing file.
    overwrite : bool
        Whether an existing file may be replaced.
    checksum : bool
        Write CHECKSUM and DATASUM.
    quantize_level : float
        Floats: steps in one standard deviation of the noise; if negative, minus the step itself.
    dither_seed : int
        1 to 10000; 0 for any, negative for one that is made from the first tile that is written.
    threads : int, optional
        Threads to use at most.
    engine : {"kernel", "cfitsio"}, optional
        By default ASTROPY_TILECOMP_ENGINE, else "kernel".
    algorithm, tile_shape, lossless, quantize_method, hcomp_scale, hcomp_smooth, blank, zblank, style
        See `params_for`.

    Attributes
    ----------
    params : CompressionParams
        What the settings came to.

    Raises
    ------
    FileExistsError
        If the file exists, and is neither to be appended to nor replaced.
    HeaderError, TypeError
        For settings that do not fit, as `params_for`.

    Notes
    -----
    In memory are the tiles that are being encoded, the table, and up to 64 MiB of the heap; more of it waits in a temporary
    file in the folder of `path`. A crash at any moment leaves the old file, or the new one.

    Examples
    --------
    >>> import numpy as np
    >>> from astropy_tilecomp import TileWriter, read_section
    >>> with TileWriter("image.fits.fz", shape=(300, 200), dtype="int16", tile_shape=(100, 100)) as writer:
    ...     for start in range(0, 300, 50):
    ...         writer.write(np.full((50, 200), start, "int16"))
    >>> read_section("image.fits.fz", np.s_[::60, 0])
    array([  0,  50, 100, 150, 200], dtype=int16)
    """

    def __init__(self, path, shape: Sequence[int], dtype, header=None, *, name: str | None = None, append: bool = False,
                 overwrite: bool = False, checksum: bool = False, quantize_level: float = DEFAULT_QUANTIZE_LEVEL,
                 dither_seed: int = -1, threads: int | None = None, engine: str | None = None, algorithm: str | None = None,
                 tile_shape: Sequence[int] | None = None, lossless: bool = False,
                 quantize_method: int | str = "SUBTRACTIVE_DITHER_1", hcomp_scale: float = 0, hcomp_smooth: bool = False,
                 blank: int | None = None, zblank: int | None = None, style: str = "cfitsio"):
        self.params = params_for(
            shape, dtype, algorithm=algorithm, tile_shape=tile_shape, lossless=lossless, quantize_method=quantize_method,
            dither_seed=max(1, dither_seed), hcomp_scale=hcomp_scale, hcomp_smooth=hcomp_smooth, blank=blank, zblank=zblank,
            style=style,
        )
        self.dtype = np.dtype(dtype).newbyteorder("=")
        self.grid = self.params.grid
        self._cards = image_cards(header, self.params, name)
        self._encoding: dict[str, Any] = {"quantize_level": quantize_level, "threads": threads, "engine": engine}
        self._checksum = checksum
        self._seed: int | None = dither_seed
        self._slab = _Slab(self.grid, self.dtype)
        with ExitStack() as stack:
            self._file = stack.enter_context(replacing_fits(path, overwrite=overwrite or append))
            self._begin(path, append)
            self._spool = TileSpool(self.params, os.path.dirname(os.path.realpath(os.fspath(path))))
            stack.callback(self._spool.close)
            self._stack = stack.pop_all()

    def _begin(self, path, append: bool) -> None:
        """Write what stands before the image: an empty primary HDU, or the file to append to."""
        if not append:
            self._file.write(join_cards(null_primary()))
            return
        with FileSource(path) as source:
            *_, last = walk(source)
            require_complete(source, last)
            stop = last.end
        with open(path, "rb") as old:
            copy_range(old, 0, min(stop, os.fstat(old.fileno()).st_size), self._file)
        self._file.write(bytes(stop - self._file.tell()))

    def write(self, values) -> None:
        """
        Write the next pixels along the first axis.

        Parameters
        ----------
        values : array_like
            Any number of rows of the image: its shape, but for the first axis.

        Raises
        ------
        ValueError
            If the shape does not fit, or there are more rows than the image has.
        NotEncodableError
            If the algorithm cannot hold the pixels.
        """
        for start, rows in self._slab.take(self._converted(values)):
            self._settle_seed(rows)
            self._add(encode(rows, self.params, start=start, **self._encoding))

    def write_tiles(self, tile: Sequence[int], values) -> None:
        """
        Write whole tiles anywhere, in any order, each once.

        Parameters
        ----------
        tile : sequence of int
            Grid coordinates of the first of them.
        values : array_like
            Pixels of a box of whole tiles that begins there.

        Raises
        ------
        ValueError
            If it is no box of whole tiles, or a tile was written before.
        NotEncodableError
            If the algorithm cannot hold the pixels.
        """
        values = self._converted(values)
        self._settle_seed(values)
        self._add(encode_box(values, self.params, tuple(tile), **self._encoding))

    def _converted(self, values) -> np.ndarray:
        values = unmasked(values)
        if values.dtype.newbyteorder("=") == self.dtype:
            return values
        if not np.can_cast(values.dtype, self.dtype, "same_kind"):
            raise TypeError(f"pixels of type {values.dtype} for an image of type {self.dtype}")
        converted = values.astype(self.dtype)
        if self.dtype.kind in "iu" and not np.array_equal(converted, values):
            raise ValueError(f"pixels of type {values.dtype} do not all fit the image's {self.dtype}")
        return converted

    def _settle_seed(self, values: np.ndarray) -> None:
        """Fix ZDITHER0 with the first pixels."""
        if self._seed is None or not self.params.dither_method:
            return
        first = values[tuple(slice(length) for length in self.params.tile_shape)]
        seed, self._seed = resolve_seed(self._seed, first), None
        self.params = self._spool.params = replace(self.params, zdither0=seed)

    def _add(self, pieces: Iterable[EncodedTiles]) -> None:
        for tiles in pieces:
            self._spool.add(tiles)

    def close(self) -> None:
        """
        Write header, table and heap, and put the file in place.

        Raises
        ------
        ValueError
            If tiles are missing; the old file, if any, is untouched.
        """
        self.__exit__(None, None, None)

    def abort(self) -> None:
        """Give up: the old file, if any, is untouched."""
        with suppress(_Aborted):
            self.__exit__(_Aborted, _Aborted(), None)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        stack, self._stack = self._stack, ExitStack()
        with stack:
            if error is not None:
                raise error
            if self._file.closed:
                return
            self._slab.check_complete()
            self._spool.write_hdu(
                self._file, self._cards, quantize_level=self._encoding["quantize_level"], checksum=self._checksum
            )


class _Aborted(Exception):
    """What undoes a write that the user gives up."""


class _Slab:
    """Rows that come in pieces of any number, given out in whole tiles along the first axis."""

    def __init__(self, grid: TileGrid, dtype: np.dtype):
        self._grid, self._dtype = grid, dtype
        self._kept: list[np.ndarray] = []
        self._n_kept = self._start = 0

    def take(self, values: np.ndarray):
        """Add rows; yield (start, rows) as soon as whole tiles are there."""
        n_rows, row_shape = self._grid.image_shape[0], self._grid.image_shape[1:]
        if values.shape[1:] != row_shape or values.ndim != len(row_shape) + 1:
            raise ValueError(f"pixels of shape {values.shape}, expected rows of an image of shape {self._grid.image_shape}")
        arrived = self._start + self._n_kept + len(values)
        if arrived > n_rows:
            raise ValueError(f"{arrived} rows for an image of {n_rows}")
        self._kept.append(values)
        self._n_kept += len(values)
        whole = self._n_kept if arrived == n_rows else self._n_kept // self._grid.tile_shape[0] * self._grid.tile_shape[0]
        if whole:
            rows = self._kept[0] if len(self._kept) == 1 else np.concatenate(self._kept)
            start, self._start = self._start, self._start + whole
            self._kept, self._n_kept = [rows[whole:].copy()], self._n_kept - whole
            yield start, rows[:whole]
        elif len(values):
            self._kept[-1] = values.copy()  # the caller may use its array again

    def check_complete(self) -> None:
        if self._n_kept:
            raise ValueError(f"{self._start + self._n_kept} rows were written, the image has {self._grid.image_shape[0]}")


def write_image(path, image, header=None, *, algorithm: str | None = None, tile_shape: Sequence[int] | None = None,
                lossless: bool = False, quantize_level: float = DEFAULT_QUANTIZE_LEVEL,
                quantize_method: int | str = "SUBTRACTIVE_DITHER_1", dither_seed: int = -1, hcomp_scale: float = 0,
                hcomp_smooth: bool = False, blank: int | None = None, zblank: int | None = None, style: str = "cfitsio",
                name: str | None = None, append: bool = False, overwrite: bool = False, checksum: bool = False,
                threads: int | None = None, engine: str | None = None) -> None:
    """
    Write an array as a compressed image.

    Parameters
    ----------
    path : str or path-like
        The file; it appears only when it is complete.
    image : array_like
        The pixels.
    header : astropy Header, mapping or sequence of card images, optional
        Header of the image; a mapping is one of keywords to values.
    algorithm : str, optional
        RICE_1, GZIP_1, GZIP_2, PLIO_1, HCOMPRESS_1 or NOCOMPRESS; by default RICE_1, and GZIP_2 for what RICE_1 cannot hold.
    tile_shape : sequence of int, optional
        C order; by default one row of the image, or about 16 rows with HCOMPRESS_1.
    lossless : bool
        Keep floats bit for bit; by default they are quantized.
    quantize_level : float
        Floats: steps in one standard deviation of the noise; if negative, minus the step itself.
    quantize_method : int or str
        NO_DITHER (-1), SUBTRACTIVE_DITHER_1 (1) or SUBTRACTIVE_DITHER_2 (2), which keeps zeros.
    dither_seed : int
        1 to 10000; 0 for any, negative for one made from the first tile.
    hcomp_scale, hcomp_smooth, blank, zblank, style
        See `params_for`.
    name, append, overwrite, checksum, threads, engine
        See `TileWriter`.

    Raises
    ------
    FileExistsError
        If the file exists, and neither `append` nor `overwrite` is given.
    NotEncodableError
        If the algorithm cannot hold the pixels.
    HeaderError, TypeError, ValueError
        For settings that do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from astropy_tilecomp import read_image, write_image
    >>> write_image("counts.fits.fz", np.arange(12, dtype="uint16").reshape(3, 4), {"OBJECT": "M31"})
    >>> read_image("counts.fits.fz")[1]
    array([4, 5, 6, 7], dtype=uint16)
    """
    image = np.asanyarray(image)
    with TileWriter(
        path, image.shape, image.dtype, header, name=name, append=append, overwrite=overwrite, checksum=checksum,
        quantize_level=quantize_level, dither_seed=dither_seed, threads=threads, engine=engine, algorithm=algorithm,
        tile_shape=tile_shape, lossless=lossless, quantize_method=quantize_method, hcomp_scale=hcomp_scale,
        hcomp_smooth=hcomp_smooth, blank=blank, zblank=zblank, style=style,
    ) as writer:
        if image.size:
            writer.write(image)
