"""Pixels in the type of the array that they become part of, which is the image's own or a wider one."""

from __future__ import annotations

import numpy as np

from ...errors import HeaderError

__all__ = ["as_type", "check_type"]

EXACT_IN_FLOAT64 = 2**53
"""Whole numbers up to this one are float64 values, each of them."""


def check_type(found: np.dtype, dtype: np.dtype, what: str = "the image") -> None:
    """
    Refuse a type that cannot hold the pixels.

    Raises
    ------
    HeaderError
        If it does not hold them. 64-bit integers may become floats, as far as `as_type` finds them exact.
    """
    if dtype.kind not in "iufc" or not np.can_cast(found, dtype, "safe"):
        raise HeaderError(f"{what} has pixels of type {found}, which {dtype} of the array cannot hold")


def as_type(pixels: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """
    Convert pixels, none of them rounded.

    Raises
    ------
    HeaderError
        If there are integers among the pixels beyond those that a float64 tells apart.
    """
    if pixels.dtype.kind in "iu" and pixels.dtype.itemsize == 8 and dtype.kind in "fc" and pixels.size:
        least, most = int(pixels.min()), int(pixels.max())
        if least < -EXACT_IN_FLOAT64 or most > EXACT_IN_FLOAT64:
            raise HeaderError(f"the image has integers from {least} to {most}, which {dtype} of the array would round")
    return pixels.astype(dtype, copy=False)
