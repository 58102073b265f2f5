"""Updating a file through its list of HDUs such that a crash leaves the old file or the new one."""

from __future__ import annotations

from astropy.io.fits.file import _File

from ..atomic import replacing
from .astropy_files import forget_source
from .astropy_hdu import CompImageHDU
from .astropy_open import HDUList

__all__ = ["UpdatedHDUList"]


class UpdatedHDUList(HDUList):
    """
    The HDUs of a local file that is open for update; `flush` writes a new file beside it and puts it in place.

    Notes
    -----
    Where nothing changed, nothing is written.  Files compressed as a whole and file objects are updated by astropy.
    """

    def _flush_update(self):
        if self._file.compression or self._file.file_like:
            return super()._flush_update()
        try:
            for hdu in self:
                hdu._prewriteto(inplace=True)
            if self._wasresized() or self._truncate or any(map(_has_changed, self)):
                self._replace_file()
        finally:
            for hdu in self:
                hdu._postwriteto()

    def _replace_file(self):
        old = self._file
        with replacing(old.name, overwrite=True) as file:
            target = _File(file)
            for hdu in self:
                hdu._writeto(target, inplace=True, copy=True)
            target.flush()
        memmap = old.memmap
        forget_source(old)
        old.close()
        self._file = _File(old.name, mode="update", memmap=memmap)
        self._resize = self._truncate = False
        for hdu in self:
            hdu._file = self._file
            for part in _written(hdu):
                part._header._modified = False
                part.__dict__["_new"] = False


def _written(hdu) -> list:
    """What of an HDU has a header that may be changed; of a compressed image that nobody looked at, only its table."""
    if not isinstance(hdu, CompImageHDU):
        return [hdu]
    parts = [] if hdu._bintable is None else [hdu._bintable]
    return parts if hdu._opening is not None else [hdu, *parts]


def _has_changed(hdu) -> bool:
    """Whether an HDU is new, or its header or, as far as that can be told, its data are not those of the file."""
    if not isinstance(hdu, CompImageHDU):
        return hdu._new or hdu._header._modified or hdu._has_data
    table = hdu._bintable
    return table is None or table._new or table._header._modified or table._data_replaced
