"""What a reader checks before it reads: memory, the array for the result, what to do about damaged tiles."""

from __future__ import annotations

import os

import numpy as np

__all__ = ["checked_on_error", "checked_out", "max_nbytes_allowed"]

MAX_NBYTES_VARIABLE = "ASTROPY_TILECOMP_MAX_NBYTES"
ON_ERROR = ("raise", "fill")


def max_nbytes_allowed(max_nbytes: int | None = None) -> int:
    """
    Largest allocation that a read may make.

    Parameters
    ----------
    max_nbytes : int, optional
        What the caller says.

    Returns
    -------
    int
        That, else ASTROPY_TILECOMP_MAX_NBYTES, else half of the memory of this machine.

    Raises
    ------
    ValueError
        If the variable is not a positive integer.
    """
    if max_nbytes is not None:
        return max_nbytes
    wish = os.environ.get(MAX_NBYTES_VARIABLE)
    if wish:
        if not wish.isdecimal() or int(wish) < 1:
            raise ValueError(f"{MAX_NBYTES_VARIABLE} is {wish!r}, expected a positive integer")
        return int(wish)
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def checked_on_error(on_error: str) -> str:
    """
    Refuse an `on_error` that means nothing.

    Parameters
    ----------
    on_error : str
        What the caller gave.

    Returns
    -------
    str
        The same.

    Raises
    ------
    ValueError
        If it is neither "raise" nor "fill".
    """
    if on_error not in ON_ERROR:
        raise ValueError(f"on_error is {on_error!r}, expected one of {', '.join(ON_ERROR)}")
    return on_error


def checked_out(out, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """
    The array behind `out=`, if it can take a result.

    Parameters
    ----------
    out : ndarray or buffer
        What the caller gave.
    shape : tuple of int
        Shape of the result.
    dtype : numpy.dtype
        Its type, in native byte order; `out` may have the other.

    Returns
    -------
    ndarray
        It shares its memory with `out`.

    Raises
    ------
    ValueError
        If `out` has another shape, or is read-only.
    TypeError
        If it has another type, or is neither an array nor a buffer: what were filled would be a copy of it.
    """
    try:
        array = out if isinstance(out, np.ndarray) else np.asarray(memoryview(out))
    except TypeError:
        raise TypeError(f"out is a {type(out).__name__}, expected an array or a writable buffer") from None
    if array.shape != shape:
        raise ValueError(f"out has the shape {array.shape}, the result {shape}")
    if array.dtype.newbyteorder("=") != dtype:
        raise TypeError(f"out has the type {array.dtype.str}, the result {dtype.str}")
    if not array.flags.writeable:
        raise ValueError("out is read-only")
    return array
