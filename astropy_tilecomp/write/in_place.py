"""A file changed where it is: what was appended is cut off, and what was there put back, if anything fails."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import numpy as np

__all__ = ["appending", "parts", "runs_of_rows", "sync", "undone_on_failure", "write_at"]

MAX_ROWS_NBYTES = 4096
"""Rows are switched in writes of at most so many bytes: a killed process was never seen to leave a part of one."""


@contextmanager
def _cut_off_on_failure(file: BinaryIO) -> Iterator[int]:
    """Give a file the length back that it has now, which is yielded, if anything goes wrong."""
    size = file.seek(0, os.SEEK_END)
    try:
        yield size
    except BaseException:
        file.truncate(size)
        raise


@contextmanager
def undone_on_failure(file: BinaryIO, header_offset: int, heap_stop: int, rows_stop: int) -> Iterator[None]:
    """Cut off what was appended, then put header and rows back as they were, if anything goes wrong: a full disk allows that."""
    start = os.pread(file.fileno(), rows_stop - header_offset, header_offset)
    tail = os.pread(file.fileno(), os.fstat(file.fileno()).st_size - heap_stop, heap_stop)
    try:
        with _cut_off_on_failure(file):
            yield
    except BaseException:
        write_at(file, header_offset, start)
        write_at(file, heap_stop, tail)
        sync(file)
        raise


@contextmanager
def appending(file: BinaryIO) -> Iterator[BinaryIO]:
    """Append to an open file; if anything goes wrong, such as for want of space, what was appended is cut off again."""
    with _cut_off_on_failure(file):
        try:
            descriptor = os.dup(file.fileno())
        except (AttributeError, OSError):
            yield file
            return
        file.flush()
        with io.FileIO(descriptor, "ab+") as raw:
            raw.name = file.name
            target = io.BufferedRandom(raw)
            yield target
            target.flush()
        file.seek(0, os.SEEK_END)


def parts(data: bytes, nbytes: int) -> Iterator[bytes]:
    """The pieces of some bytes, each as long."""
    return (data[at:at + nbytes] for at in range(0, len(data), nbytes))


def runs_of_rows(numbers: np.ndarray, rows: bytes, naxis1: int) -> Iterator[tuple[int, bytes]]:
    """Rows that follow one another, of `MAX_ROWS_NBYTES` at most: the number of the first, and their bytes."""
    start = 0
    for stop in range(1, len(numbers) + 1):
        ends = stop == len(numbers) or numbers[stop] != numbers[stop - 1] + 1 or (stop - start + 1) * naxis1 > MAX_ROWS_NBYTES
        if ends:
            yield int(numbers[start]), rows[start * naxis1:stop * naxis1]
            start = stop


def sync(file: BinaryIO) -> None:
    """Wait until the disk has what was written."""
    file.flush()
    os.fsync(file.fileno())


def write_at(file: BinaryIO, offset: int, data: bytes) -> None:
    """Write all bytes at an offset."""
    file.flush()
    while data:
        n = os.pwrite(file.fileno(), data, offset)
        data, offset = data[n:], offset + n
