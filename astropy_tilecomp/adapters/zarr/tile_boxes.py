"""Chunks that are boxes of whole tiles: where each tile lies in the array, and the numcodecs codec of such a chunk."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from ...codecs import TileCodec, from_config
from ...codecs.buffers import destination
from ...codecs.config import Configurable, checked_shape

__all__ = ["TileBox", "box_of_n_tiles", "cut", "decode_box", "encode_box", "rows_of_boxes", "tiles_per_chunk"]


def tiles_per_chunk(chunk_shape: tuple[int, ...], tile_shape: tuple[int, ...]) -> tuple[int, ...]:
    """
    Number of tiles along each axis of a chunk.

    Raises
    ------
    ValueError
        If the chunk is no box of whole tiles.
    """
    whole = (1,) * (len(chunk_shape) - len(tile_shape)) + tuple(tile_shape)
    if len(whole) != len(chunk_shape) or any(length % tile for length, tile in zip(chunk_shape, whole)):
        raise ValueError(f"a chunk of shape {tuple(chunk_shape)} is no box of tiles of shape {tuple(tile_shape)}")
    return tuple(length // tile for length, tile in zip(chunk_shape, whole))


def box_of_n_tiles(grid_shape: tuple[int, ...], n: int) -> tuple[int, ...]:
    """
    Number of tiles along each axis of a chunk of so many tiles: the last axis is filled first, whole lines follow.

    Raises
    ------
    ValueError
        If no box has so many.
    """
    box, left = [1] * len(grid_shape), n
    for axis in reversed(range(len(grid_shape))):
        length = max(grid_shape[axis], 1)
        if left <= length:
            box[axis] = left
            break
        if left % length or axis == 0:
            raise ValueError(
                f"tiles_per_chunk is {n}: of a grid of {grid_shape} tiles a chunk takes any number along the last axis, or"
                " whole lines"
            )
        box[axis], left = length, left // length
    if n < 1:
        raise ValueError(f"tiles_per_chunk is {n}, expected 1 or more")
    return tuple(box)


def rows_of_boxes(grid_shape: tuple[int, ...], box: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """First table row of each box of tiles in C order, and the row after its last; (n_boxes,) int64 each."""
    split = next((axis for axis in range(len(grid_shape)) if box[axis] != 1), len(grid_shape) - 1)
    inner = prod(grid_shape[split + 1:])
    lines, n_rows = prod(grid_shape[:split]), grid_shape[split] * inner
    starts = np.arange(0, n_rows, max(box[split] * inner, 1))
    first = (np.arange(lines)[:, np.newaxis] * n_rows + starts).ravel()
    stops = np.minimum(starts + box[split] * inner, n_rows)
    return first, (np.arange(lines)[:, np.newaxis] * n_rows + stops).ravel()


def cut(pixels: np.ndarray, box: tuple[int, ...]) -> np.ndarray:
    """View a chunk as its tiles."""
    parts = [part for length, n in zip(pixels.shape, box) for part in (n, length // n)]
    axes = range(2 * len(box))
    return pixels.reshape(parts).transpose([*axes[::2], *axes[1::2]])


def decode_box(codec: TileCodec, buf, pixels: np.ndarray, tile_shape: tuple[int, ...]) -> None:
    """
    Decode the tiles of a chunk, whose streams stand one after the other in C order of the box.

    Raises
    ------
    TruncatedTileError, TrailingBytesError, CorruptTileError
        As ``codec.decode``.
    ValueError
        If the chunk is no box of such tiles.
    """
    box = tiles_per_chunk(pixels.shape, tile_shape)
    tiles = cut(pixels, box)
    row = tiles.reshape(prod(box), *tile_shape)  # a view only where the pixels of each tile follow one another
    codec.decode_many(buf, prod(box), row, tile_shape=tile_shape)
    if not np.may_share_memory(row, pixels):
        tiles[...] = row.reshape(tiles.shape)


def encode_box(codec: TileCodec, pixels: np.ndarray, tile_shape: tuple[int, ...]) -> bytes:
    """
    Encode the tiles of a chunk: the inverse of `decode_box`.

    Parameters
    ----------
    codec : TileCodec
        Of one tile.
    pixels : ndarray
        The chunk.
    tile_shape : tuple of int
        Shape of a tile.

    Returns
    -------
    bytes
        The streams, one after the other.
    """
    box = tiles_per_chunk(pixels.shape, tile_shape)
    tiles = cut(np.ascontiguousarray(pixels), box).reshape(prod(box), *tile_shape)
    return b"".join(codec.encode(tile) for tile in tiles)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TileBox(Configurable):
    """
    Codec of a chunk that is a box of tiles, for numcodecs and zarr format 2.

    Parameters
    ----------
    codec : TileCodec or config of one
        Of one tile; it has a tile shape.
    box : tuple of int
        Number of tiles along each axis, as many axes as the tile has.
    """

    codec_id: ClassVar[str] = "astropy_tilecomp.tiles"

    codec: Any
    box: tuple[int, ...]

    def __post_init__(self):
        codec = from_config(self.codec) if isinstance(self.codec, dict) else self.codec
        if not isinstance(codec, TileCodec) or codec.tile_shape is None:
            raise ValueError(f"codec is {codec!r}, expected the codec of a tile that knows its shape")
        object.__setattr__(self, "codec", codec)
        object.__setattr__(self, "box", checked_shape(self.box))
        if len(self.box) != len(codec.tile_shape):
            raise ValueError(f"box is {self.box}, the tiles have the shape {codec.tile_shape}")

    def _settings(self):
        return {"codec": self.codec.get_config(), "box": list(self.box)}

    @property
    def chunk_shape(self) -> tuple[int, ...]:
        """Shape of a chunk."""
        return tuple(n * length for n, length in zip(self.box, self.codec.tile_shape))

    def decode(self, buf, out=None):
        """
        Decode a chunk.

        Parameters
        ----------
        buf : buffer
            The streams of its tiles, without gaps, in C order of the box.
        out : ndarray or writable buffer, optional
            To be filled.

        Returns
        -------
        ndarray or buffer
            `out`, or a new array of the chunk's shape.

        Raises
        ------
        TruncatedTileError, TrailingBytesError, CorruptTileError
            As the codec of one tile.
        """
        target = destination(out, self.chunk_shape, self.codec.result_dtype)
        pixels = target if target.flags.c_contiguous else np.empty(target.shape, target.dtype)
        decode_box(self.codec, buf, pixels, self.codec.tile_shape)
        if pixels is not target:
            target[...] = pixels
        return target if out is None else out

    def encode(self, buf) -> bytes:
        """
        Encode a chunk.

        Parameters
        ----------
        buf : ndarray or buffer
            Its pixels; plain bytes are read as the codec's type.

        Returns
        -------
        bytes
            The streams of its tiles, one after the other.
        """
        pixels = buf if isinstance(buf, np.ndarray) else np.frombuffer(buf, self.codec.result_dtype)
        return encode_box(self.codec, pixels.reshape(self.chunk_shape), self.codec.tile_shape)
