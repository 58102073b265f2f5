"""Byte ranges from web servers."""

from __future__ import annotations

import re

from ..errors import SourceError
from .transport import Answer
from .transport_fsspec import FsspecFile

__all__ = ["HttpTransport", "content_range"]

_SMALL_NBYTES = 10 * 2880
"""A server that sends a whole file no longer than this, instead of a range of it, is put up with."""


class HttpTransport(FsspecFile):
    """
    A file on a web server.

    Parameters
    ----------
    fs : fsspec.implementations.http.HTTPFileSystem
        Gives the session and its options, such as headers.
    path : str
        The URL.
    """

    async def get(self, start, stop, version, timeout):
        import aiohttp

        options = dict(self._fs.kwargs)
        headers = {**options.pop("headers", {}), "Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}
        patience = aiohttp.ClientTimeout(total=None, sock_connect=timeout, sock_read=timeout)
        session = await self._fs.set_session()
        try:
            async with session.get(self._fs.encode_url(self._path), headers=headers, timeout=patience, **options) as answer:
                return await self._read(answer, start, stop)
        except aiohttp.InvalidURL:
            raise
        except aiohttp.ClientError as error:
            if isinstance(error, OSError | TimeoutError):
                raise
            raise ConnectionError(f"{type(error).__name__}: {error}") from error

    async def _read(self, answer, start: int, stop: int) -> Answer:
        _check_status(self.name, answer.status)
        version = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
        if answer.status == 206:
            first, nbytes = content_range(self.name, answer.headers.get("Content-Range", ""))
            if first != start:
                raise SourceError(f"{self.name}: asked for bytes from {start} on, the server sent those from {first} on")
            return Answer(await _body(self.name, answer, stop - start), nbytes, version)
        if answer.status == 416:  # an empty file has no first byte
            return Answer(b"", content_range(self.name, answer.headers.get("Content-Range", ""))[1], version)
        nbytes = answer.content_length
        if nbytes is None or nbytes > _SMALL_NBYTES:
            raise SourceError(
                f"{self.name}: asked for bytes {start} to {stop}, the server sent the whole file: it does not support range"
                " requests; download the file, or read it through fsspec's 'filecache::'"
            )
        return Answer((await _body(self.name, answer, nbytes))[start:stop], nbytes, version)


async def _body(name: str, answer, most: int) -> memoryview:
    """The bytes of an answer, which has no business to have more than `most`."""
    body, nbytes = memoryview(bytearray(most)), 0
    async for part in answer.content.iter_any():
        if nbytes + len(part) > most:
            raise SourceError(f"{name}: asked for {most} bytes, the server sends more")
        body[nbytes:nbytes + len(part)] = part
        nbytes += len(part)
    return body[:nbytes]


def _check_status(name: str, status: int) -> None:
    if status in (200, 206, 416):
        return
    if status in (404, 410):
        raise FileNotFoundError(f"{name}: not found (HTTP status {status})")
    if status in (401, 403):
        raise PermissionError(f"{name}: access denied (HTTP status {status})")
    if status in (408, 425, 429) or status >= 500:
        raise ConnectionError(f"HTTP status {status}")
    raise SourceError(f"{name}: the server answered with HTTP status {status}")


def content_range(name: str, text: str) -> tuple[int | None, int | None]:
    """First byte and size of the file in a Content-Range."""
    match = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", text.strip())
    if not match:
        raise SourceError(f"{name}: the server sent part of the file with the Content-Range {text!r}")
    return None if match[1] is None else int(match[1]), None if match[2] == "*" else int(match[2])
