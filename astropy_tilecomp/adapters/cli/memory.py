"""Memory that the work on one file gives back is kept for the next."""

from __future__ import annotations

import ctypes

__all__ = ["keep_freed_memory"]

KEPT_NBYTES = 64 << 20
"""Free memory that each thread keeps at most, about: more than encoded tiles wait in."""

_LARGEST_NBYTES = 32 << 20
"""Of a block that is kept; glibc allows no more."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's mallopt."""


def keep_freed_memory() -> None:
    """
    Have malloc keep what is freed for the same work on many files.

    By default it gives the memory of each file back to the system, which clears every page of it anew for the next: a tenth
    of the time in which 20 images are packed. Only glibc can be asked.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGEST_NBYTES)
        mallopt(_TRIM_THRESHOLD, KEPT_NBYTES)
