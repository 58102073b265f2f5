"""GZIP_1 and GZIP_2 tiles from our own deflate encoder: every reader takes them; sizes beside fpack's."""

import gzip
import io
import os
import subprocess
import sys
import zlib

import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal
from support import needs
from support.deflate_images import IMAGES
from support.reference_files import OPTION_OF, compressed_file, fpack, joined, params_for, section_of

from astropy_tilecomp.codecs import Gzip1, Gzip2
from astropy_tilecomp.encode import encode

WITHOUT_NOISE = {"gradient", "slow_gradient"}
"""Rows that equal one far above, moved: zlib looks at more places for them than we do, and makes next to nothing of them."""


@pytest.mark.parametrize("zcmptype", ["GZIP_1", "GZIP_2"])
@pytest.mark.parametrize("tile", [(1, 4096), (24, 512), (8, 32)], ids=str)
@pytest.mark.parametrize("kind", IMAGES)
def test_no_larger_than_fpacks(tmp_path, zcmptype, tile, kind):
    image = IMAGES[kind]
    options = ["-q", "0"] if image.dtype.kind == "f" else []
    settings = {"quantized": False} if image.dtype.kind == "f" else {}
    theirs = fpack(tmp_path, image, [OPTION_OF[zcmptype], "-t", f"{tile[1]},{tile[0]}", *options])
    ours = sum(map(len, joined(encode(image, params_for(image, zcmptype, tile, **settings)))[0]))
    assert ours <= (1.6 if kind in WITHOUT_NOISE and tile == (24, 512) else 1.02) * theirs.header["PCOUNT"]


@pytest.mark.parametrize("zcmptype", ["GZIP_1", "GZIP_2"])
@pytest.mark.parametrize("tile", [(1, 4096), (24, 1000)], ids=str)
@pytest.mark.parametrize("kind", IMAGES)
def test_every_reader_takes_the_tiles(tmp_path, zcmptype, tile, kind):
    image = IMAGES[kind]
    settings = {"quantized": False} if image.dtype.kind == "f" else {}
    params = params_for(image, zcmptype, tile, **settings)
    content = compressed_file(image, params)
    assert_array_equal(section_of(content), image)
    assert_array_equal(fits.open(io.BytesIO(content))[1].data, image)
    path, unpacked = tmp_path / "image.fits", tmp_path / "unpacked.fits"
    path.write_bytes(content)
    assert_array_equal(needs.module("fitsio").read(str(path), ext=1), image)
    subprocess.run([needs.tool("funpack"), "-O", str(unpacked), str(path)], check=True, capture_output=True)
    with fits.open(unpacked) as hdul:
        assert_array_equal(next(hdu.data for hdu in hdul if hdu.data is not None), image)
    for stream in joined(encode(image, params))[0]:
        assert gzip.decompress(stream) == zlib.decompress(stream, 31)


@pytest.mark.parametrize("kind", IMAGES)
def test_codecs_make_the_tiles_of_encode(kind):
    image = IMAGES[kind]
    settings = {"quantized": False} if image.dtype.kind == "f" else {}
    for zcmptype, codec in (("GZIP_1", Gzip1(dtype=image.dtype)), ("GZIP_2", Gzip2(dtype=image.dtype))):
        streams = joined(encode(image, params_for(image, zcmptype, (12, 4096), **settings)))[0]
        assert [codec.encode(image[:12]), codec.encode(image[12:])] == streams


def test_streams_are_the_same_on_every_cpu_level():
    script = (
        "import zlib, sys; sys.path.insert(0, 'tests'); from support.deflate_images import IMAGES;"
        "from astropy_tilecomp.codecs import Gzip2;"
        "print(zlib.crc32(b''.join(Gzip2(dtype=i.dtype).encode(row) for i in IMAGES.values() for row in i)))"
    )
    found = {
        level: subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, cwd=needs.REPOSITORY,
                              env={**os.environ, "ASTROPY_TILECOMP_CPU": level}).stdout
        for level in ("portable", "avx2", "avx512")
    }
    assert len(set(found.values())) == 1
