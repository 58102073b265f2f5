"""Bytes in memory and in local files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from ..errors import SourceError
from .base import ByteSource, bytes_view

__all__ = [
    "BufferSource",
    "Descriptor",
    "FileSource",
    "MmapSource",
    "ReopenedFile",
    "check_unchanged",
    "explaining",
    "opened_for_each_read",
]


class BufferSource(ByteSource):
    """
    Bytes in memory; what is read shares their memory.

    Parameters
    ----------
    buffer : contiguous buffer
        bytes, bytearray, memoryview or array.
    name : str, optional
        What messages call it.
    """

    def __init__(self, buffer, name: str = "<memory>"):
        self._view: memoryview | None = bytes_view(buffer)
        self.nbytes = self._view.nbytes
        self.name = name

    def _read(self, ranges):
        view = self._open_view()
        return [view[start:stop] for start, stop in ranges]

    def _readinto(self, wanted, view):
        np.copyto(np.frombuffer(view, np.uint8), np.frombuffer(self._open_view()[slice(*wanted)], np.uint8))

    def _open_view(self):
        if self._view is None:
            raise ValueError(f"{self.name}: read of a closed source")
        return self._view

    def close(self):
        self._view = None

    def __reduce__(self):
        return BufferSource, (bytes(self._open_view()), self.name)


class MmapSource(ByteSource):
    """
    A memory-mapped file of the caller; every read is a copy, so that the map can be closed at any time.

    Parameters
    ----------
    mapped : mmap.mmap
        The map; it stays the caller's to close.
    """

    def __init__(self, mapped):
        self._mapped = mapped
        self.nbytes = len(mapped)
        self.name = "<mmap>"

    def _read(self, ranges):
        return [self._mapped[start:stop] for start, stop in ranges]  # ValueError once it is closed


@contextmanager
def explaining(path) -> Iterator[None]:
    """Say of a file that is not there how the part is asked for that an extended file name of CFITSIO has in brackets."""
    try:
        yield
    except FileNotFoundError as error:
        if not os.fsdecode(path).endswith("]"):
            raise
        reason = "no such file; extended file names of CFITSIO are not supported: use hdu=, and read_section for a part"
        raise FileNotFoundError(error.errno, reason, os.fsdecode(path)) from None


class Descriptor:
    """A file descriptor that is closed when the last reference to it goes: no read can meet a number used again."""

    __slots__ = ("number",)

    def __init__(self, number: int):
        self.number = number

    def __del__(self):
        os.close(self.number)


class FileSource(ByteSource):
    """
    A local file, read with pread on a descriptor of our own.

    Parameters
    ----------
    path : str or path-like
        The file.

    Raises
    ------
    OSError
        If it cannot be opened or is no regular file.

    Notes
    -----
    Pickled as path, size and time of modification; a file that changed raises `SourceError` when it is opened again.
    Its bytes may be written by others while it is open; `nbytes` is the size when it was opened.
    """

    def __init__(self, path):
        path = os.path.abspath(os.path.expanduser(os.fspath(path)))
        with explaining(path):
            number = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        self._adopt(Descriptor(number), os.fsdecode(path))
        self._path: str | None = self.name

    @classmethod
    def from_descriptor(cls, number: int, name: str, path: str | None = None) -> FileSource:
        """
        Read from a copy of an open descriptor.

        Parameters
        ----------
        number : int
            The descriptor; it stays the caller's.
        name : str
            What messages call the file.
        path : str, optional
            Where a pickle finds the file; by default it cannot be pickled.
        """
        source = cls.__new__(cls)
        source._adopt(Descriptor(os.dup(number)), name)
        source._path = path
        return source

    def _adopt(self, descriptor: Descriptor, name: str) -> None:
        status = os.fstat(descriptor.number)
        if not stat.S_ISREG(status.st_mode):
            kind = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise OSError(f"{name}: {kind}")
        self._descriptor: Descriptor | None = descriptor
        self._mtime_ns = status.st_mtime_ns
        self.nbytes = status.st_size
        self.name = name

    def _open_descriptor(self) -> Descriptor:
        descriptor = self._descriptor
        if descriptor is None:
            raise ValueError(f"{self.name}: read of a closed file")
        return descriptor

    def _read(self, ranges):
        descriptor = self._open_descriptor()
        parts = []
        for start, stop in ranges:
            part: bytes | np.ndarray = os.pread(descriptor.number, stop - start, start)
            if len(part) != stop - start:  # the system reads at most 2 GiB at once
                part = np.empty(stop - start, np.uint8)
                self._readinto((start, stop), part.data)
            parts.append(part)
        return parts

    def _readinto(self, wanted, view):
        descriptor = self._open_descriptor()
        start, stop = wanted
        at = start
        while at < stop:
            got = os.preadv(descriptor.number, [view[at - start :]], at)
            if got == 0:
                raise SourceError(
                    f"{self.name}: bytes {start} to {stop}: got {at - start} bytes instead of {stop - start}; "
                    "the file was cut after it was opened"
                )
            at += got

    def close(self):
        self._descriptor = None

    @property
    def is_replaced(self):
        """Whether the path leads to another file by now, or to none."""
        if self._path is None:
            return False
        try:
            return not os.path.samestat(os.stat(self._path), os.fstat(self._open_descriptor().number))
        except OSError:
            return True

    def __reduce__(self):
        if self._path is None or self.is_replaced:
            return super().__reduce__()
        return _reopen_file, (self._path, self.nbytes, self._mtime_ns)


class ReopenedFile(ByteSource):
    """
    A local file that is opened for each read, since readers of more files may be kept than a process may have descriptors.

    Parameters
    ----------
    path : str or path-like
        The file.

    Raises
    ------
    OSError
        If it cannot be opened or is no regular file.

    Notes
    -----
    Once its size or time of modification is another than at first, reading raises `SourceError`. A pickle opens nothing before
    it is read.
    """

    def __init__(self, path):
        with FileSource(path) as file:
            self._adopt(file.name, file.nbytes, file._mtime_ns)

    @classmethod
    def restored(cls, name: str, nbytes: int, mtime_ns: int) -> ReopenedFile:
        """The file of a name, size and time of modification that are known; it is not looked at yet."""
        source = cls.__new__(cls)
        source._adopt(name, nbytes, mtime_ns)
        return source

    def _adopt(self, name: str, nbytes: int, mtime_ns: int) -> None:
        self.name, self.nbytes, self._mtime_ns = name, nbytes, mtime_ns

    def __reduce__(self):
        return ReopenedFile.restored, (self.name, self.nbytes, self._mtime_ns)

    def _open(self) -> FileSource:
        return _reopen_file(self.name, self.nbytes, self._mtime_ns, since="it was opened")

    def _read(self, ranges):
        with self._open() as file:
            return file._read(ranges)

    def _readinto(self, wanted, view):
        with self._open() as file:
            file._readinto(wanted, view)


def opened_for_each_read(source: ByteSource) -> ByteSource:
    """
    A source for something that may be kept beside thousands of others.

    Parameters
    ----------
    source : ByteSource
        Any source.

    Returns
    -------
    ByteSource
        In place of a local file, which is closed, one that opens it for each read; else `source`.
    """
    if type(source) is not FileSource or source._path is None:
        return source
    with source:
        return ReopenedFile.restored(source._path, source.nbytes, source._mtime_ns)


def _reopen_file(path: str, nbytes: int, mtime_ns: int, since: str = "it was pickled") -> FileSource:
    source = FileSource(path)
    then, now = (nbytes, mtime_ns), (source.nbytes, source._mtime_ns)
    check_unchanged(path, then, now, "size and time of modification", since)
    return source


def check_unchanged(name: str, then, now, what: str, since: str = "it was pickled") -> None:
    """Raise SourceError if a file is another than it was."""
    if then != now:
        raise SourceError(f"{name}: changed since {since}: {what} were {then}, are now {now}")
