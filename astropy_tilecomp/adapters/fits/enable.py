"""``enable``: ``astropy.io.fits`` itself reads and makes compressed images through this package."""

from __future__ import annotations

import functools
import inspect
from contextlib import contextmanager
from typing import Any

from astropy.io import fits

from ...read.cache import DEFAULT_CACHE_BYTES
from ...threads import ForkSafeLock
from . import hdu as astropy_hdu
from .hdu import ReadOptions
from .hdulist import HDUList, TileReading

__all__ = ["disable", "enable", "enabled"]

_LOCK = ForkSafeLock()
_ACTIVE: list[ReadOptions] = []  # one entry for each enable() that is not yet undone; the last one counts
_ASTROPY_READFROM = fits.HDUList.__dict__["_readfrom"]
_ASTROPY_HDU: Any = fits.CompImageHDU
_MetaOfHDUs: Any = type(_ASTROPY_HDU)
_PUBLIC_MODULES = (fits, fits.hdu, fits.hdu.compressed)
"""Modules of astropy in which users find CompImageHDU."""


class _AnyCompImageHDU(_MetaOfHDUs):
    """Makes every compressed image, also one that astropy opened before, an instance of the class that is in its place."""

    def __instancecheck__(cls, instance):
        return super().__instancecheck__(instance) or (cls is CompImageHDU and isinstance(instance, _ASTROPY_HDU))

    def __subclasscheck__(cls, subclass):
        return super().__subclasscheck__(subclass) or (cls is CompImageHDU and issubclass(subclass, _ASTROPY_HDU))


class CompImageHDU(astropy_hdu.CompImageHDU, metaclass=_AnyCompImageHDU):
    """What `astropy.io.fits.CompImageHDU` is while enabled; see `astropy_tilecomp.CompImageHDU`."""


def enable(*, threads=None, engine=None, on_error="raise", fill_value=0, cache_bytes=DEFAULT_CACHE_BYTES, max_nbytes=None) -> None:
    """
    Make ``astropy.io.fits`` use this package for compressed images.

    From now on `astropy.io.fits.open`, `astropy.io.fits.HDUList.fromfile` and ``fromstring`` give `HDUList` and
    `CompImageHDU` of this package, and `astropy.io.fits.CompImageHDU` is the class of such HDUs.  A list that is opened keeps
    what was chosen when it was opened.

    Parameters
    ----------
    threads, engine, on_error, fill_value, cache_bytes, max_nbytes
        How compressed images are read: see `CompImageHDU`.

    Raises
    ------
    ValueError
        If one of them is invalid.

    Notes
    -----
    Calls are counted across threads: astropy is itself again after as many calls of `disable`.

    A name that was imported before (``from astropy.io.fits import CompImageHDU``) keeps astropy's own class.  It makes HDUs
    of this package too, and every compressed image is an instance of it.
    """
    _add(ReadOptions(threads, engine, on_error, fill_value, cache_bytes, max_nbytes))


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
def enabled(*, threads=None, engine=None, on_error="raise", fill_value=0, cache_bytes=DEFAULT_CACHE_BYTES, max_nbytes=None):
    """
    `enable` for the length of a ``with`` block.

    Parameters
    ----------
    threads, engine, on_error, fill_value, cache_bytes, max_nbytes
        As in `enable`.
    """
    mine = ReadOptions(threads, engine, on_error, fill_value, cache_bytes, max_nbytes)
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
            _ASTROPY_HDU.__new__ = _new_hdu
            for module in _PUBLIC_MODULES:
                module.CompImageHDU = CompImageHDU


def _restore() -> None:
    fits.HDUList._readfrom = _ASTROPY_READFROM  # __new__ stays, inert: Python cannot take one away from a class again
    for module in _PUBLIC_MODULES:
        module.CompImageHDU = _ASTROPY_HDU


def _readfrom(cls, *args, **kwargs):
    """What fits.HDUList._readfrom is while enabled: the same, for a class of lists that wraps compressed images."""
    active = _ACTIVE[-1:]
    if active and not issubclass(cls, TileReading):
        cls = _reading(cls)
        kwargs["tilecomp_image"] = functools.partial(CompImageHDU, **vars(active[0]))
    return _ASTROPY_READFROM.__func__(cls, *args, **kwargs)


@functools.cache
def _reading(cls):
    """A class of HDU lists that wraps compressed images."""
    if cls is fits.HDUList:
        return HDUList
    return type(cls.__name__, (TileReading, cls), {"__module__": cls.__module__, "__doc__": cls.__doc__})


def _new_hdu(cls, *args, bintable=None, **kwargs):
    """Stand for `__new__` of astropy's class: while enabled, an HDU made of data is of this package; a list wraps its tables."""
    active = _ACTIVE[-1:]
    if cls not in (_ASTROPY_HDU, CompImageHDU) or bintable is not None or not active:
        return object.__new__(cls)
    hdu = object.__new__(CompImageHDU)
    hdu.__dict__["_options"] = active[0]  # found there by its __init__, which gets the arguments of the caller
    return hdu


_new_hdu.__signature__ = inspect.signature(_ASTROPY_HDU.__init__)  # type: ignore[attr-defined]
