"""What a call of `decode` did, and which tiles it could not decode."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DamagedTile", "DecodeReport"]


@dataclass(frozen=True)
class DamagedTile:
    """
    A tile that could not be decoded.

    Attributes
    ----------
    tile : tuple of int
        Grid coordinates, C order.
    row : int
        Table row, counted from 0.
    box : tuple of slice
        Pixels of the image that it covers.
    error : Exception
        What `on_error="raise"` would have raised: its `reason`, `column`, `algorithm` and `byte_range` tell more.
    """

    tile: tuple[int, ...]
    row: int
    box: tuple[slice, ...]
    error: Exception


@dataclass(frozen=True)
class DecodeReport:
    """
    What one call did.

    Attributes
    ----------
    n_tiles, nbytes, n_requests : int
        Tiles decoded, bytes read and reads that took.
    damaged : list of DamagedTile
        In row order.
    trailing : list of (int, int, int)
        Table row, bytes used and bytes given of each tile with bytes left over, in row order.
    """

    n_tiles: int
    nbytes: int
    n_requests: int
    damaged: list
    trailing: list
