"""
Byte sources in object stores and on servers, through fsspec and obstore.

The first bytes of a remote file are fetched once when it is opened and kept, since every reader starts with the headers
there.  All other ranges of a call are requested at the same time.
"""

from __future__ import annotations

import os
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from .errors import SourceError
from .sources import ByteSource, FileSource, _check_unchanged

__all__ = ["FsspecSource", "ObstoreSource", "RemoteSource", "has_secret", "source_in_store"]

HEAD_NBYTES = 10 * 2880
REMOTE_GAP = 64 * 1024

# What may be written into a pickle; everything else may be, or hold, a credential.
_PUBLIC_OPTIONS = {"anon", "asynchronous", "client_kwargs", "endpoint_url", "region_name", "requester_pays", "use_ssl"}
_PUBLIC_STORE_OPTIONS = {"bucket", "endpoint", "region", "skip_signature", "virtual_hosted_style_request"}
_SECRET_WORDS = ("auth", "credential", "key", "pass", "policy", "secret", "sig", "token")


class RemoteSource(ByteSource):
    """
    A file that is read by requests: its first bytes are kept, the ranges of one call are in flight together.

    Notes
    -----
    A subclass has `_fetch`, which requests ranges; everything that is fetched is checked for type and length here, and
    this is also the place where a request that failed can be repeated.
    """

    is_local = False

    def __init__(self, name: str, nbytes: int):
        self.name = name
        self.nbytes = nbytes
        self.gap = int(os.environ.get("ASTROPY_TILECOMP_GAP", REMOTE_GAP))
        head = (0, min(HEAD_NBYTES, nbytes))
        self._head = self._checked(self._fetch([head])[0], head)

    def read_ranges(self, ranges):
        self._check_bounds(ranges)
        if self._head is None:
            raise ValueError(f"{self.name}: read of a closed file")
        wanted = [found for found in ranges if found[1] > self._head.nbytes and found[0] < found[1]]
        fetched = dict(zip(wanted, self._fetch(wanted), strict=True)) if wanted else {}
        return [
            self._checked(fetched[found], found) if found in fetched else self._head[slice(*found)] for found in ranges
        ]

    def _readinto(self, wanted, view):
        view[:] = self.read_ranges([wanted])[0]

    def _fetch(self, ranges) -> list:
        raise NotImplementedError

    def close(self):
        self._head = None


class FsspecSource(RemoteSource):
    """
    A file of an fsspec file system.

    Parameters
    ----------
    fs : fsspec.AbstractFileSystem
        The file system.
    path : str
        The file in it.

    Notes
    -----
    Pickled as protocol and path with size and ETag, and the options that cannot be credentials: where it is opened
    again, the credentials of that place are used.
    """

    def __init__(self, fs, path: str):
        self._fs = fs
        self._path = path
        info = fs.info(path)
        if info.get("size") is None:
            raise SourceError(f"{_public_url(path)}: the server does not tell the size of the file")
        self._version = _version_of(info)
        super().__init__(_public_url(fs.unstrip_protocol(path)), int(info["size"]))

    @classmethod
    def from_url(cls, url: str, storage_options: dict) -> ByteSource:
        """Open an fsspec URL, chained ones too; a local one gives a `FileSource`."""
        from fsspec.core import url_to_fs

        return source_in_store(*url_to_fs(url, **storage_options))

    def _fetch(self, ranges):
        starts, stops = [start for start, _ in ranges], [stop for _, stop in ranges]
        return self._fs.cat_ranges([self._path] * len(ranges), starts, stops, on_error="raise")

    def __reduce__(self):
        if has_secret(self._path):
            raise TypeError(f"{self.name} cannot be pickled: its URL holds a credential")
        protocol = self._fs.protocol if isinstance(self._fs.protocol, str) else self._fs.protocol[0]
        if protocol in ("memory", "abstract") or hasattr(self._fs, "fo"):  # bound to this process or to another file
            return super().__reduce__()
        options = _public_options(self._fs.storage_options)
        return _reopen_fsspec, (protocol, options, self._path, self.nbytes, self._version)


def _reopen_fsspec(protocol, options, path, nbytes, version):
    from fsspec import filesystem

    source = FsspecSource(filesystem(protocol, **options), path)
    _check_unchanged(source.name, (nbytes, version), (source.nbytes, source._version), "size and version")
    return source


class ObstoreSource(RemoteSource):
    """
    A file of an obstore store.

    Parameters
    ----------
    store : obstore.store.ObjectStore
        The store.
    path : str
        The file in it.

    Notes
    -----
    Pickled with its store and with size and ETag, unless the configuration of the store may hold a credential.
    """

    def __init__(self, store, path: str):
        import obstore

        self._store = store
        self._path = path
        meta = obstore.head(store, path)
        self._version = _version_of(meta)
        super().__init__(f"<{type(store).__name__}>/{_public_url(path)}", int(meta["size"]))

    def _fetch(self, ranges):
        import obstore

        starts, stops = [start for start, _ in ranges], [stop for _, stop in ranges]
        return obstore.get_ranges(self._store, self._path, starts=starts, ends=stops, coalesce=0)

    def __reduce__(self):
        config = getattr(self._store, "config", None) or {}
        url = getattr(self._store, "url", "")
        if not set(config) <= _PUBLIC_STORE_OPTIONS or has_secret(url) or _in_process(self._store):
            return super().__reduce__()
        return _reopen_obstore, (self._store, self._path, self.nbytes, self._version)


def _in_process(store) -> bool:
    """Whether a store lives in the memory of this process, or gets its credentials from an object of it."""
    return type(store).__name__ == "MemoryStore" or getattr(store, "credential_provider", None) is not None


def _reopen_obstore(store, path, nbytes, version):
    source = ObstoreSource(store, path)
    _check_unchanged(source.name, (nbytes, version), (source.nbytes, source._version), "size and version")
    return source


def source_in_store(store, path: str) -> ByteSource:
    """
    The source of a file in an fsspec file system or an obstore store.

    Parameters
    ----------
    store : fsspec.AbstractFileSystem or obstore store
        Where the file lies; of a local fsspec file system the file itself is opened.
    path : str
        The file in it.

    Raises
    ------
    TypeError
        If `store` is neither.
    """
    if type(store).__module__.partition(".")[0] == "obstore":
        return ObstoreSource(store, path)
    if not hasattr(store, "cat_ranges"):
        raise TypeError(f"an fsspec file system or an obstore store expected, found {type(store).__name__}")
    if "file" in (store.protocol if isinstance(store.protocol, tuple) else (store.protocol,)):
        return FileSource(path)
    return FsspecSource(store, path)


def _version_of(info) -> str | None:
    """The ETag of a file, or what else its store says to tell versions apart."""
    for key in ("ETag", "etag", "e_tag", "mtime", "LastModified", "Last-Modified", "last_modified", "created"):
        if info.get(key) is not None:
            return str(info[key])
    return None


def _public_url(url: str) -> str:
    """A URL as it may be shown: without user, password and query."""
    parts = urlsplit(url)
    if "@" not in parts.netloc and not parts.query:
        return url
    shown = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="..." if parts.query else "", fragment="")
    return urlunsplit(shown)


def has_secret(url: str) -> bool:
    """Whether a URL names a user, or a query parameter that may be a credential."""
    parts = urlsplit(url)
    names = [name.lower() for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    return "@" in parts.netloc or any(word in name for name in names for word in _SECRET_WORDS)


def _public_options(options: dict) -> dict:
    """The options of a file system that cannot be credentials."""
    public = {key: value for key, value in options.items() if key in _PUBLIC_OPTIONS}
    if isinstance(public.get("client_kwargs"), dict):
        public["client_kwargs"] = _public_options(public["client_kwargs"])
    return {key: value for key, value in public.items() if not (isinstance(value, str) and has_secret(value))}
