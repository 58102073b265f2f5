"""A file that appears under its name only when it is complete: written beside, synced, put in place by one rename."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

__all__ = ["copy_range", "replacing", "replacing_fits", "sync_folder"]

_COPY_NBYTES = 1 << 24


@contextmanager
def replacing(path, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """
    Write a file that takes the place of `path` when the block ends well, and leaves no trace when it does not.

    Raises
    ------
    FileExistsError
        If the file exists and may not be replaced, or is a directory, a device or a pipe.
    ValueError
        If the name asks for something in the syntax of CFITSIO.
    OSError
        If no file can be made in its folder.

    Notes
    -----
    The content is synced before the rename and the folder after it, so a crash at any moment leaves the old file or the
    new one.
    """
    target = os.path.realpath(os.fspath(path))
    _refuse_place(target, overwrite)
    folder = os.path.dirname(target)
    beside = os.path.join(folder, f".tilecomp-{os.urandom(6).hex()}.part")  # a name of 255 bytes leaves no room for more
    try:  # before the file is there: Ctrl-C may come as soon as it is
        with _created(beside, target) as file:
            if os.path.exists(target):
                os.fchmod(file.fileno(), os.stat(target).st_mode & 0o7777)
            yield file
            file.flush()
            _put_in_place(file.fileno(), beside, target, overwrite)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


OTHER_FORMATS = (".jpg", ".jpeg", ".png", ".gif", ".tif", ".tiff", ".pdf", ".npy", ".npz", ".bz2", ".xz", ".zip", ".zst", ".Z")
"""Endings of names that a FITS file must not have."""


@contextmanager
def replacing_fits(path, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """
    Write a FITS file as `replacing` does; it is gzipped if its name ends in ``.gz``.

    Raises
    ------
    ValueError
        If the name ends as that of another format.
    FileExistsError, OSError
        As `replacing`.
    """
    name = os.fsdecode(path)
    if name.endswith(OTHER_FORMATS):
        raise ValueError(f"{name}: a FITS file would be written, whose name cannot end in {os.path.splitext(name)[1]}")
    with replacing(path, overwrite=overwrite) as file:
        if not name.endswith(".gz"):
            yield file
            return
        with tempfile.TemporaryFile(dir=os.path.dirname(os.path.realpath(name))) as plain:
            yield plain
            plain.seek(0)
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
                shutil.copyfileobj(plain, packed, 1 << 20)


def _put_in_place(descriptor: int, beside: str, target: str, overwrite: bool) -> None:
    """Sync a complete file and give it its name."""
    os.fsync(descriptor)
    _refuse_place(target, overwrite)
    os.replace(beside, target)
    sync_folder(os.path.dirname(target))


def _created(beside: str, target: str) -> BinaryIO:
    """A new file; an error names the file that the caller asked for."""
    try:
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
    except OSError as error:
        raise OSError(error.errno, error.strerror, target) from None
    raw = io.FileIO(descriptor, "w+b")
    raw.name = beside  # astropy looks for free space in the folder of a file that it cannot write
    return io.BufferedRandom(raw)


def _refuse_place(target: str, overwrite: bool) -> None:
    name = os.path.basename(target)
    if name.endswith("]") and "[compress" in name:
        raise ValueError(f"{target}: extended file names of CFITSIO are not supported: use algorithm= and tile_shape=")
    if name.startswith("!"):
        raise ValueError(f"{target}: extended file names of CFITSIO are not supported: use overwrite=True")
    if os.path.exists(target) and not os.path.isfile(target):
        raise FileExistsError(f"{target} is a folder, a device or a pipe: only a file is replaced")
    if not overwrite and os.path.exists(target):
        raise FileExistsError(f"{target} exists already; overwrite=True replaces it")


def sync_folder(folder: str) -> None:
    """Make a rename in a folder last through a crash of the machine."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def copy_range(source: BinaryIO, start: int, stop: int, target: BinaryIO) -> None:
    """
    Copy bytes of one open file to the end of what was written to another.

    Raises
    ------
    OSError
        If the source ends before `stop`.
    """
    target.flush()
    while start < stop:
        data = os.pread(source.fileno(), min(_COPY_NBYTES, stop - start), start)
        if not data:
            raise OSError(f"{source.name}: ends at byte {start}, expected {stop}")
        target.write(data)
        start += len(data)
