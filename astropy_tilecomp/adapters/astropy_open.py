"""``open``: a list of HDUs in which compressed images are ours."""

from __future__ import annotations

import functools
import io
import os
import warnings
from collections.abc import Callable

from astropy.io import fits

from ..errors import HeaderError, TileCompWarning, UnsupportedError
from ..files import begins_with_extension, warn_of_missing_primary
from ..read import DEFAULT_CACHE_BYTES
from ..sources import ByteSource, SourceFile, as_source, decompresses, is_packed
from ..threads import ForkSafeLock
from ..tiling.values import HeaderValues
from .astropy_files import forget_source, header_of
from .astropy_flush import TileFlushing
from .astropy_hdu import CompImageHDU, ReadOptions
from .astropy_sizes import NextHeader, impossible_size, next_header
from .astropy_unread import unread_image

__all__ = ["HDUList", "TileReading", "open"]

_READING_MODES = ("readonly", "denywrite", "copyonwrite")
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
        last = list.__getitem__(self, -1)
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
        table = list.__getitem__(self, -1)
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


def open(name, mode="readonly", memmap=None, save_backup=False, cache=True, lazy_load_hdus=None,
         ignore_missing_simple=False, *, use_fsspec=None, fsspec_kwargs=None, decompress_in_memory=None, uint=None,
         ignore_missing_end=None, checksum=None, disable_image_compression=None, do_not_scale_image_data=None,
         character_as_bytes=None, logical_as_bytes=None, ignore_blank=None, scale_back=None, output_verify=None,
         threads=None, engine=None, on_error="raise", fill_value=0, cache_bytes=DEFAULT_CACHE_BYTES, max_nbytes=None,
         storage_options=None, remote=None) -> HDUList:
    """
    Open a FITS file.

    Parameters
    ----------
    name : path, URL, file object, bytes, or (file system or store, path)
        What to open: anything that `as_source` takes for reading; a path or file object that astropy takes for the other
        modes.
    mode : {"readonly", "update", "append", "denywrite", "copyonwrite", "ostream"}
        As in `astropy.io.fits.open`.
    memmap, save_backup, cache, lazy_load_hdus, ignore_missing_simple, use_fsspec, decompress_in_memory, uint, \
ignore_missing_end, checksum, disable_image_compression, do_not_scale_image_data, character_as_bytes, logical_as_bytes, \
ignore_blank, scale_back, output_verify
        As in `astropy.io.fits.open`; `ignore_blank` is applied to compressed images too.
    threads, engine, on_error, fill_value, cache_bytes, max_nbytes
        How compressed images are read: see `CompImageHDU`.
    storage_options, fsspec_kwargs : dict, optional
        What fsspec needs to open a URL, under this package's name and under astropy's.
    remote : RemoteSettings or mapping, optional
        How to read a remote file: settings that differ from those of the environment.

    Returns
    -------
    HDUList
        To be closed, best by ``with``.  With mode "update" a local file, also a gzipped one, is replaced as a whole when it is
        flushed or closed and something changed: a crash leaves the old file or the new one.  The new content of a file object
        is complete before it is copied there.

    Raises
    ------
    OSError
        If the file cannot be opened or is not a FITS file.
    UnsupportedError
        If an open file that decompresses is to be changed.
    ValueError
        If an option makes no sense.

    Examples
    --------
    >>> import astropy_tilecomp as tc
    >>> with tc.open("panoptes_solved.fits.fz") as hdul:
    ...     stars = hdul[1].section[300:400, 200:300]
    >>> stars.shape, stars.dtype.name
    ((100, 100), 'uint16')
    """
    if memmap is None and (mode == "update" or not fits.conf.use_memmap):
        memmap = False  # a map would change the file before it is flushed
    lazy = fits.conf.lazy_load_hdus if lazy_load_hdus is None else bool(lazy_load_hdus)
    options = ReadOptions(threads, engine, on_error, fill_value, cache_bytes, max_nbytes)
    source = None
    if mode in _READING_MODES:
        source = _source_for(name, fsspec_kwargs or storage_options, remote)
    elif decompresses(name):
        raise UnsupportedError(f"{name!r}: mode {mode!r} needs a file that can be changed, found one that only inflates")
    given = {
        "uint": fits.conf.enable_uint if uint is None else uint, "ignore_missing_end": ignore_missing_end, "checksum": checksum,
        "disable_image_compression": disable_image_compression, "do_not_scale_image_data": do_not_scale_image_data,
        "character_as_bytes": character_as_bytes, "logical_as_bytes": logical_as_bytes, "ignore_blank": ignore_blank,
        "scale_back": scale_back, "output_verify": output_verify, "decompress_in_memory": decompress_in_memory,
        "use_fsspec": use_fsspec if source is None else None,
    }
    kwargs = {name: value for name, value in given.items() if value is not None}  # what is missing is astropy's default
    kwargs["tilecomp_image"] = functools.partial(CompImageHDU, **vars(options))
    read = functools.partial(_list_class(mode).fromfile, mode=mode, memmap=memmap, save_backup=save_backup, cache=cache,
                             lazy_load_hdus=lazy, **kwargs)
    try:
        if mode in _READING_MODES:
            hdus = _read_list(read, name if source is None else source, ignore_missing_simple)
        else:
            hdus = read(name, ignore_missing_simple=ignore_missing_simple)
    except BaseException:
        if source is not None and source is not name:
            source.close()
        raise
    if source is not name:
        hdus._own_source = source
    return hdus


def _read_list(read: Callable, file, ignore_missing_simple: bool) -> HDUList:
    """Read a list of HDUs; of a file that begins with an extension as well, with a warning, as cfitsio does."""
    def from_start(**how):
        return read(SourceFile(file) if isinstance(file, ByteSource) else file, **how)

    try:
        return from_start(ignore_missing_simple=ignore_missing_simple)
    except OSError:
        if ignore_missing_simple or not begins_with_extension(file):
            raise
    warn_of_missing_primary(file)
    return from_start(ignore_missing_simple=True)


def _list_class(mode) -> type[HDUList]:
    if mode != "update":
        return HDUList
    from .astropy_update import UpdatedHDUList

    return UpdatedHDUList


def _source_for(name, storage_options, remote) -> ByteSource | None:
    """A source for what astropy cannot open as well as we can; None for a plain local file."""
    if isinstance(name, (str, os.PathLike)):
        path = os.fspath(name)
        if "://" not in path and "::" not in path and not is_packed(path):
            return None
    return as_source(name, storage_options, remote)
