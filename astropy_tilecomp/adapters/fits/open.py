"""``open``: any file, as a list of HDUs."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable

from astropy.io import fits

from ...errors import UnsupportedError
from ...hdus import begins_with_extension, warn_of_missing_primary
from ...read.cache import DEFAULT_CACHE_BYTES
from ...sources.base import ByteSource
from ...sources.file_object import SourceFile
from ...sources.inflated import is_packed
from ...sources.opening import as_source, decompresses
from .hdu import CompImageHDU, ReadOptions
from .hdulist import HDUList

__all__ = ["open"]

_READING_MODES = ("readonly", "denywrite", "copyonwrite")


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
    from .update import UpdatedHDUList

    return UpdatedHDUList


def _source_for(name, storage_options, remote) -> ByteSource | None:
    """A source for what astropy cannot open as well as we can; None for a plain local file."""
    if isinstance(name, (str, os.PathLike)):
        path = os.fspath(name)
        if "://" not in path and "::" not in path and not is_packed(path):
            return None
    return as_source(name, storage_options, remote)
