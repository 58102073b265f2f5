"""The bytes of one chunk, fetched through zarr, many ranges at a time."""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor

from ...sources.arriving import arriving
from ...sources.base import ByteSource
from ..extras import extra

with extra("zarr"):
    from zarr.abc.store import RangeByteRequest
    from zarr.core.buffer import default_buffer_prototype

__all__ = ["ChunkSource", "FetchInLoop", "Requests", "fetch_from", "fetch_sync", "waiting"]

REMOTE_GAP = 64 << 10
MAX_RANGE = 2 << 20
"""Bytes of one request at most: those of a large read are then in flight side by side."""


class ChunkSource(ByteSource):
    """
    The bytes of one chunk, fetched through zarr.

    Parameters
    ----------
    fetch : callable
        Takes a list of (start, stop) and gives a buffer, or None for an absent chunk, for each. If it has a method `begin`,
        that takes one range and gives the future of its bytes.
    nbytes : int
        Size of the chunk as far as it is known; nothing is asked for beyond it.
    head : bytes
        What was fetched of its start already.
    name : str
        What messages call it.
    """

    is_local = False
    gap = REMOTE_GAP
    max_range = MAX_RANGE

    def __init__(self, fetch, nbytes: int, head: bytes, name: str):
        self._fetch, self.nbytes, self._head, self.name = fetch, nbytes, head, name

    def _read(self, ranges):
        wanted = [found for found in ranges if found[1] > len(self._head) and found[0] < found[1]]
        fetched = dict(zip(wanted, self._fetch(wanted), strict=True)) if wanted else {}
        return [fetched[found] if found in fetched else self._head[slice(*found)] for found in ranges]

    def iter_ranges(self, ranges):
        if not hasattr(self._fetch, "begin"):
            yield from super().iter_ranges(ranges)
            return
        self._check_bounds(ranges)
        for number, found in arriving(ranges, memoryview(self._head), self._fetch.begin):
            yield number, self._checked(found, ranges[number])


class Requests:
    """What one read has in flight: where the read is cancelled, nobody waits for it any more."""

    _of_thread = threading.local()

    def __init__(self):
        self._begun = set()
        self._cancelled = False

    @classmethod
    def of_this_read(cls) -> Requests:
        """Those of the read that this thread is at work for."""
        return getattr(cls._of_thread, "requests", None) or cls()

    def run(self, read, *arguments):
        """Call `read` in this thread."""
        self._of_thread.requests = self
        try:
            return read(*arguments)
        finally:
            del self._of_thread.requests

    def begin(self, loop, request, *arguments) -> Future:
        """Start a coroutine function on the event loop."""
        if self._cancelled:
            raise CancelledError("the read was cancelled")
        future = asyncio.run_coroutine_threadsafe(request(*arguments), loop)
        self._begun.add(future)
        future.add_done_callback(self._begun.discard)
        if self._cancelled:  # meanwhile
            future.cancel()
        return future

    def cancel(self):
        """Cancel what was begun, and begin nothing more."""
        self._cancelled = True
        for future in self._begun.copy():
            future.cancel()


class FetchInLoop:
    """A fetch for worker threads: requests are in flight together on the event loop."""

    def __init__(self, byte_getter, loop):
        self._byte_getter, self._loop = byte_getter, loop

    def __call__(self, ranges):
        return Requests.of_this_read().begin(self._loop, self._gather, ranges).result()

    async def _gather(self, ranges):
        return await asyncio.gather(*(_get(self._byte_getter, start, stop) for start, stop in ranges))

    def begin(self, wanted):
        """Ask for one range."""
        return Requests.of_this_read().begin(self._loop, self._outcome, *wanted)

    async def _outcome(self, start, stop):
        """The bytes of a range, or an error as a value: nobody may be waiting for it any more."""
        try:
            return await _get(self._byte_getter, start, stop)
        except Exception as error:
            return error


async def _get(byte_getter, start, stop):
    request = RangeByteRequest(start, stop)
    return _plain(await byte_getter.get(prototype=default_buffer_prototype(), byte_range=request))


def fetch_sync(byte_getter):
    """A fetch for zarr's synchronous pipelines."""

    def fetch(ranges):
        prototype = default_buffer_prototype()
        requests = [RangeByteRequest(start, stop) for start, stop in ranges]
        return [_plain(byte_getter.get_sync(prototype=prototype, byte_range=request)) for request in requests]

    return fetch


def fetch_from(chunk: ByteSource):
    """A fetch for a chunk that is a source itself; as from zarr's stores, what lies past its end is left out."""
    return lambda ranges: chunk.read_ranges([(min(start, chunk.nbytes), min(stop, chunk.nbytes)) for start, stop in ranges])


def _plain(buffer):
    return None if buffer is None else buffer.as_numpy_array()


class _Threads:
    """Threads that wait for bytes; made on first use, and anew in a forked child."""

    def __init__(self):
        self._start_anew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._start_anew)

    def _start_anew(self):
        self._lock = threading.Lock()
        self._pool = None

    def get(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(64, thread_name_prefix="astropy_tilecomp-zarr")
            return self._pool


waiting = _Threads()
