"""
Byte sources behind a network: few requests, many at once, repeated where they fail, and never bytes of two versions.

The first bytes of a remote file come with the request that opens it and are kept, since every reader starts with the
headers there.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from typing import Any

from ..errors import SourceError
from ..threads import ForkSafeLock
from .arriving import arriving
from .base import ByteSource
from .local import check_unchanged
from .remote_settings import HEAD_NBYTES, RemoteSettings
from .transport import Answer, Transport

__all__ = ["RemoteSource"]

_LOG = logging.getLogger("astropy_tilecomp")
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
_FINAL = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, SourceError)


class RemoteSource(ByteSource):
    """
    A file that is read by requests, which are in flight together.

    Parameters
    ----------
    transport : Transport
        How to ask for a range.
    settings : RemoteSettings or mapping, optional
        By default those of the environment.

    Attributes
    ----------
    settings : RemoteSettings
        How it is read.
    version : str or None
        ETag, or what else tells one version of the file from another.

    Raises
    ------
    FileNotFoundError, PermissionError
        If there is no such file, or it may not be read.
    SourceError
        If it cannot be read.

    Notes
    -----
    Every answer is checked for its length, and for being of the version that was opened where its place tells that: web
    servers, S3 and obstore do.  A request that met a time-out, a lost connection, a server error or a short answer is
    repeated; one that cannot succeed is not.

    Pickled as address, size and version, and the options that cannot be credentials: where it is opened again, the
    credentials of that place are used.
    """

    is_local = False
    _head: Any  # the first bytes, a memoryview, or None until they are read

    def __init__(self, transport: Transport, settings: RemoteSettings | Mapping | None = None):
        self._adopt(transport, settings)
        first = self._start(self._repeated(self._open, "opening")).result()
        self.nbytes, self.version = first.nbytes, first.version
        self._head = memoryview(first.data)[:HEAD_NBYTES]

    @classmethod
    def restored(cls, transport: Transport, settings: RemoteSettings, nbytes: int, version: str | None) -> RemoteSource:
        """A file whose size and version are known; the first request is made by the first read."""
        source = cls.__new__(cls)
        source._adopt(transport, settings)
        source.nbytes, source.version = nbytes, version
        return source

    def _adopt(self, transport: Transport, settings: RemoteSettings | Mapping | None) -> None:
        self.settings = RemoteSettings.of(settings)
        self.gap, self.max_range, self.table_cache = self.settings.gap, self.settings.max_range, self.settings.table_cache
        self.name = transport.name
        self._transport = transport
        self._places = asyncio.Semaphore(self.settings.concurrency)
        self._head = None
        self._is_closed, self._opening = False, ForkSafeLock()

    async def _open(self) -> Answer:
        first = await self._transport.first(HEAD_NBYTES, self.settings.timeout)
        if first.nbytes is None:
            raise SourceError(f"{self.name}: the server does not tell the size of the file")
        _check_length(first.data, min(HEAD_NBYTES, first.nbytes))
        return first

    def read_ranges(self, ranges):
        found: list = [None] * len(ranges)
        for number, data in self.iter_ranges(ranges):
            found[number] = data
        return found

    def iter_ranges(self, ranges):
        self._check_bounds(ranges)
        for number, found in arriving(ranges, self._open_head(), lambda wanted: self._start(self._outcome(*wanted))):
            yield number, self._checked(found, ranges[number])

    def _start(self, task: Coroutine) -> Future:
        loop = self._transport.loop
        if asyncio._get_running_loop() is loop:
            task.close()
            raise RuntimeError(f"{self.name}: read from within fsspec's own event loop, which would wait for itself")
        return asyncio.run_coroutine_threadsafe(task, loop)

    async def _outcome(self, start: int, stop: int):
        """The bytes of a range, or an error as a value: nobody may be waiting for it any more."""
        try:
            return await self._fetch(start, stop)
        except Exception as error:
            return error

    async def _fetch(self, start: int, stop: int):
        """One range: in one request, or in several at once if it is very long."""
        step = self.max_range
        if stop - start < 2 * step:
            return await self._request(start, stop)
        pieces = [(at, min(at + step, stop)) for at in range(start, stop, step)]
        return b"".join(await asyncio.gather(*(self._request(*piece) for piece in pieces)))

    async def _request(self, start: int, stop: int):
        async def once():
            answer = await self._transport.get(start, stop, self.version, self.settings.timeout)
            self._check_version(answer)
            _check_length(answer.data, stop - start)
            return answer.data

        return await self._repeated(once, f"bytes {start} to {stop}")

    def _check_version(self, answer: Answer) -> None:
        then, now = (self.nbytes, self.version), (answer.nbytes, answer.version)
        for before, after, what in zip(then, now, ("size", "version")):
            if before is not None and after is not None and before != after:
                raise SourceError(f"{self.name}: changed since it was opened: its {what} was {before}, is now {after}")

    async def _repeated(self, once, what: str):
        """Do something until it succeeds, fails for good, or has failed too often."""
        pause, left = FIRST_PAUSE, self.settings.retries
        while True:
            try:
                async with self._places:
                    return await once()
            except _FINAL:
                raise
            except (OSError, EOFError) as error:  # a TimeoutError is an OSError
                if not left:
                    raise SourceError(f"{self.name}: {what}: {self._reason(error)}, and so {self._tries()}") from error
                _LOG.info("%s: %s: %s; trying again, up to %d times", self.name, what, self._reason(error), left)
            await asyncio.sleep(pause * random.uniform(0.5, 1))
            pause, left = min(2 * pause, LONGEST_PAUSE), left - 1

    def _reason(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"no answer within {self.settings.timeout} s"
        return str(error) or type(error).__name__

    def _tries(self) -> str:
        return f"{self.settings.retries + 1} times" if self.settings.retries else "once, without a retry"

    def _readinto(self, wanted, view):
        view[:] = self.read_ranges([wanted])[0]

    def _open_head(self) -> memoryview:
        if self._is_closed:
            raise ValueError(f"{self.name}: read of a closed file")
        with self._opening:
            if self._head is None:  # restored from a pickle
                again = RemoteSource(self._transport, self.settings)
                check_unchanged(self.name, (self.nbytes, self.version), (again.nbytes, again.version), "size and version")
                self._head = again._head
            return self._head

    def close(self):
        self._is_closed, self._head = True, None

    def __reduce__(self):
        self._transport.__reduce__()  # raises, naming this file, if it cannot be opened elsewhere
        return RemoteSource.restored, (self._transport, self.settings, self.nbytes, self.version)


def _check_length(data, nbytes: int) -> None:
    found = memoryview(data).nbytes
    if found != nbytes:
        raise EOFError(f"got {found} bytes instead of {nbytes}")
