"""Pixels that stand for an image when algorithms are tried on it."""

from __future__ import annotations

import os
from math import prod

import numpy as np

from ..errors import HeaderError
from ..hdus import FoundHDU, find_image, require_complete, walk
from ..keywords import DTYPE_OF_BITPIX
from ..read.reader import TileReader
from ..sources.base import ByteSource
from ..sources.opening import opened

__all__ = ["MIN_ROWS", "sample_of"]

MAX_PIXELS = 1 << 20
"""Pixels of the sample that is compressed."""

MIN_ROWS = 512


def sample_of(image, hdu, max_pixels: int) -> tuple[str, tuple[int, ...], np.ndarray]:
    """Name and shape of an image, and pixels from its middle."""
    if isinstance(image, np.ndarray):
        return "array", image.shape, np.ascontiguousarray(image[_middle(image.shape, max_pixels)])
    with opened(image) as source:
        found = _find(source, hdu)
        name = f"{os.path.basename(source.name)}[{found.number}]"
        if found.is_compressed_image:
            reader = TileReader(source.part(found.data_offset, min(found.end, source.nbytes)), found.header, cache_bytes=0, scaled=False)
            shape, offset_dtype = reader.shape, reader.params.offset_dtype
            pixels = reader.read(_middle(shape, max_pixels))
        else:
            shape = found.shape
            offset_dtype = _offset_dtype(found.header)
            pixels = _plain_pixels(source, found, shape, _middle(shape, max_pixels))
    if offset_dtype is not None:
        pixels = (pixels.view(f"u{pixels.itemsize}") ^ np.array(1 << (8 * pixels.itemsize - 1), f"u{pixels.itemsize}")).view(offset_dtype)
    return name, shape, pixels


def _find(source: ByteSource, hdu) -> FoundHDU:
    """The first HDU with an image, or the one that is asked for."""
    for found in walk(source):
        plain = found.header.get("XTENSION", "IMAGE") == "IMAGE" and found.data_end > found.data_offset
        if (plain or found.is_compressed_image) and (hdu is None or hdu in (found.number, found.name, (found.name, found.version))):
            return found
    if hdu is None:
        raise HeaderError(f"{source.name}: no image found")
    return find_image(source, hdu)


def _offset_dtype(header) -> np.dtype | None:
    bits, bzero = int(header["BITPIX"]), header.get("BZERO", 0)
    if header.get("BSCALE", 1) != 1 or bits < 0:
        return None
    if bits == 8:
        return np.dtype("i1") if bzero == -128 else None
    return np.dtype(f"u{bits // 8}") if bzero == 1 << (bits - 1) else None


def _plain_pixels(source: ByteSource, found: FoundHDU, shape: tuple[int, ...], box: tuple[slice, ...]) -> np.ndarray:
    """A box of the stored pixels of a plain image, whose rows are read whole."""
    dtype = np.dtype(DTYPE_OF_BITPIX[found.header["BITPIX"]]).newbyteorder(">")
    require_complete(source, found)
    lead, rows = box[:-2], box[-2] if len(box) > 1 else slice(0, 1)
    at = 0
    for where, n in zip(lead, shape):
        at = at * n + where.start
    row_nbytes = shape[-1] * dtype.itemsize
    first = at * (shape[-2] if len(shape) > 1 else 1) + rows.start
    start = found.data_offset + first * row_nbytes
    data = source.read(start, start + (rows.stop - rows.start) * row_nbytes)
    pixels = np.frombuffer(data, dtype).reshape(rows.stop - rows.start, shape[-1])[:, box[-1]]
    return pixels.astype(dtype.newbyteorder("=")).reshape([where.stop - where.start for where in box])


def _middle(shape: tuple[int, ...], max_pixels: int) -> tuple[slice, ...]:
    """A box in the middle of an image: one plane of it, rows of full length as long as 512 of them fit."""
    if not prod(shape):
        raise HeaderError(f"an image of shape {shape} has no pixels")
    width = shape[-1]
    height = shape[-2] if len(shape) > 1 else 1
    rows = min(height, max(MIN_ROWS, max_pixels // width))
    sizes = (*(1,) * (len(shape) - 2), *((rows,) if len(shape) > 1 else ()), min(width, max(1, max_pixels // rows)))
    return tuple(slice((n - size) // 2, (n - size) // 2 + size) for n, size in zip(shape, sizes))
