"""RICE_1: differences of neighbouring pixels, in blocks, each with its own code length."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import numpy as np

from . import _kernels
from .config import require_integer
from .protocol import TileCodec

__all__ = ["Rice1"]

_DTYPES = {1: np.dtype("u1"), 2: np.dtype("i2"), 4: np.dtype("i4")}
_DECODERS = {1: _kernels.rice_decode_u8, 2: _kernels.rice_decode_i16, 4: _kernels.rice_decode_i32}
_ENCODERS = {1: _kernels.rice_encode_u8, 2: _kernels.rice_encode_i16, 4: _kernels.rice_encode_i32}

MAX_BLOCKSIZE = 2**16


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Rice1(TileCodec):
    """
    The RICE_1 algorithm, FITS 4.0, section 10.4.1.

    Parameters
    ----------
    blocksize : int
        Pixels in a block, 1 to 65536; all known writers use 32 or 16.
    bytepix : {1, 2, 4}
        Bytes of a coded pixel: uint8, int16 or int32.
    tilesize : int, optional
        Number of pixels of a tile, for code that knows no shape: the same as ``tile_shape=(tilesize,)``.
    tile_shape, dtype, engine
        As of `TileCodec`. Pixels beyond the range of `dtype` are clipped to it.

    Notes
    -----
    A stream states neither the number of its pixels nor their width.
    """

    codec_id = "astropy_tilecomp.rice1"
    other_ids = ("FITS_RICE1",)
    algorithm = "RICE_1"

    blocksize: int = 32
    bytepix: int = 4
    tilesize: int | None = field(default=None, metadata={"stored": False})

    def __post_init__(self):
        require_integer(self.blocksize, "blocksize", range(1, MAX_BLOCKSIZE + 1))
        require_integer(self.bytepix, "bytepix", tuple(_DTYPES))
        set_tilesize(self)
        super().__post_init__()

    @property
    def pixel_dtype(self):
        """Type of coded pixels."""
        return _DTYPES[self.bytepix]

    def decode_pixels(self, source, pixels, shape, n):
        decode = _DECODERS[self.bytepix]
        status, used, done = decode(source, pixels, n, self.blocksize, self._uses_cfitsio())
        self._check(status, done, pixels.size // n if n else 0)
        return used

    def encode_pixels(self, pixels):
        stream = np.empty(_kernels.rice_bound(pixels.size, self.bytepix, self.blocksize), np.uint8)
        encode = _ENCODERS[self.bytepix]
        status, used = encode(pixels.reshape(-1), stream, self.blocksize, self._uses_cfitsio())
        self._check(status, None, pixels.size)
        return stream[:used].tobytes()


def set_tilesize(codec):
    """Let a codec know the shape of its tiles by their size."""
    if codec.tilesize is None:
        return
    if codec.tile_shape is None:
        codec._set("tile_shape", (codec.tilesize,))
    elif prod(codec.tile_shape) != codec.tilesize:
        raise ValueError(f"tilesize is {codec.tilesize}, tile_shape {codec.tile_shape}")
