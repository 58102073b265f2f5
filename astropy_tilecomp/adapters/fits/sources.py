"""From the files that astropy has open to byte sources of our own."""

from __future__ import annotations

import io

from astropy.io import fits
from astropy.io.fits.file import _File

from ...sources.base import ByteSource
from ...sources.file_object import SourceFile
from ...sources.local import BufferSource
from ...sources.opening import as_source
from ...threads import ForkSafeLock
from ...tiling.header_cards import read_cards

__all__ = [
    "data_unit", "forget_source", "header_of", "is_callers", "list_of",
    "open_table", "portable_table", "rewritten", "source_of", "whole_file",
]

_LOCK = ForkSafeLock()
_INFLATABLE = ("gzip", "bzip2", "zip", "lzma")  # what astropy calls the kinds of whole-file compression as_source knows


def source_of(file) -> ByteSource:
    """
    The source of a file that astropy opened; one for each, and closed with it.

    Raises
    ------
    ValueError
        If the file was closed.
    """
    if file.closed:
        raise ValueError(f"{file.name}: read of a closed file")
    source = file.__dict__.get("_tilecomp_source")
    if source is None:
        with _LOCK:
            source = file.__dict__.get("_tilecomp_source") or _open_source(file)
            file._tilecomp_source = source
    return source


def _open_source(file) -> ByteSource:
    inner = file._file
    if isinstance(inner, SourceFile):
        return inner.source
    if file.compression in _INFLATABLE and isinstance(file.name, str) and not file.file_like:
        return as_source(file.name)
    return as_source(inner)


def forget_source(file) -> None:
    """Close the source of a file, if it has one: the file was closed or written to."""
    source = file.__dict__.pop("_tilecomp_source", None)
    if source is not None and not isinstance(file._file, SourceFile):
        source.close()


def whole_file(bintable) -> ByteSource:
    """
    The source that a table HDU was read from; its offsets count in it.

    Raises
    ------
    ValueError
        If the file was closed.
    """
    if bintable._buffer is not None:
        return BufferSource(bintable._buffer)
    return source_of(bintable._file)


def data_unit(bintable) -> ByteSource:
    """
    The data unit of a table HDU, main table and heap.

    Raises
    ------
    ValueError
        If the file was closed.
    """
    return whole_file(bintable).part(bintable._data_offset, bintable._data_offset + bintable._data_size)


def header_of(bintable):
    """Keyword to value of a table HDU; parsed by astropy only where somebody already made it do so."""
    text = bintable.__dict__.get("_header_str")
    return bintable.header if text is None else read_cards(text.encode("latin-1"))


def open_table(source: ByteSource, header_offset: int):
    """The table HDU at an offset of a source, as astropy reads it."""
    file = _File(SourceFile(source))
    file.seek(header_offset)
    return fits.BinTableHDU.readfrom(file)


def portable_table(bintable) -> tuple[ByteSource, int]:
    """What a pickle of a table HDU holds."""
    source = whole_file(bintable)
    may_change = bintable._file is not None and bintable._file.mode in ("update", "append")
    if not may_change and not source.is_replaced:
        return source, bintable._header_offset
    hdu = source.part(bintable._header_offset, bintable._data_offset + bintable._data_size)
    return BufferSource(hdu.read(0, hdu.nbytes), source.name), 0


def rewritten(bintable):
    """A table HDU that was made in memory, as one that was read from a file."""
    target = io.BytesIO()
    fits.HDUList([fits.PrimaryHDU(), bintable]).writeto(target)
    return open_table(BufferSource(target.getvalue(), "<table in memory>"), 2880)


def list_of(hdu):
    """
    The list through which the file of an HDU can be edited.

    Raises
    ------
    ValueError
        If it was not opened by `open` with mode "update", or is not a plain local file.
    """
    file = hdu._bintable._file
    found = None if file is None else getattr(file, "_tilecomp_list", lambda: None)()
    if found is not None and not file.closed and file.compression:
        raise ValueError(f"{file.name} is compressed as a whole ({file.compression}): gunzip it first, or change hdu.data")
    if found is None or file.closed or is_callers(file):
        raise ValueError('pixels on disk can be replaced in a local file that tc.open(..., mode="update") has open')
    return found


def is_callers(file: _File) -> bool:
    """Whether a file can only be changed through the file object that the caller gave."""
    return file.file_like or not isinstance(file.name, str) or not file.name
