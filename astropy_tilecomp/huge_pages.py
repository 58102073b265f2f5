"""Memory for large results, laid out so that the system supplies it in huge pages."""

from __future__ import annotations

import sys
from math import prod

import numpy as np

__all__ = ["HUGE_PAGE", "empty"]

HUGE_PAGE = 2 << 20
LEAST_NBYTES = 4 * HUGE_PAGE if sys.platform == "linux" else sys.maxsize
"""Size from which an array is laid out so; numpy asks the system for huge pages from 4 MB on."""


def empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """
    An uninitialised array, as of `numpy.empty`; a large one begins with a huge page.

    Parameters
    ----------
    shape : tuple of int
    dtype : numpy.dtype

    Returns
    -------
    ndarray
        Writable and C-contiguous; a large one is a view of bytes that nobody else has.

    Notes
    -----
    Anywhere else, the parts of an array before its first whole huge page and behind its last one are supplied in a
    thousand small ones, which takes longer than to decode a quarter of them.
    """
    nbytes = prod(shape) * dtype.itemsize
    if nbytes < LEAST_NBYTES:
        return np.empty(shape, dtype)
    memory = np.empty(nbytes + HUGE_PAGE, np.uint8)
    return np.ndarray(shape, dtype, memory, offset=-memory.ctypes.data % HUGE_PAGE)
