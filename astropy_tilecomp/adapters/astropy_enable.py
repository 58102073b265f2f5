"""``enable``: ``astropy.io.fits`` itself reads and makes compressed images through this package."""

from __future__ import annotations

import functools
import threading
from contextlib import contextmanager

from astropy.io import fits

from .astropy_hdu import CompImageHDU, ReadOptions
from .astropy_open import HDUList, TileReading

__all__ = ["disable", "enable", "enabled"]

_LOCK = threading.Lock()
_ACTIVE: list[ReadOptions] = []  # one entry for each enable() that is not yet undone; the last one counts
_ASTROPY_READFROM = fits.HDUList.__dict__["_readfrom"]


def enable(**options) -> None:
    """
    Make ``astropy.io.fits`` use this package for compressed images.

    From now on `astropy.io.fits.open`, `astropy.io.fits.HDUList.fromfile` and ``fromstring`` give `HDUList` and
    `CompImageHDU` of this package, and `astropy.io.fits.CompImageHDU` makes such HDUs.  A list that is opened keeps what
    was chosen when it was opened.

    Parameters
    ----------
    **options
        threads, engine, on_error, fill_value, cache_bytes, max_nbytes of `CompImageHDU`.

    Raises
    ------
    ValueError
        If one of them makes no sense.

    Notes
    -----
    Calls are counted, from whatever thread: astropy is itself again after as many calls of `disable`.
    """
    _add(ReadOptions(**options))


def disable() -> None:
    """
    Undo the last `enable`.

    Raises
    ------
    RuntimeError
        If there is nothing to undo.
    """
    with _LOCK:
        if not _ACTIVE:
            raise RuntimeError("disable() without enable()")
        _ACTIVE.pop()
        if not _ACTIVE:
            _restore()


@contextmanager
def enabled(**options):
    """
    `enable` for the length of a ``with`` block.

    Parameters
    ----------
    **options
        As in `enable`.
    """
    mine = ReadOptions(**options)
    _add(mine)
    try:
        yield
    finally:
        with _LOCK:
            position = next(at for at, active in enumerate(_ACTIVE) if active is mine)  # blocks of threads may overlap
            del _ACTIVE[position]
            if not _ACTIVE:
                _restore()


def _add(options: ReadOptions) -> None:
    with _LOCK:
        _ACTIVE.append(options)
        if len(_ACTIVE) == 1:
            fits.HDUList._readfrom = classmethod(_readfrom)
            fits.CompImageHDU.__new__ = _new_hdu


def _restore() -> None:
    fits.HDUList._readfrom = _ASTROPY_READFROM  # __new__ stays, inert: Python cannot take one away from a class again


def _readfrom(cls, *args, **kwargs):
    """What fits.HDUList._readfrom is while enabled: the same, for a class of lists that wraps compressed images."""
    active = _ACTIVE[-1:]
    if active and not issubclass(cls, TileReading):
        cls = _reading(cls)
        kwargs["tilecomp_options"] = active[0]
    return _ASTROPY_READFROM.__func__(cls, *args, **kwargs)


@functools.cache
def _reading(cls):
    """A class of HDU lists that wraps compressed images."""
    if cls is fits.HDUList:
        return HDUList
    return type(cls.__name__, (TileReading, cls), {"__module__": cls.__module__, "__doc__": cls.__doc__})


def _new_hdu(cls, *args, bintable=None, **kwargs):
    """What fits.CompImageHDU.__new__ is: while enabled, an HDU made of data is ours; one of a table is its list's affair."""
    active = _ACTIVE[-1:]
    if cls is not fits.CompImageHDU or bintable is not None or not active:
        return object.__new__(cls)
    hdu = object.__new__(CompImageHDU)
    hdu.__dict__["_options"] = active[0]  # found there by its __init__, which gets the arguments of the caller
    return hdu
