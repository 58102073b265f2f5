"""
One request for a byte range, to each kind of place where files lie.

Every answer comes with what the place says about the file as a whole, its size and version, so that `remote` can tell
that the file changed between two requests.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from ..errors import SourceError

__all__ = ["Answer", "Transport", "changed_error", "first_line", "version_of"]


@dataclass(frozen=True)
class Answer:
    """
    What came back for a range.

    Attributes
    ----------
    data : bytes-like
        The bytes; at the end of the file there may be fewer than were asked for.
    nbytes : int or None
        Size of the whole file, where the answer tells it.
    version : str or None
        ETag or time of modification of the file, where the answer tells it.
    """

    data: bytes | memoryview
    nbytes: int | None = None
    version: str | None = None


class Transport:
    """
    How to ask one place for ranges of one file.

    Attributes
    ----------
    name : str
        The file in messages, without credentials.
    loop : asyncio.AbstractEventLoop
        Where `get` and `about` run; it belongs to fsspec and runs in a thread of its own.
    """

    name: str

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of fsspec, which all transports share."""
        from fsspec.asyn import get_loop

        return get_loop()

    async def get(self, start: int, stop: int, version: str | None, timeout: float) -> Answer:
        """
        Request one range, once.

        Raises
        ------
        FileNotFoundError, PermissionError, SourceError
            For what no second request can mend.
        OSError, asyncio.TimeoutError
            For what another request may mend.
        """
        raise NotImplementedError

    async def first(self, nbytes: int, timeout: float) -> Answer:
        """The first bytes of the file, `nbytes` or all that there are, with the file's size and version."""
        return await self.get(0, nbytes, None, timeout)

    def __reduce__(self):
        raise TypeError(f"{self.name} cannot be pickled: it is bound to this process, or its address holds a credential")


def first_line(error: Exception) -> str:
    """The first line of the message of an error."""
    return str(error).partition("\n")[0]


def changed_error(name: str) -> SourceError:
    """The error for a file of which the store has another version now."""
    return SourceError(f"{name}: changed since it was opened: its store has another version now")


def version_of(info) -> str | None:
    """The ETag of a file, or what else its store says to tell versions apart."""
    for key in ("ETag", "etag", "e_tag", "mtime", "LastModified", "Last-Modified", "last_modified", "created"):
        if info.get(key) is not None:
            return str(info[key])
    return None
