"""Values of a header mapping, checked for their type and range."""

from __future__ import annotations

import operator
import sys
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
        self._header = header

    def _get(self, keyword: str):
        """Value of a keyword, None where it is missing."""
        try:
            return self._header.get(keyword)
        except Exception as error:  # an astropy Header reads a card when it is asked for, and raises what it likes
            raise HeaderError(f"the card of {keyword} cannot be read: {error}") from error

    def has(self, keyword: str) -> bool:
        """
        Tell whether a keyword is there and has a value.

        Parameters
        ----------
        keyword : str
            The keyword.

        Returns
        -------
        bool
            Whether it has a value of any type.
        """
        return self._get(keyword) is not None

    def integer(self, keyword: str, default: int | None = None, *, low: int | None = None, high: int | None = None) -> int:
        """
        Look an integer up.

        Parameters
        ----------
        keyword : str
            The keyword.
        default : int, optional
            What a missing keyword stands for; by default it must be there.
        low, high : int, optional
            Smallest and largest value allowed; `high` only with `low`.

        Returns
        -------
        int
            The value; a real number without fraction counts as an integer.

        Raises
        ------
        HeaderError
            If it is missing, no integer, or out of range.
        """
        found = self._found(keyword, default)
        value = found if type(found) is int else _as_integer(found)
        if value is None:
            raise HeaderError(keyword=keyword, found=found, expected="an integer")
        if (low is not None and value < low) or (high is not None and value > high):
            expected = f"{low} or more" if high is None else f"{low} to {high}"
            raise HeaderError(keyword=keyword, found=value, expected=expected)
        return value

    def number(self, keyword: str, default: float | None = None) -> float:
        """
        Look a number up.

        Parameters
        ----------
        keyword : str
            The keyword.
        default : float, optional
            What a missing keyword stands for; by default it must be there.

        Returns
        -------
        int or float
            The value.

        Raises
        ------
        HeaderError
            If it is missing, no number, or beyond the range of floats.
        """
        found = self._found(keyword, default)
        value = found.item() if isinstance(found, (np.integer, np.floating)) else found
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max:
            return value
        raise HeaderError(keyword=keyword, found=found, expected="a number")

    def text(self, keyword: str, default: str | None = None) -> str:
        """
        Look a string up.

        Parameters
        ----------
        keyword : str
            The keyword.
        default : str, optional
            What a missing keyword stands for; by default it must be there.

        Returns
        -------
        str
            The value, without blanks round it.

        Raises
        ------
        HeaderError
            If it is missing or no string.
        """
        value = self._found(keyword, default)
        if isinstance(value, str):
            return value.strip()
        raise HeaderError(keyword=keyword, found=value, expected="a string")

    def flag(self, keyword: str) -> bool:
        """
        Tell whether a logical keyword is T.

        Parameters
        ----------
        keyword : str
            The keyword.

        Returns
        -------
        bool
            Whether it is T, which some writers made a string.
        """
        value = self._get(keyword)
        return value is True or (isinstance(value, np.bool_) and bool(value)) or value == "T"

    def switch(self, keyword: str) -> bool:
        """
        Tell whether something is on: a number other than 0, or T as astropy writes it.

        Parameters
        ----------
        keyword : str
            The keyword.

        Raises
        ------
        HeaderError
            If it is missing, or neither an integer nor a logical value.
        """
        value = self._get(keyword)
        return bool(value) if isinstance(value, (bool, np.bool_)) else self.integer(keyword) != 0

    def algorithm(self, keyword: str) -> str:
        """
        Look a compression algorithm up.

        Parameters
        ----------
        keyword : str
            The keyword.

        Returns
        -------
        str
            Its canonical name.

        Raises
        ------
        HeaderError
            If it is missing or unknown.
        """
        found = self.text(keyword)
        name = kw.ALGORITHM_ALIASES.get(found.upper(), found.upper())
        require(name in kw.ALGORITHMS, keyword, found, "one of " + ", ".join(kw.ALGORITHMS))
        return name

    def _found(self, keyword: str, default):
        """Value of a keyword, `default` where it has none."""
        value = self._get(keyword)
        return default if value is None else value


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
