"""What is the same for all tiles of an image, as the kernels take it."""

from __future__ import annotations

import numpy as np

from ..codecs import _kernels
from ..codecs import engine as engines

__all__ = ["fill_item", "image_settings", "is_int64", "mask_settings", "type_code"]


def image_settings(params, dtype: np.dtype, engine: str | None, scaled: bool, fill_value) -> dict:
    """What is the same for every tile of an image, as `_kernels.TileBatch` takes it."""
    native = dtype.newbyteorder("=")
    expected = params.result_dtype if scaled else params.dtype
    if native != expected:
        raise TypeError(f"the output has the type {dtype.str}, the image has {expected.str}")
    if not scaled or (params.zbitpix < 0 and not params.scaled):
        scaling = "none"
    elif params.offset_dtype is not None:
        scaling = "offset"
    else:
        scaling = "linear" if native.kind == "f" else "none"
    has_blank = params.zbitpix > 0 and is_int64(params.blank)
    return {
        "algorithm": _kernels.ALGORITHM_CODES[params.zcmptype],
        "engine": _kernels.ENGINE_CODES[engines.choose(engine)],
        "bytepix": params.bytepix, "blocksize": params.blocksize, "smooth": params.smooth,
        "plio_offset": params.plio_offset, "quantized": params.quantized,
        "dither": params.dither_method, "zdither0": params.zdither0 or 1,
        "stored": type_code(params.dtype), "result": type_code(native), "swap": not dtype.isnative,
        "scaling": _kernels.SCALING_CODES[scaling], "bscale": float(params.bscale), "bzero": float(params.bzero),
        "has_blank": has_blank, "blank": params.blank if has_blank else 0, "is_mask": False, "fill_bad": False,
        "fill": fill_item(params, dtype, fill_value).view(np.uint8),
    }


def is_int64(number: int | None) -> bool:
    """Whether a pixel can have this value."""
    return number is not None and -(2**63) <= number < 2**63


def mask_settings(params, dtype: np.dtype) -> dict:
    """What differs when the tiles are null masks: bytes, compressed with ZMASKCMP, that say where to fill."""
    return {
        "algorithm": _kernels.ALGORITHM_CODES[params.zmaskcmp], "bytepix": 1, "blocksize": 32, "smooth": False,
        "plio_offset": False, "quantized": False, "stored": type_code(np.dtype("u1")), "is_mask": True,
        "fill": fill_item(params, dtype, 0).view(np.uint8),
    }


def type_code(dtype: np.dtype) -> int:
    """The number that the kernels have for a type."""
    return _kernels.TYPE_CODES[f"{dtype.kind}{dtype.itemsize}"]


def fill_item(params, dtype: np.dtype, fill_value) -> np.ndarray:
    """
    What bad tiles and masked pixels are filled with.

    Parameters
    ----------
    params : CompressionParams
        What the header says.
    dtype : numpy.dtype
        Type of the output.
    fill_value : scalar
        For integers without BLANK.

    Returns
    -------
    (1,) ndarray of dtype
        NaN; BLANK where the header has one; else `fill_value`.
    """
    value = fill_value
    if dtype.kind == "f":
        value = np.nan
    elif params.blank is not None:
        blank = params.blank + (int(params.bzero) if dtype.newbyteorder("=") == params.offset_dtype else 0)
        limits = np.iinfo(dtype)
        value = blank if limits.min <= blank <= limits.max else fill_value
    return np.array([value], dtype)
