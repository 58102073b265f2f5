"""
Where bytes come from: one small protocol over memory, files and object stores.

Every reader of this package asks a `ByteSource` for byte ranges and gets one buffer for each, checked for type and
length.  `as_source` makes one of whatever the user has: bytes, a path, an open file, an mmap, an fsspec URL, file or
file system, an obstore store.  Many threads may read from one source at once.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from .errors import SourceError
from .threads import ForkSafeLock

__all__ = [
    "BufferSource",
    "ByteSource",
    "FileSource",
    "InflatedSource",
    "LockedSource",
    "MmapSource",
    "ReopenedFile",
    "SourceFile",
    "SourcePart",
    "SpooledSource",
    "as_source",
    "decompresses",
    "is_packed",
    "kind_of_packing",
    "opened",
    "opened_for_each_read",
]

Range = tuple[int, int]

IN_FLIGHT_NBYTES = 32 << 20
"""Bytes that were asked for and not taken yet by the reader, at most, unless a single range has more."""


class ByteSource:
    """
    A fixed number of bytes that can be read in ranges.

    Attributes
    ----------
    nbytes : int
        How many bytes there are.
    name : str
        What to call the source in a message: a path, a URL without its query, or ``<memory>``.
    offset : int
        Where byte 0 of this source lies in the whole file; not 0 for a part.
    gap : int
        The longest gap between two ranges that is cheaper to read through than to leave out.
    max_range : int
        Bytes to ask for at once at most, where the reader has the choice.
    table_cache : int
        A table of no more bytes than this is better read whole than row by row.
    is_local : bool
        Whether a read costs about a copy: then ranges are read one by one as they are needed.

    Notes
    -----
    A subclass has `_read`, which gives one buffer for each range; the ranges it gets lie inside the source.
    """

    nbytes: int
    name: str
    offset: int = 0
    gap: int = 0
    max_range: int = 16 << 20
    table_cache: int = 0
    is_local: bool = True

    def read_ranges(self, ranges: list[Range]) -> list[memoryview]:
        """
        Read byte ranges.

        Parameters
        ----------
        ranges : list of (int, int)
            First byte and the byte after the last of each range, ``0 <= start <= stop <= nbytes``.

        Returns
        -------
        list of memoryview
            The bytes of each range, in the order asked for; some may share memory with the source.

        Raises
        ------
        ValueError
            If a range lies outside the source, or the source is closed.
        SourceError
            If the source gave another type or number of bytes than it was asked for.
        """
        self._check_bounds(ranges)
        return [self._checked(part, wanted) for part, wanted in zip(self._read(ranges), ranges, strict=True)]

    def iter_ranges(self, ranges: list[Range]) -> Iterator[tuple[int, memoryview]]:
        """
        Read byte ranges and give each as soon as it is there.

        Parameters
        ----------
        ranges : list of (int, int)
            As of `read_ranges`.

        Yields
        ------
        int, memoryview
            Place of a range in `ranges`, and its bytes; the order is that in which they arrive.

        Raises
        ------
        ValueError, SourceError
            As `read_ranges`.
        """
        start = 0
        while start < len(ranges):
            stop = _batch_end(ranges, start)
            yield from enumerate(self.read_ranges(ranges[start:stop]), start)
            start = stop

    def read(self, start: int, stop: int) -> memoryview:
        """Read one range, as `read_ranges` does."""
        return self.read_ranges([(start, stop)])[0]

    def readinto(self, wanted: Range, buffer) -> None:
        """
        Read one range into memory of the caller.

        Parameters
        ----------
        wanted : (int, int)
            First byte and the byte after the last.
        buffer : writable contiguous buffer of ``stop - start`` bytes
            Where the bytes go.

        Raises
        ------
        ValueError
            If the range lies outside the source, the buffer has another length, or the source is closed.
        SourceError
            If the source gave another number of bytes than it was asked for.
        """
        view = _bytes_view(buffer)
        self._check_bounds([wanted])
        if view.nbytes != wanted[1] - wanted[0]:
            raise ValueError(f"{self.name}: a buffer of {view.nbytes} bytes for the {wanted[1] - wanted[0]} of {wanted}")
        self._readinto(wanted, view)

    def part(self, start: int, stop: int) -> SourcePart:
        """
        A window on this source, such as the data unit of one HDU.

        Parameters
        ----------
        start, stop : int
            Its first byte and the byte after its last; what lies past the end of the source is left out, so that the
            `nbytes` of a part are bytes that exist.
        """
        return SourcePart(self, start, stop)

    @property
    def is_replaced(self) -> bool:
        """Whether a pickle of this source would lead to other bytes than it reads."""
        return False

    def close(self) -> None:
        """Give up what the source holds; reading then raises ValueError.  Closing twice is allowed."""

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()

    def __repr__(self):
        return f"<{type(self).__name__} {self.name}, {self.nbytes} bytes>"

    def __reduce__(self):
        raise TypeError(f"{self!r} cannot be pickled: open the file by its path or URL instead")

    def _read(self, ranges: list[Range]) -> list:
        raise NotImplementedError

    def _readinto(self, wanted: Range, view: memoryview) -> None:
        view[:] = self._checked(self._read([wanted])[0], wanted)

    def _check_bounds(self, ranges: list[Range]) -> None:
        for start, stop in ranges:
            if not 0 <= start <= stop <= self.nbytes:
                raise ValueError(f"{self.name}: bytes {start} to {stop} asked for, the source has {self.nbytes}")

    def _checked(self, part, wanted: Range) -> memoryview:
        try:
            view = _bytes_view(part)
        except TypeError:
            raise SourceError(
                f"{self.name}: bytes {wanted[0]} to {wanted[1]}: got {type(part).__name__} instead of bytes"
            ) from None
        if view.nbytes != wanted[1] - wanted[0]:
            raise SourceError(
                f"{self.name}: bytes {wanted[0]} to {wanted[1]}: got {view.nbytes} bytes instead of {wanted[1] - wanted[0]}"
            )
        return view


def _batch_end(ranges: list[Range], start: int) -> int:
    """The range after those, from `start` on, that are read together."""
    nbytes = 0
    for number in range(start, len(ranges)):
        nbytes += ranges[number][1] - ranges[number][0]
        if nbytes > IN_FLIGHT_NBYTES and number > start:
            return number
    return len(ranges)


def _bytes_view(buffer) -> memoryview:
    """The bytes of any contiguous buffer, as a memoryview of format B."""
    view = memoryview(buffer)
    if view.format == "B" and view.ndim == 1 and view.contiguous:
        return view
    if not view.c_contiguous:
        raise ValueError("the buffer is not contiguous in C order")
    if view.nbytes == 0:
        return memoryview(b"")
    return memoryview(np.frombuffer(buffer, np.uint8))  # any item type, also big-endian ones that cast() refuses


class SourcePart(ByteSource):
    """
    A window on another source.

    Parameters
    ----------
    source : ByteSource
        The source it is part of; of a part, the whole behind it is taken.
    start, stop : int
        The window in `source`; what lies past its end is left out.
    """

    def __init__(self, source: ByteSource, start: int, stop: int):
        start = min(max(start, 0), source.nbytes)
        self.nbytes = min(max(stop, start), source.nbytes) - start
        if isinstance(source, SourcePart):
            start += source._start
            source = source._whole
        self._whole = source
        self._start = start
        self.name = source.name
        self.offset = source.offset + start
        self.gap, self.max_range, self.table_cache = source.gap, source.max_range, source.table_cache
        self.is_local = source.is_local

    def read_ranges(self, ranges):
        return self._whole.read_ranges(self._in_whole(ranges))

    def iter_ranges(self, ranges):
        return self._whole.iter_ranges(self._in_whole(ranges))

    def _in_whole(self, ranges):
        self._check_bounds(ranges)
        start = self._start
        return [(first + start, last + start) for first, last in ranges]

    def _readinto(self, wanted, view):
        self._whole._readinto((wanted[0] + self._start, wanted[1] + self._start), view)

    def __repr__(self):
        return f"<SourcePart of {self._whole!r}, bytes {self._start} to {self._start + self.nbytes}>"

    def __reduce__(self):
        return SourcePart, (self._whole, self._start, self._start + self.nbytes)


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
        self._view = _bytes_view(buffer)
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
def _explaining(path) -> Iterator[None]:
    """Say of a file that is not there how the part is asked for that an extended file name of CFITSIO has in brackets."""
    try:
        yield
    except FileNotFoundError as error:
        if not os.fsdecode(path).endswith("]"):
            raise
        reason = "no such file; extended file names of CFITSIO are not supported: use hdu=, and read_section for a part"
        raise FileNotFoundError(error.errno, reason, os.fsdecode(path)) from None


class _Descriptor:
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
        with _explaining(path):
            number = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        self._adopt(_Descriptor(number), os.fsdecode(path))
        self._path = self.name

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
        source._adopt(_Descriptor(os.dup(number)), name)
        source._path = path
        return source

    def _adopt(self, descriptor: _Descriptor, name: str) -> None:
        status = os.fstat(descriptor.number)
        if not stat.S_ISREG(status.st_mode):
            kind = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise OSError(f"{name}: {kind}")
        self._descriptor = descriptor
        self._mtime_ns = status.st_mtime_ns
        self.nbytes = status.st_size
        self.name = name

    def _open_descriptor(self) -> _Descriptor:
        descriptor = self._descriptor
        if descriptor is None:
            raise ValueError(f"{self.name}: read of a closed file")
        return descriptor

    def _read(self, ranges):
        descriptor = self._open_descriptor()
        parts = []
        for start, stop in ranges:
            part = os.pread(descriptor.number, stop - start, start)
            if len(part) != stop - start:  # the system reads at most 2 GiB at once
                part = np.empty(stop - start, np.uint8)
                self._readinto((start, stop), memoryview(part))
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
    _check_unchanged(path, then, now, "size and time of modification", since)
    return source


def _check_unchanged(name: str, then, now, what: str, since: str = "it was pickled") -> None:
    if then != now:
        raise SourceError(f"{name}: changed since {since}: {what} were {then}, are now {now}")


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
        self.name = _name_of(file)
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

    _path = None

    def __init__(self, file, name: str | None = None):
        import tempfile

        name = name or _name_of(file)
        with tempfile.TemporaryFile(prefix="astropy_tilecomp-") as spool:
            _copy(file, spool, name)
            spool.flush()
            self._adopt(_Descriptor(os.dup(spool.fileno())), name)


_ROOM_NBYTES = 64 << 20
"""Free space that a temporary file leaves on its disk."""


def _copy(file, target, name):
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


class InflatedSource(SpooledSource):
    """
    The content of a file compressed as a whole, inflated once to a temporary file.

    Parameters
    ----------
    origin : ByteSource
        The compressed file; closed with this source.
    kind : {"gzip", "bz2", "xz", "zip"}
        How it is compressed.

    Raises
    ------
    SourceError
        If the compressed file is damaged, or a zip file holds more than one file.
    """

    def __init__(self, origin: ByteSource, kind: str):
        self._origin = origin
        self._kind = kind
        with _open_packed(origin, kind) as plain:
            super().__init__(plain, f"{origin.name} ({kind})")
        self.name = origin.name

    @property
    def is_replaced(self):
        return self._origin.is_replaced

    def close(self):
        super().close()
        self._origin.close()

    def __reduce__(self):
        return InflatedSource, (self._origin, self._kind)


_MAGIC_NBYTES = 6
_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"PK\x03\x04": "zip", b"\xfd7zXZ\x00": "xz"}


def _open_packed(origin: ByteSource, kind: str):
    import bz2
    import gzip
    import lzma

    packed = io.BufferedReader(SourceFile(origin), 1 << 20)
    return {"gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open, "zip": _open_zip}[kind](packed)


def _open_zip(packed):
    import zipfile

    try:
        archive = zipfile.ZipFile(packed)
    except zipfile.BadZipFile as error:
        raise SourceError(f"{packed.raw.name} (zip): {error}") from error
    names = archive.namelist()
    if len(names) != 1:
        raise SourceError(f"{packed.raw.name}: a zip file of one file expected, found {len(names)}")
    return archive.open(names[0])


def _inflated(source: ByteSource) -> ByteSource:
    """The source itself, or what is in it if the whole of it is compressed."""
    kind = kind_of_packing(bytes(source.read(0, min(_MAGIC_NBYTES, source.nbytes))))
    return source if kind is None else InflatedSource(source, kind)


def kind_of_packing(start: bytes) -> str | None:
    """
    How a file is compressed as a whole.

    Parameters
    ----------
    start : bytes
        Its first 6 bytes.

    Returns
    -------
    {"gzip", "bz2", "zip", "xz"} or None
    """
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)


def is_packed(path) -> bool:
    """
    Whether a local file is compressed as a whole.

    Parameters
    ----------
    path : str or path-like
        The file.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    with _explaining(path), open(os.path.expanduser(path), "rb", buffering=0) as file:
        return kind_of_packing(file.read(_MAGIC_NBYTES)) is not None


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
        view = _bytes_view(buffer)
        start = min(self._position, self.source.nbytes)
        stop = min(start + view.nbytes, self.source.nbytes)
        self.source.readinto((start, stop), view[: stop - start])
        self._position = stop
        return stop - start


def as_source(obj, storage_options: dict | None = None, remote: Mapping | None = None) -> ByteSource:
    """
    Make a `ByteSource` of whatever holds the bytes.

    Parameters
    ----------
    obj : ByteSource, bytes-like, mmap, str, path-like, file object, fsspec OpenFile, or (file system or store, path)
        A str with ``://`` or ``::`` in it is an fsspec URL, any other a local path.  A pair is an fsspec file system
        or an obstore store, and a path in it.  A file compressed as a whole (gzip, bz2, xz, zip) is inflated.
    storage_options : dict, optional
        What fsspec needs to open a URL, such as ``{"anon": True}``.
    remote : RemoteSettings or mapping, optional
        How to read it if it is remote: the settings that differ from those of the environment.

    Returns
    -------
    ByteSource
        To be closed by the caller, unless `obj` was one already.

    Raises
    ------
    TypeError
        If `obj` is none of these.
    OSError
        If it cannot be opened.
    """
    if isinstance(obj, ByteSource):
        return obj
    return _inflated(_as_plain_source(obj, storage_options, remote))


@contextmanager
def opened(obj, storage_options: dict | None = None, remote: Mapping | None = None) -> Iterator[ByteSource]:
    """
    Use whatever a user has as a source; what was opened for it is closed at the end of the block.

    Parameters
    ----------
    obj, storage_options, remote
        As of `as_source`; a `ByteSource` stays open.

    Yields
    ------
    ByteSource
    """
    source = as_source(obj, storage_options, remote)
    try:
        yield source
    finally:
        if source is not obj:
            source.close()


def _as_plain_source(obj, storage_options, remote):
    import mmap

    if isinstance(obj, (str, os.PathLike)):
        return _path_or_url(os.fspath(obj), storage_options, remote)
    if isinstance(obj, mmap.mmap):
        return MmapSource(obj)
    if isinstance(obj, (bytes, bytearray, memoryview, np.ndarray)):
        return BufferSource(obj)
    if isinstance(obj, tuple) and len(obj) == 2:
        return _from_store(*obj, remote)
    raw = getattr(obj, "raw", obj)  # behind a BufferedReader
    if hasattr(raw, "fs") and hasattr(raw, "path"):  # an fsspec OpenFile or an open file of fsspec
        return _from_fsspec_file(raw, remote)
    if hasattr(obj, "read"):
        return _from_file_object(obj)
    raise TypeError(f"bytes, a path, a URL, a file object or a pair (store, path) expected, found {type(obj).__name__}")


def _path_or_url(path, storage_options, remote):
    if isinstance(path, bytes) or not ("://" in path or "::" in path):
        return FileSource(path)
    if path.startswith("file://"):
        from urllib.parse import unquote, urlsplit

        return FileSource(unquote(urlsplit(path).path))
    from .remote import source_at_url

    return source_at_url(path, storage_options or {}, remote)


def _from_store(store, path, remote):
    from .remote import source_in_store

    return source_in_store(store, path, remote)


def _from_fsspec_file(file, remote):
    if getattr(file, "compression", None):
        return _from_file_object(file if hasattr(file, "read") else file.open())
    return _from_store(file.fs, file.path, remote)


def _name_of(file) -> str:
    name = getattr(file, "name", None)
    return name if isinstance(name, str) else f"<{type(file).__name__}>"


def _from_file_object(file):
    import tempfile

    if isinstance(file, io.TextIOBase):
        raise TypeError(f"{_name_of(file)}: a file opened in binary mode expected, found one in text mode")
    if isinstance(file, SourceFile):
        return file.source
    bare = file.file if isinstance(file, tempfile._TemporaryFileWrapper) else file
    raw = getattr(bare, "raw", bare)
    if decompresses(file):
        return _from_decompressor(file)
    if not isinstance(raw, io.FileIO):  # others may have a fileno too, but of other bytes
        return LockedSource(file) if not hasattr(file, "seekable") or file.seekable() else SpooledSource(file)
    if file.writable():
        file.flush()
    return FileSource.from_descriptor(raw.fileno(), _name_of(file), _path_of(raw))


def _from_decompressor(file):
    before = file.tell()
    file.seek(0)
    source = SpooledSource(file)
    file.seek(before)
    return source


def decompresses(file) -> bool:
    """
    Whether an open file object inflates what it reads.

    Parameters
    ----------
    file : object
        Anything.
    """
    import bz2
    import gzip
    import lzma

    return isinstance(file, (gzip.GzipFile, bz2.BZ2File, lzma.LZMAFile))


def _path_of(raw: io.FileIO) -> str | None:
    """The absolute path of an open file, if it has a name."""
    return os.path.abspath(raw.name) if isinstance(raw.name, (str, os.PathLike)) else None
