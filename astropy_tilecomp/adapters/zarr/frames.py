"""
Tiles that carry their own parameters: a frame before the streams of a chunk, and the codec that reads it.

A frame is eight bytes that mark it, the length of a JSON text (4 bytes, little-endian), and that text: the parameters of the
image, and row, column, size, scale, zero point and blank value of every tile in the chunk.  So a chunk can hold what zarr
metadata cannot say: tiles at the edge of an image, quantized floats, tiles of different columns.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, fields
from math import prod
from typing import ClassVar

import numpy as np

from ...codecs.buffers import as_bytes, destination
from ...codecs.config import CONFIG_VERSION, Configurable
from ...codecs.final_pixels import finalize
from ...codecs.registry import codec_for
from ...errors import CorruptTileError, HeaderError, TileCompWarning, TrailingBytesError, TruncatedTileError, UnsupportedError
from ...read.limits import max_nbytes_allowed
from ...tiling.columns import COLUMN_NAMES
from ...tiling.params import CompressionParams
from .dtypes import as_type, check_type

__all__ = ["FRAME_CODEC_NAME", "FramedTiles", "TileFrame", "decode_framed", "params_document", "parse_params"]

FRAME_CODEC_NAME = "astropy_tilecomp.frame"
MAGIC = b"tcframe1"
PREFIX_NBYTES = len(MAGIC) + 4
MAX_TEXT_NBYTES = 64 << 20
TILE_FIELDS = ("row", "column", "nbytes", "zscale", "zzero", "zblank")


def params_document(params: CompressionParams) -> dict:
    """Put parameters in JSON: those that differ from their defaults."""
    defaults = {field.name: field.default for field in fields(params)}
    values = {name: getattr(params, name) for name, default in defaults.items() if getattr(params, name) != default}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def parse_params(document: dict) -> CompressionParams:
    """
    Read what `params_document` made.

    Raises
    ------
    HeaderError, UnsupportedError
        If it is no such document, or its values break the format.
    """
    try:
        shapes = {name: tuple(map(int, document[name])) for name in ("image_shape", "tile_shape")}
        return CompressionParams(**(document | shapes))
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, HeaderError):
            raise
        raise HeaderError(f"no parameters of a compressed image: {error}") from error


@dataclass(frozen=True, eq=False)
class TileFrame:
    """
    What decoding the tiles of one chunk has to know.

    Parameters
    ----------
    params : CompressionParams
        Of the image.
    chunk_shape : tuple of int
        Shape of a whole chunk, C order: some number of whole tiles along each axis.
    row, column, nbytes : list of int
        Table row of each tile from 0, its column (1 COMPRESSED_DATA, 2 GZIP_COMPRESSED_DATA, 3 UNCOMPRESSED_DATA), and the
        bytes of its stream.
    zscale, zzero, zblank : list of number, or None
        Scale, zero point and blank value of each tile; None where there is no such column.
    scaled : bool
        Whether BSCALE, BZERO and BLANK are applied.
    """

    params: CompressionParams
    chunk_shape: tuple[int, ...]
    row: list
    column: list
    nbytes: list
    zscale: list | None = None
    zzero: list | None = None
    zblank: list | None = None
    scaled: bool = True

    def to_bytes(self) -> bytes:
        """The frame, to be followed by the streams of the tiles."""
        document = {
            "version": CONFIG_VERSION, "params": params_document(self.params), "chunk_shape": list(self.chunk_shape),
            "scaled": self.scaled, **{name: getattr(self, name) for name in TILE_FIELDS},
        }
        text = json.dumps(document, separators=(",", ":")).encode()
        return MAGIC + len(text).to_bytes(4, "little") + text

    @classmethod
    def from_bytes(cls, buf) -> tuple[TileFrame, int]:
        """
        Read the frame that a chunk begins with.

        Raises
        ------
        CorruptTileError
            If the chunk does not begin with a frame.
        HeaderError, UnsupportedError
            If the parameters in it break the format, or it is of a newer version.
        """
        data = as_bytes(buf).data
        if bytes(data[: len(MAGIC)]) != MAGIC:
            raise CorruptTileError(
                f"the chunk has no frame, it begins with {bytes(data[:8])!r}: framed references are opened with"
                " astropy_tilecomp.TileStore"
            )
        used = PREFIX_NBYTES + int.from_bytes(data[len(MAGIC):PREFIX_NBYTES], "little")
        if used > min(len(data), MAX_TEXT_NBYTES):
            raise TruncatedTileError(f"the chunk ends after {len(data)} bytes, in its frame of {used}")
        try:
            document = json.loads(bytes(data[PREFIX_NBYTES:used]))
            if document.pop("version") != CONFIG_VERSION:
                raise UnsupportedError(f"a frame of another version than {CONFIG_VERSION}, which this package reads")
            params = parse_params(document.pop("params"))
            chunk_shape = tuple(map(int, document.pop("chunk_shape")))
            frame = cls(params, chunk_shape, **document)
            frame._check()
        except (KeyError, TypeError, AttributeError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
            raise CorruptTileError(f"the frame of the chunk cannot be read: {error}") from error
        return frame, used

    def _check(self):
        """Hold the numbers of the tiles against the image."""
        n, params = len(self.row), self.params
        lists = [getattr(self, name) for name in TILE_FIELDS if getattr(self, name) is not None]
        whole = len(self.chunk_shape) == params.ndim and all(
            length > 0 and length % tile == 0 for length, tile in zip(self.chunk_shape, params.tile_shape)
        )
        integers = [value for name in ("row", "column", "nbytes", "zblank") for value in getattr(self, name) or ()]
        if not (
            whole
            and all(isinstance(values, list) and len(values) == n for values in lists)
            and all(type(value) is int for value in integers)
            and all(type(value) in (int, float) for name in ("zscale", "zzero") for value in getattr(self, name) or ())
            and all(0 <= row < params.n_tiles for row in self.row)
            and all(1 <= column <= 3 for column in self.column)
            and all(nbytes >= 0 for nbytes in self.nbytes)
        ):
            raise CorruptTileError("the frame of the chunk names tiles that the image does not have")

    @property
    def dtype(self) -> np.dtype:
        """Type of the pixels, native byte order."""
        return self.params.result_dtype if self.scaled else self.params.dtype

    def decode(self, streams, pixels: np.ndarray) -> None:
        """
        Decode the tiles of the chunk.

        Parameters
        ----------
        streams : (nbytes,) ndarray of uint8
            What follows the frame.
        pixels : ndarray of shape ``chunk_shape``
            To be filled; zeros beyond the edge of the image.

        Raises
        ------
        CorruptTileError
            If a stream is damaged, or the streams have another size than the frame says.
        """
        if sum(self.nbytes) > streams.size:
            raise TruncatedTileError(f"the chunk has {streams.size} bytes of tiles, its frame announces {sum(self.nbytes)}")
        if sum(self.nbytes) < streams.size:
            raise TrailingBytesError(used=sum(self.nbytes), nbytes=streams.size)
        grid = self.params.grid
        n_along = [length // tile for length, tile in zip(self.chunk_shape, grid.tile_shape)]
        pixels[...] = 0
        start = 0
        for entry, row in enumerate(self.row):
            place = [at % n * tile for at, n, tile in zip(grid.tile(row), n_along, grid.tile_shape)]
            shape = grid.shape_of(grid.tile(row))
            box = tuple(slice(first, first + length) for first, length in zip(place, shape))
            self._decode_tile(entry, shape, streams[start:start + self.nbytes[entry]], pixels[box])
            start += self.nbytes[entry]

    def _decode_tile(self, entry: int, shape, stream, target) -> None:
        row, column = self.row[entry], COLUMN_NAMES[self.column[entry]]
        stored, used = codec_for(self.params, row=row, column=column).decode_prefix(stream)
        if used < stream.size:
            message = f"row {row}: {stream.size - used} bytes follow the stream of the tile"
            warnings.warn(message, TileCompWarning, stacklevel=2)
        numbers = {name: None if getattr(self, name) is None else getattr(self, name)[entry] for name in TILE_FIELDS[3:]}
        tile = finalize(stored, self.params, row=row, column=column, tile_shape=shape, scaled=self.scaled, **numbers)
        target[...] = as_type(tile, target.dtype)


def decode_framed(buf, out_of) -> np.ndarray:
    """
    Decode a chunk that begins with a frame.

    Raises
    ------
    HeaderError, CorruptTileError, UnsupportedError
        As `TileFrame.from_bytes` and `TileFrame.decode`; also if the type cannot hold the pixels.
    """
    data = as_bytes(buf)
    frame, used = TileFrame.from_bytes(data)
    nbytes = prod(frame.chunk_shape) * frame.dtype.itemsize
    if nbytes > max_nbytes_allowed():
        raise UnsupportedError(f"a chunk of shape {frame.chunk_shape} takes {nbytes} bytes, more than is allowed")
    pixels = out_of(frame)
    check_type(frame.dtype, pixels.dtype, "the chunk")
    frame.decode(data[used:], pixels)
    return pixels


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FramedTiles(Configurable):
    """
    Read-only codec of chunks that begin with a frame, for numcodecs and zarr format 2.

    Parameters
    ----------
    dtype : dtype_like, optional
        Type of the pixels, byte order included, if not the image's own; it must hold every value of that.
    """

    codec_id: ClassVar[str] = FRAME_CODEC_NAME

    dtype: np.dtype | None = None

    def __post_init__(self):
        if self.dtype is not None:
            object.__setattr__(self, "dtype", np.dtype(self.dtype))

    def decode(self, buf, out=None):
        """
        Decode a chunk.

        Parameters
        ----------
        buf : buffer
            Frame and streams.
        out : ndarray or writable buffer, optional
            To be filled.

        Returns
        -------
        ndarray or buffer
            `out`, or a new array of the chunk's shape; zeros beyond the edge of the image.

        Raises
        ------
        HeaderError, CorruptTileError, UnsupportedError
            If the frame or a tile is damaged, or `dtype` does not hold the pixels.
        """
        pixels = decode_framed(
            buf, lambda frame: destination(out, frame.chunk_shape, frame.dtype if self.dtype is None else self.dtype)
        )
        return pixels if out is None else out

    def encode(self, buf):
        """Refuse: references are made to files, which are written by other means."""
        raise UnsupportedError(f"{self.codec_id} only reads; write FITS files with astropy_tilecomp and refer to them")
