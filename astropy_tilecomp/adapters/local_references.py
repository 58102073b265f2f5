"""Chunks that fsspec references place in local files: found, so that they are read as any local file is."""

from __future__ import annotations

from ..sources import ByteSource, ReopenedFile
from .extras import extra

with extra("zarr"):
    from zarr.storage import FsspecStore

__all__ = ["local_chunk"]


def local_chunk(byte_getter) -> ByteSource | None:
    """
    The chunk behind a byte getter, if references say that it is part of a local file.

    Parameters
    ----------
    byte_getter : zarr.abc.store.ByteGetter
        What zarr gives to a codec.

    Returns
    -------
    ByteSource or None
        The chunk, as far as the file has it; None for all other chunks, which only their store can read.

    Raises
    ------
    OSError
        If there is no such file, or it cannot be read.

    Notes
    -----
    Through zarr and fsspec each range is a task of an event loop, a thread, an opening of the file and a copy: as much work
    as decoding it.  Only their own classes are looked into: a class derived from one of them, and what is wrapped round it,
    may do more than to read bytes.
    """
    store = getattr(byte_getter, "store", None)
    if type(store) is not FsspecStore:
        return None
    from fsspec.core import split_protocol
    from fsspec.implementations.local import LocalFileSystem
    from fsspec.implementations.reference import ReferenceFileSystem

    files = store.fs
    if type(files) is not ReferenceFileSystem:
        return None
    root = store.path.rstrip("/")
    place = files.references.get(f"{root}/{byte_getter.path}" if root else byte_getter.path)
    if not isinstance(place, (list, tuple)):  # absent, or its bytes stand in the references
        return None
    url = files.target if place[0] is None else place[0]
    local = None if url is None else getattr(files.fss.get(split_protocol(url)[0]), "sync_fs", None)
    if type(local) is not LocalFileSystem:
        return None
    file = ReopenedFile(local._strip_protocol(url))
    start, nbytes = place[1:] or (0, file.nbytes)
    return file.part(start, start + nbytes)
