"""``hdu.section``: part of a compressed image, read when it is asked for."""

from __future__ import annotations

import asyncio
from math import prod

import numpy as np

from ...errors import CorruptTileError, HeaderError
from ...read.limits import checked_out
from ...threads import waiting_pool
from .errors import as_cfitsio_error
from .repr import format_line, html_of

__all__ = ["TileSection"]


class TileSection:
    """
    The lazily read image of a `CompImageHDU`; indexing it reads the tiles that hold a selected pixel, and no others.

    Parameters
    ----------
    hdu : CompImageHDU
        The HDU.  Once its `data` was loaded, sections are copied from there.

    Notes
    -----
    It has what `astropy.nddata.Cutout2D`, dask and numpy ask of an array.  Many threads may read from one section.  It is
    pickled as its HDU.  Assigning to it replaces pixels on disk, where the file is open for update: see
    `CompImageHDU.replace_pixels`.
    """

    def __init__(self, hdu):
        self.hdu = hdu

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the image, C order."""
        return self.hdu.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of pixels."""
        return prod(self.shape)

    @property
    def dtype(self) -> np.dtype:
        """Type of the stored pixels; where BZERO makes them another type of integer, that type."""
        return self._array.dtype if self._in_memory else self.hdu._tile_reader.dtype

    @property
    def result_dtype(self) -> np.dtype:
        """Type of what reading returns."""
        return self._array.dtype if self._in_memory else self.hdu._tile_reader.result_dtype

    @property
    def nbytes(self) -> int:
        """Size of the whole image as it is returned."""
        return self.size * self.result_dtype.itemsize

    @property
    def chunks(self) -> tuple[int, ...]:
        """Shape of a tile, C order."""
        return tuple(self.hdu.tile_shape) if self.hdu._bintable is None else self.hdu._tile_reader.chunks

    @property
    def stats(self):
        """What reading took so far: requests, bytes, tiles and cache hits."""
        return self.hdu._tile_reader.stats

    def read(self, index=..., *, out: np.ndarray | None = None, threads: int | None = None, on_error: str | None = None):
        """
        Read part of the image.

        Raises
        ------
        HeaderError
            If the header of the image breaks the format.
        CorruptTileError
            If a tile that is needed is damaged; it is astropy's CfitsioException too.
        IndexError
            If `index` does not fit the image.
        ValueError
            If the file was closed, or `out` has another shape or is read-only.
        TypeError
            If `out` has another type, or is neither an array nor a buffer.
        """
        if self._in_memory:
            return _copy(self._array[index], out)
        return self.read_from_file(index, out=out, threads=threads, on_error=on_error)

    def read_from_file(self, index=..., *, out=None, threads=None, on_error=None) -> np.ndarray:
        """Read part of the image as it is in the file, whatever is in memory; as `read` otherwise."""
        try:
            return self.hdu._tile_reader.read(index, out=out, threads=threads, on_error=on_error)
        except CorruptTileError as error:
            raise as_cfitsio_error(error) from None

    async def async_read(self, index=..., *, out: np.ndarray | None = None, threads: int | None = None, on_error: str | None = None):
        """
        Read part of the image without holding up the event loop.

        Raises
        ------
        HeaderError, CorruptTileError, IndexError, ValueError, TypeError
            As `read`.
        """
        return await asyncio.wrap_future(waiting_pool().submit(self.read, index, out=out, threads=threads, on_error=on_error))

    def __getitem__(self, index):
        part = self.read(index)
        return part[()] if part.ndim == 0 else part

    def __setitem__(self, index, values):
        self.hdu.replace_pixels(index, values)

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("a compressed image is decoded to a new array: copy=False is not possible")
        array = self.read()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return format_line(self.hdu, "section of")

    def _repr_html_(self):
        return html_of(self.hdu, "section of", {} if self.hdu._reader is None else {"read so far": _spent(self.stats)})

    def __reduce__(self):
        return _section_of, (self.hdu,)

    @property
    def _in_memory(self) -> bool:
        return self.hdu._bintable is None or "data" in self.hdu.__dict__

    @property
    def _array(self) -> np.ndarray:
        if self.hdu.data is None:
            raise HeaderError(keyword="NAXIS", found=0, expected="1 or more: the HDU has no image")
        return self.hdu.data


def _spent(stats) -> str:
    return f"{stats.n_tiles} tiles, {stats.nbytes} bytes in {stats.n_requests} requests; {stats.n_hits} tiles from the cache"


def _section_of(hdu) -> TileSection:
    return hdu.section


def _copy(part, out) -> np.ndarray:
    """A copy of part of an array in memory, in `out` if that is given."""
    if out is None:
        return np.array(part)
    checked_out(out, np.shape(part), part.dtype.newbyteorder("="))[...] = part
    return out
