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

from ...codecs import PLIO1, Gzip1, Gzip2, HCompress1, NoCompress, Rice1, TileCodec
from ..extras import extra
from .tile_boxes import decode_box, encode_box

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
    A chunk is one tile, or a box of whole tiles of the codec's shape, one stream after the other in C order of the box. zarr
    does not say where in the array a chunk lies, so tiles at the edge of an image, which are smaller, are an error; the
    codecs ``astropy_tilecomp.hdu`` and ``astropy_tilecomp.frame`` read those.
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
        pixels = np.empty(chunk_spec.shape, _dtype_of(chunk_spec))
        decode_box(self.codec, chunk_bytes.as_numpy_array(), pixels, self._tile_shape(chunk_spec.shape))
        return chunk_spec.prototype.nd_buffer.from_ndarray_like(pixels)

    def _encode_sync(self, chunk_array, chunk_spec):
        pixels = chunk_array.as_ndarray_like().astype(self.codec.result_dtype, casting="safe", copy=False)
        stream = encode_box(self.codec, pixels, self._tile_shape(chunk_spec.shape))
        return chunk_spec.prototype.buffer.from_bytes(stream)

    def _tile_shape(self, chunk_shape):
        """Shape of the tiles in a chunk: the chunk itself for a codec that does not say."""
        tile_shape = self.codec.tile_shape
        return tuple(chunk_shape) if tile_shape is None or prod(tile_shape) == prod(chunk_shape) else tile_shape


def serializer_for(codec_class: type[TileCodec]) -> type[TileSerializer]:
    """Make the zarr form of a class of codecs."""
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
