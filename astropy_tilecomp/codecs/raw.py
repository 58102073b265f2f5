"""NOCOMPRESS: pixels as they are, big-endian; and what it shares with the gzip codecs, which code any type of pixel."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from ..errors import CorruptTileError, TruncatedTileError
from . import _kernels
from .buffers import convert
from .protocol import TileCodec

__all__ = ["BigEndianCodec", "NoCompress"]

INTEGER_OF_WIDTH = {1: np.dtype("u1"), 2: np.dtype("i2"), 4: np.dtype("i4"), 8: np.dtype("i8")}
"""Integer type that pixels of a width are, unless the codec's dtype has that width itself."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BigEndianCodec(TileCodec):
    """
    A codec for integers and floats of any width, which it sees as big-endian bytes.

    Without a `dtype` it decodes to plain bytes and encodes arrays of any type. Without a tile shape it decodes whatever the
    stream holds.
    """

    integers_only = False

    @property
    def pixel_dtype(self):
        """Type of coded pixels: the one asked for, uint8 for plain bytes."""
        return np.dtype("u1") if self.dtype is None else self.dtype.newbyteorder("=")

    def __post_init__(self):
        super().__post_init__()
        if self.dtype is not None:
            self._require_coded(self.dtype)

    def _require_coded(self, dtype: np.dtype) -> None:
        if dtype.kind not in "iufb" or dtype.itemsize not in INTEGER_OF_WIDTH:
            raise ValueError(f"{self.algorithm} codes integers and floats of 1, 2, 4 or 8 bytes, not {dtype.str}")

    # What an algorithm does itself.

    def _fill(self, source: np.ndarray, content: np.ndarray) -> tuple[int, int]:
        """Put the content of a stream into an array of bytes; return the bytes read and put (more than fit: too many)."""
        raise NotImplementedError

    def _whole_content(self, source: np.ndarray) -> tuple[np.ndarray, int]:
        """All that a stream holds, in an array of its own, and the bytes read."""
        raise NotImplementedError

    def _to_native(self, content: np.ndarray, width: int) -> None:
        """Turn the content into pixels of a width in native byte order, in place."""
        _kernels.byteswap(content, content, width)

    # The rest is the same for all.

    def decode(self, buf, out=None, *, tile_shape=None, pad=False):
        """
        Decode one tile, or all that the stream holds.

        Parameters
        ----------
        buf, out, tile_shape, pad
            As of `TileCodec.decode`.

        Returns
        -------
        ndarray or buffer
            `out`, or a new array: the tile; where nothing says its shape, an array of one axis.

        Raises
        ------
        CorruptTileError, TruncatedTileError, TrailingBytesError, ValueError
            As of `TileCodec.decode`.
        """
        if pad or any(known is not None for known in (tile_shape, self.tile_shape, out)):
            return super().decode(buf, out, tile_shape=tile_shape, pad=pad)
        return self._decode_whole(self._source_of(buf))

    def _decode_whole(self, source):
        """Decode all that a stream holds."""
        content, used = self._whole_content(source)
        self._refuse_trailing(used, source)
        width = self.pixel_dtype.itemsize
        if content.size == 0 or content.size % width:
            raise CorruptTileError(
                f"the stream holds {content.size} bytes, no whole number of {self.result_dtype.str} pixels",
                algorithm=self.algorithm,
            )
        self._to_native(content, width)
        return content.view(self.pixel_dtype).astype(self.result_dtype, copy=False)

    def decode_pixels(self, source, pixels, shape, n):
        used = 0
        for tile in pixels.reshape(n, prod(shape)):
            used += self._decode_tile(source[used:], tile)
        return used

    def _decode_tile(self, source, tile):
        """Decode one tile into a flat native array; return the bytes used."""
        content = tile.view(np.uint8)
        used, nbytes = self._fill(source, content)
        if nbytes == content.size:
            self._to_native(content, tile.itemsize)
            return used
        if nbytes > content.size:
            content = np.empty(tile.size * 8, np.uint8)
            used, nbytes = self._fill(source, content)
        width, rest = divmod(nbytes, tile.size)
        coded = INTEGER_OF_WIDTH.get(width)
        if rest or coded is None or tile.dtype.kind == "f" or self.dtype is None:
            raise CorruptTileError(
                f"the stream holds {nbytes if nbytes <= content.size else f'more than {content.size}'} bytes for"
                f" {tile.size} pixels of {self.result_dtype.str}",
                algorithm=self.algorithm,
            )
        content = content[:nbytes].copy()
        self._to_native(content, width)
        convert(content.view(coded), tile)
        return used

    def _as_coded(self, pixels):
        self._require_coded(pixels.dtype)
        if self.dtype is None or pixels.dtype.newbyteorder("=") == self.pixel_dtype:
            return np.ascontiguousarray(pixels, pixels.dtype.newbyteorder("="))
        if self.pixel_dtype.kind == "f":
            if not np.can_cast(pixels.dtype, self.pixel_dtype, "safe"):
                raise ValueError(f"{self.algorithm}: {pixels.dtype.str} pixels do not fit {self.pixel_dtype.name}")
            return np.ascontiguousarray(pixels, self.pixel_dtype)
        return super()._as_coded(pixels)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NoCompress(BigEndianCodec):
    """
    NOCOMPRESS: big-endian pixels, as in UNCOMPRESSED_DATA and in what astropy and fpack write without compression.

    Parameters
    ----------
    tile_shape, dtype, engine
        As of `TileCodec`. Without `dtype`, plain bytes are decoded, and arrays of any type encoded.
    """

    codec_id = "astropy_tilecomp.nocompress"
    other_ids = ("FITS_NOCOMPRESS",)
    algorithm = "NOCOMPRESS"

    def _fill(self, source, content):
        if source.size < content.size:
            width = self.pixel_dtype.itemsize
            raise TruncatedTileError(
                f"stream ends at pixel {source.size // width} of {content.size // width}", algorithm=self.algorithm
            )
        content[...] = source[: content.size]
        return content.size, content.size

    def _whole_content(self, source):
        return source.copy(), source.size

    def encode_pixels(self, pixels):
        return big_endian_bytes(pixels).tobytes()


def big_endian_bytes(pixels: np.ndarray) -> np.ndarray:
    """The bytes of native pixels in big-endian order, as an array of their own."""
    content = np.empty(pixels.nbytes, np.uint8)
    _kernels.byteswap(pixels.reshape(-1).view(np.uint8), content, pixels.itemsize)
    return content
