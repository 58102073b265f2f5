"""File objects without a descriptor: read under a lock, or copied once to a temporary file."""

from __future__ import annotations

import os

from ..errors import SourceError
from ..threads import ForkSafeLock
from .base import ByteSource
from .local import Descriptor, FileSource

__all__ = ["LockedSource", "SpooledSource", "copy_to_spool", "name_of"]


class LockedSource(ByteSource):
    """
    A seekable file object without a descriptor: one lock round seek and read, its position put back afterwards.

    Parameters
    ----------
    file : binary file object
        Has ``seek``, ``tell`` and ``read``; it stays the caller's to close.
    """

    def __init__(self, file):
        self._file = file
        self._lock = ForkSafeLock()
        self.name = name_of(file)
        before = file.tell()
        self.nbytes = file.seek(0, os.SEEK_END)
        if self.nbytes is None:  # some file objects return nothing from seek
            self.nbytes = file.tell()
        file.seek(before)

    def _read(self, ranges):
        file = self._file
        if file is None:
            raise ValueError(f"{self.name}: read of a closed file")
        with self._lock:
            before = file.tell()
            try:
                return [self._read_one(file, start, stop) for start, stop in ranges]
            finally:
                file.seek(before)

    def _read_one(self, file, start, stop):
        file.seek(start)
        part = file.read(stop - start)
        if not isinstance(part, bytes) or len(part) in (0, stop - start):
            return part
        parts = [part]  # a raw file may lawfully give less than it was asked for
        left = stop - start - len(part)
        while left and (part := file.read(left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def close(self):
        self._file = None


class SpooledSource(FileSource):
    """
    What a file object gives from its position on, copied once to a temporary file that goes when this is closed.

    Parameters
    ----------
    file : binary file object
        One that cannot seek, or for which seeking means to decompress again.
    name : str, optional
        What messages call it.

    Raises
    ------
    SourceError
        If the file object decompresses and its file is damaged.
    """

    _path: str | None = None

    def __init__(self, file, name: str | None = None):
        import tempfile

        name = name or name_of(file)
        with tempfile.TemporaryFile(prefix="astropy_tilecomp-") as spool:
            copy_to_spool(file, spool, name)
            spool.flush()
            self._adopt(Descriptor(os.dup(spool.fileno())), name)


_ROOM_NBYTES = 64 << 20
"""Free space that a temporary file leaves on its disk."""


def copy_to_spool(file, target, name):
    """Copy a file object; zeros become holes, which take no space on the disk."""
    import lzma
    import zlib

    try:
        while piece := file.read(1 << 20):
            if piece.count(0) == len(piece):
                target.seek(len(piece), os.SEEK_CUR)
            else:
                _require_room(target, name)
                target.write(piece)
        target.truncate(target.tell())
    except SourceError:
        raise
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise SourceError(f"{name}: {error}") from error


def _require_room(target, name: str) -> None:
    """Stop before the disk of a temporary file is full."""
    state = os.fstatvfs(target.fileno())
    free = state.f_bavail * state.f_frsize
    if free < _ROOM_NBYTES:
        raise SourceError(f"{name}: the content takes more than {target.tell()} bytes, and the disk of temporary files has {free} left")


def name_of(file) -> str:
    """What to call a file object in messages."""
    name = getattr(file, "name", None)
    return name if isinstance(name, str) else f"<{type(file).__name__}>"
