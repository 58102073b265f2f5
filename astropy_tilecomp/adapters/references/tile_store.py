"""A zarr store over references to tiles, which puts a frame before the bytes of a chunk where one is needed."""

from __future__ import annotations

import asyncio

from ...sources.opening import as_source
from ..zarr.read_only_store import ReadOnlyStore, range_in
from .tiles import TileReferences

__all__ = ["TileStore"]


class TileStore(ReadOnlyStore):
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

    def __init__(self, references: TileReferences, storage_options: dict | None = None, *, url: str | None = None):
        super().__init__()
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
        return None if content is None else prototype.buffer.from_bytes(content[range_in(len(content), byte_range)])

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

    async def exists(self, key):
        """Whether there is such a key."""
        return key in self.references.documents() or self.references.chunk_of(key) is not None

    async def list(self):
        """All keys."""
        for key in self.references.documents():
            yield key
        for key in self.references.chunk_keys():
            yield key
