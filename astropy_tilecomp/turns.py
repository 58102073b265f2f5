"""Jobs side by side of which only some work at a time: one that waits for the disk lets another work in its place."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Turns", "waiting"]

_thread = threading.local()


class Turns:
    """
    Leave to work, for some threads at a time.

    Parameters
    ----------
    n : int
        How many may work at once.
    """

    def __init__(self, n: int):
        self._free = threading.Semaphore(n)

    def take(self) -> None:
        """Wait until this thread may work."""
        self._free.acquire()
        _thread.turns = self

    def give_back(self) -> None:
        """Let another thread work."""
        _thread.turns = None
        self._free.release()

    def __enter__(self):
        self.take()
        return self

    def __exit__(self, *exc_info):
        self.give_back()


@contextmanager
def waiting() -> Iterator[None]:
    """Give one's turn, if this thread has one, to another thread while the block waits for something."""
    turns = getattr(_thread, "turns", None)
    if turns is None:
        yield
        return
    turns.give_back()
    try:
        yield
    finally:
        turns.take()
