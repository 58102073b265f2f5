"""The source of whatever the user has: bytes, a path, a URL, a file object, a store."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from .base import ByteSource
from .file_object import SourceFile
from .inflated import inflated
from .local import BufferSource, FileSource, MmapSource
from .remote_settings import RemoteSettings
from .streams import LockedSource, SpooledSource, name_of

if TYPE_CHECKING:
    from .transport import Transport

__all__ = ["as_source", "decompresses", "opened", "source_at_url", "source_in_store", "transport_for"]


def as_source(obj, storage_options: dict | None = None, remote: Mapping | None = None) -> ByteSource:
    """
    Make a `ByteSource` of whatever holds the bytes.

    Parameters
    ----------
    obj : ByteSource, bytes-like, mmap, str, path-like, file object, fsspec OpenFile, or (file system or store, path)
        A str with ``://`` or ``::`` in it is an fsspec URL, any other a local path.  A pair is an fsspec file system
        or an obstore store, and a path in it.  A file compressed as a whole (gzip, bz2, xz, zip) is inflated.
    storage_options : dict, optional
        What fsspec needs to open a URL, such as ``{"anon": True}``.
    remote : RemoteSettings or mapping, optional
        How to read it if it is remote: the settings that differ from those of the environment.

    Returns
    -------
    ByteSource
        To be closed by the caller, unless `obj` was one already.

    Raises
    ------
    TypeError
        If `obj` is none of these.
    OSError
        If it cannot be opened.
    """
    if isinstance(obj, ByteSource):
        return obj
    return inflated(_as_plain_source(obj, storage_options, remote))


@contextmanager
def opened(obj, storage_options: dict | None = None, remote: Mapping | None = None) -> Iterator[ByteSource]:
    """
    Use whatever a user has as a source; what was opened for it is closed at the end of the block.

    Parameters
    ----------
    obj, storage_options, remote
        As of `as_source`; a `ByteSource` stays open.

    Yields
    ------
    ByteSource
    """
    source = as_source(obj, storage_options, remote)
    try:
        yield source
    finally:
        if source is not obj:
            source.close()


def decompresses(file) -> bool:
    """
    Whether an open file object inflates what it reads.

    Parameters
    ----------
    file : object
        Anything.
    """
    import bz2
    import gzip
    import lzma

    return isinstance(file, (gzip.GzipFile, bz2.BZ2File, lzma.LZMAFile))


def _as_plain_source(obj, storage_options, remote):
    import mmap

    if isinstance(obj, (str, os.PathLike)):
        return _path_or_url(os.fspath(obj), storage_options, remote)
    if isinstance(obj, mmap.mmap):
        return MmapSource(obj)
    if isinstance(obj, (bytes, bytearray, memoryview, np.ndarray)):
        return BufferSource(obj)
    if isinstance(obj, tuple) and len(obj) == 2:
        return source_in_store(*obj, remote)
    raw = getattr(obj, "raw", obj)  # behind a BufferedReader
    if hasattr(raw, "fs") and hasattr(raw, "path"):  # an fsspec OpenFile or an open file of fsspec
        return _from_fsspec_file(raw, remote)
    if hasattr(obj, "read"):
        return _from_file_object(obj)
    raise TypeError(f"bytes, a path, a URL, a file object or a pair (store, path) expected, found {type(obj).__name__}")


def _path_or_url(path, storage_options, remote):
    if isinstance(path, bytes) or not ("://" in path or "::" in path):
        return FileSource(path)
    if path.startswith("file://"):
        from urllib.parse import unquote, urlsplit

        return FileSource(unquote(urlsplit(path).path))
    return source_at_url(path, storage_options or {}, remote)


def _from_fsspec_file(file, remote):
    if getattr(file, "compression", None):
        return _from_file_object(file if hasattr(file, "read") else file.open())
    return source_in_store(file.fs, file.path, remote)


def source_at_url(url: str, storage_options: dict, settings: RemoteSettings | Mapping | None = None) -> ByteSource:
    """
    The source of a file at an fsspec URL, chained ones too.

    Raises
    ------
    ImportError
        If a package for such URLs is missing; its message names the extra.
    """
    try:
        from fsspec.core import url_to_fs

        store, path = url_to_fs(url, **storage_options)
    except ImportError as error:
        remedy = "it comes with the extra 'remote': pip install 'astropy_tilecomp[remote]'"
        raise ImportError(f"{error}; {remedy}", name=error.name) from error
    return source_in_store(store, path, settings)


def source_in_store(store, path: str, settings: RemoteSettings | Mapping | None = None) -> ByteSource:
    """
    The source of a file in an fsspec file system or an obstore store.

    Raises
    ------
    TypeError
        If `store` is neither.
    """
    protocol = getattr(store, "protocol", ())
    if "file" in ((protocol,) if isinstance(protocol, str) else tuple(protocol)):
        return FileSource(path)
    from .remote import RemoteSource

    return RemoteSource(transport_for(store, path), settings)


def transport_for(store, path: str) -> Transport:
    """
    The transport of a file in an fsspec file system or an obstore store.

    Raises
    ------
    TypeError
        If `store` is neither.
    """
    if type(store).__module__.partition(".")[0] == "obstore":
        from .transport_obstore import ObstoreTransport

        return ObstoreTransport(store, path)
    if not hasattr(store, "cat_ranges"):
        raise TypeError(f"an fsspec file system or an obstore store expected, found {type(store).__name__}")
    if type(store).__name__ == "DirFileSystem":  # a folder of another file system
        return transport_for(store.fs, store._join(path))
    if type(store).__name__ == "HTTPFileSystem":
        from .transport_http import HttpTransport

        return HttpTransport(store, path)
    if type(store).__name__ == "S3FileSystem":
        from .transport_s3 import S3Transport

        return S3Transport(store, path)
    from .transport_fsspec import FsspecTransport

    return FsspecTransport(store, path)


def _from_file_object(file):
    import tempfile

    if isinstance(file, io.TextIOBase):
        raise TypeError(f"{name_of(file)}: a file opened in binary mode expected, found one in text mode")
    if isinstance(file, SourceFile):
        return file.source
    bare = file.file if isinstance(file, tempfile._TemporaryFileWrapper) else file
    raw = getattr(bare, "raw", bare)
    if decompresses(file):
        return _from_decompressor(file)
    if not isinstance(raw, io.FileIO):  # others may have a fileno too, but of other bytes
        return LockedSource(file) if not hasattr(file, "seekable") or file.seekable() else SpooledSource(file)
    if file.writable():
        file.flush()
    return FileSource.from_descriptor(raw.fileno(), name_of(file), _path_of(raw))


def _from_decompressor(file):
    before = file.tell()
    file.seek(0)
    source = SpooledSource(file)
    file.seek(before)
    return source


def _path_of(raw: io.FileIO) -> str | None:
    """The absolute path of an open file, if it has a name."""
    return os.path.abspath(raw.name) if isinstance(raw.name, (str, os.PathLike)) else None
