"""From what a codec decodes to the pixels of the image, and back: the last step of reading and the first of writing."""

from __future__ import annotations

import numpy as np

from ..keywords import COMPRESSED_DATA, FPACK_QUANTIZE_LEVEL, GZIP_COMPRESSED_DATA
from .buffers import convert, destination, differing, unmasked
from .quantization import STANDARD_ZBLANK, NotQuantizableError, PreparedTile, dequantize, quantize

__all__ = ["finalize", "prepare", "to_stored", "to_stored_exactly"]


def finalize(pixels, params, *, row: int = 0, column: str = COMPRESSED_DATA, tile_shape: tuple[int, ...] | None = None,
             zscale: float | None = None, zzero: float | None = None, zblank: int | None = None, scaled: bool = True,
             out=None):
    """
    Turn the decoded pixels of one tile into pixels of the image.

    Parameters
    ----------
    pixels : ndarray
        What the codec of the tile decoded, in either byte order.
    params : CompressionParams
        Parameters of the image.
    row : int
        Table row of the tile, from 0; it selects the dither sequence.
    column : str
        Column that held the tile; pixels of GZIP_COMPRESSED_DATA and UNCOMPRESSED_DATA were never quantized.
    tile_shape : tuple of int, optional
        Shape of the tile; by default that of `pixels`.
    zscale, zzero : float, optional
        ZSCALE and ZZERO of the tile; by default those of the header.
    zblank : int, optional
        ZBLANK of the tile; by default that of the header.
    scaled : bool
        Apply BSCALE, BZERO and BLANK; False gives the stored pixels.
    out : ndarray or writable buffer, optional
        To be filled.

    Returns
    -------
    ndarray or buffer
        `out`, or a new array of ``params.result_dtype`` (``params.dtype`` if not `scaled`): undefined pixels of floats are
        NaN, of integers NaN after scaling.

    Raises
    ------
    ValueError
        If a quantized tile comes without its scale, or `out` has another size.
    """
    pixels = np.asarray(pixels)
    shape = pixels.shape if tile_shape is None else tuple(tile_shape)
    stored = _stored(pixels.reshape(shape), params, row, column, zscale, zzero, zblank)
    result_dtype = params.result_dtype if scaled else params.dtype
    target = destination(out, shape, np.dtype(result_dtype))
    target[...] = _scale(stored, params) if scaled else stored
    return target if out is None else out


def _stored(pixels, params, row, column, zscale, zzero, zblank):
    """Decoded pixels -> stored pixels, of the type of ZBITPIX."""
    zblank = params.zblank if zblank is None else zblank
    if params.quantized and column == COMPRESSED_DATA:
        zscale = params.zscale if zscale is None else zscale
        zzero = params.zzero if zzero is None else zzero
        if zscale is None or zzero is None:
            raise ValueError(f"row {row}: a quantized tile needs zscale and zzero")
        return dequantize(pixels, zscale, zzero, row=row, zquantiz=params.zquantiz, zdither0=params.zdither0 or 1,
                          zblank=zblank, out=np.empty(pixels.shape, params.dtype))
    stored = np.empty(pixels.shape, params.dtype)
    convert(pixels, stored)
    blank = _blank_of(params)
    if blank is not None and zblank is not None and zblank != blank:
        stored[pixels == zblank] = blank
    return stored


def _blank_of(params):
    """BLANK, if stored pixels are integers that can have that value."""
    if params.blank is None or np.dtype(params.dtype).kind == "f":
        return None
    limits = np.iinfo(params.dtype)
    return params.blank if limits.min <= params.blank <= limits.max else None


def _scale(stored, params):
    """Stored pixels -> values, as astropy computes them."""
    if params.offset_dtype is not None:
        return _flip_top_bit(stored, params.offset_dtype)
    values = stored.astype(params.result_dtype)
    if values.dtype.kind != "f":
        return values
    if params.bscale != 1:
        values *= values.dtype.type(params.bscale)
    if params.bzero != 0:
        values += values.dtype.type(params.bzero)
    if params.blank is not None and stored.dtype.kind != "f":
        values[stored == params.blank] = np.nan
    return values


def _flip_top_bit(pixels, dtype):
    """Integers -> the unsigned (or signed byte) type of the same width, offset by half of its range; its own inverse."""
    unsigned = np.ascontiguousarray(pixels, pixels.dtype.newbyteorder("=")).view(f"u{pixels.itemsize}")
    top = unsigned.dtype.type(1 << (8 * unsigned.itemsize - 1))
    return (unsigned ^ top).view(np.dtype(dtype).newbyteorder("="))


def prepare(values, params, *, row: int = 0, quantize_level: float = FPACK_QUANTIZE_LEVEL,
            zblank: int | None = None) -> PreparedTile:
    """
    Turn the pixels of one tile of the image into what its codec encodes: the inverse of `finalize`.

    Parameters
    ----------
    values : ndarray
        Pixels of ``params.result_dtype`` in the shape of the tile; NaN is undefined.
    params : CompressionParams
        Parameters of the image.
    row : int
        Table row of the tile, from 0.
    quantize_level : float
        As of `quantize`.
    zblank : int, optional
        Integer for undefined pixels of a quantized tile; by default the one of `params`, else -2147483648.

    Returns
    -------
    PreparedTile
        Pixels to encode, with ZSCALE, ZZERO and ZBLANK where they were quantized. A tile that cannot be quantized comes
        back as floats, for the column GZIP_COMPRESSED_DATA.

    Raises
    ------
    ValueError
        If a value does not fit the stored type, or is undefined in an image of integers without BLANK.
    """
    stored = to_stored(unmasked(values), params)
    if not params.quantized:
        return PreparedTile(stored)
    zblank = next((z for z in (zblank, params.zblank) if z is not None), STANDARD_ZBLANK)
    try:
        return quantize(stored, row=row, quantize_level=quantize_level, zquantiz=params.zquantiz,
                        zdither0=params.zdither0 or 1, zblank=zblank)
    except NotQuantizableError:
        return PreparedTile(stored, column=GZIP_COMPRESSED_DATA)


def to_stored(values, params):
    """
    Turn values of an image into its stored pixels: BSCALE, BZERO and BLANK undone.

    Parameters
    ----------
    values : ndarray
        Pixels, NaN where they are undefined.
    params : CompressionParams
        Parameters of the image.

    Returns
    -------
    ndarray of ``params.dtype``
        The stored pixels, native byte order.

    Raises
    ------
    ValueError
        If a value does not fit the stored type, or is undefined in an image of integers without BLANK.
    TypeError
        If the values are no real numbers.
    """
    dtype = np.dtype(params.dtype)
    if values.dtype.kind not in "biuf":
        raise TypeError(f"pixels of type {values.dtype} for an image of type {params.result_dtype}")
    if params.offset_dtype is not None:
        values = np.rint(values) if values.dtype.kind == "f" else values
        _require_fits(values, params.offset_dtype)
        return _flip_top_bit(values.astype(params.offset_dtype, copy=False), dtype)
    undefined = None
    if dtype.kind != "f" and values.dtype.kind == "f":
        undefined = np.isnan(values)
        if undefined.any() and _blank_of(params) is None:
            raise ValueError("undefined pixels in an image of integers without BLANK in their range")
        values = np.where(undefined, params.bzero, values)
    if params.bzero != 0 or params.bscale != 1:
        values = (values.astype(np.float64) - params.bzero) / params.bscale
    if dtype.kind == "f":
        return np.ascontiguousarray(values, dtype)
    if values.dtype.kind == "f":
        values = np.rint(values)
    _require_fits(values, dtype)
    stored = np.ascontiguousarray(values, dtype)
    if undefined is not None and undefined.any():
        stored[undefined] = params.blank
    return stored


def to_stored_exactly(values, params):
    """
    Turn values of an image into its stored pixels, if these give them back.

    Parameters
    ----------
    values : ndarray
        Pixels, NaN where they are undefined; in an image of floats they count as converted to its type.
    params : CompressionParams
        Parameters of the image.

    Returns
    -------
    ndarray of ``params.dtype``
        The stored pixels, native byte order; of quantized floats those that will be quantized.

    Raises
    ------
    ValueError
        If other values would be read back, or `to_stored` does.
    TypeError
        As `to_stored`.
    """
    stored = to_stored(values, params).reshape(values.shape)
    if params.quantized:
        return stored
    back = finalize(stored, params, column=GZIP_COMPRESSED_DATA)
    lost = differing(back, values.astype(back.dtype)) if back.dtype.kind == "f" else back != values
    if lost.any():
        raise ValueError(
            f"the image cannot hold {np.count_nonzero(lost)} of {lost.size} values: {values[lost][0]} would be read back as {back[lost][0]}"
        )
    return stored


def _require_fits(values, dtype):
    """Raise ValueError if a value is outside the range of an integer type."""
    limits = np.iinfo(dtype)
    if values.size and not (limits.min <= values.min() and values.max() < limits.max + 1):  # which floats can express
        raise ValueError(f"values from {values.min()} to {values.max()} do not fit {np.dtype(dtype).name}")
