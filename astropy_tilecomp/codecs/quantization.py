"""Floats <-> the integers that are compressed in their place, with a scale and a zero for each tile."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import NamedTuple

import numpy as np

from ..errors import HeaderError, TileCompError
from ..keywords import COMPRESSED_DATA, DITHER_METHODS, FPACK_QUANTIZE_LEVEL, N_DITHER_SEEDS
from . import _kernels
from .buffers import as_pixels, destination, unmasked
from .config import Configurable, checked_shape, from_config
from .hcompress import plane_shape
from .protocol import TileCodec

__all__ = ["NotQuantizableError", "PreparedTile", "Quantize", "dequantize", "quantize"]

STANDARD_ZBLANK = -(2**31)
"""Integer of undefined pixels that the standard recommends."""
CFITSIO_ZBLANK = -(2**31) + 1
"""The one that cfitsio writes."""

FLOAT32 = np.dtype("f4")
_INT32 = np.iinfo(np.int32)
_REFUSED = _kernels.STATUS["REFUSED"]


class NotQuantizableError(TileCompError, ValueError):
    """
    A tile of floats that cannot be quantized and has to be kept lossless.

    It has no noise, too large a range, an infinite pixel, or is a single pixel.
    """


class PreparedTile(NamedTuple):
    """
    What a tile becomes before it is compressed, and what decoding it needs to know.

    Attributes
    ----------
    pixels : ndarray or bytes
        Integers to compress (floats where the tile is kept lossless); their stream where they were compressed.
    zscale, zzero : float or None
        ZSCALE and ZZERO of the tile; None where it is not quantized.
    zblank : int or None
        Integer that stands for undefined pixels; None where there are none.
    column : str
        Column that the compressed tile belongs in.
    """

    pixels: np.ndarray | bytes
    zscale: float | None = None
    zzero: float | None = None
    zblank: int | None = None
    column: str = COMPRESSED_DATA


def dequantize(tile, zscale: float, zzero: float, *, row: int = 0, zquantiz: str | None = "NO_DITHER",
               zdither0: int = 1, zblank: int | None = None, out: np.ndarray | None = None) -> np.ndarray:
    """
    Turn the integers of one tile back into pixel values.

    Parameters
    ----------
    tile : ndarray of uint8, int16 or int32
        Quantized pixels in C order.
    zscale, zzero : float
        ZSCALE and ZZERO of this tile, in the unit of the image.
    row : int
        Table row of the tile, counted from 0; it selects the dither sequence.
    zquantiz : {"NO_DITHER", "SUBTRACTIVE_DITHER_1", "SUBTRACTIVE_DITHER_2"}, optional
        Method; None is NO_DITHER.
    zdither0 : int
        Seed from the header, 1 to 10000.
    zblank : int, optional
        Integer of undefined pixels.
    out : ndarray of float32 or float64, optional
        Array to fill, of the shape of the tile; by default a new float32 array.

    Returns
    -------
    ndarray of float32 or float64
        The pixel values; undefined pixels are NaN.

    Raises
    ------
    HeaderError
        If `zquantiz` or `zdither0` is outside of what the standard allows.

    Notes
    -----
    FITS 4.0, section 10.2 and appendix I; equal to CFITSIO bit for bit.
    """
    method = _method(zquantiz, zdither0)
    tile = np.asarray(tile)
    if out is None:
        out = np.empty(tile.shape, np.float32)
    if out.dtype.newbyteorder("=") not in (np.dtype("f4"), np.dtype("f8")):
        raise TypeError(f"out has the type {out.dtype.str}, expected float32 or float64")
    in_place = out.dtype.isnative and out.flags.c_contiguous and not np.may_share_memory(tile, out)
    values = np.asarray(out) if in_place else np.empty(out.shape, out.dtype.newbyteorder("="))
    if zblank is not None and not _INT32.min <= zblank <= _INT32.max:
        zblank = None
    integers = np.ascontiguousarray(tile, tile.dtype.newbyteorder("="))
    status = _kernels.dequantize(
        integers.reshape(-1), values.reshape(-1), zscale, zzero, method, zdither0 or 1, index(row), zblank
    )
    if status:
        raise ValueError(f"out has {out.size} pixels, the tile {tile.size}")
    if not in_place:
        out[...] = values
    return out


def quantize(values, *, row: int = 0, quantize_level: float = FPACK_QUANTIZE_LEVEL, zquantiz: str | None = "NO_DITHER",
             zdither0: int = 1, zblank: int = STANDARD_ZBLANK) -> PreparedTile:
    """
    Turn the floats of one tile into integers.

    Parameters
    ----------
    values : ndarray of float32 or float64
        Pixels in the shape of the tile, C order; NaN is undefined.
    row, zquantiz, zdither0
        As of `dequantize`.
    quantize_level : float
        Steps in one standard deviation of the noise; if negative, minus the step itself; 0 is 4.
    zblank : {-2147483648, -2147483647}
        Integer for undefined pixels.

    Returns
    -------
    PreparedTile
        The integers with ZSCALE, ZZERO and, where the tile has undefined pixels, ZBLANK.

    Raises
    ------
    NotQuantizableError
        If the tile has to be kept lossless.
    HeaderError
        If a keyword is outside of what the standard allows.
    """
    method = _method(zquantiz, zdither0)
    if zblank not in (STANDARD_ZBLANK, CFITSIO_ZBLANK):
        raise HeaderError(keyword="ZBLANK", found=zblank, expected=f"{STANDARD_ZBLANK} or {CFITSIO_ZBLANK}")
    values = unmasked(values)
    if values.dtype.newbyteorder("=") not in (np.dtype("f4"), np.dtype("f8")):
        raise TypeError(f"only float32 and float64 are quantized, found {values.dtype.str}")
    floats = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    nx, ny = plane_shape(checked_shape(floats.shape or (1,)))
    pixels = np.empty(floats.shape, np.int32)
    status, zscale, zzero, has_blank = _kernels.quantize(
        floats.reshape(-1), pixels.reshape(-1), nx, ny, index(row), quantize_level, method, zdither0, zblank
    )
    if status == _REFUSED:
        raise NotQuantizableError(f"row {row}: the tile cannot be quantized and has to be kept lossless")
    if status:
        raise ValueError(f"quantize_level is {quantize_level!r}, expected a number")
    return PreparedTile(pixels, zscale, zzero, zblank if has_blank else None)


def _method(zquantiz, zdither0):
    """Number of a method; the seed is checked where it counts."""
    method = DITHER_METHODS.get(zquantiz or "NO_DITHER")
    if method is None:
        raise HeaderError(keyword="ZQUANTIZ", found=zquantiz, expected="one of " + ", ".join(DITHER_METHODS))
    if method and not (isinstance(zdither0, (int, np.integer)) and 1 <= zdither0 <= N_DITHER_SEEDS):
        raise HeaderError(keyword="ZDITHER0", found=zdither0, expected=f"1 to {N_DITHER_SEEDS}")
    return method


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Quantize(Configurable):
    """
    Floats <-> integers, or with a `codec` floats <-> the compressed stream of the integers.

    What differs from tile to tile is an argument of `decode` and a result of `encode`; the codec itself never changes.

    Parameters
    ----------
    dtype : dtype_like
        Type of the values, byte order included: float32 or float64.
    zquantiz, zdither0, quantize_level
        As of `quantize`.
    zblank : int, optional
        Integer of undefined pixels where a tile has no other.
    zscale, zzero : float or sequence of float, optional
        For `decode` without these arguments: one number for all tiles, or one for each table row.
    codec : TileCodec or config of one, optional
        What compresses the integers.
    """

    codec_id = "astropy_tilecomp.quantize"

    dtype: np.dtype = FLOAT32
    zquantiz: str = "NO_DITHER"
    zdither0: int = 1
    quantize_level: float = FPACK_QUANTIZE_LEVEL
    zblank: int | None = STANDARD_ZBLANK
    zscale: float | tuple[float, ...] | None = None
    zzero: float | tuple[float, ...] | None = None
    codec: TileCodec | None = None

    def __post_init__(self):
        set_field = object.__setattr__
        set_field(self, "dtype", np.dtype(self.dtype))
        if self.dtype.newbyteorder("=") not in (np.dtype("f4"), np.dtype("f8")):
            raise ValueError(f"dtype is {self.dtype.str}, expected float32 or float64")
        _method(self.zquantiz, self.zdither0)
        set_field(self, "zquantiz", self.zquantiz or "NO_DITHER")
        set_field(self, "quantize_level", float(self.quantize_level))
        for name in ("zscale", "zzero"):
            value = getattr(self, name)
            if value is not None:
                set_field(self, name, tuple(map(float, value)) if np.ndim(value) else float(value))
        if isinstance(self.codec, dict):
            set_field(self, "codec", from_config(self.codec))
        if self.codec is not None and not isinstance(self.codec, TileCodec):
            raise ValueError(f"codec is {self.codec!r}, expected a codec of tiles or the config of one")

    def _settings(self):
        settings = super()._settings()
        settings["codec"] = self.codec.get_config() if self.codec is not None else None
        return settings

    def decode(self, buf, out=None, *, zscale: float | None = None, zzero: float | None = None,
               zblank: int | None = None, row: int | None = None, tile_shape: tuple[int, ...] | None = None):
        """
        Decode one tile.

        Parameters
        ----------
        buf : buffer
            Integers (plain bytes are native int32), or the stream where there is a `codec`.
        out : ndarray or writable buffer, optional
            To be filled.
        zscale, zzero : float, optional
            ZSCALE and ZZERO of the tile; by default the codec's own.
        zblank : int, optional
            ZBLANK of the tile; by default the codec's own.
        row : int, optional
            Table row of the tile, from 0; needed where pixels are dithered, and to choose from the codec's own lists.
        tile_shape : tuple of int, optional
            Shape of an edge tile, for the `codec`.

        Returns
        -------
        ndarray or buffer
            `out`, or a new array of the codec's dtype: the values; NaN where undefined.

        Raises
        ------
        ValueError
            If the scale, the zero or a row that is needed is not known.
        CorruptTileError
            If the `codec` raises it.
        """
        if row is None and DITHER_METHODS[self.zquantiz]:
            raise ValueError(f"{self.zquantiz} depends on the table row of the tile: give row")
        zscale = self._number("zscale", zscale, row)
        zzero = self._number("zzero", zzero, row)
        if self.codec is not None:
            integers = self.codec.decode(buf, tile_shape=tile_shape)
        else:
            integers = as_pixels(buf, np.dtype("i4"))
        target = destination(out, integers.shape, self.dtype)
        dequantize(integers, zscale, zzero, row=row or 0, zquantiz=self.zquantiz, zdither0=self.zdither0,
                   zblank=self.zblank if zblank is None else zblank, out=target)
        return target if out is None else out

    def encode(self, buf, *, row: int | None = None) -> PreparedTile:
        """
        Encode one tile.

        Parameters
        ----------
        buf : array_like or buffer
            The values, in the shape of the tile; plain bytes are read as the codec's dtype.
        row : int, optional
            Table row of the tile, from 0; needed where pixels are dithered.

        Returns
        -------
        PreparedTile
            The integers, or the stream of them where there is a `codec`, and what `decode` has to be told.

        Raises
        ------
        NotQuantizableError
            If the tile has to be kept lossless.
        ValueError
            If a row is needed and not known.
        """
        if row is None and DITHER_METHODS[self.zquantiz]:
            raise ValueError(f"{self.zquantiz} depends on the table row of the tile: give row")
        values = as_pixels(buf, self.dtype)
        if not np.can_cast(values.dtype, self.dtype, "safe"):
            raise ValueError(f"{values.dtype.str} values do not fit {self.dtype.str}")
        tile = quantize(values.astype(self.dtype.newbyteorder("="), copy=False), row=row or 0,
                        quantize_level=self.quantize_level, zquantiz=self.zquantiz, zdither0=self.zdither0,
                        zblank=STANDARD_ZBLANK if self.zblank is None else self.zblank)
        return tile if self.codec is None else tile._replace(pixels=self.codec.encode(tile.pixels))

    def _number(self, name, value, row):
        """ZSCALE or ZZERO of a tile: the caller's, or the codec's own."""
        if value is not None:
            return float(value)
        own = getattr(self, name)
        if isinstance(own, tuple):
            if row is None:
                raise ValueError(f"{name} is a list of {len(own)}: give the row of the tile")
            if not 0 <= row < len(own):
                raise ValueError(f"row is {row}, and {name} a list of {len(own)}")
            return own[row]
        if own is None:
            raise ValueError(f"{name} of the tile is not known")
        return own
