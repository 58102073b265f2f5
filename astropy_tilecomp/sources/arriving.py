"""Ranges under way at once, given in the order in which they arrive."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

from .base import IN_FLIGHT_NBYTES, Range

__all__ = ["arriving", "length_of"]


def arriving(ranges: Sequence[Range], head: memoryview, begin: Callable[[Range], Future]) -> Iterator[tuple[int, Any]]:
    """Ask for ranges and give each as soon as it is there; only so many bytes are asked for ahead of the reader."""
    arrived: SimpleQueue[Future] = SimpleQueue()
    pending: dict[Future, tuple[int, Range]] = {}
    waiting: deque[tuple[int, Range]] = deque()
    for number, (start, stop) in enumerate(ranges):
        if stop <= head.nbytes or start == stop:
            yield number, head[start:stop]
        else:
            waiting.append((number, (start, stop)))
    nbytes = 0
    try:
        while waiting or pending:
            while waiting and (not pending or nbytes + length_of(waiting[0][1]) <= IN_FLIGHT_NBYTES):
                number, wanted = waiting.popleft()
                future = begin(wanted)
                pending[future] = number, wanted
                nbytes += length_of(wanted)
                future.add_done_callback(arrived.put)
            future = arrived.get()
            number, wanted = pending.pop(future)
            found = future.result()
            if isinstance(found, Exception):
                raise found
            yield number, found
            nbytes -= length_of(wanted)
    finally:
        for future in pending:
            future.cancel()


def length_of(wanted: Range) -> int:
    """Bytes of a range."""
    return wanted[1] - wanted[0]
