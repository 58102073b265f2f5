"""Memory for large arrays: fresh memory costs as much as decoding a tile, so what a program gives up serves the next one."""

from __future__ import annotations

import mmap
import sys
from contextlib import suppress
from math import prod

import numpy as np

__all__ = ["HUGE_PAGE", "LARGEST_KEPT", "LEAST_NBYTES", "MOST_KEPT", "empty"]

HUGE_PAGE = 2 << 20
LEAST_NBYTES = 2 * HUGE_PAGE if sys.platform == "linux" else sys.maxsize
"""Size from which an array is laid out in huge pages, as numpy asks the system for them."""
LARGEST_KEPT, MOST_KEPT = 64 << 20, 128 << 20
"""Bytes of an array whose memory is not too long to be kept, and of all that is kept: a loop has two results at a time."""

_spare: list[_Piece] = []  # its own methods are atomic: no lock, which `__del__` could meet locked


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
    The process keeps pieces of up to `LARGEST_KEPT` bytes, `MOST_KEPT` in all, and leaves it to the system to take their
    pages back when it runs short of memory.
    """
    nbytes = prod(shape) * dtype.itemsize
    if nbytes < LEAST_NBYTES:
        return np.empty(shape, dtype)
    return np.asarray(_Owner(_piece(nbytes)))[:nbytes].view(dtype).reshape(shape)


class _Piece:
    """Bytes from the system, in whole huge pages."""

    def __init__(self, nbytes: int):
        self.nbytes = -(-nbytes // HUGE_PAGE) * HUGE_PAGE
        try:
            self._memory = mmap.mmap(-1, self.nbytes + HUGE_PAGE, flags=mmap.MAP_PRIVATE)
        except OSError as error:
            raise MemoryError(f"the system has no {nbytes} bytes for an array: {error}") from error
        address = np.frombuffer(self._memory, np.uint8).__array_interface__["data"][0]
        self.interface = {"version": 3, "typestr": "|u1", "shape": (self.nbytes,),
                          "data": (address + -address % HUGE_PAGE, False)}
        self.advise("MADV_HUGEPAGE")

    def advise(self, advice: str) -> None:
        """Tell the system about it, if it can be told that."""
        if hasattr(mmap, advice):
            with suppress(OSError):
                self._memory.madvise(getattr(mmap, advice))


class _Owner:
    """What arrays in a piece of memory refer to as its owner: when the last of them goes, the piece is a spare one."""

    def __init__(self, piece: _Piece):
        self._piece, self.__array_interface__ = piece, piece.interface

    def __del__(self):
        if self._piece.nbytes <= LARGEST_KEPT:
            self._piece.advise("MADV_FREE")
            _spare.append(self._piece)
            while sum(piece.nbytes for piece in list(_spare)) > MOST_KEPT:
                with suppress(IndexError):
                    _spare.pop(0)


def _piece(nbytes: int) -> _Piece:
    """The spare piece that is just long enough, but not far too long, else a new one."""
    for piece in sorted(_spare, key=lambda piece: piece.nbytes):
        if nbytes <= piece.nbytes <= 2 * nbytes:
            with suppress(ValueError):                          # another thread was quicker
                _spare.remove(piece)
                return piece
    return _Piece(nbytes)
