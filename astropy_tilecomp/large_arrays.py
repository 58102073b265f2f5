"""Memory for large arrays: fresh memory costs as much as decoding a tile, so what a program gives up serves the next one."""

from __future__ import annotations

import mmap
import sys
from collections import deque
from contextlib import suppress
from math import prod

import numpy as np

__all__ = ["HUGE_PAGE", "LARGEST_KEPT", "LEAST_NBYTES", "N_KEPT", "empty"]

HUGE_PAGE = 2 << 20
LEAST_NBYTES = 4 * HUGE_PAGE if sys.platform == "linux" else sys.maxsize
"""Size from which an array is laid out in huge pages; numpy asks the system for such from 4 MB on."""
LARGEST_KEPT, N_KEPT = 64 << 20, 2
"""Bytes of a piece of memory that is not too long to be kept, and how many are: a loop has two results at a time."""

_spare: deque[mmap.mmap] = deque(maxlen=N_KEPT)  # its own methods are atomic: no lock, which `__del__` could meet locked


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

    Notes
    -----
    The system supplies memory page by page, as zeros, when it is first written to, which takes a third of the time of a
    whole read; a thousand small pages before the first whole huge one or behind the last take as long as many huge ones.
    The process keeps at most `N_KEPT` pieces of `LARGEST_KEPT` bytes, and leaves it to the system to take their pages
    back when it runs short of memory.
    """
    nbytes = prod(shape) * dtype.itemsize
    if nbytes < LEAST_NBYTES:
        return np.empty(shape, dtype)
    return np.asarray(_Owner(_piece(nbytes)))[:nbytes].view(dtype).reshape(shape)


class _Owner:
    """What arrays in a piece of memory refer to as its owner: when the last of them goes, the piece is a spare one."""

    def __init__(self, piece: mmap.mmap):
        self._piece = piece
        self.__array_interface__ = np.frombuffer(piece, np.uint8).__array_interface__

    def __del__(self):
        if len(self._piece) <= LARGEST_KEPT:
            _advise(self._piece, "MADV_FREE")
            _spare.append(self._piece)


def _piece(nbytes: int) -> mmap.mmap:
    """A spare piece of this length or somewhat more, else a new one in whole huge pages."""
    for _ in range(N_KEPT):
        with suppress(IndexError):
            piece = _spare.popleft()
            if nbytes <= len(piece) <= 2 * nbytes:
                return piece
            _spare.append(piece)
    try:
        piece = mmap.mmap(-1, -(-nbytes // HUGE_PAGE) * HUGE_PAGE, flags=mmap.MAP_PRIVATE)
    except OSError as error:
        raise MemoryError(f"the system has no {nbytes} bytes for an array: {error}") from error
    _advise(piece, "MADV_HUGEPAGE")
    return piece


def _advise(piece: mmap.mmap, advice: str) -> None:
    """Tell the system about a piece, if it can be told that."""
    if hasattr(mmap, advice):
        with suppress(OSError):
            piece.madvise(getattr(mmap, advice))
