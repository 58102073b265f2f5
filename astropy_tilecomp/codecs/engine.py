"""Which of the two engines runs a codec, and the exception that a C status stands for."""

from __future__ import annotations

import os

from ..errors import CorruptTileError, TrailingBytesError, TruncatedTileError, UnsupportedError
from . import _kernels

__all__ = ["ENGINES", "check", "choose", "engines", "to_error"]

ENGINES = ("kernel", "cfitsio")
"""Our own kernels, and the system's libcfitsio; both give the same bits."""

VARIABLE = "ASTROPY_TILECOMP_ENGINE"

CPU_LEVELS = ("portable", "avx2", "avx512")
"""Code paths of the kernels, to which the environment variable CPU_VARIABLE may hold them."""

CPU_VARIABLE = "ASTROPY_TILECOMP_CPU"

_STATUS = _kernels.STATUS
_NAME_OF = {number: name for name, number in _STATUS.items()}

_CORRUPT = {
    "CORRUPT": "the stream contradicts itself",
    "BAD_MAGIC": "the stream does not begin with the mark of its format",
    "SIZE_MISMATCH": "the stream holds another number of pixels than the tile",
    "BAD_CODE": "the stream has a code that the format does not define",
    "BAD_CHECKSUM": "the checksum in the stream does not match its content",
    "OUT_OF_RANGE": "the stream has a value that its pixels cannot have",
    "MISSING": "no column holds data for the tile",
}


def engines() -> tuple[str, ...]:
    """
    Engines that this build has.

    Returns
    -------
    tuple of str
        "kernel", and "cfitsio" where the build found libcfitsio.
    """
    return ENGINES if _kernels.cfitsio_version() else ENGINES[:1]


def choose(engine: str | None = None) -> str:
    """
    Settle on an engine.

    Parameters
    ----------
    engine : {"kernel", "cfitsio"}, optional
        By default what the environment variable ASTROPY_TILECOMP_ENGINE says, else "kernel".

    Returns
    -------
    str
        The engine to use.

    Raises
    ------
    ValueError
        If there is no engine of that name, or ASTROPY_TILECOMP_CPU names no code path of the kernels.
    UnsupportedError
        If this build is without it.
    """
    origin = "engine"
    if engine is None:
        engine, origin = os.environ.get(VARIABLE) or ENGINES[0], VARIABLE
    if engine not in ENGINES:
        raise ValueError(f"{origin} is {engine!r}, expected one of {', '.join(ENGINES)}")
    if engine not in engines():
        raise UnsupportedError(f"{origin} is {engine!r}, but astropy_tilecomp was built without libcfitsio")
    level = os.environ.get(CPU_VARIABLE)
    if level and level not in CPU_LEVELS:
        raise ValueError(f"{CPU_VARIABLE} is {level!r}, expected one of {', '.join(CPU_LEVELS)}")
    return engine


def check(status: int, **facts) -> None:
    """
    Raise the exception that a C status stands for, or return if it is TC_OK.

    Parameters
    ----------
    status : int
        What a function of `_kernels` returned.
    **facts
        As of `to_error`.
    """
    if status != _STATUS["OK"]:
        raise to_error(status, **facts)


def to_error(status: int, *, done: int | None = None, n_pixels: int | None = None, used: int | None = None, **place) -> Exception:
    """
    Make the exception that a C status of a decoder stands for.

    Parameters
    ----------
    status : int
        What the C function returned; not TC_OK.
    done, n_pixels : int, optional
        Pixels decoded before the error, and pixels of the tile.
    used : int, optional
        Bytes that the tile took.
    **place
        Of `astropy_tilecomp.errors.CorruptTileError`: tile, row, column, algorithm, byte_range.

    Returns
    -------
    Exception
        `TruncatedTileError`, `TrailingBytesError` or `CorruptTileError`; `UnsupportedError` for lawful tiles that are not handled,
        `MemoryError`, and `ValueError` for a setting of the codec outside of its range.
    """
    name = _NAME_OF.get(status, f"status {status}")
    at = f" at pixel {done} of {n_pixels}" if done is not None and n_pixels is not None else ""
    if name == "TRUNCATED":
        return TruncatedTileError(f"stream ends{at}" if at else "stream ends before the tile is complete", **place)
    if name == "UNUSED":
        given = place.get("byte_range")
        if used is None or given is None:
            return TrailingBytesError("bytes are left over after the tile", **place)
        return TrailingBytesError(used=used, nbytes=given[1] - given[0], **place)
    if name in _CORRUPT:
        return CorruptTileError(_CORRUPT[name] + at, **place)
    what = place.get("algorithm") or "codec"
    if name == "NO_MEMORY":
        return MemoryError(f"{what}: no memory for the work on a tile")
    if name == "UNSUPPORTED":
        return UnsupportedError(f"{what}: a lawful tile that is not handled")
    if name == "BAD_PARAM":
        return ValueError(f"{what}: a setting outside of its allowed values, or a tile of more than 2**31 - 1 pixels")
    return CorruptTileError(f"unexpected result {name}{at}", **place)
