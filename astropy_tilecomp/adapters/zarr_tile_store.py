"""A zarr store over references to tiles, which puts a frame before the bytes of a chunk where one is needed."""

from __future__ import annotations

import asyncio

from ..errors import UnsupportedError
from ..sources import as_source
from .extras import extra
from .tile_references import TileReferences

with extra("zarr"):
    from zarr.abc.store import OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest

__all__ = ["TileStore"]


class TileStore(Store):
    """
    A read-only zarr store over `TileReferences`, framed or not.

    Parameters
    ----------
    references : TileReferences
        What to serve: the metadata, and for each chunk its bytes in the file, after its frame where it has one.
    storage_options : dict, optional
        What fsspec needs to open the file.
    url : str, optional
        Where the file is now, if not where the references say.

    Notes
    -----
    It pickles to other processes wherever its file does.
    """

    supports_writes = False
    supports_deletes = False
    supports_listing = True

    def __init__(self, references: TileReferences, storage_options: dict | None = None, *, url: str | None = None):
        super().__init__(read_only=True)
        self.references = references
        self.source = as_source(references.url if url is None else url, storage_options)

    def __eq__(self, other):
        return isinstance(other, TileStore) and (self.references, self.source.name) == (other.references, other.source.name)

    def __repr__(self):
        return f"TileStore({self.references!r})"

    def close(self):
        """Close the file."""
        super().close()
        self.source.close()

    async def get(self, key, prototype, byte_range=None):
        """The bytes of a key, or of a range of it; None if there is no such key."""
        content = await asyncio.to_thread(self._read, key)
        return None if content is None else prototype.buffer.from_bytes(content[_range_in(content, byte_range)])

    def _read(self, key: str) -> bytes | None:
        documents = self.references.documents()
        if key in documents:
            return documents[key].encode()
        chunk = self.references.chunk_of(key)
        if chunk is None:
            return None
        start, nbytes = int(self.references.chunk_offset[chunk]), int(self.references.chunk_nbytes[chunk])
        content = bytes(self.source.read(start, start + nbytes))
        return self.references.frame(chunk) + content if self.references.framed else content

    async def get_partial_values(self, prototype, key_ranges):
        """The bytes of several keys."""
        return list(await asyncio.gather(*(self.get(key, prototype, byte_range) for key, byte_range in key_ranges)))

    async def exists(self, key):
        """Whether there is such a key."""
        return key in self.references.documents() or self.references.chunk_of(key) is not None

    async def set(self, key, value):
        """Refuse: the store is read-only."""
        raise UnsupportedError("references are read-only")

    async def delete(self, key):
        """Refuse: the store is read-only."""
        raise UnsupportedError("references are read-only")

    async def list(self):
        """All keys."""
        for key in self.references.documents():
            yield key
        for key in self.references.chunk_keys():
            yield key

    async def list_prefix(self, prefix):
        """All keys that begin with a prefix."""
        async for key in self.list():
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix):
        """Names directly below a prefix."""
        below = f"{prefix.rstrip('/')}/" if prefix.rstrip("/") else ""
        seen = set()
        async for key in self.list_prefix(below):
            name = key[len(below):].partition("/")[0]
            if name not in seen:
                seen.add(name)
                yield name


def _range_in(content: bytes, byte_range) -> slice:
    """What zarr asks of a value, as a slice."""
    match byte_range:
        case None:
            return slice(None)
        case RangeByteRequest():
            return slice(byte_range.start, byte_range.end)
        case OffsetByteRequest():
            return slice(byte_range.offset, None)
        case SuffixByteRequest():
            return slice(max(len(content) - byte_range.suffix, 0), None)
    raise UnsupportedError(f"a byte range of {byte_range!r}")
