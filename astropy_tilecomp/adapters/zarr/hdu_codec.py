"""
The zarr v3 codec in which a chunk is a whole compressed HDU and the table in it is the index.

A partial read takes the header, the table rows of the tiles it needs, and the coalesced byte ranges of those tiles out of
the chunk, as zarr's own sharding codec does with a shard.  All that differs from file to file is in the chunk, so the
configuration is the same for all of them and files stack into one array.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np

from ...errors import UnsupportedError
from ...read.reader import TileReader
from ...sources.base import ByteSource
from ...sources.local import BufferSource
from ...threads import ForkSafeLock
from ...tiling.cards import BLOCK_SIZE
from ...tiling.header_cards import HeaderCards, read_cards
from ...tiling.layout import TableLayout
from ..extras import extra
from .chunk_source import ChunkSource, FetchInLoop, Requests, fetch_from, fetch_sync, waiting
from .hdu_chunk import CONFIG_VERSION, HDU_CODEC_NAME, codec_document, read_header
from .read_only_store import ReadOnlyStore
from .selection import read_chunk

with extra("zarr"):
    from zarr.abc.codec import ArrayBytesCodec, ArrayBytesCodecPartialDecodeMixin

__all__ = ["TileHDUCodec"]

KEPT_READERS = 256
"""Chunks whose header and table rows one codec keeps."""


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
        fetch, requests = FetchInLoop(byte_getter, loop), Requests()  # a reader that is kept goes on using the fetch
        try:
            return await loop.run_in_executor(
                waiting.get(), requests.run, self._decode_through, byte_getter, fetch, loop, selection, chunk_spec
            )
        finally:
            requests.cancel()

    def _decode_partial_sync(self, byte_getter, selection, chunk_spec):
        return self._decode_through(byte_getter, fetch_sync(byte_getter), None, selection, chunk_spec)

    async def _decode_single(self, chunk_bytes, chunk_spec):
        return await asyncio.get_running_loop().run_in_executor(
            waiting.get(), self._decode_sync, chunk_bytes, chunk_spec
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
        reader = self.__dict__["_readers"].get(byte_getter, loop, lambda: self._open(byte_getter, fetch))
        return None if reader is None else _decoded(reader, selection, chunk_spec)

    def _open(self, byte_getter, fetch) -> TileReader | None:
        """Read the header of the chunk; None if the chunk is absent."""
        chunk = _referred_chunk(byte_getter)
        name = str(getattr(byte_getter, "path", "<chunk>")) if chunk is None else chunk.name
        found = read_header(fetch if chunk is None else fetch_from(chunk), self.header_size, name)
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
