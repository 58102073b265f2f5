"""A file that goes to the disk while it is written, so that little is left to wait for when it is synced."""

from __future__ import annotations

import ctypes
import io

__all__ = ["PIECE_NBYTES", "WriteBehindFile"]

PIECE_NBYTES = 1 << 20
"""Bytes that the system is asked to write out at a time; pieces begin at multiples of it, so that no page is written twice."""

_WRITE = 2
"""SYNC_FILE_RANGE_WRITE of Linux: begin to write out, and do not wait."""


class WriteBehindFile(io.FileIO):
    """
    A file written mostly from its start to its end.

    Parameters
    ----------
    descriptor : int
        Of a new file, open for reading and writing; it is closed with this one.

    Notes
    -----
    Nothing is promised before `os.fsync`, which then finds most of the work done. Where the system has no such request, as
    outside of Linux, everything is left to it.
    """

    def __init__(self, descriptor: int):
        super().__init__(descriptor, "w+b")
        self._begun = 0

    def write(self, data) -> int:
        """Write as any file does, and have all whole pieces behind written out."""
        n = super().write(data)
        stop = self.tell() // PIECE_NBYTES * PIECE_NBYTES
        if stop > self._begun:
            _begin_to_write_out(self.fileno(), self._begun, stop - self._begun)
            self._begun = stop
        return n


def _request():
    """The system call, or what takes its place where there is none."""
    call = getattr(ctypes.CDLL(None), "sync_file_range", None)
    if call is None:
        return lambda descriptor, start, nbytes, flags: 0
    call.argtypes = ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint
    return call


_sync_file_range = _request()


def _begin_to_write_out(descriptor: int, start: int, nbytes: int) -> None:
    """Only a request: a file system that refuses it will do all of it when the file is synced."""
    _sync_file_range(descriptor, start, nbytes, _WRITE)
