"""Updating a file through its list of HDUs such that a crash leaves the old file or the new one."""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from astropy.io.fits.file import _File

from ...hdus import walk
from ...sources.local import FileSource
from ...write.atomic import replacing
from .flush import has_changed
from .hdu import CompImageHDU
from .hdulist import HDUList
from .sources import forget_source, is_callers, open_table
from .stored import prepare_to_write

__all__ = ["UpdatedHDUList"]


class UpdatedHDUList(HDUList):
    """
    The HDUs of a local file that is open for update; `flush` writes a new file beside it and puts it in place.

    Notes
    -----
    Where nothing changed, nothing is written.  The new content of a file object is written to a temporary file, then copied.
    """

    _file: Any

    def __init__(self, hdus=[], file=None):  # noqa: B006  (astropy's signature)
        super().__init__(hdus, file)
        self._tell_file()

    def _tell_file(self):
        """Let the HDUs find this list through their file."""
        if self._file is not None:
            self._file._tilecomp_list = weakref.ref(self)

    def _flush_update(self):
        try:
            for hdu in self:
                prepare_to_write(hdu, inplace=True)
            if self._wasresized() or self._truncate or any(map(has_changed, self)):
                self._refuse_cut_file()
                self._replace_file()
        finally:
            for hdu in self:
                hdu._postwriteto()

    def _replace_file(self):
        old = self._file
        with (_copied_to if is_callers(old) else _put_in_place_of)(old) as target:
            for hdu in self:
                hdu._writeto(target, inplace=True, copy=True)
            target.flush()
        forget_source(old)
        if is_callers(old):
            old.size = old._file.seek(0, os.SEEK_END)
        else:
            old.close()
            self._file = _File(old.name, mode="update", memmap=old.memmap)
            self._tell_file()
        self._resize = self._truncate = False
        for hdu in self:
            hdu._file = self._file
            for part in _written(hdu):
                part._header._modified = False
                part.__dict__["_new"] = False

    def edit(self, hdu: CompImageHDU, change: Callable) -> None:
        """Edit one compressed image on disk, and follow what moved in the file."""
        with self._read_lock:
            self._refuse_cut_file()
            self._file.flush()
            old = hdu._bintable
            with FileSource(self._file.name) as source:
                number = next(found.number for found in walk(source) if found.header_offset == old._header_offset)
            change(self._file.name, number)
            self._reopen()
            with FileSource(self._file.name) as source:
                new = open_table(source, old._header_offset)
            new._file = self._file
            moved = new._data_offset + new._data_size - (old._data_offset + old._data_size)
            hdu._take_table(new)
            for other in list(self._in_memory()):
                table = other._bintable if isinstance(other, CompImageHDU) else other
                if table is not None and table is not new and (table._header_offset or 0) > new._header_offset:
                    table._header_offset += moved
                    table._data_offset += moved

    def _reopen(self):
        """Look at the file that has the path now, through the same file object of astropy."""
        forget_source(self._file)
        inner = open(self._file.name, "rb+")
        self._file._file.close()
        self._file._file = inner
        self._file.size = os.fstat(inner.fileno()).st_size

    def _in_memory(self):
        """The HDUs that were read so far."""
        return (list.__getitem__(self, number) for number in range(list.__len__(self)))


@contextmanager
def _put_in_place_of(old: _File) -> Iterator[_File]:
    """A file that takes the place of another, compressed as that one is."""
    with replacing(old.name, overwrite=True) as file:
        if old.compression is None:
            yield _File(file)
            return
        with gzip.GzipFile(old.name.removesuffix(".gz"), "wb", fileobj=file, mtime=0) as packed:
            yield _File(packed)


@contextmanager
def _copied_to(old: _File) -> Iterator[_File]:
    """A temporary file whose content replaces that of the caller's file object."""
    with tempfile.NamedTemporaryFile(prefix="astropy_tilecomp-") as file:
        yield _File(file)
        file.seek(0)
        old._file.seek(0)
        shutil.copyfileobj(file, old._file, 1 << 20)
        old._file.truncate()
        old._file.flush()


def _written(hdu) -> list:
    """What of an HDU has a header that may be changed; of a compressed image that nobody looked at, only its table."""
    if not isinstance(hdu, CompImageHDU):
        return [hdu]
    parts = [] if hdu._bintable is None else [hdu._bintable]
    return parts if hdu._opening is not None else [hdu, *parts]
