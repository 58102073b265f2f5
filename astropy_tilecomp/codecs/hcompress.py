"""HCOMPRESS_1: a wavelet-like transform of a 2-D tile, coded bit plane by bit plane; lossy if asked."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod

import numpy as np

from . import _kernels
from .config import require_integer
from .protocol import TileCodec

__all__ = ["HCompress1", "stated_scale"]

_BITS = {np.dtype("u1"): 8, np.dtype("i2"): 16}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HCompress1(TileCodec):
    """
    The HCOMPRESS_1 algorithm, FITS 4.0, section 10.4.4.

    Parameters
    ----------
    scale : int
        Divisor of the coefficients for `encode`; 0, 1 and negative ones are lossless. `decode` takes it from the stream.
    smooth : bool
        Smooth while decoding a lossy stream.
    nx, ny : int, optional
        Shape of a tile, for code written against astropy's codec: the same as ``tile_shape=(nx, ny)``.
    bytepix : {4, 8}
        For such code too; the arithmetic is always wide enough.
    tile_shape, dtype, engine
        As of `TileCodec`; the algorithm gives int32. Pixels beyond the range of `dtype`, as a lossy stream may have them,
        are clipped to it, and more bit planes than such pixels can have are refused.

    Notes
    -----
    The fast axis of the transform is the last axis of the tile that is longer than 1.
    """

    codec_id = "astropy_tilecomp.hcompress1"
    other_ids = ("FITS_HCOMPRESS1",)
    algorithm = "HCOMPRESS_1"

    scale: int = 0
    smooth: bool = False
    bytepix: int = field(default=4, metadata={"stored": False})
    nx: int | None = field(default=None, metadata={"stored": False})
    ny: int | None = field(default=None, metadata={"stored": False})

    def __post_init__(self):
        if (self.nx is None) != (self.ny is None):
            raise ValueError(f"nx is {self.nx} and ny {self.ny}, expected both or neither")
        if self.nx is not None:
            if self.tile_shape is not None and tuple(self.tile_shape) != (self.nx, self.ny):
                raise ValueError(f"nx is {self.nx} and ny {self.ny}, tile_shape {self.tile_shape}")
            self._set("tile_shape", (self.nx, self.ny))
        super().__post_init__()
        require_integer(self.scale, "scale", range(-(2**31), 2**31))
        require_integer(self.bytepix, "bytepix", (4, 8))
        self._set("smooth", bool(self.smooth))

    @property
    def pixel_dtype(self):
        """Type of coded pixels."""
        return np.dtype("i4")

    def decode_pixels(self, source, pixels, shape, n):
        nx, ny = plane_shape(shape)
        bits = _BITS.get(self.result_dtype.newbyteorder("="), 32)
        status, used, _ = _kernels.hcompress_decode(
            source, pixels, n, nx, ny, bits, self.smooth, self._uses_cfitsio()
        )
        self._check(status, None, nx * ny)
        return used

    def encode_pixels(self, pixels):
        shape = pixels.shape if pixels.ndim > 1 else self.tile_shape or pixels.shape
        nx, ny = plane_shape(shape)
        if nx * ny != pixels.size:
            raise ValueError(f"{self.algorithm}: {pixels.size} pixels do not make a tile of shape {shape}")
        stream = np.empty(_kernels.hcompress_bound(nx, ny, 32), np.uint8)
        status, used = _kernels.hcompress_encode(
            pixels.reshape(-1), stream, nx, ny, self.scale, self._uses_cfitsio()
        )
        self._check(status, None, pixels.size)
        return stream[:used].tobytes()


def plane_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    """
    See a tile of any number of axes as a plane.

    Parameters
    ----------
    shape : tuple of int
        Shape of the tile, C order.

    Returns
    -------
    nx, ny : int
        Length of the fastest axis that is longer than 1 (1 if none is), and number of pixels over it.
    """
    nx = next((size for size in reversed(shape) if size > 1), 1)
    return nx, prod(shape) // nx


def stated_scale(read: Callable[[int, int], bytes | memoryview], start: int) -> int:
    """The scale that stands in an HCOMPRESS_1 stream, which begins at a byte of what `read` gives ranges of; 0 for none."""
    (scale,) = struct.unpack(">i", read(start + 10, start + 14))
    return scale if scale > 1 else 0
