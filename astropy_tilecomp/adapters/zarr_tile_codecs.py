"""
Codecs for zarr arrays of format 3 whose chunks are compressed tiles: one tile each, or tiles that lie one after the other.

`serializer_for` makes the zarr form of any codec of tiles, also of your own; the ones of this package have their names
(``astropy_tilecomp.rice1`` and so on) by entry points.
"""

from __future__ import annotations

import asyncio
from math import prod
from typing import ClassVar

import numpy as np

from ..codecs import PLIO1, Gzip1, Gzip2, HCompress1, NoCompress, Rice1, TileCodec
from .extras import extra

with extra("zarr"):
    from zarr.abc.codec import ArrayBytesCodec

__all__ = [
    "Gzip1Tile",
    "Gzip2Tile",
    "HCompress1Tile",
    "NoCompressTile",
    "PLIO1Tile",
    "Rice1Tile",
    "TileSerializer",
    "serializer_for",
]


class TileSerializer(ArrayBytesCodec):
    """
    The zarr form of a codec of tiles.

    Parameters
    ----------
    codec : TileCodec, optional
        What codes a chunk; by default made of `settings`.
    **settings
        Of the codec class that this class stands for.

    Notes
    -----
    A chunk is one tile, or several of the codec's tile shape where that divides the shape of the chunk along one axis and
    is the same along all later ones. zarr does not say where in the array a chunk lies, so tiles at the edge of an image,
    which are smaller, are an error; the codec ``astropy_tilecomp.hdu`` reads those.
    """

    is_fixed_size = False
    codec_class: ClassVar[type[TileCodec]]

    def __init__(self, codec: TileCodec | None = None, **settings):
        self.codec = self.codec_class(**settings) if codec is None else codec

    def __eq__(self, other):
        return isinstance(other, TileSerializer) and self.codec == other.codec

    def __hash__(self):
        return hash(self.codec)

    def __repr__(self):
        return f"{type(self).__name__}({self.codec!r})"

    @classmethod
    def from_dict(cls, data):
        """
        Make the codec that a zarr metadata document names.

        Raises
        ------
        ValueError
            For the name of another codec, and for keys that the codec does not know.
        UnsupportedError
            For a version of its config that is newer than this package.
        """
        return cls(cls.codec_class.from_config({"id": data["name"], **data.get("configuration", {})}))

    def to_dict(self):
        """The JSON form, as it stands in zarr metadata."""
        config = self.codec.get_config()
        return {"name": config.pop("id"), "configuration": config}

    def validate(self, *, shape, dtype, chunk_grid):
        """Nothing depends on the array as a whole."""

    def compute_encoded_size(self, input_byte_length, chunk_spec):
        """Not known before it is encoded."""
        raise NotImplementedError("the size of a compressed tile does not follow from the size of its pixels")

    async def _decode_single(self, chunk_bytes, chunk_spec):
        return await asyncio.to_thread(self._decode_sync, chunk_bytes, chunk_spec)

    async def _encode_single(self, chunk_array, chunk_spec):
        return await asyncio.to_thread(self._encode_sync, chunk_array, chunk_spec)

    def _decode_sync(self, chunk_bytes, chunk_spec):
        shape, dtype = chunk_spec.shape, _dtype_of(chunk_spec)
        pixels = np.empty(shape, dtype)
        tile_shape, n = self._tiles_of(shape)
        if n == 1:
            self.codec.decode(chunk_bytes.as_numpy_array(), pixels.reshape(tile_shape), tile_shape=tile_shape)
        else:
            self.codec.decode_many(chunk_bytes.as_numpy_array(), n, pixels.reshape(n, *tile_shape), tile_shape=tile_shape)
        return chunk_spec.prototype.nd_buffer.from_ndarray_like(pixels)

    def _encode_sync(self, chunk_array, chunk_spec):
        tile_shape, n = self._tiles_of(chunk_spec.shape)
        pixels = chunk_array.as_ndarray_like().astype(self.codec.result_dtype, casting="safe", copy=False)
        stream = b"".join(self.codec.encode(tile) for tile in pixels.reshape(n, *tile_shape))
        return chunk_spec.prototype.buffer.from_bytes(stream)

    def _tiles_of(self, shape):
        """Shape of the tiles in a chunk, and how many there are."""
        tile_shape = self.codec.tile_shape
        if tile_shape is None or prod(tile_shape) == prod(shape):
            return shape, 1
        whole = tuple(1 for _ in range(len(shape) - len(tile_shape))) + tile_shape
        split = next((axis for axis in range(len(shape)) if whole[axis] != 1), len(shape) - 1)
        if whole[split + 1 :] != shape[split + 1 :] or shape[split] % whole[split]:
            raise ValueError(f"a chunk of shape {shape} is no stack of tiles of shape {tile_shape}")
        return tile_shape, prod(shape) // prod(tile_shape)


def serializer_for(codec_class: type[TileCodec]) -> type[TileSerializer]:
    """
    Make the zarr form of a class of codecs.

    Parameters
    ----------
    codec_class : type
        A subclass of `astropy_tilecomp.codecs.TileCodec`.

    Returns
    -------
    type
        A subclass of `TileSerializer`; tell zarr of it by ``zarr.registry.register_codec(codec_class.codec_id, ...)`` or
        by an entry point of the group ``zarr.codecs``.
    """
    name = f"{codec_class.__name__}Tile"
    doc = f"The zarr form of `{codec_class.__name__}`: its settings, for a chunk of tiles."
    return type(name, (TileSerializer,), {"codec_class": codec_class, "__doc__": doc, "__module__": __name__})


def _dtype_of(chunk_spec):
    """Type of the array as numpy has it (a numpy type itself before zarr 3.1)."""
    data_type = chunk_spec.dtype
    return np.dtype(data_type.to_native_dtype() if hasattr(data_type, "to_native_dtype") else data_type)


Rice1Tile = serializer_for(Rice1)
Gzip1Tile = serializer_for(Gzip1)
Gzip2Tile = serializer_for(Gzip2)
PLIO1Tile = serializer_for(PLIO1)
HCompress1Tile = serializer_for(HCompress1)
NoCompressTile = serializer_for(NoCompress)
