"""Memory for decoded chunks, which zarr copies and drops: one piece is kept, as fresh memory costs nearly as much as decoding."""

from __future__ import annotations

import mmap
from collections import deque
from contextlib import suppress
from math import prod

import numpy as np

from ..huge_pages import HUGE_PAGE

__all__ = ["LARGEST_LOAN", "SMALLEST_LOAN", "borrowed"]

SMALLEST_LOAN, LARGEST_LOAN = 4 << 20, 64 << 20
"""Bytes of an array that is worth it, and of one that is not too long to be kept."""

_spare: deque[mmap.mmap] = deque(maxlen=1)  # its own methods are atomic: no lock, which `__del__` could meet locked


def borrowed(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """
    An uninitialised array, as of `numpy.empty`; if it is long, in memory that may have served before.

    Parameters
    ----------
    shape : tuple of int
    dtype : numpy.dtype

    Returns
    -------
    ndarray
        Writable and C-contiguous; nothing else has its memory until it and all views of it are gone.

    Notes
    -----
    The process keeps one piece of at most `LARGEST_LOAN` bytes, and leaves it to the system to take the pages of that back
    when it runs short of memory.
    """
    nbytes = prod(shape) * dtype.itemsize
    if not SMALLEST_LOAN <= nbytes <= LARGEST_LOAN:
        return np.empty(shape, dtype)
    return np.asarray(_Loan(_piece(nbytes)))[:nbytes].view(dtype).reshape(shape)


class _Loan:
    """What arrays in a piece of memory refer to as its owner: when the last of them goes, the piece is the spare one."""

    def __init__(self, piece: mmap.mmap):
        self._piece = piece
        self.__array_interface__ = np.frombuffer(piece, np.uint8).__array_interface__

    def __del__(self):
        _advise(self._piece, "MADV_FREE")
        _spare.append(self._piece)


def _piece(nbytes: int) -> mmap.mmap:
    """The spare piece if it is long enough, else a new one in whole huge pages."""
    with suppress(IndexError):
        piece = _spare.pop()
        if len(piece) >= nbytes:
            return piece
    piece = mmap.mmap(-1, -(-nbytes // HUGE_PAGE) * HUGE_PAGE, flags=mmap.MAP_PRIVATE)
    _advise(piece, "MADV_HUGEPAGE")
    return piece


def _advise(piece: mmap.mmap, advice: str) -> None:
    """Tell the system about a piece, if it can be told that."""
    if hasattr(mmap, advice):
        with suppress(OSError):
            piece.madvise(getattr(mmap, advice))
