"""What is known of each tile, as maps: bits per pixel, ratio, noise, ZSCALE, the column that holds it, damage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import UnsupportedError
from ..hdus import find_image
from ..read.slabs import slabs_of
from ..read.table_rows import read_table
from ..sources.opening import opened
from ..tiling.grid import TileGrid

__all__ = ["TileMaps", "estimate_noise", "map_tiles"]

_NORMAL = 0.6052697
"""Standard deviation of pixels to the median of abs(2 x[i] - x[i-2] - x[i+2]), for normal noise."""


@dataclass(frozen=True, eq=False)
class TileMaps:
    """
    One number for each tile in every array, all of the shape of the grid.

    Attributes
    ----------
    path : str
        What the source is called.
    hdu : int
        Number of the HDU.
    algorithm : str
        ZCMPTYPE.
    image_shape, tile_shape : tuple of int
        C order.
    bits_per_pixel, ratio : ndarray of float64
        Of the tile's bytes; NaN for tiles without bytes, where nothing was compressed.
    noise : ndarray of float64
        Standard deviation of the noise in stored pixels, as `estimate_noise` finds it; NaN for bad tiles.
    zscale : ndarray of float64 or None
        Step between two values; NaN for tiles that are not quantized, None for images that are not.
    column : ndarray of uint8
        0 for none, 1 COMPRESSED_DATA, 2 GZIP_COMPRESSED_DATA, 3 UNCOMPRESSED_DATA.
    damaged : ndarray of bool
        Tiles that cannot be decoded.
    """

    path: str
    hdu: int
    algorithm: str
    image_shape: tuple[int, ...]
    tile_shape: tuple[int, ...]
    bits_per_pixel: np.ndarray
    ratio: np.ndarray
    noise: np.ndarray
    zscale: np.ndarray | None
    column: np.ndarray
    damaged: np.ndarray


def map_tiles(path, *, hdu=None, threads: int | None = None, max_nbytes: int | None = None,
              storage_options: dict | None = None) -> TileMaps:
    """
    Measure every tile of a compressed image.

    Parameters
    ----------
    path : path, URL, file object, bytes or anything else that `as_source` takes
        The FITS file.
    hdu : int, str or (str, int), optional
        By default the first compressed image.
    threads : int, optional
        Threads to use at most.
    max_nbytes : int, optional
        Largest array to allocate; by default ASTROPY_TILECOMP_MAX_NBYTES, else half of the memory.
    storage_options : dict, optional
        What fsspec needs to open a URL.

    Returns
    -------
    TileMaps

    Raises
    ------
    HeaderError
        If there is no such image, or its header breaks the format.
    UnsupportedError
        If the image has no pixels.

    Examples
    --------
    >>> import astropy_tilecomp as tc
    >>> maps = tc.map_tiles("panoptes_solved.fits.fz")
    >>> maps.noise.shape, maps.damaged.any()
    ((700, 1), np.False_)
    """
    with opened(path, storage_options) as source:
        found = find_image(source, hdu)
        params, table = read_table(source, found)
        if not params.n_tiles:
            raise UnsupportedError(f"{source.name}: an image of shape {params.image_shape} has no tiles")
        noise, damaged = np.full(params.n_tiles, np.nan), np.zeros(params.n_tiles, bool)
        for slab in slabs_of(source, found, params, table, threads=threads, max_nbytes=max_nbytes):
            pixels, report = slab.decoded()
            damaged[[bad.row for bad in report.damaged]] = True
            for where, row, _ in slab:
                if not damaged[row]:
                    noise[row] = estimate_noise(pixels[where.out_box])
        name = source.name
    zscale = None
    if params.quantized:
        found_scale = np.full(params.n_tiles, params.zscale) if table.zscale is None else table.zscale
        zscale = np.where(table.column == 1, found_scale, np.nan).reshape(params.grid_shape)
    n_pixels = _pixels_of_tiles(params.grid)
    nbytes = np.where(table.nbytes > 0, table.nbytes, np.nan).reshape(params.grid_shape)
    return TileMaps(
        name, found.number, params.zcmptype, params.image_shape, params.tile_shape, 8 * nbytes / n_pixels,
        n_pixels * params.dtype.itemsize / nbytes, noise.reshape(params.grid_shape), zscale,
        table.column.reshape(params.grid_shape), damaged.reshape(params.grid_shape),
    )


def _pixels_of_tiles(grid: TileGrid) -> np.ndarray:
    """Number of pixels of each tile, in the shape of the grid."""
    n_pixels = np.ones((), np.int64)
    for size, tile, n in zip(grid.image_shape, grid.tile_shape, grid.grid_shape):
        n_pixels = np.multiply.outer(n_pixels, np.minimum(tile, size - np.arange(n) * tile))
    return n_pixels


def estimate_noise(pixels: np.ndarray) -> float:
    """
    Estimate the noise of an image from differences of pixels along its last axis.

    Notes
    -----
    0.6052697 times the median of abs(2 x[i] - x[i-2] - x[i+2]): objects that vary slowly fall out, and so do a few bright
    pixels (Stoehr et al. 2007, DER_SNR).
    """
    if pixels.shape[-1] < 5:
        return float("nan")
    pixels = pixels.astype("f8", copy=False)
    with np.errstate(invalid="ignore"):
        differences = np.abs(2 * pixels[..., 2:-2] - pixels[..., :-4] - pixels[..., 4:])
    differences = differences[np.isfinite(differences)]
    return float(_NORMAL * np.median(differences)) if differences.size else float("nan")
