"""An array and the parameters of its compression -> encoded tiles: whole batches, without the GIL, in threads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from . import threads as pool
from .codecs import _kernels
from .codecs import engine as engines
from .codecs.buffers import unmasked
from .codecs.quantization import CFITSIO_ZBLANK, STANDARD_ZBLANK
from .errors import HeaderError, TileCompError, UnsupportedError
from .keywords import FPACK_QUANTIZE_LEVEL
from .tiling.grid import TileGrid
from .tiling.params import CompressionParams

__all__ = ["EncodedTiles", "NotEncodableError", "encode", "encode_box"]

RUN_PIXELS = 1 << 18
"""Pixels that a thread encodes at a time; a tile may have more."""

RUNS_AHEAD = 16
"""Runs for each thread that are encoded before the first of them is given out: what bounds the memory. Of runs that are
longer, being one large tile, there are fewer, down to 2."""

MAX_KEPT = 4
"""How many times the memory that it needs a run of encoded tiles may keep; a copy that keeps less costs time."""

_TILE = np.dtype(_kernels.ENCODED_TILE, align=True)
_OUT_OF_RANGE = _kernels.STATUS["OUT_OF_RANGE"]


class NotEncodableError(TileCompError, ValueError):
    """
    A tile has pixels that its algorithm cannot hold.

    Attributes
    ----------
    tile : tuple of int
        Grid coordinates, C order.
    row : int
        Table row, counted from 0.
    """

    def __init__(self, reason: str, tile: tuple[int, ...] | None = None, row: int | None = None):
        super().__init__(reason)
        self.tile, self.row = tile, row


@dataclass(frozen=True)
class EncodedTiles:
    """
    Some tiles that follow one another in the table.

    Attributes
    ----------
    row : int
        Table row of the first, counted from 0.
    column : (n,) ndarray of uint8
        Where each is to stand: 1 COMPRESSED_DATA, 2 GZIP_COMPRESSED_DATA, 3 UNCOMPRESSED_DATA.
    nbytes : (n,) ndarray of int64
        Bytes of each.
    zscale, zzero : (n,) ndarray of float64
        Scale and zero point; 0 for tiles that are not quantized.
    has_null : (n,) ndarray of bool
        Whether a tile of a quantized image has undefined pixels (NaN).
    heap : memoryview
        The bytes of all of them, in order, without gaps.
    """

    row: int
    column: np.ndarray
    nbytes: np.ndarray
    zscale: np.ndarray
    zzero: np.ndarray
    has_null: np.ndarray
    heap: memoryview

    def __len__(self) -> int:
        return len(self.nbytes)


def encode(image, params: CompressionParams, *, start: int = 0, quantize_level: float = FPACK_QUANTIZE_LEVEL,
           gzip_level: int | None = None, threads: int | None = None,
           engine: str | None = None) -> Iterator[EncodedTiles]:
    """
    Encode the tiles of an image.

    Parameters
    ----------
    image : array_like
        Pixels, in any strides and byte order: of the type that `params` say is stored, or of the integer type that BZERO
        makes of it (uint16, uint32, uint64, int8). It has the shape of the image, or is a slab of it along the first axis.
    params : CompressionParams
        How. `hcomp_scale` counts as for cfitsio: over 0 it is times the noise of each tile, under 0 minus the scale
        itself, 0 is lossless. `zblank` is the integer for undefined pixels of quantized tiles, by default the one that
        cfitsio writes.
    start : int
        Index along the first axis where the slab begins: a multiple of the tile's size. The slab must end where a tile
        ends.
    quantize_level : float
        Steps in one standard deviation of the noise; if negative, minus the step itself.
    gzip_level : int, optional
        0 to 12; by default 6 for GZIP_1 and 1 for GZIP_2, whose tiles are no larger than those of zlib's level 1, as fpack's.
    threads : int, optional
        Threads to use at most; 1 starts none.
    engine : {"kernel", "cfitsio"}, optional
        By default ASTROPY_TILECOMP_ENGINE, else "kernel".

    Yields
    ------
    EncodedTiles
        The next tiles, in row order. No more than `RUNS_AHEAD` runs of `RUN_PIXELS` for each thread are held at a time.

    Raises
    ------
    NotEncodableError
        If a tile has pixels that the algorithm cannot hold.
    HeaderError
        If `params` ask for what cannot be written.
    TypeError, ValueError
        If type or shape of the image are not those of `params`, a pixel is masked, or a setting is out of range.

    Notes
    -----
    Tiles of floats that cannot be quantized (no noise, too large a range, infinite pixels) are kept as they are, gzipped.
    A tile with undefined pixels is never made lossy by HCOMPRESS_1: they would not survive.
    """
    image = unmasked(image)
    grid = params.grid
    first_row = _first_row(image, grid, start)
    _require_type(image, params)
    settings = _settings(params, quantize_level, gzip_level, engine)
    return _encode_rows(image, grid, first_row, settings, threads)


def encode_box(values, params: CompressionParams, tile: tuple[int, ...], *,
               quantize_level: float = FPACK_QUANTIZE_LEVEL, gzip_level: int | None = None, threads: int | None = None,
               engine: str | None = None) -> Iterator[EncodedTiles]:
    """
    Encode a box of whole tiles anywhere in an image.

    Parameters
    ----------
    values : array_like
        Pixels, as for `encode`, of as many whole tiles along each axis as are wanted; the last tile along an axis is as
        short as the image makes it.
    params : CompressionParams
        How, as for `encode`.
    tile : tuple of int
        Grid coordinates of its first tile.
    quantize_level, gzip_level, threads, engine : optional
        As for `encode`.

    Yields
    ------
    EncodedTiles
        Tiles whose rows follow one another.

    Raises
    ------
    NotEncodableError, HeaderError, TypeError, ValueError
        As `encode`.
    """
    values = unmasked(values)
    grid = params.grid
    n_tiles = _tiles_of_box(values, grid, tile)
    _require_type(values, params)
    settings = _settings(params, quantize_level, gzip_level, engine)
    for lead in np.ndindex(*n_tiles[:-1]):
        box = tuple(slice(at * size, (at + 1) * size) for at, size in zip(lead, grid.tile_shape))
        first_row = grid.row((*(at + first for at, first in zip(lead, tile)), tile[-1]))
        yield from _encode_rows(values[box], grid, first_row, settings, threads)


def _tiles_of_box(values: np.ndarray, grid: TileGrid, tile: tuple[int, ...]) -> tuple[int, ...]:
    """Number of tiles of a box along each axis; checks that it consists of whole tiles of the image."""
    if values.ndim != grid.ndim or len(tile) != grid.ndim:
        raise ValueError(f"an array of shape {values.shape} at tile {tuple(tile)} of an image of shape {grid.image_shape}")
    for length, first, tile_size, size in zip(values.shape, tile, grid.tile_shape, grid.image_shape):
        stop = first * tile_size + length
        if first < 0 or length == 0 or stop > size or (stop % tile_size and stop != size):
            raise ValueError(
                f"an array of shape {values.shape} at tile {tuple(tile)} is no box of whole tiles of shape {grid.tile_shape}"
            )
    return tuple(-(-length // size) for length, size in zip(values.shape, grid.tile_shape))


def _encode_rows(image: np.ndarray, grid: TileGrid, first_row: int, settings: dict,
                 threads: int | None) -> Iterator[EncodedTiles]:
    """Encode an array of whole tiles whose rows follow one another from `first_row` on."""
    own = {"type": _kernels.TYPE_CODES[image.dtype.str[1:]], "swap": not image.dtype.isnative, "first_row": first_row}
    encoder = _kernels.TileEncoder(image, grid.tile_shape, settings | own)
    algorithm = next(name for name, code in _kernels.ALGORITHM_CODES.items() if code == settings["algorithm"])
    return _pieces(encoder, grid, algorithm, first_row, pool.thread_count(threads, image.size))


def _first_row(image: np.ndarray, grid: TileGrid, start: int) -> int:
    """Table row of the first tile of a slab; checks that the slab consists of whole tiles."""
    if image.ndim != grid.ndim or image.shape[1:] != grid.image_shape[1:]:
        raise ValueError(f"the array has shape {image.shape}, expected {grid.image_shape} or a slab of it")
    if image.ndim > _kernels.MAX_AXES:
        raise UnsupportedError(f"an image of {image.ndim} axes: tiles of more than {_kernels.MAX_AXES} are not encoded")
    stop, size, tile = start + image.shape[0], grid.image_shape[0], grid.tile_shape[0]
    if not 0 <= start <= stop <= size or start % tile or (stop % tile and stop != size):
        raise ValueError(f"the slab is {start} to {stop} of {size}, expected whole tiles of {tile}")
    return start // tile * prod(grid.grid_shape[1:])


def _require_type(image: np.ndarray, params: CompressionParams) -> None:
    """The array has the type that is stored, or the one that BZERO makes of it."""
    wanted = {params.dtype, params.offset_dtype} - {None}
    if image.dtype.newbyteorder("=") not in wanted:
        raise TypeError(f"the array has type {image.dtype.str}, expected {' or '.join(sorted(map(str, wanted)))}")


def _is_finite(level) -> bool:
    try:
        return bool(np.isfinite(np.float32(level)))
    except (TypeError, ValueError):
        return False


def _settings(params: CompressionParams, quantize_level: float, gzip_level: int | None, engine: str | None) -> dict:
    """The fields of ``tc_encode_image`` that do not depend on the array."""
    default = _kernels.GZIP_PLANES_LEVEL if params.zcmptype == "GZIP_2" else _kernels.GZIP_PIXELS_LEVEL
    level = default if gzip_level is None else gzip_level
    if not 0 <= level <= 12:
        raise ValueError(f"gzip_level is {gzip_level!r}, expected 0 to 12")
    if params.quantized and not _is_finite(quantize_level):
        raise ValueError(f"quantize_level is {quantize_level!r}, expected a finite number")
    if params.zcmptype == "HCOMPRESS_1" and not _is_finite(params.hcomp_scale):
        raise ValueError(f"hcomp_scale is {params.hcomp_scale!r}, expected a finite number")
    lossy = params.zcmptype == "HCOMPRESS_1" and params.hcomp_scale != 0
    if lossy and params.quantized and params.dither_method == 2:
        raise HeaderError(
            "HCOMPRESS_1 with a scale changes the marks by which SUBTRACTIVE_DITHER_2 keeps zeros; use method 1"
        )
    zblank = CFITSIO_ZBLANK if params.zblank is None else params.zblank
    if params.quantized and zblank not in (CFITSIO_ZBLANK, STANDARD_ZBLANK):
        raise HeaderError(keyword="ZBLANK", found=zblank, expected=f"{CFITSIO_ZBLANK} or {STANDARD_ZBLANK}")
    return {
        "algorithm": _kernels.ALGORITHM_CODES[params.zcmptype],
        "engine": _kernels.ENGINE_CODES[engines.choose(engine)],
        "bytepix": params.bytepix,
        "blocksize": params.blocksize,
        "hcompress_scale": params.hcomp_scale,
        "plio_offset": params.plio_offset,
        "gzip_level": level,
        "quantized": params.quantized,
        "q": quantize_level if params.quantized else 0,
        "method": params.dither_method,
        "zdither0": params.zdither0 or 1,
        "zblank": zblank if params.quantized else 0,
    }


def _pieces(encoder, grid: TileGrid, algorithm: str, first_row: int, threads: int) -> Iterator[EncodedTiles]:
    """Encode some runs ahead in threads, give them out in order, and so on."""
    n_tiles, tile_pixels = encoder.n_tiles, prod(grid.tile_shape)
    per_run = max(1, RUN_PIXELS // tile_pixels)
    runs = range(0, n_tiles, per_run)
    ahead = threads * max(2, RUNS_AHEAD * RUN_PIXELS // max(RUN_PIXELS, per_run * tile_pixels))
    for batch in range(0, len(runs), ahead):
        done: dict[int, EncodedTiles] = {}

        def encode_run(first: int, done=done) -> None:
            done[first] = _encode_run(encoder, grid, algorithm, first_row, first, min(per_run, n_tiles - first))

        pool.run(encode_run, runs[batch : batch + ahead], threads)
        for first in runs[batch : batch + ahead]:
            yield done.pop(first)


def _encode_run(encoder, grid: TileGrid, algorithm: str, first_row: int, first: int, n: int) -> EncodedTiles:
    """The tiles `first` to `first` + n of the array."""
    tiles = np.zeros(n, _TILE)
    heap = np.empty(encoder.bound(n), np.uint8)
    used = encoder.encode(first, tiles.view(np.uint8), heap)
    bad = np.flatnonzero(tiles["status"])
    if len(bad):
        row = first_row + first + int(bad[0])
        raise _to_error(int(tiles["status"][bad[0]]), grid.tile(row), row, algorithm)
    column, nbytes, zscale, zzero = (np.ascontiguousarray(tiles[name]) for name in ("column", "nbytes", "zscale", "zzero"))
    return EncodedTiles(first_row + first, column, nbytes, zscale, zzero, tiles["has_null"].astype(bool), _trimmed(heap, used).data)


def _trimmed(heap: np.ndarray, used: int) -> np.ndarray:
    """The bytes that were used; a few of them alone, so that whoever collects them does not keep the memory of all."""
    return heap[:used] if used > heap.nbytes // MAX_KEPT else heap[:used].copy()


def _to_error(status: int, tile: tuple[int, ...], row: int, algorithm: str) -> Exception:
    if status != _OUT_OF_RANGE:
        return engines.to_error(status, tile=tile, row=row, algorithm=algorithm)
    what = "a pixel is outside of 0 to 16777215" if algorithm == "PLIO_1" else "a pixel, or the scale, is outside of what it can hold"
    return NotEncodableError(f"tile {tile}, row {row}, {algorithm}: {what}", tile, row)
