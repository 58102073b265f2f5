"""A list of HDUs in which compressed images are ours."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

from astropy.io import fits

from ...errors import HeaderError, TileCompWarning
from ...sources.base import ByteSource
from ...threads import ForkSafeLock
from ...tiling.values import HeaderValues
from .flush import TileFlushing
from .hdu import CompImageHDU
from .next_header import NextHeader, impossible_size, next_header
from .sources import forget_source, header_of
from .unread import unread_image

__all__ = ["HDUList", "TileReading"]

_READ_BY_ASTROPY = ("checksum", "ignore_missing_end")
_HDU_KEYWORDS = ("scale_back", "uint", "do_not_scale_image_data", "ignore_blank")


class TileReading(TileFlushing):
    """
    Makes any class of HDU lists wrap the compressed images it reads in `CompImageHDU`.

    Notes
    -----
    Astropy reads the plain table, and mostly not before more is asked for than the pixels; what wraps it never looks at more
    than the header bytes.  HDUs may be asked for from many threads.
    """

    _make_image = CompImageHDU
    _own_source: ByteSource | None = None

    def __init__(self, hdus=[], file=None):  # noqa: B006  (astropy's signature)
        self._read_lock = ForkSafeLock()
        super().__init__(hdus, file)

    def __len__(self):
        with self._read_lock:  # while another thread reads an HDU, astropy's own length is that so far
            return super().__len__()

    def __setitem__(self, key, hdu):
        self.readall()  # the next HDU is looked for behind the last one in the list, which must be one of the file
        super().__setitem__(key, hdu)

    def _try_while_unread_hdus(self, func, *args, **kwargs):
        with self._read_lock:  # else another thread may read the HDU between a miss here and the end of the file
            return super()._try_while_unread_hdus(func, *args, **kwargs)

    def _read_next_hdu(self):
        with self._read_lock:
            self._make_image = self._open_kwargs.pop("tilecomp_image", self._make_image)
            wanted = self._open_kwargs.get("disable_image_compression", False)
            self._open_kwargs["disable_image_compression"] = True
            try:
                header = self._look_at_next_header()
                impossible = header and impossible_size(header)
                if impossible:
                    return self._end_here(impossible)
                if header and not wanted and self._take_unread_image(header):
                    return True
                found = super()._read_next_hdu() and self._size_of_last_is_possible()
            except (TypeError, AttributeError, LookupError, ArithmeticError) as error:  # of sizes that are text, missing or beyond 64 bits
                found = self._end_here(f"astropy raises {error!r}")
            finally:
                self._open_kwargs["disable_image_compression"] = wanted
            if found and not wanted:
                self._wrap_last()
        return found

    def _look_at_next_header(self) -> NextHeader | None:
        """The header that astropy reads next; None where it is the first to find out that there is none."""
        file = self._file
        if self._read_all or (file is not None and (file.closed or not hasattr(file._file, "seek"))):
            return None
        inner = io.BytesIO(self._data or b"") if file is None else file._file  # of which astropy does not warn where it is cut
        here, start = inner.tell(), None if file is None else self._end_of_last()
        try:
            inner.seek(here if start is None else start)
            return next_header(inner.read, is_plain=file is not None)
        except EOFError:  # of a whole file that was compressed, and cut
            return None
        finally:
            inner.seek(here)

    def _take_unread_image(self, header: NextHeader) -> bool:
        """Append the compressed image that comes next without astropy, if there can be no doubt that it is one."""
        start = self._end_of_last()
        if start is None or self._file is None or any(self._open_kwargs.get(name) for name in _READ_BY_ASTROPY):
            return False
        table = unread_image(header.blocks, start, self._file, self._open_kwargs)
        if table is None:
            return False
        try:
            self._file.seek(table._data_offset + table._data_size)  # astropy warns there of a file that is cut
        except EOFError:
            return False
        list.append(self, self._image_in(table))
        return True

    def _end_of_last(self):
        """Where the next HDU is, behind the last that was read; None before the first."""
        last = list.__getitem__(self, -1) if list.__len__(self) else None
        return None if last is None or last._data_offset is None else last._data_offset + last._data_size

    def _size_of_last_is_possible(self) -> bool:
        """Whether the HDU just read is followed by what astropy reads next; if not, it would read the same for ever."""
        last: Any = list.__getitem__(self, -1)
        if last._data_offset is None or last._data_size >= 0:
            return True
        list.pop(self)
        return self._end_here(f"its data unit would have {last._data_size} bytes")

    def _end_here(self, reason: str) -> bool:
        """End the list before an HDU behind which nothing can be found, as astropy does for other faults."""
        self._read_all = True
        message = f"HDU {list.__len__(self)} and all behind it are left out, for its header tells no size: {reason}"
        warnings.warn(message, TileCompWarning, stacklevel=3)
        return False

    def _wrap_last(self):
        """Replace the table just read by the image in it, if there is one."""
        table: Any = list.__getitem__(self, -1)
        header = header_of(table) if isinstance(table, fits.BinTableHDU) else {}
        if _is_true(header, "ZTABLE"):
            message = f"HDU {list.__len__(self) - 1} is a compressed table, which is not decompressed: its rows are those of the file"
            warnings.warn(message, TileCompWarning, stacklevel=2)
        if _is_true(header, "ZIMAGE"):
            list.__setitem__(self, -1, self._image_in(table))

    def _image_in(self, table) -> CompImageHDU:
        """The image of a table, read with what this list was opened with."""
        keywords = {name: self._open_kwargs[name] for name in _HDU_KEYWORDS if name in self._open_kwargs}
        hdu = self._make_image(bintable=table, **keywords)
        hdu.__dict__["_new"] = False
        if "checksum" in self._open_kwargs:
            hdu.__dict__["_output_checksum"] = self._open_kwargs["checksum"]
        return hdu

    def close(self, output_verify="exception", verbose=False, closed=True):
        """Close the file, as astropy does, and the source that was made for it; tiles that were kept are given up."""
        try:
            super().close(output_verify, verbose, closed)
        finally:
            hdu: Any
            for hdu in list.__iter__(self) if closed else ():
                if isinstance(hdu, CompImageHDU):
                    hdu._forget_tiles()
            if closed and self._file is not None:
                forget_source(self._file)
            if closed and self._own_source is not None:
                self._own_source.close()


def _is_true(header, keyword) -> bool:
    """Whether a logical keyword is T, in a card that can be read."""
    try:
        return HeaderValues(header).flag(keyword)
    except HeaderError:
        return False


class HDUList(TileReading, fits.HDUList):
    """
    The HDUs of a file; compressed images are `CompImageHDU`, all others are astropy's.

    See `open`.
    """

    if TYPE_CHECKING:

        def __getitem__(self, key: Any) -> CompImageHDU | fits.ImageHDU | fits.PrimaryHDU | fits.BinTableHDU: ...
