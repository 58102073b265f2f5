"""The zarr v3 codec of chunks that begin with a frame."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import numpy as np

from ...codecs.config import CONFIG_VERSION
from ...errors import HeaderError, UnsupportedError
from ..extras import extra
from .frames import FRAME_CODEC_NAME, decode_framed

with extra("zarr"):
    from zarr.abc.codec import ArrayBytesCodec

__all__ = ["FrameCodec"]


@dataclass(frozen=True)
class FrameCodec(ArrayBytesCodec):
    """Read-only zarr v3 codec of chunks that begin with a frame; all it needs to know is in the chunk."""

    is_fixed_size = False

    @classmethod
    def from_dict(cls, data):
        """
        Make the codec that a zarr metadata document names.

        Raises
        ------
        ValueError
            For another name, another version of the configuration, or a key that this version does not have.
        """
        if data.get("name") != FRAME_CODEC_NAME or data.get("configuration") != {"version": CONFIG_VERSION}:
            raise ValueError(f"a configuration of {FRAME_CODEC_NAME}, version {CONFIG_VERSION}, expected, found {data!r}")
        return cls()

    def to_dict(self):
        """The JSON form, as it stands in zarr metadata."""
        return {"name": FRAME_CODEC_NAME, "configuration": {"version": CONFIG_VERSION}}

    def compute_encoded_size(self, input_byte_length, chunk_spec):
        """Not known before it is encoded."""
        raise NotImplementedError("the size of compressed tiles does not follow from the size of their pixels")

    async def _decode_single(self, chunk_bytes, chunk_spec):
        return await asyncio.to_thread(self._decode_sync, chunk_bytes, chunk_spec)

    def _decode_sync(self, chunk_bytes, chunk_spec):
        data_type = chunk_spec.dtype
        dtype = np.dtype(data_type.to_native_dtype() if hasattr(data_type, "to_native_dtype") else data_type)

        def out_of(frame):
            if tuple(chunk_spec.shape) != frame.chunk_shape:
                expected = tuple(chunk_spec.shape)
                raise HeaderError(f"the chunk has shape {frame.chunk_shape}, the zarr array expects {expected}")
            return np.empty(frame.chunk_shape, dtype)

        return chunk_spec.prototype.nd_buffer.from_ndarray_like(decode_framed(chunk_bytes.as_numpy_array(), out_of))

    async def _encode_single(self, chunk_array, chunk_spec):
        return self._encode_sync(chunk_array, chunk_spec)

    def _encode_sync(self, chunk_array, chunk_spec):
        raise UnsupportedError(f"{FRAME_CODEC_NAME} only reads; write FITS files with astropy_tilecomp and refer to them")
