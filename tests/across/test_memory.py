"""Peak memory of whole reads: the output and 64 MiB, whatever the type and the scaling."""

import subprocess
import sys

import numpy as np
import pytest
from support.peak import PEAK
from support.small_files import CompressedImage, rice_cards

from astropy_tilecomp.codecs import Gzip2, HCompress1, Rice1

SIZE = 16384
ALLOWED = 64 << 20

READ = PEAK + """
import numpy as np
from astropy.io import fits
import astropy_tilecomp as tc
import astropy_tilecomp.adapters.fits.hdulist, astropy_tilecomp.hdus
before = peak_nbytes()
data = {read}
print(data.nbytes, peak_nbytes() - before, data.dtype.str, int(data[5, 7]))
"""

WAYS = {
    "data": "tc.open({path!r})[1].data",
    "section": "tc.open({path!r})[1].section[...]",
    "read_image": "tc.read_image({path!r})",
    "one thread": "tc.read_image({path!r}, threads=1)",
    "fits.open": "(tc.enable(), fits.open({path!r}))[1][1].data",
}


def image_of_one_tile(path, tile, codec, cards, *, bitpix=16, size=SIZE):
    """Write an image in which every tile has the same few kilobytes of the heap: noise round 1000."""
    pixels = np.random.default_rng(1).normal(1000, 15, tile).astype("i2")
    image = CompressedImage((size, size), tile, bitpix, codec.algorithm, [*cards])
    if codec.algorithm == "RICE_1":
        image.cards += rice_cards(2)
    image.heap = codec.encode(pixels)
    n_tiles = (size // tile[0]) * (size // tile[1])
    descriptors = np.tile(np.array([[len(image.heap), 0]]), (n_tiles, 1))
    image.set_descriptors(descriptors)
    return str(image.write(path)), pixels


def read_in_child(statement):
    """Bytes of the array, how far the peak rose, its type, and one pixel of it."""
    done = subprocess.run([sys.executable, "-c", READ.format(read=statement)], capture_output=True, text=True, timeout=250,
                          check=True)
    nbytes, rise, dtype, pixel = done.stdout.split()
    return int(nbytes), int(rise), dtype, int(pixel)


def check_peak(statement, dtype, pixel, size=SIZE):
    nbytes, rise, found, value = read_in_child(statement)
    assert (nbytes, found, value) == (size * size * np.dtype(dtype).itemsize, np.dtype(dtype).str, pixel)
    assert 0.9 * nbytes <= rise <= nbytes + ALLOWED, f"{rise / 2**20:.0f} MiB for {nbytes / 2**20:.0f} MiB"


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("cards", "dtype"), [([], "i2"), ([("BSCALE", 1), ("BZERO", 32768)], "u2")], ids=["int16", "uint16"])
def test_whole_reads(tmp_path, way, cards, dtype):
    tile = (1, SIZE)
    path, pixels = image_of_one_tile(tmp_path / "rows.fits", tile, Rice1(bytepix=2, tile_shape=tile), cards)
    check_peak(WAYS[way].format(path=path), dtype, int(pixels[0, 7]) + (32768 if cards else 0))


@pytest.mark.parametrize("codec", [Rice1(bytepix=2, tile_shape=(256, 256)), HCompress1(dtype="i2", tile_shape=(256, 256)),
                                   Gzip2(dtype="i2", tile_shape=(256, 256))], ids=lambda codec: codec.algorithm)
def test_square_tiles(tmp_path, codec):
    path, pixels = image_of_one_tile(tmp_path / "square.fits", (256, 256), codec, [], size=SIZE // 2)
    check_peak(WAYS["data"].format(path=path), "i2", int(pixels[5, 7]), SIZE // 2)


@pytest.mark.parametrize("cards", [[("BSCALE", 0.5), ("BZERO", 10.0)], [("BLANK", -5)]], ids=["scaled", "with BLANK"])
@pytest.mark.parametrize("way", ["data", "read_image"])
def test_pixels_that_become_floats(tmp_path, cards, way):
    tile = (1, SIZE // 2)
    path, pixels = image_of_one_tile(tmp_path / "scaled.fits", tile, Rice1(bytepix=2, tile_shape=tile), cards, size=SIZE // 2)
    expected = int(pixels[0, 7]) * 0.5 + 10 if len(cards) > 1 else int(pixels[0, 7])
    check_peak(WAYS[way].format(path=path), "f4", int(expected), SIZE // 2)
