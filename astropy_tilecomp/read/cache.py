"""Decoded tiles that are kept for the next read."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from ..threads import ForkSafeLock

__all__ = ["DEFAULT_CACHE_BYTES", "TileCache"]

DEFAULT_CACHE_BYTES = 32 << 20
"""Decoded tiles that one reader keeps, in bytes."""


class TileCache:
    """
    Decoded tiles by table row, the least recently used given up first; safe on many threads.

    Parameters
    ----------
    max_nbytes : int
        Bytes to keep at most.
    """

    def __init__(self, max_nbytes: int):
        self._max_nbytes, self._nbytes = max_nbytes, 0
        self._tiles: OrderedDict[int, np.ndarray] = OrderedDict()
        self._lock = ForkSafeLock()

    def get_many(self, rows: list[int]) -> dict[int, np.ndarray]:
        """Those of some tiles that are there."""
        with self._lock:
            found = {row: self._tiles[row] for row in rows if row in self._tiles}
            for row in found:
                self._tiles.move_to_end(row)
            return found

    def put_many(self, tiles: dict[int, np.ndarray]) -> None:
        """Keep tiles; they become read-only."""
        with self._lock:
            for row, pixels in tiles.items():
                pixels.flags.writeable = False
                if row in self._tiles:
                    self._nbytes -= _memory_of(self._tiles.pop(row))
                self._tiles[row] = pixels
                self._nbytes += _memory_of(pixels)
            while self._nbytes > self._max_nbytes:
                self._nbytes -= _memory_of(self._tiles.popitem(last=False)[1])


def _memory_of(pixels: np.ndarray) -> int:
    """Bytes that a tile keeps in memory: one at the edge of the image lies in the array of a whole one."""
    return pixels.nbytes if pixels.base is None else pixels.base.nbytes
