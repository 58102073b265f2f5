"""A section or a whole image in one call."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..hdus import find_image
from ..sources.opening import as_source
from .reader import TileReader, reader_for

__all__ = ["read_image", "read_section", "section"]


def read_section(file, index, *, hdu=None, out: np.ndarray | None = None, threads: int | None = None,
                 engine: str | None = None, on_error: str = "raise", fill_value=0, max_nbytes: int | None = None,
                 storage_options: dict | None = None, remote: Mapping | None = None) -> np.ndarray:
    """
    Read part of a compressed image.

    Parameters
    ----------
    file : path, URL, file object, bytes or anything else that `as_source` takes
        The FITS file.
    index : numpy index
        Integers, slices and Ellipsis, or one integer array or boolean mask in place of an axis.
    hdu : int, str or (str, int), optional
        Number, EXTNAME, or EXTNAME and EXTVER; by default the first compressed image.
    out : ndarray or buffer, optional
        Array to fill, of the shape and type of the result, in any strides and byte order.
    threads : int, optional
        Threads to use at most; by default as many as there are cores.
    engine : {"kernel", "cfitsio"}, optional
        What decodes; by default ASTROPY_TILECOMP_ENGINE, else "kernel".
    on_error : {"raise", "fill"}
        What to do about tiles that cannot be decoded.
    fill_value : int
        What fills such tiles of integer images without BLANK; elsewhere it is NaN, or BLANK.
    max_nbytes : int, optional
        Largest array to allocate; by default ASTROPY_TILECOMP_MAX_NBYTES, else half of the memory.
    storage_options : dict, optional
        What fsspec needs to open a URL.
    remote : RemoteSettings or mapping, optional
        How to read a remote file: settings that differ from those of the environment.

    Returns
    -------
    ndarray
        The pixels, scaled by BSCALE and BZERO.

    Raises
    ------
    HeaderError
        If there is no such image, or its header breaks the format.
    CorruptTileError
        If a tile that is needed is damaged.
    IndexError
        If `index` does not fit the image.
    ValueError, TypeError
        If `out` has another shape, or is read-only; if it has another type, or is neither an array nor a buffer.
    OSError
        If the file cannot be opened or read.

    Examples
    --------
    >>> import numpy as np
    >>> import astropy_tilecomp as tc
    >>> tc.read_section("panoptes_solved.fits.fz", np.s_[300:302, ::-350])
    array([[2184, 2154],
           [2216, 2227]], dtype=uint16)
    """
    source = as_source(file, storage_options, remote)
    try:
        found = find_image(source, hdu)
        reader = reader_for(
            found, source, threads=threads, engine=engine, on_error=on_error, fill_value=fill_value,
            cache_bytes=0, max_nbytes=max_nbytes,
        )
        return reader.read(index, out=out)
    finally:
        if source is not file:
            source.close()


def read_image(file, *, hdu=None, out: np.ndarray | None = None, threads: int | None = None, engine: str | None = None,
               on_error: str = "raise", fill_value=0, max_nbytes: int | None = None, storage_options: dict | None = None,
               remote: Mapping | None = None) -> np.ndarray:
    """
    Read a whole compressed image.

    Parameters
    ----------
    file, hdu, out, threads, engine, on_error, fill_value, max_nbytes, storage_options, remote
        As in `read_section`.

    Returns
    -------
    ndarray
        The pixels, scaled by BSCALE and BZERO.

    Raises
    ------
    HeaderError, CorruptTileError
        As in `read_section`.
    """
    return read_section(
        file, ..., hdu=hdu, out=out, threads=threads, engine=engine, on_error=on_error, fill_value=fill_value,
        max_nbytes=max_nbytes, storage_options=storage_options, remote=remote,
    )


def section(source, header: Mapping, index=..., *, out: np.ndarray | None = None, threads: int | None = None,
            engine: str | None = None, on_error: str = "raise", max_nbytes: int | None = None) -> np.ndarray:
    """
    Read part of a compressed image once.

    Parameters
    ----------
    source : ByteSource
        The data unit of the HDU (main table and heap).
    header : mapping
        Keyword to value, of the header of the compressed table.
    index, out, threads, engine, on_error, max_nbytes
        As of `TileReader` and its method `read`.

    Returns
    -------
    ndarray or numpy scalar
        The pixels.

    Raises
    ------
    HeaderError, UnsupportedError, CorruptTileError, TruncatedTileError, IndexError
        As there.
    """
    reader = TileReader(source, header, threads=threads, engine=engine, on_error=on_error, max_nbytes=max_nbytes, cache_bytes=0)
    return reader.read(index, out=out)
