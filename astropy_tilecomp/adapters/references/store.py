"""A zarr store over references, which reads the files that they point to as `astropy_tilecomp.open` does."""

from __future__ import annotations

import asyncio
import base64
from collections import OrderedDict
from collections.abc import Mapping

from ... import threads
from ...sources.base import ByteSource
from ...sources.local import opened_for_each_read
from ...sources.opening import as_source
from ..zarr.read_only_store import ReadOnlyStore, range_in
from .scan import checked_reference

__all__ = ["ReferenceStore"]

MAX_SOURCES = 1024
"""Files that are kept open, or known, at a time."""


class ReferenceStore(ReadOnlyStore):
    """
    A read-only store whose values are text, or parts of files.

    Parameters
    ----------
    references : mapping
        Key to text (after "base64:" of bytes), to bytes, or to a list of URL, offset and size; a URL alone is a whole file.
    storage_options : dict, optional
        What fsspec needs to open the files.

    Notes
    -----
    Files are read by the sources of this package: requests are repeated, and a file that was replaced since it was opened
    raises `SourceError` where its server tells versions apart. It pickles with its references, and opens files again.
    """

    def __init__(self, references: Mapping, storage_options: dict | None = None):
        super().__init__()
        self.references, self.storage_options = references, storage_options
        self._forget()

    def _forget(self):
        self._sources: OrderedDict[str, ByteSource] = OrderedDict()
        self._lock = threads.ForkSafeLock()

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name not in ("_sources", "_lock")}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._forget()

    def __eq__(self, other):
        return isinstance(other, ReferenceStore) and self.references == other.references

    def __repr__(self):
        return "ReferenceStore()"

    def close(self):
        """Close the files."""
        super().close()
        with self._lock:
            sources = list(self._sources.values())
            self._sources.clear()
        for source in sources:
            source.close()

    def chunk(self, key: str) -> ByteSource | None:
        """
        Find the bytes of a key in the file that has them.

        Raises
        ------
        HeaderError
            If the reference is neither [URL] nor [URL, offset, size].
        OSError
            If there is no such file, or it cannot be read.
        """
        place = self.references.get(key)
        if place is None or isinstance(place, (str, bytes)):
            return None
        parts = checked_reference(key, place)
        url, offset, nbytes = parts if len(parts) == 3 else (*parts, 0, None)
        source = self._source(url)
        stop = source.nbytes if nbytes is None else min(offset + nbytes, source.nbytes)
        return source.part(min(offset, stop), stop)

    def _source(self, url: str) -> ByteSource:
        """The file of a URL, which is opened when it is first asked for."""
        with self._lock:
            source = self._sources.get(url)
            if source is not None:
                self._sources.move_to_end(url)
                return source
        opened = opened_for_each_read(as_source(url, self.storage_options if "://" in url else None))
        with self._lock:
            source = self._sources.setdefault(url, opened)
            if len(self._sources) > MAX_SOURCES:
                self._sources.popitem(last=False)
        return source

    async def get(self, key, prototype, byte_range=None):
        """The bytes of a key, or of a range of it; None if there is no such key."""
        value = self.references.get(key)
        if isinstance(value, (str, bytes)):
            content = _inline(value)
            return prototype.buffer.from_bytes(content[range_in(len(content), byte_range)])
        if value is None:
            return None
        content = await asyncio.wrap_future(threads.waiting_pool().submit(self._read, key, byte_range))
        return prototype.buffer.from_bytes(content)

    def _read(self, key: str, byte_range) -> bytes:
        chunk = self.chunk(key)
        assert chunk is not None  # `get` has looked
        wanted = range_in(chunk.nbytes, byte_range)
        return bytes(chunk.read(wanted.start, wanted.stop))

    async def exists(self, key):
        """Whether there is such a key."""
        return key in self.references

    async def list(self):
        """All keys."""
        for key in self.references:
            yield key


def _inline(value: str | bytes) -> bytes:
    """A value that the references hold themselves."""
    if isinstance(value, bytes):
        return value
    return base64.b64decode(value[7:]) if value.startswith("base64:") else value.encode()
