"""
One request for a byte range, to each kind of place where files lie: web servers, S3, fsspec file systems, obstore stores.

Every answer comes with what the place says about the file as a whole, its size and version, so that `remote` can tell
that the file changed between two requests.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from .errors import SourceError

__all__ = ["Answer", "FsspecTransport", "HttpTransport", "ObstoreTransport", "S3Transport", "Transport", "has_secret",
           "public_url", "transport_for"]

# What may be written into a pickle; everything else may be, or hold, a credential.
_PUBLIC_OPTIONS = {"anon", "client_kwargs", "endpoint_url", "region_name", "requester_pays", "use_ssl"}
_PUBLIC_STORE_OPTIONS = {"bucket", "endpoint", "region", "skip_signature", "virtual_hosted_style_request"}
_SECRET_WORDS = ("auth", "credential", "key", "pass", "policy", "secret", "sig", "token")

_SMALL_NBYTES = 10 * 2880
"""A server that sends a whole file no longer than this, instead of a range of it, is put up with."""


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

        Parameters
        ----------
        start, stop : int
            First byte and the byte after the last.
        version : str or None
            The version that is expected; a transport may leave it to the caller to compare.
        timeout : float
            Seconds without progress after which to give up.

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


class _FsspecFile(Transport):
    """What all files of fsspec file systems share: their name and how they are pickled."""

    def __init__(self, fs, path: str):
        if getattr(fs, "asynchronous", False):  # bound to a loop that the caller runs: take its twin
            fs = type(fs)(*fs.storage_args, **(fs.storage_options | {"asynchronous": False}))
        self._fs, self._path = fs, path
        self.name = public_url(fs.unstrip_protocol(path))

    @property
    def loop(self):
        return getattr(self._fs, "loop", None) or super().loop  # the first raises RuntimeError in a forked child

    def __reduce__(self):
        protocol = _protocols(self._fs)[0]
        if protocol in ("memory", "abstract") or hasattr(self._fs, "fo") or has_secret(self._path):
            return super().__reduce__()
        return _reopened, (type(self), protocol, _public_options(self._fs.storage_options), self._path)


def _reopened(kind: type[_FsspecFile], protocol: str, options: dict, path: str) -> Transport:
    from fsspec import filesystem

    return kind(filesystem(protocol, **options), path)


class FsspecTransport(_FsspecFile):
    """
    A file of any fsspec file system, which tells size and version only when it is opened.

    Parameters
    ----------
    fs : fsspec.AbstractFileSystem
        The file system; one that is not asynchronous gets one request at a time.
    path : str
        The file in it.
    """

    def __init__(self, fs, path: str):
        from fsspec.asyn import AsyncFileSystem
        from fsspec.implementations.cached import CachingFileSystem

        super().__init__(fs, path)
        self._is_async = isinstance(self._fs, AsyncFileSystem)
        self._is_cache = type(self._fs) is CachingFileSystem  # of blocks, with rules of its own
        self._lock = threading.Lock()

    async def get(self, start, stop, version, timeout):
        if self._is_async:
            return Answer(await asyncio.wait_for(self._fs._cat_file(self._path, start=start, end=stop), timeout))
        options = {} if self._is_cache else {"cache_type": "none"}
        return Answer(await asyncio.to_thread(self._call, self._fs.cat_file, start=start, end=stop, **options))

    async def first(self, nbytes, timeout):
        if self._is_async:
            info = await asyncio.wait_for(self._fs._info(self._path), timeout)
        else:
            fs = self._fs.fs if self._is_cache else self._fs  # a cache lists the folder, which web servers do not allow
            info = await asyncio.to_thread(self._call, fs.info)
        size = info.get("size")
        if size is None:
            raise SourceError(f"{self.name}: the file system does not tell the size of the file")
        answer = await self.get(0, min(nbytes, size), None, timeout) if size else Answer(b"")
        return Answer(answer.data, size, _version_of(info))

    def _call(self, method, **arguments):
        with self._lock:
            return method(self._path, **arguments)


class HttpTransport(_FsspecFile):
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
            first, nbytes = _content_range(self.name, answer.headers.get("Content-Range", ""))
            if first != start:
                raise SourceError(f"{self.name}: asked for bytes from {start} on, the server sent those from {first} on")
            return Answer(await _body(self.name, answer, stop - start), nbytes, version)
        if answer.status == 416:  # an empty file has no first byte
            return Answer(b"", _content_range(self.name, answer.headers.get("Content-Range", ""))[1], version)
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


def _content_range(name: str, text: str) -> tuple[int | None, int | None]:
    """First byte and size of the file in a Content-Range."""
    match = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", text.strip())
    if not match:
        raise SourceError(f"{name}: the server sent part of the file with the Content-Range {text!r}")
    return None if match[1] is None else int(match[1]), None if match[2] == "*" else int(match[2])


class S3Transport(_FsspecFile):
    """
    An object in S3, read with the condition that it is still the same.

    Parameters
    ----------
    fs : s3fs.S3FileSystem
        Gives the session and the credentials.
    path : str
        Bucket and key.
    """

    async def get(self, start, stop, version, timeout):
        return await asyncio.wait_for(self._get(start, stop, version), timeout)

    async def _get(self, start, stop, version):
        from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, NoCredentialsError

        bucket, key, version_id = self._fs.split_path(self._path)
        options = {"VersionId": version_id} if version_id else {}
        if version:
            options["IfMatch"] = version
        try:
            found = await self._fs._call_s3(
                "get_object", Bucket=bucket, Key=key, Range=f"bytes={start}-{stop - 1}", **self._fs.req_kw, **options
            )
            async with found["Body"] as body:
                data = await body.read()
        except NoCredentialsError as error:
            raise PermissionError(f"{self.name}: {error}; of a public file, open it with {{'anon': True}}") from error
        except Exception as error:
            cause = error.__cause__ if isinstance(error.__cause__, ClientError) else error
            code = str(getattr(cause, "response", {}).get("Error", {}).get("Code"))
            if code in ("PreconditionFailed", "412"):
                raise _changed(self.name) from None
            if code in ("InvalidRange", "416"):
                return Answer(b"", 0)
            if isinstance(error, BotoCoreError | HTTPClientError) or "aiohttp" in type(error).__module__:
                raise ConnectionError(f"{type(error).__name__}: {error}") from error
            raise
        nbytes = _content_range(self.name, found.get("ContentRange", ""))[1]
        return Answer(data, nbytes, found.get("ETag"))


class ObstoreTransport(Transport):
    """
    A file of an obstore store, read with the condition that it is still the same.

    Parameters
    ----------
    store : obstore.store.ObjectStore
        The store; it repeats requests that fail by rules of its own.
    path : str
        The file in it.
    """

    def __init__(self, store, path: str):
        self._store, self._path = store, path
        self.name = f"<{type(store).__name__}>/{public_url(path)}"

    async def get(self, start, stop, version, timeout):
        import obstore

        options: Any = {"range": (start, stop)} | ({"if_match": version} if version else {})
        with self._translated():
            found = await asyncio.wait_for(obstore.get_async(self._store, self._path, options=options), timeout)
            data = await asyncio.wait_for(found.bytes_async(), timeout)
        return Answer(memoryview(data), int(found.meta["size"]), found.meta.get("e_tag"))

    async def first(self, nbytes, timeout):
        import obstore

        with self._translated():
            meta = await asyncio.wait_for(obstore.head_async(self._store, self._path), timeout)
        size, version = int(meta["size"]), _version_of(meta)
        data = (await self.get(0, min(nbytes, size), meta.get("e_tag"), timeout)).data if size else b""
        return Answer(data, size, version)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Errors of obstore as those that `get` promises."""
        from obstore import exceptions

        try:
            yield
        except exceptions.PreconditionError:
            raise _changed(self.name) from None
        except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
            raise PermissionError(f"{self.name}: {_first_line(error)}") from error
        except exceptions.GenericError as error:
            raise ConnectionError(_first_line(error)) from error
        except exceptions.BaseError as error:
            raise SourceError(f"{self.name}: {_first_line(error)}") from error

    def __reduce__(self):
        config = getattr(self._store, "config", None) or {}
        url = getattr(self._store, "url", "")
        if not set(config) <= _PUBLIC_STORE_OPTIONS or has_secret(url) or _in_process(self._store):
            return super().__reduce__()
        return ObstoreTransport, (self._store, self._path)


def _in_process(store) -> bool:
    """Whether a store lives in the memory of this process, or gets its credentials from an object of it."""
    return type(store).__name__ == "MemoryStore" or getattr(store, "credential_provider", None) is not None


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _changed(name: str) -> SourceError:
    return SourceError(f"{name}: changed since it was opened: its store has another version now")


def transport_for(store, path: str) -> Transport:
    """
    The transport of a file in an fsspec file system or an obstore store.

    Parameters
    ----------
    store : fsspec.AbstractFileSystem or obstore store
        Where the file lies.
    path : str
        The file in it.

    Raises
    ------
    TypeError
        If `store` is neither.
    """
    if type(store).__module__.partition(".")[0] == "obstore":
        return ObstoreTransport(store, path)
    if not hasattr(store, "cat_ranges"):
        raise TypeError(f"an fsspec file system or an obstore store expected, found {type(store).__name__}")
    if type(store).__name__ == "DirFileSystem":  # a folder of another file system
        return transport_for(store.fs, store._join(path))
    if type(store).__name__ == "HTTPFileSystem":
        return HttpTransport(store, path)
    if type(store).__name__ == "S3FileSystem":
        return S3Transport(store, path)
    return FsspecTransport(store, path)


def _protocols(fs) -> tuple[str, ...]:
    return (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)


def _version_of(info) -> str | None:
    """The ETag of a file, or what else its store says to tell versions apart."""
    for key in ("ETag", "etag", "e_tag", "mtime", "LastModified", "Last-Modified", "last_modified", "created"):
        if info.get(key) is not None:
            return str(info[key])
    return None


def public_url(url: str) -> str:
    """
    A URL as it may be shown.

    Parameters
    ----------
    url : str
        Any URL.

    Returns
    -------
    str
        Without user, password and query.
    """
    parts = urlsplit(url)
    if "@" not in parts.netloc and not parts.query:
        return url
    shown = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="..." if parts.query else "", fragment="")
    return urlunsplit(shown)


def has_secret(url: str) -> bool:
    """
    Whether a URL may hold a credential.

    Parameters
    ----------
    url : str
        Any URL.

    Returns
    -------
    bool
        True if it names a user, or has a query parameter that may be a credential.
    """
    parts = urlsplit(url)
    names = [name.lower() for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    return "@" in parts.netloc or any(word in name for name in names for word in _SECRET_WORDS)


def _public_options(options: dict) -> dict:
    """The options of a file system that cannot be credentials."""
    public = {key: value for key, value in options.items() if key in _PUBLIC_OPTIONS}
    if isinstance(public.get("client_kwargs"), dict):
        public["client_kwargs"] = _public_options(public["client_kwargs"])
    return {key: value for key, value in public.items() if not (isinstance(value, str) and has_secret(value))}
