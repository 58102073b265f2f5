"""Writing the changes of a list of HDUs into its file, as astropy does, where it does that right."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...errors import cut_file_error
from ...threads import end_idle_threads
from ...tiling.cards import BLOCK_SIZE
from ...write.in_place import appending
from .hdu import CompImageHDU
from .sources import forget_source, open_table, source_of

__all__ = ["TileFlushing", "has_changed"]


_List: Any = object  # it is mixed with classes of HDU lists


class TileFlushing(_List):
    """Makes any class of HDU lists refuse to change a cut file, and find its compressed images again after writing."""

    def flush(self, output_verify="fix", verbose=False):
        """Write what changed, as astropy does, and let appended HDUs know their place in the file; an interrupt waits for its end."""
        appended = [] if self._file.mode != "append" else [hdu for hdu in self if hdu._new]
        end_idle_threads()
        if not appended:
            super().flush(output_verify, verbose)
            return
        self._refuse_cut_file()
        start = self._file_nbytes()
        try:
            interrupt = self._append(appended, output_verify, verbose)
        except BaseException:
            for hdu in appended:  # those in front of the one that failed were cut off with it
                hdu._new = True
            raise
        forget_source(self._file)
        for hdu in appended:
            start = self._place(hdu, start)
        if interrupt is not None:
            raise interrupt

    def _append(self, appended, output_verify, verbose) -> KeyboardInterrupt | None:
        """Append HDUs as astropy does; return an interrupt that it delayed until they were written."""
        with self._appending():
            try:
                super().flush(output_verify, verbose)
            except KeyboardInterrupt as interrupt:
                if any(hdu._new for hdu in appended):
                    raise
                return interrupt
        return None

    @contextmanager
    def _appending(self) -> Iterator[None]:
        """Let astropy append to the file; if it cannot finish, what it wrote is cut off again."""
        file = self._file._file
        with appending(file) as self._file._file:
            try:
                yield
            finally:
                self._file._file = file

    def _place(self, hdu, start: int) -> int:
        """Let an HDU that was appended know its place in the file; return the place after it."""
        if isinstance(hdu, CompImageHDU):
            table = open_table(source_of(self._file), start)
            table._file = self._file
            hdu._take_table(table)
            hdu.__dict__["_settings_read"] = hdu._settings
        else:
            hdu._file = self._file
        return hdu._data_offset + hdu._data_size

    def _file_nbytes(self) -> int:
        """How long the file is now."""
        here = self._file.tell()
        self._file._file.seek(0, os.SEEK_END)
        nbytes = self._file.tell()
        self._file._file.seek(here)
        return nbytes

    def _flush_update(self):
        if any(map(_may_have_changed, self)):
            self._refuse_cut_file()
        super()._flush_update()

    def _refuse_cut_file(self):
        """Refuse to change a file that ends before its last HDU does: astropy would write after the missing bytes."""
        if self._file.compression:
            return  # an end that is missing was an error when it was read
        read = [hdu._bintable if isinstance(hdu, CompImageHDU) else hdu for hdu in self if not hdu._new]
        ends = [hdu._data_offset + hdu._data_size if hdu is not None and hdu._data_size else 0 for hdu in read]
        nbytes = self._file_nbytes()
        if ends and max(ends) > nbytes:
            raise cut_file_error(self._file.name, ends.index(max(ends)), max(ends), nbytes)

    def _wasresized(self, verbose=False):
        if any(hdu._new or (isinstance(hdu, CompImageHDU) and _has_other_size(hdu._bintable)) for hdu in self):
            self._resize = True  # astropy misses HDUs that came by `extend`, and tables that lost their data
            self._truncate = False
        return super()._wasresized(verbose)


def has_changed(hdu) -> bool:
    """Whether an HDU is new, or its header or, as far as that can be told, its data are not those of the file."""
    if not isinstance(hdu, CompImageHDU):
        return hdu._new or hdu._header._modified or hdu._has_data
    table = hdu._bintable
    return table is None or table._new or table._header._modified or table._data_replaced


def _may_have_changed(hdu) -> bool:
    """Whether there may be something to write of an HDU, before that is made."""
    if not isinstance(hdu, CompImageHDU):
        return has_changed(hdu)
    return hdu._bintable is None or (hdu._opening is None and (hdu.header._modified or hdu._has_data))


def _has_other_size(table) -> bool:
    """Whether the table of a compressed image has lost its rows; their place in the file would be taken for the next HDU."""
    if table is None or table._data_size is None:
        return False
    return table._header._modified and -(-table.size // BLOCK_SIZE) * BLOCK_SIZE != table._data_size
