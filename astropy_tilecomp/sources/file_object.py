"""A source as a file object, for packages that read files."""

from __future__ import annotations

import io
import os

from .base import ByteSource, bytes_view

__all__ = ["SourceFile"]

_AHEAD_NBYTES = 4 * 2880


class SourceFile(io.RawIOBase):
    """
    A source as a read-only file object with a position of its own.

    Parameters
    ----------
    source : ByteSource
        What to read; it stays open when this is closed.

    Notes
    -----
    Of a source that is read by requests, a little more is read than is asked for, and kept: headers are read block by block.
    """

    mode = "rb"

    def __init__(self, source: ByteSource):
        self.source = source
        self.name = source.name
        self._position = 0
        self._ahead = (0, memoryview(b""))  # where bytes begin that were read, and these

    def readable(self):
        return True

    def seekable(self):
        return True

    def tell(self):
        return self._position

    def seek(self, offset, whence=os.SEEK_SET):
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.source.nbytes}[whence]
        if start + offset < 0:
            raise ValueError(f"{self.name}: seek to {start + offset}")
        self._position = start + offset
        return self._position

    def read(self, size=-1):
        start = min(self._position, self.source.nbytes)
        stop = self.source.nbytes if size is None or size < 0 else min(start + size, self.source.nbytes)
        part = bytes(self._read(start, stop))
        self._position += len(part)
        return part

    def _read(self, start: int, stop: int) -> memoryview:
        if self.source.is_local or stop - start > _AHEAD_NBYTES:
            return self.source.read(start, stop)
        first, data = self._ahead
        if not first <= start <= stop <= first + data.nbytes:
            goes_on = start == first + data.nbytes
            first, nbytes = start, 2 * data.nbytes if goes_on else _AHEAD_NBYTES
            data = self.source.read(first, min(max(first + nbytes, stop), self.source.nbytes))
            self._ahead = first, data
        return data[start - first : stop - first]

    readall = read

    def readinto(self, buffer):
        view = bytes_view(buffer)
        start = min(self._position, self.source.nbytes)
        stop = min(start + view.nbytes, self.source.nbytes)
        self.source.readinto((start, stop), view[: stop - start])
        self._position = stop
        return stop - start
