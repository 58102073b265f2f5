"""Memory for large arrays: fresh memory costs up to half of a whole read, so what a program gives up serves the next one."""

from __future__ import annotations

import sys
from math import prod

import numpy as np

from ..codecs import _kernels

__all__ = ["HAS_HUGE_PAGES", "LARGEST_KEPT", "LEAST_NBYTES", "MOST_KEPT", "empty"]

HAS_HUGE_PAGES = sys.platform == "linux"

LEAST_NBYTES = 4 << 20
"""Size from which an array is laid out in huge pages; from there on numpy asks the system for them."""

LARGEST_KEPT, MOST_KEPT = 64 << 20, 128 << 20
"""Bytes of an array whose memory is not too long to be kept, and of all that is kept: a loop has two results at a time."""

_pieces = _kernels.MemoryPieces(LARGEST_KEPT, MOST_KEPT)


def empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """
    An uninitialised array, as of `numpy.empty`; a large one is in memory that may have served before.

    Parameters
    ----------
    shape : tuple of int
    dtype : numpy.dtype

    Returns
    -------
    ndarray
        Writable and C-contiguous; nothing else has its memory until it and all views of it are gone. A large one is a view
        and begins with a huge page.

    Raises
    ------
    MemoryError
        If the system has not that much.

    Notes
    -----
    The system supplies memory page by page, as zeros, when it is first written to, which takes up to half of the time of a
    whole read; a thousand small pages before the first whole huge one take as long as many huge ones. Of what the process
    keeps, the pages are marked as free, for the system to take when it runs short.
    """
    nbytes = prod(shape) * dtype.itemsize
    if nbytes < LEAST_NBYTES or not HAS_HUGE_PAGES:
        return np.empty(shape, dtype)
    return np.ndarray(shape, dtype, _kernels.LentMemory(_pieces, nbytes))
