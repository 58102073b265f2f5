"""How remote files are read, from arguments and from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from typing import Any

__all__ = ["RemoteSettings"]

HEAD_NBYTES = 10 * 2880
_MIN = {"max_range": 1, "concurrency": 1, "timeout": 0.001}


@dataclass(frozen=True)
class RemoteSettings:
    """
    How remote files are read.

    Parameters
    ----------
    gap : int
        A gap between two byte ranges that is shorter than this is read through; ASTROPY_TILECOMP_GAP.
    max_range : int
        Bytes of a request at most; ASTROPY_TILECOMP_MAX_RANGE.
    concurrency : int
        Requests to one file that are in flight together at most; ASTROPY_TILECOMP_CONCURRENCY.
    table_cache : int
        The table of an image, if it has no more bytes than this, is fetched whole with its first row and kept; of a longer
        one, the rows that are needed; ASTROPY_TILECOMP_TABLE_CACHE.
    timeout : float
        Seconds without progress after which a request is given up; ASTROPY_TILECOMP_TIMEOUT.
    retries : int
        How often a request that failed is repeated, after pauses that double; ASTROPY_TILECOMP_RETRIES.

    Raises
    ------
    ValueError
        If one of them is negative or no number, or `max_range`, `concurrency` or `timeout` is 0.
    """

    gap: int = 64 << 10
    max_range: int = 4 << 20
    concurrency: int = 32
    table_cache: int = 64 << 10
    timeout: float = 30
    retries: int = 4

    def __post_init__(self):
        for field in fields(self):
            value, least = getattr(self, field.name), _MIN.get(field.name, 0)
            kind: Any
            kind, words = (Real, "a number") if field.name == "timeout" else (Integral, "a whole number")
            if not (isinstance(value, kind) and value >= least):
                raise ValueError(f"{field.name} is {value!r}, expected {words} of {least} or more")

    @classmethod
    def of(cls, given: RemoteSettings | Mapping[str, Any] | None = None) -> RemoteSettings:
        """
        Settings of a caller, else of the environment, else the usual ones.

        Parameters
        ----------
        given : RemoteSettings or mapping, optional
            All settings, or some of them by name.

        Raises
        ------
        TypeError
            If there is no setting of a name.
        ValueError
            If a setting or an environment variable makes no sense.
        """
        if isinstance(given, RemoteSettings):
            return given
        return replace(cls(**_of_environment()), **dict(given or {}))


_VARIABLES = {
    "gap": "ASTROPY_TILECOMP_GAP",
    "max_range": "ASTROPY_TILECOMP_MAX_RANGE",
    "concurrency": "ASTROPY_TILECOMP_CONCURRENCY",
    "table_cache": "ASTROPY_TILECOMP_TABLE_CACHE",
    "timeout": "ASTROPY_TILECOMP_TIMEOUT",
    "retries": "ASTROPY_TILECOMP_RETRIES",
}


def _of_environment() -> dict[str, int]:
    found = {name: (variable, os.environ[variable]) for name, variable in _VARIABLES.items() if os.environ.get(variable)}
    for variable, text in found.values():
        if not text.isdecimal():
            raise ValueError(f"{variable} is {text!r}, expected a whole number of 0 or more")
    return {name: int(text) for name, (_, text) in found.items()}
