"""Settings of the user -> the parameters of a compressed image."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from ..errors import HeaderError
from ..keywords import DITHER_METHODS, N_DITHER_SEEDS
from ..tiling.params import CompressionParams
from ..tiling.shapes import fit_tile_shape

__all__ = ["params_for", "resolve_seed"]

_BITPIX_OF = {"u1": 8, "i1": 8, "i2": 16, "u2": 16, "i4": 32, "u4": 32, "i8": 64, "u8": 64, "f4": -32, "f8": -64}
_BZERO_OF = {"i1": -128, "u2": 1 << 15, "u4": 1 << 31, "u8": 1 << 63}
_NUMBER_OF_METHOD = {-1: "NO_DITHER", 0: "NO_DITHER", 1: "SUBTRACTIVE_DITHER_1", 2: "SUBTRACTIVE_DITHER_2"}


def params_for(shape: Sequence[int], dtype, *, algorithm: str | None = None, tile_shape: Sequence[int] | None = None,
               lossless: bool = False, quantize_method: int | str = "SUBTRACTIVE_DITHER_1", dither_seed: int = 1,
               hcomp_scale: float = 0, hcomp_smooth: bool = False, blank: int | None = None, zblank: int | None = None,
               style: str = "cfitsio") -> CompressionParams:
    """
    Choose the parameters of a compressed image.

    Parameters
    ----------
    shape : sequence of int
        Shape of the image, C order.
    dtype : dtype_like
        Type of the pixels; unsigned and 8-bit signed integers are stored with BZERO.
    algorithm : str, optional
        RICE_1, GZIP_1, GZIP_2, PLIO_1, HCOMPRESS_1 or NOCOMPRESS; by default RICE_1, and GZIP_2 for what RICE_1 cannot hold:
        64-bit integers, and floats that are to be `lossless`.
    tile_shape : sequence of int, optional
        As `fit_tile_shape` takes it.
    lossless : bool
        Keep floats as they are, to the bit; by default they are quantized.
    quantize_method : int or str
        NO_DITHER (-1), SUBTRACTIVE_DITHER_1 (1) or SUBTRACTIVE_DITHER_2 (2), which keeps zeros.
    dither_seed : int
        ZDITHER0, 1 to 10000.
    hcomp_scale : float
        HCOMPRESS_1: over 0 times the noise of each tile, under 0 minus the scale itself, 0 lossless.
    hcomp_smooth : bool
        HCOMPRESS_1: ask readers to smooth.
    blank : int, optional
        Stored value of undefined pixels of an integer image.
    zblank : int, optional
        Integer for undefined pixels of quantized floats.
    style : {"cfitsio", "astropy"}
        Whose habits to follow.

    Returns
    -------
    CompressionParams

    Raises
    ------
    HeaderError
        If the algorithm cannot hold such pixels or tiles.
    TypeError
        If FITS has no such type of pixels.
    """
    dtype = np.dtype(dtype)
    code = dtype.str[1:]
    if code not in _BITPIX_OF:
        raise TypeError(f"FITS has no image of type {dtype}, but of integers of 8 to 64 bits, float32 and float64")
    if not len(shape):
        raise HeaderError("the image has no axis: its shape is (), expected one axis or more")
    zbitpix = _BITPIX_OF[code]
    algorithm = algorithm or ("GZIP_2" if zbitpix == 64 or (zbitpix < 0 and lossless) else "RICE_1")
    if lossless and zbitpix < 0 and algorithm not in ("GZIP_1", "GZIP_2", "NOCOMPRESS"):
        raise HeaderError(f"{algorithm} holds no floats without loss; use GZIP_2 or GZIP_1")
    if lossless and algorithm == "HCOMPRESS_1" and hcomp_scale:
        raise HeaderError(f"lossless with an HCOMPRESS_1 scale of {hcomp_scale}: only scale 0 is lossless")
    if zbitpix == 64 and algorithm not in ("GZIP_1", "GZIP_2", "NOCOMPRESS"):
        raise HeaderError(f"{algorithm} holds no 64-bit integers; use GZIP_2 or GZIP_1")
    if code in ("u4", "u8") and algorithm == "PLIO_1":
        raise HeaderError(f"PLIO_1 holds no {dtype}: stored values would be negative")
    quantized = zbitpix < 0 and not lossless and algorithm != "NOCOMPRESS"
    method = _method_name(quantize_method) if quantized else None
    if quantized and algorithm == "HCOMPRESS_1" and hcomp_scale and method == "SUBTRACTIVE_DITHER_2":
        method = "SUBTRACTIVE_DITHER_1"  # as cfitsio: lossy HCOMPRESS_1 would destroy the marks of zeros
    return CompressionParams(
        algorithm, zbitpix, tuple(shape), fit_tile_shape(shape, tile_shape, algorithm, style=style),
        quantized=quantized, zquantiz=method, zdither0=dither_seed if method and DITHER_METHODS.get(method) else None,
        bytepix=min(4, abs(zbitpix) // 8), hcomp_scale=float(hcomp_scale), smooth=bool(hcomp_smooth),
        zblank=zblank if quantized else None, blank=blank if zbitpix > 0 else None, bzero=_BZERO_OF.get(code, 0),
    )


def _method_name(method: int | str) -> str:
    name = str(method) if isinstance(method, str) else _NUMBER_OF_METHOD.get(method, str(method))
    if name not in DITHER_METHODS:
        raise HeaderError(keyword="ZQUANTIZ", found=method, expected="one of " + ", ".join(DITHER_METHODS) + ", or -1, 1, 2")
    return str(name)


def resolve_seed(request: int, first_tile: np.ndarray, *, null: float | None = None) -> int:
    """
    Turn a request for a dither seed into the seed.

    Parameters
    ----------
    request : int
        1 to 10000: that; 0: any, another one each time; negative: made from the pixels.
    first_tile : ndarray of float32 or float64
        Pixels of the first tile.
    null : float, optional
        What stands for NaN while the bytes are summed; by default NaN itself.

    Returns
    -------
    int
        1 to 10000.

    Raises
    ------
    ValueError
        If the request is over 10000.
    """
    if request > N_DITHER_SEEDS:
        raise ValueError(f"dither_seed is {request}, expected {N_DITHER_SEEDS} at most")
    if request > 0:
        return int(request)
    if request == 0:
        return int.from_bytes(os.urandom(8), "big") % N_DITHER_SEEDS + 1
    pixels = np.array(first_tile)
    if null is not None:
        pixels[np.isnan(pixels)] = null
    return int(pixels.view(np.uint8).sum(dtype=np.uint64)) % N_DITHER_SEEDS + 1
