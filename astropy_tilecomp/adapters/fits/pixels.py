"""
The meaning of pixels: how an array in memory is stored so that it is what is read back.

One rule for everything that writes an HDU:

- Integers are stored exactly, floats as the settings of the HDU say. BSCALE, BZERO and BLANK of the pixels that they replace go.
- Floats that replace scaled or blank integers stay integers under the old BSCALE, BZERO and BLANK if every pixel comes back bit
  for bit.
- Floats are quantized only if lossy settings were given, or if the pixels that they replace were quantized.
- What the algorithm cannot hold without loss is stored by GZIP_2, with a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from astropy.io import fits

from ...codecs.buffers import unmasked
from ...codecs.final_pixels import to_stored, to_stored_exactly
from ...errors import HeaderError, TileCompWarning
from ...tiling.params import CompressionParams
from ...tiling.shapes import default_tile_shape

__all__ = ["Storage", "choose_storage", "describe_pixels", "exactly_stored", "has_offset", "nearest_stored", "of_type"]

LOSSLESS_OF_FLOATS = ("GZIP_1", "GZIP_2", "NOCOMPRESS")
"""Algorithms that store floats and 64-bit integers exactly."""

FALLBACK = "GZIP_2"
"""The algorithm for what others cannot hold."""


@dataclass(frozen=True)
class Storage:
    """
    How the pixels of an image are stored.

    Attributes
    ----------
    pixels : array_like
        The pixels to encode, of the stored type or of the unsigned or int8 type that BZERO makes of it.
    algorithm : str
        ZCMPTYPE.
    lossless : bool
        Whether floats are stored exactly.
    bscale, bzero : float
        Scale of the stored pixels; not the BZERO of unsigned integers.
    blank : int or None
        The stored integer of undefined pixels.
    """

    pixels: Any
    algorithm: str
    lossless: bool
    bscale: float = 1
    bzero: float = 0
    blank: int | None = None


def choose_storage(data, header: Mapping, algorithm: str, *, lossless: bool, asked: bool, are_stored: bool = False,
                   old: CompressionParams | None = None, rounded: bool = False) -> Storage:
    """
    Choose how pixels are stored.

    Raises
    ------
    ValueError
        If the algorithm that was asked for cannot hold the pixels.
    """
    kind = data.dtype.kind
    if old is not None and (rounded or kind == "f"):
        stored = nearest_stored(data, old) if rounded else exactly_stored(data, old)
        if stored is not None:
            return Storage(stored, _algorithm_holding(stored, algorithm), True, old.bscale, old.bzero, old.blank)
    if not asked:
        algorithm = _algorithm_holding(data, algorithm, quantized=kind == "f" and not lossless)
    if kind == "f":
        return Storage(data, algorithm, lossless, **(_scale_in(header, data.dtype) if are_stored else {}))
    data = narrowed(data, algorithm)
    return Storage(data, algorithm, True, **_scale_in(header, data.dtype))


def _scale_in(header: Mapping, dtype: np.dtype) -> dict:
    """What the cards of a header say that stored pixels of a type mean: `bscale`, `bzero` and `blank`."""
    if dtype.kind == "f":
        return {"bscale": header.get("BSCALE", 1), "bzero": header.get("BZERO", 0)}
    offset = has_offset(dtype)
    scale = {} if offset else {"bscale": header.get("BSCALE", 1), "bzero": header.get("BZERO", 0)}
    return scale | {"blank": header.get("BLANK")}


def has_offset(dtype: np.dtype) -> bool:
    """Whether integers of a type are stored with a BZERO."""
    return dtype.str[1:] in ("i1", "u2", "u4", "u8")


def narrowed(data: np.ndarray, algorithm: str) -> np.ndarray:
    """
    64-bit integers as the 32-bit ones that most algorithms need; what else there is, as it is.

    Raises
    ------
    ValueError
        If a pixel does not fit, or the algorithm cannot hold such pixels at all.
    """
    if algorithm == "PLIO_1" and data.dtype.kind == "u" and data.dtype.itemsize >= 2:
        raise ValueError("PLIO_1 compression does not support unsigned integers larger than 8 bits")
    if algorithm in LOSSLESS_OF_FLOATS or data.dtype.itemsize != 8:
        return data
    small = np.dtype(f"{data.dtype.kind}4")
    limits = np.iinfo(small)
    if data.size and (data.min() < limits.min or data.max() > limits.max):
        raise ValueError(
            f"{algorithm} compression doesn't support 64 integers, but data cannot be converted to 32 bits without overflow"
        )
    message = f"{algorithm} compression doesn't support 64 integers, data has been converted to 32 bits"
    warnings.warn(message, TileCompWarning, stacklevel=5)
    return data.astype(small)


def _algorithm_holding(pixels, algorithm: str, *, quantized: bool = False) -> str:
    """An algorithm, if it holds an image without loss or quantized; else one that does, with a warning."""
    if not _holds_shape(algorithm, np.shape(pixels)):
        reason = f"{algorithm} cannot store an image of shape {np.shape(pixels)}"
    elif not quantized and not _holds_type(algorithm, pixels.dtype):
        reason = f"{algorithm} cannot store {pixels.dtype.name} pixels without loss"
    else:
        return algorithm
    warnings.warn(f"{reason}: {FALLBACK} is used instead", TileCompWarning, stacklevel=4)
    return FALLBACK


def _holds_type(algorithm: str, dtype: np.dtype) -> bool:
    """Whether an algorithm keeps every value of a type."""
    if algorithm in LOSSLESS_OF_FLOATS:
        return True
    if algorithm == "PLIO_1" and dtype.kind == "u" and dtype.itemsize > 1:
        return False
    return dtype.kind != "f" and dtype.itemsize < 8


def _holds_shape(algorithm: str, shape: tuple[int, ...]) -> bool:
    """Whether an image can be cut into tiles that an algorithm takes."""
    try:
        default_tile_shape(shape, algorithm)
    except HeaderError:
        return False
    return True


def exactly_stored(values: np.ndarray, params: CompressionParams) -> np.ndarray | None:
    """The stored pixels that give values of the type of the image back bit for bit; None if there are none."""
    values = unmasked(values)
    if values.dtype.newbyteorder("=") != params.result_dtype:
        return None
    try:
        return to_stored_exactly(values, params)
    except ValueError:
        return None


def of_type(values, dtype: np.dtype, *, rounded: bool = False) -> np.ndarray:
    """
    Convert values to be assigned to an array in memory, as strictly as those that are assigned on disk.

    Raises
    ------
    ValueError
        If an array of integers would hold other values, or values are masked.
    """
    values = unmasked(values)
    if dtype.kind not in "iu":
        return values
    wanted = np.rint(values) if rounded and values.dtype.kind == "f" else values
    with np.errstate(invalid="ignore"):
        converted = wanted.astype(dtype)
    lost = converted != wanted
    if lost.any():
        count = f"{np.count_nonzero(lost)} of {lost.size} values"
        raise ValueError(f"pixels of type {dtype.name} cannot hold {count}, such as {wanted[lost][0]}")
    return converted


def nearest_stored(values: np.ndarray, params: CompressionParams) -> np.ndarray | None:
    """The stored pixels nearest to values; None if they are beyond the type."""
    values = unmasked(values)
    try:
        return to_stored(values, params)
    except ValueError:
        return None


def describe_pixels(header: fits.Header, params: CompressionParams, *, scale: bool = True) -> fits.Header:
    """Make an image header say what is stored."""
    header = header.copy()
    header.set("BITPIX", params.zbitpix, after=0)
    header.set("NAXIS", params.ndim, after="BITPIX")
    for axis, size in enumerate(reversed(params.image_shape), 1):
        header.set(f"NAXIS{axis}", size, after=f"NAXIS{axis - 1 or ''}")
    for keyword in [name for name in header if name.startswith("NAXIS") and name[5:].isdecimal()]:
        if int(keyword[5:]) > params.ndim:
            del header[keyword]
    if scale:
        first = next(name for name in ("GCOUNT", f"NAXIS{params.ndim}") if name in header)
        _set_card(header, "BSCALE", params.bscale, 1, first)
        if params.bzero and "BSCALE" not in header:
            header.set("BSCALE", 1, after=first)
        _set_card(header, "BZERO", params.bzero, 0, "BSCALE")
        _set_card(header, "BLANK", params.blank, None, "BZERO" if "BZERO" in header else first)
    return header


def _set_card(header: fits.Header, keyword: str, value, default, after: str) -> None:
    """Make a card say a value: in its place, or behind another; one that says something else than the default goes."""
    if header.get(keyword, default) == value:
        return
    if value == default:
        header.remove(keyword, ignore_missing=True, remove_all=True)
    elif keyword in header:
        header[keyword] = value
    else:
        header.set(keyword, value, after=after)
