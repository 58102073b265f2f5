"""What all codecs of tiles share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import TrailingBytesError
from . import engine as engines
from .buffers import as_bytes, as_pixels, convert, destination
from .config import Configurable, checked_shape

__all__ = ["TileCodec"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TileCodec(Configurable):
    """
    One compressed tile <-> one array of pixels.

    A subclass names itself (`codec_id`, and `algorithm` for messages), says what type of pixels it codes (`pixel_dtype`),
    and codes them (`decode_pixels`, `encode_pixels`).

    Parameters
    ----------
    tile_shape : tuple of int, optional
        Shape of a whole tile, C order. Edge tiles are decoded by the same codec, with their shape given to `decode`.
    dtype : dtype_like, optional
        Type of the decoded pixels, byte order included; by default the one of the algorithm, in native order.
    engine : {"kernel", "cfitsio"}, optional
        By default ASTROPY_TILECOMP_ENGINE, else "kernel". Not part of the config: the bits are the same.
    """

    algorithm: ClassVar[str]
    integers_only: ClassVar[bool] = True

    tile_shape: tuple[int, ...] | None = None
    dtype: np.dtype | None = None
    engine: str | None = None

    def __post_init__(self):
        if self.tile_shape is not None:
            self._set("tile_shape", checked_shape(self.tile_shape))
        self._set("_takes_any_order", self.dtype is None)
        if self.dtype is not None:
            self._set("dtype", np.dtype(self.dtype))
        elif self.integers_only:
            self._set("dtype", self.pixel_dtype)  # so that a config has the byte order
        if self.integers_only and self.result_dtype.kind not in "iu":
            raise ValueError(f"{self.algorithm} codes integers: dtype is {self.result_dtype.str}")
        if self.engine is not None:
            engines.choose(self.engine)

    def _set(self, name, value):
        """Give a field its final form; for `__post_init__` alone, a codec never changes afterwards."""
        object.__setattr__(self, name, value)

    _takes_any_order: ClassVar[bool] = True  # of one made without a dtype

    def _settings(self):
        settings = super()._settings()
        del settings["engine"]
        return settings

    @property
    def pixel_dtype(self) -> np.dtype:
        """Type that the algorithm itself gives, in native byte order."""
        raise NotImplementedError

    @property
    def result_dtype(self) -> np.dtype:
        """Type of decoded pixels."""
        return self.dtype if self.dtype is not None else self.pixel_dtype

    def decode(self, buf, out=None, *, tile_shape: tuple[int, ...] | None = None, pad: bool = False) -> np.ndarray:
        """
        Decode one tile.

        Parameters
        ----------
        buf : buffer
            The stream: bytes, bytearray, memoryview, mmap, array; contiguous, of any type, read-only or not.
        out : ndarray or writable buffer, optional
            To be filled: as many pixels, in the codec's type or one that holds it, or as many bytes.
        tile_shape : tuple of int, optional
            Shape of this tile where it is smaller than the codec's own, as at the edge of an image.
        pad : bool
            Give an array of the codec's own tile shape, with zeros beyond the tile.

        Returns
        -------
        ndarray or buffer
            `out`, or a new array: `tile_shape` pixels of the codec's dtype.

        Raises
        ------
        TruncatedTileError
            If the stream ends before the tile is complete.
        TrailingBytesError
            If it goes on after it; the error has both counts.
        CorruptTileError
            If it breaks the format in another way.
        ValueError
            If nothing says how many pixels the tile has, or `out` has another size.
        """
        source = self._source_of(buf)
        if pad:
            result, used = self._decode_padded(source, out, tile_shape)
        else:
            shape = self._shape(tile_shape, out)
            result, used = self._decode_into(source, destination(out, shape, self.result_dtype), shape, 1)
        self._refuse_trailing(used, source)
        return result if out is None else out

    def decode_prefix(self, buf, *, tile_shape: tuple[int, ...] | None = None) -> tuple[np.ndarray, int]:
        """
        Decode the tile that a buffer begins with.

        Parameters
        ----------
        buf : buffer
            The stream, and whatever follows it.
        tile_shape : tuple of int, optional
            Shape of this tile where it is smaller than the codec's own.

        Returns
        -------
        pixels : ndarray
            The tile.
        used : int
            Number of bytes that it took.

        Raises
        ------
        TruncatedTileError, CorruptTileError, ValueError
            As `decode`.
        """
        shape = self._shape(tile_shape, None)
        return self._decode_into(self._source_of(buf), np.empty(shape, self.result_dtype), shape, 1)

    def decode_many(self, buf, n: int, out=None, *, tile_shape: tuple[int, ...] | None = None) -> np.ndarray:
        """
        Decode tiles of one shape whose streams stand one after the other.

        Parameters
        ----------
        buf : buffer
            The streams without gaps, and nothing else.
        n : int
            How many there are.
        out : ndarray or writable buffer, optional
            To be filled; as for `decode`.
        tile_shape : tuple of int, optional
            Shape of these tiles where they are smaller than the codec's own.

        Returns
        -------
        (n, ...) ndarray or buffer
            `out`, or a new array: the tiles, in the order of their streams.

        Raises
        ------
        TruncatedTileError, TrailingBytesError, CorruptTileError, ValueError
            As `decode`.
        """
        source = self._source_of(buf)
        shape = self._shape(tile_shape, None)
        result, used = self._decode_into(source, destination(out, (n, *shape), self.result_dtype), shape, n)
        self._refuse_trailing(used, source)
        return result if out is None else out

    def encode(self, buf) -> bytes:
        """
        Encode one tile.

        Parameters
        ----------
        buf : array_like or buffer
            The pixels; plain bytes are read as the codec's dtype. May be smaller than the codec's tile shape. Where the
            codec was made with a dtype, an array in the other byte order is refused: a store that reads the decoded bytes as
            the array's type would take them for other numbers.

        Returns
        -------
        bytes
            The stream.

        Raises
        ------
        ValueError
            If the pixels do not fit the type that the algorithm codes, or there are none.
        UnsupportedError
            If the algorithm cannot hold such values.
        """
        _refuse_order_f(buf, self.algorithm)
        pixels = as_pixels(buf, self.result_dtype)
        if pixels.size == 0:
            raise ValueError(f"{self.algorithm}: a tile without pixels")
        if pixels.dtype.newbyteorder("S") == self.result_dtype != pixels.dtype and not self._takes_any_order:
            raise ValueError(
                f"{self.algorithm}: the pixels are {pixels.dtype.str}, the codec's dtype {self.result_dtype.str}"
            )
        return self.encode_pixels(self._as_coded(pixels))

    # What an algorithm does itself.

    def decode_pixels(self, source: np.ndarray, pixels: np.ndarray, shape: tuple[int, ...], n: int) -> int:
        """
        Decode n tiles of one shape whose streams stand one after the other.

        Parameters
        ----------
        source : (nbytes,) ndarray of uint8
            The streams, and whatever follows them.
        pixels : (n_pixels,) ndarray of `pixel_dtype`
            To be filled, tile after tile; contiguous and in native byte order.
        shape : tuple of int
            Shape of a tile.
        n : int
            Number of tiles.

        Returns
        -------
        int
            Number of bytes of `source` that were used.

        Raises
        ------
        CorruptTileError, TruncatedTileError
            If the bytes are not what the algorithm writes.
        """
        raise NotImplementedError

    def encode_pixels(self, pixels: np.ndarray) -> bytes:
        """
        Encode one tile.

        Parameters
        ----------
        pixels : ndarray of `pixel_dtype`
            The tile, with at least one pixel; contiguous and in native byte order.

        Returns
        -------
        bytes
            The stream.
        """
        raise NotImplementedError

    # The rest is the same for all.

    def _source_of(self, buf):
        """The stream as bytes."""
        return as_bytes(buf)

    def _decode_into(self, source, target, shape, n):
        """Decode n tiles of a shape into `target`; return it, and the bytes used."""
        coded = self.pixel_dtype
        in_place = (
            target.flags.c_contiguous and target.dtype.newbyteorder("=") == coded
            and not np.may_share_memory(source, target)  # pixels would take the place of bytes not yet read
        )
        pixels = target.reshape(-1).view(coded) if in_place else np.empty(target.size, coded)
        used = self.decode_pixels(source, pixels, shape, n)
        if not in_place:
            convert(pixels.reshape(target.shape), target)
        elif not target.dtype.isnative:
            pixels.byteswap(inplace=True)
        return target, used

    def _decode_padded(self, source, out, tile_shape):
        """Decode a tile into the corner of a whole one; return that, and the bytes used."""
        if self.tile_shape is None:
            raise ValueError(f"{self.algorithm}: pad=True needs a codec that has a tile_shape")
        whole = destination(out, self.tile_shape, self.result_dtype)
        shape = self._shape(tile_shape, None)
        if len(shape) != whole.ndim or any(size > most for size, most in zip(shape, whole.shape, strict=True)):
            raise ValueError(f"{self.algorithm}: a tile of shape {shape} does not fit one of shape {whole.shape}")
        tile, used = self._decode_into(source, np.empty(shape, self.result_dtype), shape, 1)
        whole[...] = 0
        whole[tuple(slice(size) for size in shape)] = tile
        return whole, used

    def _shape(self, tile_shape, out):
        """Shape of the tile at hand: the caller's word, else the codec's own, else that of `out`."""
        if tile_shape is not None:
            return checked_shape(tile_shape)
        if self.tile_shape is not None:
            return self.tile_shape
        if out is not None:
            return self._shape_of_out(out if isinstance(out, np.ndarray) else np.asarray(memoryview(out)))
        raise ValueError(f"{self.algorithm}: nothing says how many pixels the tile has; give tile_shape")

    def _shape_of_out(self, array):
        """Shape of the pixels that fill an array: of its type, or of the codec's where it is a plain buffer."""
        width = self.result_dtype.itemsize
        return checked_shape(array.shape if array.itemsize > 1 or width == 1 else array.nbytes // width)

    def _refuse_trailing(self, used, source):
        if used < source.size:
            raise TrailingBytesError(used=used, nbytes=source.size, algorithm=self.algorithm)

    def _as_coded(self, pixels):
        """The pixels in native `pixel_dtype`, of unchanged value."""
        coded = self.pixel_dtype
        if pixels.dtype.kind not in "iub":
            raise ValueError(f"{self.algorithm} codes integers, not {pixels.dtype.str}")
        if not np.can_cast(pixels.dtype, coded, "safe"):
            limits = np.iinfo(coded)
            least, most = pixels.min(), pixels.max()
            if least < limits.min or most > limits.max:
                raise ValueError(f"{self.algorithm}: pixels from {least} to {most} do not fit {coded.name}")
        return np.ascontiguousarray(pixels, coded)

    def _check(self, status, done, n_pixels):
        """Raise what the status of a decoder stands for; `n_pixels` is the size of one tile."""
        if status:
            done = done % n_pixels if done is not None and n_pixels else None
            raise engines.to_error(status, algorithm=self.algorithm, done=done, n_pixels=n_pixels)

    def _uses_cfitsio(self):
        return engines.choose(self.engine) == "cfitsio"


def _refuse_order_f(buf, algorithm: str) -> None:
    """Refuse what zarr gives to codecs of format 2 under order F: its bytes would come back in another order than they went."""
    if isinstance(buf, np.ndarray) and buf.flags.f_contiguous and not buf.flags.c_contiguous:
        raise ValueError(f"{algorithm}: the array is in order F, and tiles are coded in order C; use order C, or a C-contiguous copy")
