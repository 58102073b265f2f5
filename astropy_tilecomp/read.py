"""The whole reading path: header, table rows, plan, bytes, tiles, array."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

__all__ = ["TileReader", "section"]

#: Decoded tiles that one reader keeps, in bytes.
DEFAULT_CACHE_BYTES = 32 << 20


class TileReader:
    """
    Lazy reader of one compressed image.

    Parameters
    ----------
    source : ByteSource
        The data unit of the HDU (main table and heap).
    header : mapping
        Keyword -> value of the compressed table's header.
    threads : int, optional
        Threads to use at most; by default all the pool has. 1 starts none.
    engine : {"kernel", "cfitsio"}, optional
        By default ASTROPY_TILECOMP_ENGINE, else "kernel".
    on_error : {"raise", "fill"}
        What to do about tiles that cannot be decoded.
    cache_bytes : int
        Size of the cache of decoded tiles; 0 turns it off.
    max_nbytes : int, optional
        Largest array or scratch to allocate; by default ASTROPY_TILECOMP_MAX_NBYTES, else half the memory.
    scaled : bool
        Apply BSCALE, BZERO and BLANK; False gives the stored pixels.
    fill_value : scalar
        For bad tiles of integer images without BLANK.

    Attributes
    ----------
    params : CompressionParams
    grid : TileGrid
    shape : tuple of int
    dtype, result_dtype : numpy.dtype
        Type of the stored pixels, except that integer offsets give the type returned; type returned.
    chunks : tuple of int
        Shape of a tile.
    damaged_tiles : list of BadTile
        Tiles that were filled so far.
    stats : ReadStats
        Requests, bytes, tiles decoded and cache hits so far.
    """

    def __init__(self, source, header: Mapping, *, threads: int | None = None, engine: str | None = None,
                 on_error: str = "raise", cache_bytes: int = DEFAULT_CACHE_BYTES, max_nbytes: int | None = None,
                 scaled: bool = True, fill_value=0):
        raise NotImplementedError

    def read(self, index=..., *, out: np.ndarray | None = None, threads: int | None = None,
             on_error: str | None = None) -> np.ndarray:
        """
        Read part of the image.

        Parameters
        ----------
        index : basic numpy index
            Or one integer array or boolean mask in place of an axis.
        out : ndarray, optional
            Array to fill: the shape of the result and its type, in any strides and byte order.

        Returns
        -------
        ndarray
            `out`, or a new array; never a view of the cache.

        Raises
        ------
        CorruptTileError, TruncatedTileError, HeaderError, UnsupportedError, IndexError
        """
        raise NotImplementedError

    def drop_cache(self) -> None:
        """Forget decoded tiles and table rows: the bytes of the source have changed."""
        raise NotImplementedError


def section(source, header: Mapping, index=..., *, out: np.ndarray | None = None, threads: int | None = None,
            engine: str | None = None, on_error: str = "raise", max_nbytes: int | None = None) -> np.ndarray:
    """
    Read part of a compressed image once: `TileReader.read` without a cache.

    See `TileReader` for the parameters and errors.
    """
    raise NotImplementedError
