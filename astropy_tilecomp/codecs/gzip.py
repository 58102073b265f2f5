"""GZIP_1 and GZIP_2: the pixels, or their bytes sorted by significance, as one gzip member."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import CorruptTileError
from . import _kernels
from .config import require_integer
from .gzip_fault import exact_status
from .raw import BigEndianCodec, big_endian_bytes

__all__ = ["Gzip1", "Gzip2"]

NO_SPACE = _kernels.STATUS["NO_SPACE"]

MAX_BYTES_OF_ONE = 1032
"""No byte of deflate stands for more."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Gzip1(BigEndianCodec):
    """
    The GZIP_1 algorithm, FITS 4.0, section 10.4.2: big-endian pixels as one gzip member.

    Parameters
    ----------
    level : int
        How hard libdeflate tries, 0 to 12; by default 6, whose members are no larger than those of zlib's level 1.
    tile_shape, dtype, engine
        As of `TileCodec`. Without `dtype`, plain bytes are decoded, and arrays of any type encoded; without a tile shape
        all that the member holds is decoded. Integer pixels of another width than `dtype` has are converted to it, clipped.

    Notes
    -----
    Members that follow the first are bytes left over: `decode` refuses them, `decode_many` takes them as further tiles.
    Both engines inflate with libdeflate.
    """

    codec_id = "astropy_tilecomp.gzip1"
    other_ids = ("FITS_GZIP1",)
    algorithm = "GZIP_1"

    level: int = _kernels.GZIP_PIXELS_LEVEL

    def __post_init__(self):
        super().__post_init__()
        require_integer(self.level, "level", range(13))

    def _fill(self, source, content):
        status, used, nbytes = _kernels.gzip_inflate(source, content)
        status = exact_status(status, bytes(source), content.size) if status else status
        if status == NO_SPACE:
            return used, content.size + 1
        self._check(status, None, None)
        return used, nbytes

    def _whole_content(self, source):
        # A member ends with the size of its content. The last bytes are that size unless others follow, which are refused
        # all the same, but for the right reason: after a search for the size.
        most = source.size * MAX_BYTES_OF_ONE
        stated = int.from_bytes(source[-4:].tobytes(), "little")
        sizes = [stated] if stated <= most else []
        while not sizes or sizes[-1] < most:
            sizes.append(min(most, 4 * max(source.size, sizes[-1] if len(sizes) > 1 else 0)))
        for size in sizes:
            content = np.empty(size, np.uint8)
            used, nbytes = self._fill(source, content)
            if nbytes <= size:
                return content[:nbytes], used
        raise CorruptTileError("the member holds more than deflate can", algorithm=self.algorithm)

    def encode_pixels(self, pixels):
        return self._deflate(big_endian_bytes(pixels))

    def _deflate(self, content, plane=0):
        stream = np.empty(_kernels.gzip_bound(content.size), np.uint8)
        status, used = _kernels.gzip_encode(content, stream, self.level, plane)
        self._check(status, None, None)
        return stream[:used].tobytes()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Gzip2(Gzip1):
    """
    The GZIP_2 algorithm, FITS 4.0, section 10.4.2: the most significant bytes of all pixels, then the next, gzipped.

    Parameters
    ----------
    itemsize : int, optional
        Bytes of a pixel where there is no `dtype` to say it.
    level : int
        1, the default, is an encoder of this package's own for byte planes; all others are libdeflate's levels.
    tile_shape, dtype, engine
        As of `Gzip1`.
    """

    codec_id = "astropy_tilecomp.gzip2"
    other_ids = ("FITS_GZIP2",)
    algorithm = "GZIP_2"

    level: int = _kernels.GZIP_PLANES_LEVEL
    itemsize: int | None = None

    def __post_init__(self):
        super().__post_init__()
        if self.itemsize is not None:
            require_integer(self.itemsize, "itemsize", (1, 2, 4, 8))
        if self.dtype is None and self.itemsize is None:
            raise ValueError("GZIP_2 needs to know the bytes of a pixel: give dtype or itemsize")
        if self.dtype is not None and self.itemsize not in (None, self.dtype.itemsize):
            raise ValueError(f"itemsize is {self.itemsize}, dtype {self.dtype.str}")

    def _to_native(self, content, width):
        plain = self.dtype is None
        width = self.itemsize if plain else width
        if content.size % width:
            raise CorruptTileError(
                f"the stream holds {content.size} bytes, no whole number of pixels of {width}", algorithm=self.algorithm
            )
        _kernels.unshuffle(content.copy(), content, width)
        if plain:
            _kernels.byteswap(content, content, width)

    def encode_pixels(self, pixels):
        raw = pixels.reshape(-1).view(np.uint8)
        width = pixels.itemsize
        if self.dtype is None and width == 1 and self.itemsize is not None and self.itemsize > 1:
            width = self.itemsize
            if raw.size % width:
                raise ValueError(f"{raw.size} bytes are no whole number of pixels of {width}")
            raw = big_endian_bytes(raw.view(f"u{width}"))
        planes = np.empty_like(raw)
        _kernels.shuffle(raw, planes, width)
        return self._deflate(planes, raw.size // width)


