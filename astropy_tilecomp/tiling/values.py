"""Values of a header mapping, checked for their type and range."""

from __future__ import annotations

import operator
from collections.abc import Mapping

import numpy as np

from .. import keywords as kw
from ..errors import HeaderError

__all__ = ["HeaderValues", "require"]


def require(holds, keyword: str, found, expected: str):
    """
    Raise a `HeaderError` unless a condition holds.

    Parameters
    ----------
    holds : object
        The condition.
    keyword : str
        Keyword at fault.
    found : object
        Its value.
    expected : str
        What is allowed.

    Raises
    ------
    HeaderError
        If `holds` is false.
    """
    if not holds:
        raise HeaderError(keyword=keyword, found=found, expected=expected)


class HeaderValues:
    """
    A header mapping that is asked for values of a type.

    Parameters
    ----------
    header : mapping of str to object
        An astropy Header, a dict or what `read_cards` gives. A keyword without a value (None) counts as missing.
    """

    def __init__(self, header: Mapping):
        self._get = header.get

    def has(self, keyword: str) -> bool:
        """Whether the keyword is there and has a value."""
        return self._get(keyword) is not None

    def integer(self, keyword: str, default: int | None = None, *, low: int | None = None, high: int | None = None) -> int:
        """An integer from `low` to `high`; a real number without fraction counts as one. Without `default` it is needed."""
        found = self._get(keyword)
        if found is None:
            found = default
        value = found if type(found) is int else _as_integer(found)
        if value is None:
            raise HeaderError(keyword=keyword, found=found, expected="an integer")
        if (low is not None and value < low) or (high is not None and value > high):
            expected = f"{low} to {high}" if high is not None else f"{low} or more"
            raise HeaderError(keyword=keyword, found=value, expected=expected)
        return value

    def number(self, keyword: str, default: float | None = None) -> float:
        """An integer or real number. Without `default` it is needed."""
        value = self._get(keyword)
        if value is None:
            value = default
        if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
            return value
        raise HeaderError(keyword=keyword, found=value, expected="a number")

    def text(self, keyword: str, default: str | None = None) -> str:
        """A string without blanks round it. Without `default` it is needed."""
        value = self._get(keyword)
        if value is None:
            value = default
        if isinstance(value, str):
            return value.strip()
        raise HeaderError(keyword=keyword, found=value, expected="a string")

    def flag(self, keyword: str) -> bool:
        """Whether a logical keyword is T; some writers made it a string."""
        value = self._get(keyword)
        return value is True or (isinstance(value, np.bool_) and bool(value)) or value == "T"

    def algorithm(self, keyword: str) -> str:
        """A compression algorithm by its canonical name."""
        found = self.text(keyword)
        name = kw.ALGORITHM_ALIASES.get(found.upper(), found.upper())
        require(name in kw.ALGORITHMS, keyword, found, "one of " + ", ".join(kw.ALGORITHMS))
        return name


def _as_integer(value) -> int | None:
    """The integer that a value stands for, None if it is none."""
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, (float, np.floating)):
        return int(value) if value == value // 1 else None
    try:
        return operator.index(value)
    except TypeError:
        return None
