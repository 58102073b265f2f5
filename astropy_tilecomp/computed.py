"""Attributes that are computed when they are first read, without a lock that a fork could leave locked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["computed_once"]

T = TypeVar("T")


class computed_once(Generic[T]):  # noqa: N801  (used as a decorator)
    """
    A property whose value is computed once and kept in the instance.

    Parameters
    ----------
    compute : callable
        The method; threads that read at the same time may all call it, and get the same value.

    Notes
    -----
    `functools.cached_property` of Python 3.11 holds a lock while it computes.  A child that is forked meanwhile never gets it.
    """

    def __init__(self, compute: Callable[[Any], T]):
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> computed_once[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance, owner):
        if instance is None:
            return self
        return instance.__dict__.setdefault(self._name, self._compute(instance))
