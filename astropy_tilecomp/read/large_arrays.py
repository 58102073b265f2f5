"""Memory for large results, laid out in huge pages: the system supplies it in a fraction of the time."""

from __future__ import annotations

from math import prod

import numpy as np

__all__ = ["HUGE_PAGE", "MIN_NBYTES", "empty"]

HUGE_PAGE = 2 << 20
MIN_NBYTES = 4 << 20
"""Size from which numpy asks the system for huge pages."""


def empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """
    An uninitialised array, as of `numpy.empty`; a large one begins with a huge page.

    A thousand small pages before the first whole huge one take as long as many huge ones.
    """
    nbytes = prod(shape) * dtype.itemsize
    if nbytes < MIN_NBYTES:
        return np.empty(shape, dtype)
    memory = np.empty(nbytes + HUGE_PAGE, np.uint8)
    start = -memory.__array_interface__["data"][0] % HUGE_PAGE
    return memory[start:start + nbytes].view(dtype).reshape(shape)
