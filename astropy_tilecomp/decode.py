"""ReadPlan and the bytes it asks for -> pixels in an array: whole batches of tiles, without the GIL, in threads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["BadTile", "DecodeReport", "decode"]


@dataclass(frozen=True)
class BadTile:
    """One tile that could not be decoded: what an error says of it, and what `damaged_tiles` lists."""

    tile: tuple[int, ...]
    row: int
    column: str
    algorithm: str
    byte_range: tuple[int, int] | None
    reason: str


@dataclass(frozen=True)
class DecodeReport:
    """What one call of `decode` did."""

    n_tiles: int
    nbytes: int
    n_requests: int
    bad: tuple[BadTile, ...]
    trailing: int


def decode(plan, source, out: np.ndarray, *, threads: int | None = None, engine: str | None = None,
           on_error: str = "raise", scaled: bool = True) -> DecodeReport:
    """
    Decode the tiles of a plan into an array.

    Parameters
    ----------
    plan : ReadPlan
        Parameters, selection, tile jobs and the byte ranges that hold them.
    source : ByteSource
        The data unit of the HDU.
    out : ndarray
        Array of the selection's shape and the result's type, in any strides and byte order.
    threads : int, optional
        Threads to use at most; 1 starts none.
    engine : {"kernel", "cfitsio"}, optional
        By default ASTROPY_TILECOMP_ENGINE, else "kernel".
    on_error : {"raise", "fill"}
        What to do about bad tiles.
    scaled : bool
        Apply BSCALE, BZERO and BLANK.

    Raises
    ------
    CorruptTileError, TruncatedTileError
        For the first bad tile, unless `on_error` is "fill".
    """
    raise NotImplementedError
