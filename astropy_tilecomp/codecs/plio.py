"""PLIO_1: a list of runs, made for masks."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..errors import UnsupportedError
from . import _kernels
from .config import require_integer
from .protocol import TileCodec
from .rice import set_tilesize

__all__ = ["PLIO1"]

MAX_VALUE = 2**24 - 1


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PLIO1(TileCodec):
    """
    The PLIO_1 algorithm of IRAF, FITS 4.0, section 10.4.3.

    Parameters
    ----------
    tilesize : int, optional
        Number of pixels of a tile, for code that knows no shape: the same as ``tile_shape=(tilesize,)``.
    offset : int
        What is added to the pixels before they are coded and subtracted again: 32768 for 16-bit images with BZERO 32768,
        else 0.
    tile_shape, dtype, engine
        As of `TileCodec`; the algorithm gives int32. Pixels beyond the range of `dtype` are clipped to it.

    Notes
    -----
    Holds values from 0 to 16777215. A stream is big-endian 16-bit words, as in the file; an int16 array, whatever its byte
    order, is taken by the values of its words.
    """

    codec_id = "astropy_tilecomp.plio1"
    other_ids = ("FITS_PLIO1",)
    algorithm = "PLIO_1"

    tilesize: int | None = field(default=None, metadata={"stored": False})
    offset: int = 0

    def __post_init__(self):
        set_tilesize(self)
        super().__post_init__()
        require_integer(self.offset, "offset", (0, 32768))

    @property
    def pixel_dtype(self):
        """Type of coded pixels."""
        return np.dtype("i4")

    def _source_of(self, buf):
        return super()._source_of(_in_file_order(buf))

    def decode_pixels(self, source, pixels, shape, n):
        status, used, done = _kernels.plio_decode(source, pixels, n, self.offset, self._uses_cfitsio())
        self._check(status, done, pixels.size // n if n else 0)
        return used

    def encode_pixels(self, pixels):
        least, most = int(pixels.min()) + self.offset, int(pixels.max()) + self.offset
        if least < 0 or most > MAX_VALUE:
            raise UnsupportedError(f"{self.algorithm} holds values from 0 to {MAX_VALUE}, found {least} to {most}")
        stream = np.empty(_kernels.plio_bound(pixels.size), np.uint8)
        status, used = _kernels.plio_encode(pixels.reshape(-1), stream, self.offset, self._uses_cfitsio())
        self._check(status, None, pixels.size)
        return stream[:used].tobytes()


def _in_file_order(buf):
    """The words of a list as they are in a file, if their type tells that they are not."""
    dtype = getattr(buf, "dtype", None)
    return buf.astype(">i2") if dtype is not None and np.dtype(dtype) == np.dtype("<i2") else buf
