"""
The zarr v3 codec in which a chunk is a whole compressed HDU and the table in it is the index.

A partial read takes the header, the table rows of the tiles it needs, and the coalesced byte ranges of those tiles out of
the chunk, as zarr's own sharding codec does with a shard.  All that differs from file to file is in the chunk, so the
configuration is the same for all of them and files stack into one array.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import OrderedDict
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from ..errors import UnsupportedError
from ..read import TileReader
from ..remote import arriving
from ..sources import BufferSource, ByteSource
from ..threads import ForkSafeLock
from ..tiling.cards import BLOCK_SIZE, HeaderCards, read_cards
from ..tiling.table import TableLayout
from .extras import extra
from .hdu_chunk import CONFIG_VERSION, HDU_CODEC_NAME, codec_document, read_header
from .zarr_read_only_store import ReadOnlyStore
from .zarr_selection import read_chunk

with extra("zarr"):
    from zarr.abc.codec import ArrayBytesCodec, ArrayBytesCodecPartialDecodeMixin
    from zarr.abc.store import RangeByteRequest
    from zarr.core.buffer import default_buffer_prototype

__all__ = ["ChunkSource", "TileHDUCodec"]

REMOTE_GAP = 64 << 10
MAX_RANGE = 2 << 20
"""Bytes of one request at most: those of a large read are then in flight side by side."""
KEPT_READERS = 256
"""Chunks whose header and table rows one codec keeps."""


class ChunkSource(ByteSource):
    """
    The bytes of one chunk, fetched through zarr.

    Parameters
    ----------
    fetch : callable
        Takes a list of (start, stop) and gives a buffer, or None for an absent chunk, for each. If it has a method `begin`,
        that takes one range and gives the future of its bytes.
    nbytes : int
        Size of the chunk as far as it is known; nothing is asked for beyond it.
    head : bytes
        What was fetched of its start already.
    name : str
        What messages call it.
    """

    is_local = False
    gap = REMOTE_GAP
    max_range = MAX_RANGE

    def __init__(self, fetch, nbytes: int, head: bytes, name: str):
        self._fetch, self.nbytes, self._head, self.name = fetch, nbytes, head, name

    def _read(self, ranges):
        wanted = [found for found in ranges if found[1] > len(self._head) and found[0] < found[1]]
        fetched = dict(zip(wanted, self._fetch(wanted), strict=True)) if wanted else {}
        return [fetched[found] if found in fetched else self._head[slice(*found)] for found in ranges]

    def iter_ranges(self, ranges):
        if not hasattr(self._fetch, "begin"):
            yield from super().iter_ranges(ranges)
            return
        self._check_bounds(ranges)
        for number, found in arriving(ranges, memoryview(self._head), self._fetch.begin):
            yield number, self._checked(found, ranges[number])


class _Requests:
    """What one read has in flight: where the read is cancelled, nobody waits for it any more."""

    _of_thread = threading.local()

    def __init__(self):
        self._begun = set()
        self._cancelled = False

    @classmethod
    def of_this_read(cls) -> _Requests:
        """Those of the read that this thread is at work for."""
        return getattr(cls._of_thread, "requests", None) or cls()

    def run(self, read, *arguments):
        """Call `read` in this thread."""
        self._of_thread.requests = self
        try:
            return read(*arguments)
        finally:
            del self._of_thread.requests

    def begin(self, loop, request, *arguments) -> Future:
        """Start a coroutine function on the event loop."""
        if self._cancelled:
            raise CancelledError("the read was cancelled")
        future = asyncio.run_coroutine_threadsafe(request(*arguments), loop)
        self._begun.add(future)
        future.add_done_callback(self._begun.discard)
        if self._cancelled:  # meanwhile
            future.cancel()
        return future

    def cancel(self):
        self._cancelled = True
        for future in self._begun.copy():
            future.cancel()


class _FetchInLoop:
    """A fetch for worker threads: requests are in flight together on the event loop."""

    def __init__(self, byte_getter, loop):
        self._byte_getter, self._loop = byte_getter, loop

    def __call__(self, ranges):
        return _Requests.of_this_read().begin(self._loop, self._gather, ranges).result()

    async def _gather(self, ranges):
        return await asyncio.gather(*(_get(self._byte_getter, start, stop) for start, stop in ranges))

    def begin(self, wanted):
        """Ask for one range."""
        return _Requests.of_this_read().begin(self._loop, self._outcome, *wanted)

    async def _outcome(self, start, stop):
        """The bytes of a range, or an error as a value: nobody may be waiting for it any more."""
        try:
            return await _get(self._byte_getter, start, stop)
        except Exception as error:
            return error


async def _get(byte_getter, start, stop):
    request = RangeByteRequest(start, stop)
    return _plain(await byte_getter.get(prototype=default_buffer_prototype(), byte_range=request))


def _fetch_sync(byte_getter):
    """A fetch for zarr's synchronous pipelines."""

    def fetch(ranges):
        prototype = default_buffer_prototype()
        requests = [RangeByteRequest(start, stop) for start, stop in ranges]
        return [_plain(byte_getter.get_sync(prototype=prototype, byte_range=request)) for request in requests]

    return fetch


def _fetch_from(chunk: ByteSource):
    """A fetch for a chunk that is a source itself; as from zarr's stores, what lies past its end is left out."""
    return lambda ranges: chunk.read_ranges([(min(start, chunk.nbytes), min(stop, chunk.nbytes)) for start, stop in ranges])


def _plain(buffer):
    return None if buffer is None else buffer.as_numpy_array()


class _Threads:
    """Threads that wait for bytes; made on first use, and anew in a forked child."""

    def __init__(self):
        self._lock = threading.Lock()
        self._pool = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.__init__)

    def get(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(64, thread_name_prefix="astropy_tilecomp-zarr")
            return self._pool


_waiting = _Threads()


class _Readers:
    """Readers of the chunks that were read last, by store, path and event loop."""

    def __init__(self):
        self._lock = ForkSafeLock()
        self._kept = OrderedDict()

    def get(self, byte_getter, loop, make):
        store, path = getattr(byte_getter, "store", None), getattr(byte_getter, "path", None)
        if store is None or path is None:
            return make()
        key = (id(store), path, id(loop))
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        reader = make()
        with self._lock:
            if reader is not None:
                self._kept[key] = reader, store, loop  # kept alive, or their ids might be used again
            while len(self._kept) > KEPT_READERS:
                self._kept.popitem(last=False)
        return reader


@dataclass(frozen=True)
class TileHDUCodec(ArrayBytesCodec, ArrayBytesCodecPartialDecodeMixin):
    """
    Read-only zarr v3 codec: the chunk is a whole HDU that holds a tile-compressed FITS image.

    Parameters
    ----------
    tile_shape : tuple of int, optional
        Shape of a tile, C order; lets a helper choose aligned blocks without I/O. A hint that decoding does not need and that
        does not count when codecs are compared, so that files of different tile shapes stack.
    header_size : int
        Bytes of the first read; a hint too.
    scaled : bool
        Apply BSCALE, BZERO and BLANK; False gives the stored pixels.

    Notes
    -----
    The shape of a chunk is that of the image, with any number of axes of length 1 before it, so that files can be
    stacked.  Pixels are converted to the type of the array if that holds every value of theirs, and refused otherwise.
    """

    is_fixed_size = False

    tile_shape: tuple[int, ...] | None = field(default=None, compare=False)
    header_size: int = field(default=BLOCK_SIZE, compare=False)
    scaled: bool = True

    def __post_init__(self):
        lengths = () if self.tile_shape is None else self.tile_shape
        if not (
            isinstance(lengths, list | tuple)
            and all(isinstance(length, int | np.integer) for length in (*lengths, self.header_size))
            and isinstance(self.scaled, bool)
        ):
            raise ValueError(
                f"{HDU_CODEC_NAME}: tile_shape, header_size and scaled are {self.tile_shape!r}, {self.header_size!r} and"
                f" {self.scaled!r}: integers, an integer and a boolean expected"
            )
        if self.tile_shape is not None:
            object.__setattr__(self, "tile_shape", tuple(map(int, lengths)))
        object.__setattr__(self, "_readers", _Readers())

    def __reduce__(self):
        return type(self), (self.tile_shape, self.header_size, self.scaled)

    @classmethod
    def from_dict(cls, data):
        """
        Make the codec that a zarr metadata document names.

        Raises
        ------
        ValueError
            For another name, another version of the configuration, a key that this version does not have, or a value of
            another type.
        """
        settings = dict(data.get("configuration", {}))
        version = settings.pop("version", None)
        unknown = settings.keys() - {"tile_shape", "header_size", "scaled"}
        if data.get("name") != HDU_CODEC_NAME or version != CONFIG_VERSION or unknown:
            raise ValueError(
                f"a configuration of {HDU_CODEC_NAME}, version {CONFIG_VERSION}, with tile_shape, header_size and scaled"
                f" expected, found {data!r}"
            )
        return cls(**settings)

    def to_dict(self):
        """The JSON form, as it stands in zarr metadata."""
        return codec_document(self.tile_shape, self.header_size, self.scaled)

    def compute_encoded_size(self, input_byte_length, chunk_spec):
        """Not known before it is encoded."""
        raise NotImplementedError("the size of a compressed HDU does not follow from the size of its pixels")

    async def _decode_partial_single(self, byte_getter, selection, chunk_spec):
        loop = asyncio.get_running_loop()
        fetch, requests = _FetchInLoop(byte_getter, loop), _Requests()  # a reader that is kept goes on using the fetch
        try:
            return await loop.run_in_executor(
                _waiting.get(), requests.run, self._decode_through, byte_getter, fetch, loop, selection, chunk_spec
            )
        finally:
            requests.cancel()

    def _decode_partial_sync(self, byte_getter, selection, chunk_spec):
        return self._decode_through(byte_getter, _fetch_sync(byte_getter), None, selection, chunk_spec)

    async def _decode_single(self, chunk_bytes, chunk_spec):
        return await asyncio.get_running_loop().run_in_executor(
            _waiting.get(), self._decode_sync, chunk_bytes, chunk_spec
        )

    def _decode_sync(self, chunk_bytes, chunk_spec):
        source = BufferSource(chunk_bytes.as_numpy_array(), "<chunk>")
        header = read_cards(source.read(0, source.nbytes))
        return _decoded(self._reader(source.part(header.nbytes, source.nbytes), header), (), chunk_spec)

    async def _encode_single(self, chunk_array, chunk_spec):
        return self._encode_sync(chunk_array, chunk_spec)

    def _encode_sync(self, chunk_array, chunk_spec):
        raise UnsupportedError(f"{HDU_CODEC_NAME} only reads; write FITS files with astropy_tilecomp and refer to them")

    def _decode_through(self, byte_getter, fetch, loop, selection, chunk_spec):
        reader = self._readers.get(byte_getter, loop, lambda: self._open(byte_getter, fetch))
        return None if reader is None else _decoded(reader, selection, chunk_spec)

    def _open(self, byte_getter, fetch) -> TileReader | None:
        """Read the header of the chunk; None if the chunk is absent."""
        chunk = _referred_chunk(byte_getter)
        name = str(getattr(byte_getter, "path", "<chunk>")) if chunk is None else chunk.name
        found = read_header(fetch if chunk is None else _fetch_from(chunk), self.header_size, name)
        if found is None:
            return None
        header, head = found
        nbytes = header.nbytes + TableLayout.from_header(header).data_nbytes
        source = ChunkSource(fetch, nbytes, head, name) if chunk is None else chunk
        return self._reader(source.part(header.nbytes, nbytes), header)

    def _reader(self, source: ByteSource, header: HeaderCards) -> TileReader:
        return TileReader(source, header, cache_bytes=0, scaled=self.scaled)


def _referred_chunk(byte_getter) -> ByteSource | None:
    """The chunk as a part of its file, where zarr reads through a store of this package; None for all other stores."""
    store = getattr(byte_getter, "store", None)
    return store.chunk(byte_getter.path) if isinstance(store, ReadOnlyStore) else None


def _decoded(reader: TileReader, selection, chunk_spec):
    """The selected pixels of a chunk as zarr wants them."""
    data_type = chunk_spec.dtype
    dtype = np.dtype(data_type.to_native_dtype() if hasattr(data_type, "to_native_dtype") else data_type)
    pixels = read_chunk(reader, selection, chunk_spec.shape, dtype)
    return chunk_spec.prototype.nd_buffer.from_ndarray_like(pixels)
