"""What read-only stores of zarr have in common: keys, and ranges of their values."""

from __future__ import annotations

import asyncio

from ...errors import UnsupportedError
from ...sources.base import ByteSource
from ..extras import extra

with extra("zarr"):
    from zarr.abc.store import OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest

__all__ = ["ReadOnlyStore", "range_in"]


class ReadOnlyStore(Store):
    """A store of zarr that nothing is written to; a subclass has `get`, `exists` and `list`."""

    supports_writes = False
    supports_deletes = False
    supports_partial_writes = False
    supports_listing = True

    def __init__(self):
        super().__init__(read_only=True)

    def chunk(self, key: str) -> ByteSource | None:
        """The bytes of a key as a part of the file that has them; None where they have to be asked for by `get`."""
        return None

    async def get_partial_values(self, prototype, key_ranges):
        """The bytes of several keys."""
        return list(await asyncio.gather(*(self.get(key, prototype, byte_range) for key, byte_range in key_ranges)))

    async def set(self, key, value):
        """Refuse: the store is read-only."""
        raise UnsupportedError("references are read-only")

    async def set_partial_values(self, key_start_values):
        """Refuse: the store is read-only."""
        raise UnsupportedError("references are read-only")

    async def delete(self, key):
        """Refuse: the store is read-only."""
        raise UnsupportedError("references are read-only")

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


def range_in(nbytes: int, byte_range) -> slice:
    """
    Say what zarr asks of a value.

    Raises
    ------
    UnsupportedError
        For a request of another kind.
    """
    match byte_range:
        case None:
            start, stop = 0, nbytes
        case RangeByteRequest():
            start, stop = byte_range.start, byte_range.end
        case OffsetByteRequest():
            start, stop = byte_range.offset, nbytes
        case SuffixByteRequest():
            start, stop = nbytes - byte_range.suffix, nbytes
        case _:
            raise UnsupportedError(f"a byte range of {byte_range!r}")
    stop = min(max(stop, 0), nbytes)
    return slice(min(max(start, 0), stop), stop)
