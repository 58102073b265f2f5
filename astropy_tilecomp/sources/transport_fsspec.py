"""Byte ranges from any fsspec file system."""

from __future__ import annotations

import asyncio
import threading

from ..errors import SourceError
from .transport import Answer, Transport, version_of
from .urls import has_secret, public_url

__all__ = ["FsspecFile", "FsspecTransport"]

# What may be written into a pickle; everything else may be, or hold, a credential.
_PUBLIC_OPTIONS = {"anon", "client_kwargs", "endpoint_url", "region_name", "requester_pays", "use_ssl"}


class FsspecFile(Transport):
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


def _reopened(kind: type[FsspecFile], protocol: str, options: dict, path: str) -> Transport:
    from fsspec import filesystem

    return kind(filesystem(protocol, **options), path)


class FsspecTransport(FsspecFile):
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
        return Answer(answer.data, size, version_of(info))

    def _call(self, method, **arguments):
        with self._lock:
            return method(self._path, **arguments)


def _protocols(fs) -> tuple[str, ...]:
    return (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)


def _public_options(options: dict) -> dict:
    """The options of a file system that cannot be credentials."""
    public = {key: value for key, value in options.items() if key in _PUBLIC_OPTIONS}
    if isinstance(public.get("client_kwargs"), dict):
        public["client_kwargs"] = _public_options(public["client_kwargs"])
    return {key: value for key, value in public.items() if not (isinstance(value, str) and has_secret(value))}
