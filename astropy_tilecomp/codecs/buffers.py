"""What callers hand to a codec and want back: any contiguous buffer in, an array or a buffer of theirs filled."""

from __future__ import annotations

from math import prod

import numpy as np

__all__ = ["as_bytes", "as_pixels", "convert", "destination", "differing", "unmasked"]


def as_bytes(buf) -> np.ndarray:
    """
    View the memory of a contiguous buffer as bytes.

    Parameters
    ----------
    buf : buffer
        bytes, bytearray, memoryview, mmap, array of any type; may be read-only.

    Returns
    -------
    (nbytes,) ndarray of uint8
        A view; nothing is copied.

    Raises
    ------
    TypeError
        If `buf` is no buffer.
    ValueError
        If it is not contiguous.
    """
    if not isinstance(buf, np.ndarray):
        buf = memoryview(buf)
        if buf.c_contiguous:
            return np.frombuffer(buf, np.uint8) if buf.nbytes else np.empty(0, np.uint8)
    array = np.asarray(buf)
    if not array.flags.forc:
        raise ValueError(f"the buffer is not contiguous: shape {array.shape}, strides {array.strides}")
    return array.reshape(-1, order="A").view(np.uint8)


def unmasked(values) -> np.ndarray:
    """
    Take pixels as a plain array; masked ones are refused, as a FITS image has no mask.

    Parameters
    ----------
    values : array_like
        Pixels, in a masked array too as long as no pixel is masked.

    Returns
    -------
    ndarray
        The same pixels.

    Raises
    ------
    ValueError
        If a pixel is masked.
    """
    values = np.asanyarray(values)
    if np.ma.is_masked(values):
        raise ValueError(
            f"{np.count_nonzero(values.mask)} of {values.size} pixels are masked, and an image has no mask:"
            " fill them, with NaN or the value of BLANK, as filled() does"
        )
    return np.asarray(values)


def as_pixels(buf, dtype: np.dtype) -> np.ndarray:
    """
    Read what is to be encoded as an array.

    Parameters
    ----------
    buf : array_like or buffer
        What has a type of its own (an array, a memoryview with an item format) is read by it; plain bytes as `dtype`.
    dtype : numpy.dtype
        Type of the pixels of plain bytes.

    Returns
    -------
    C-contiguous ndarray
        The pixels; a view where that is possible.

    Raises
    ------
    ValueError
        If plain bytes are no whole number of pixels, or a pixel is masked.
    """
    if not hasattr(buf, "dtype"):
        try:
            view = memoryview(buf)
        except TypeError:
            return np.ascontiguousarray(buf)
        if view.format in ("B", "b", "c") and view.ndim == 1:
            raw = as_bytes(buf)
            if raw.size % dtype.itemsize:
                raise ValueError(f"{raw.size} bytes are no whole number of {dtype.str} pixels")
            return raw.view(dtype)
    return np.ascontiguousarray(unmasked(buf))


def destination(out, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """
    Find or make the array that decoded pixels go to.

    Parameters
    ----------
    out : ndarray or writable buffer or None
        An array with as many pixels, of a type that holds all values of `dtype` in either byte order; or a plain
        buffer of as many bytes; None makes a new array.
    shape : tuple of int
        Shape of the pixels, C order.
    dtype : numpy.dtype
        Type of the pixels.

    Returns
    -------
    ndarray
        An array of the given shape that shares its memory with `out`.

    Raises
    ------
    ValueError
        If `out` has another size, or is read-only.
    TypeError
        If its type cannot hold the pixels.
    """
    if out is None:
        return np.empty(shape, dtype)
    array = np.asarray(out if isinstance(out, np.ndarray) else memoryview(out))
    if not array.flags.writeable:
        raise ValueError("out is read-only")
    if array.dtype.itemsize == 1 and dtype.itemsize > 1 and array.nbytes == prod(shape) * dtype.itemsize:
        raw = array.reshape(-1)
        _require_shared(raw, array)
        array = raw.view(dtype)
    if array.dtype.kind not in "iuf" or not np.can_cast(dtype, array.dtype, "safe"):
        raise TypeError(f"out has the type {array.dtype.str}, which cannot hold {dtype.str}")
    if array.shape == shape:
        return array
    if array.size != prod(shape):
        raise ValueError(f"out has the shape {array.shape}, the tile {shape}")
    reshaped = array.reshape(shape)
    _require_shared(reshaped, array)
    return reshaped


def _require_shared(array, out):
    if not np.may_share_memory(array, out) and array.size:
        raise ValueError("out is not contiguous, so that it cannot be taken in another shape")


def convert(pixels: np.ndarray, target: np.ndarray) -> None:
    """
    Put pixels into an array of another integer type, clipped to its range.

    Parameters
    ----------
    pixels : ndarray
        Decoded values.
    target : ndarray
        Array of the same shape to fill.
    """
    if target.dtype.kind in "iu" and not np.can_cast(pixels.dtype, target.dtype, "safe"):
        limits = np.iinfo(target.dtype)
        have = np.iinfo(pixels.dtype)
        pixels = np.clip(pixels, max(limits.min, have.min), min(limits.max, have.max))
    target[...] = pixels


def differing(new: np.ndarray, old: np.ndarray) -> np.ndarray:
    """
    Compare pixels, such that what differs would be read back as something else.

    Parameters
    ----------
    new, old : ndarray
        Of one type and shape.

    Returns
    -------
    ndarray of bool
        Where they differ; NaN equals NaN, and 0 differs from -0.
    """
    differs = new != old
    if new.dtype.kind == "f":
        differs &= ~(np.isnan(new) & np.isnan(old))
        differs |= (new == 0) & (np.signbit(new) != np.signbit(old))
    return differs
