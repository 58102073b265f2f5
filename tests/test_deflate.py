"""GZIP_1 and GZIP_2 tiles from our own deflate encoder: every reader takes them; sizes beside fpack's."""

import gzip
import io
import os
import subprocess
import sys
import zlib

import needs
import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal
from test_encode import OPTION_OF, compressed_file, fpack, joined, params_for, section_of, star_field

from astropy_tilecomp.codecs import Gzip1, Gzip2
from astropy_tilecomp.encode import encode

SHAPE = (24, 4096)


def images():
    """Images of each kind that a tile may hold."""
    rng = np.random.default_rng(8)
    y, x = np.indices(SHAPE)
    noise = rng.normal(size=SHAPE)
    walk = np.cumsum(noise, axis=1)
    spots = (rng.random(SHAPE) < 0.01).astype("i4") * 64
    return {
        "star_field": star_field(SHAPE, "i2"),
        "faint_noise": rng.normal(1000, 0.7, SHAPE).round().astype("i2"),
        "noise_across_256": rng.normal(256, 9, SHAPE).round().astype("i2"),
        "bright_noise": rng.normal(0, 900, SHAPE).round().astype("i4"),
        "floats": rng.normal(100, 3, SHAPE).astype("f4"),
        "mask": spots,
        "byte_mask": spots.astype("u1"),
        "regular_mask": ((x % 100 == 7) * 3).astype("i2"),
        "constant": np.full(SHAPE, 12345, "i4"),
        "gradient": (x * 0.7 + y * 3).astype("i2"),
        "slow_gradient": (1000 + x * 0.05 + y * 0.1).astype("i2"),
        "noisy_gradient": (y * 30 + x * 20 + 30 * noise).astype("i4"),
        "noisy_gradient_of_floats": (y * 0.3 + x * 0.2 + 0.1 * noise).astype("f4"),
        "noisy_gradient_of_doubles": (y * 0.3 + x * 0.2 + 0.01 * noise).astype("f8"),
        "walk": walk.astype("i2"),
        "wide_walk": (30 * walk).astype("i4"),
        "walk_of_floats": (5 * walk).astype("f4"),
        "sine": (3000 * np.sin(x / 37) * np.cos(y / 5)).astype("i2"),
        "steps": (np.round(1000 + 100 * noise / 16) * 16).astype("i4"),
        "segments": (x // 37 * 7 % 200 + y // 6).astype("i4"),
        "columns": (rng.normal(300, 300, SHAPE[1]) + 2 * noise).astype("i2"),
        "repeated_columns": np.repeat(noise[:, ::4] * 10 + 300, 4, axis=1).astype("f4"),
        "repeated_rows": np.repeat(noise[::6] * 100, 6, axis=0).astype("i2"),
        "saturated": np.clip(star_field(SHAPE, "i4"), 0, 330).astype("i2"),
        "rounded": np.round(300 + 10 * noise, 2).astype("f4"),
        "undefined": np.where(noise > 0.5, np.frombuffer(b"\xff" * 4, "f4"), noise.astype("f4")),  # as fpack writes NaN
        "pattern": np.tile(rng.normal(300, 17, (SHAPE[0], 128)).round().astype("i2"), 32),
        "random_bytes": rng.integers(-(2**15), 2**15, SHAPE).astype("i2"),
        "text": np.frombuffer((zlib.__doc__ + gzip.__doc__ + np.__doc__).encode() * 99, "u1")[: np.prod(SHAPE)].reshape(SHAPE),
    }


IMAGES = images()

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
        "import zlib, sys; sys.path.insert(0, 'tests'); from test_deflate import IMAGES, Gzip2;"
        "print(zlib.crc32(b''.join(Gzip2(dtype=i.dtype).encode(row) for i in IMAGES.values() for row in i)))"
    )
    found = {
        level: subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, cwd=needs.REPOSITORY,
                              env={**os.environ, "ASTROPY_TILECOMP_CPU": level}).stdout
        for level in ("portable", "avx2", "avx512")
    }
    assert len(set(found.values())) == 1
