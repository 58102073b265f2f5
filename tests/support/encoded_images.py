"""Compressed images in memory, encoded tile by tile with the codecs of this package, as the readers take them."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from astropy_tilecomp.codecs import codec_for
from astropy_tilecomp.sources import BufferSource, ByteSource
from astropy_tilecomp.tiling.params import CompressionParams
from support.small_files import CompressedImage

DTYPES = {8: "u1", 16: "i2", 32: "i4", 64: "i8", -32: "f4", -64: "f8"}
INTEGER_ALGORITHMS = ("RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1", "NOCOMPRESS")


@dataclass
class EncodedImage:
    """An image and its compressed HDU."""

    pixels: np.ndarray
    header: dict
    data: bytes
    params: CompressionParams
    streams: list

    @property
    def source(self):
        """The data unit as a source."""
        return BufferSource(self.data)


def settings_of(algorithm, bitpix):
    """Cards of the parameters of an algorithm."""
    if algorithm == "RICE_1":
        bytepix = 4 if bitpix < 0 else bitpix // 8
        return [("ZNAME1", "BLOCKSIZE"), ("ZVAL1", 32), ("ZNAME2", "BYTEPIX"), ("ZVAL2", bytepix)]
    return []


def encode_image(pixels, tile, algorithm, *, bitpix=None, cards=(), zscale=None, zzero=None, zblank=None, spare=b""):
    """
    Compress an array.

    Parameters
    ----------
    pixels : ndarray
        Stored pixels; with `zscale` the integers of a quantized image.
    tile : tuple of int
    algorithm : str
    bitpix : int, optional
        ZBITPIX, by default that of `pixels`.
    cards : list of (str, value)
    zscale, zzero, zblank : (n_tiles,) array, optional
        Columns of these names.
    spare : bytes
        Appended to every stream.
    """
    bitpix = bitpix or next(b for b, code in DTYPES.items() if code == pixels.dtype.str[1:])
    image = CompressedImage(pixels.shape, tile, bitpix, algorithm, [*settings_of(algorithm, bitpix), *cards])
    for name, values, form, kind in (("ZSCALE", zscale, "1D", ">f8"), ("ZZERO", zzero, "1D", ">f8"),
                                     ("ZBLANK", zblank, "1J", ">i4")):
        if values is not None:
            image.add_column(name, values, form, kind)
    image.add_tiles([b""] * len(image.boxes()))
    params = CompressionParams.from_header(dict(image.header_cards()))
    streams = [codec_for(params, row=row).encode(pixels[box]) + spare for row, box in enumerate(image.boxes())]
    image.add_tiles(streams)
    header = dict(image.header_cards())
    return EncodedImage(pixels, header, image.table_bytes() + image.heap, CompressionParams.from_header(header), streams)


@st.composite
def encoded_images(draw, grid):
    """Images of every algorithm and type on a tiling, integer and quantized; (EncodedImage, expected pixels or None)."""
    algorithm = draw(st.sampled_from(INTEGER_ALGORITHMS))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_tiles = grid.n_tiles
    if draw(st.booleans()):
        bitpix = draw(st.sampled_from((8, 16, 32) + ((64,) if algorithm in ("GZIP_1", "GZIP_2", "NOCOMPRESS") else ())))
        pixels = rng.integers(0, 100, grid.image_shape).astype(DTYPES[bitpix])
        cards = draw(st.sampled_from((
            [], [("BZERO", {8: -128, 16: 32768, 32: 2**31, 64: 2**63}[bitpix])], [("BSCALE", 0.1), ("BZERO", 20)],
            [("BLANK", 7)], [("BLANK", 7), ("BSCALE", 2.5)],
        )))
        if algorithm == "PLIO_1" and ("BZERO", 32768) in cards:
            pixels = (pixels.astype("i4") - 32768).astype("i2")
        return encode_image(pixels, grid.tile_shape, algorithm, cards=cards)
    pixels = rng.integers(0, 1000, grid.image_shape).astype("i4")
    method = draw(st.sampled_from(("NO_DITHER", "SUBTRACTIVE_DITHER_1", "SUBTRACTIVE_DITHER_2")))
    cards = [("ZQUANTIZ", method), ("ZDITHER0", draw(st.integers(1, 10000)))]
    if draw(st.booleans()):
        cards += [("ZBLANK", 3)]
    if draw(st.booleans()):
        cards += [("BSCALE", 2.0), ("BZERO", -1.5)]
    return encode_image(pixels, grid.tile_shape, algorithm, bitpix=draw(st.sampled_from((-32, -64))), cards=cards,
                        zscale=rng.uniform(0.1, 2, n_tiles), zzero=rng.normal(0, 50, n_tiles))


class RecordingSource(ByteSource):
    """
    A source that remembers what was read from it.

    Parameters
    ----------
    data : bytes
    gap : int
    is_local : bool
    """

    def __init__(self, data, gap=0, is_local=True):
        self.nbytes, self.name, self.gap, self.is_local = len(data), "<recorded>", gap, is_local
        self.data, self.ranges = data, []

    def _read(self, ranges):
        self.ranges += ranges
        return [self.data[start:stop] for start, stop in ranges]

    def bytes_read(self):
        """Which bytes were read, a boolean array."""
        read = np.zeros(self.nbytes, bool)
        for start, stop in self.ranges:
            read[start:stop] = True
        return read
