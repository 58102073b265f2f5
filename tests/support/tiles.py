"""Small tiles and the codecs for them, for the tests of codecs."""

import numpy as np
import pytest

from astropy_tilecomp.codecs import PLIO1, Gzip1, Gzip2, HCompress1, NoCompress, Rice1, engines

SHAPE = (6, 10)

CODECS = [
    Rice1(bytepix=1, tile_shape=SHAPE),
    Rice1(bytepix=2, blocksize=16, tile_shape=SHAPE),
    Rice1(bytepix=2, dtype=">i2", tile_shape=SHAPE),
    Rice1(bytepix=4, tile_shape=SHAPE),
    Rice1(bytepix=4, dtype="i2", tile_shape=SHAPE),
    PLIO1(tile_shape=SHAPE),
    PLIO1(dtype=">i2", offset=32768, tile_shape=SHAPE),
    HCompress1(tile_shape=SHAPE),
    HCompress1(dtype="u1", tile_shape=SHAPE),
    HCompress1(dtype=">i2", tile_shape=SHAPE),
    Gzip1(dtype=">i2", tile_shape=SHAPE),
    Gzip1(dtype="i4", tile_shape=SHAPE),
    Gzip1(dtype=">f4", tile_shape=SHAPE),
    Gzip2(dtype=">i2", tile_shape=SHAPE),
    Gzip2(dtype="f8", tile_shape=SHAPE),
    NoCompress(dtype=">i2", tile_shape=SHAPE),
    NoCompress(dtype="f4", tile_shape=SHAPE),
]

each_codec = pytest.mark.parametrize("codec", CODECS, ids=repr)
each_engine = pytest.mark.parametrize("engine", engines())


def pixels_for(codec, shape=SHAPE, seed=1):
    """Pixels that a codec holds without loss."""
    values = np.random.default_rng(seed).integers(0, 120, shape)
    values[0, :3] = 7
    return values.astype(codec.result_dtype)


def stream_with_size(codec, shape=SHAPE, seed=1):
    """A stream, and the pixels in it."""
    pixels = pixels_for(codec, shape, seed)
    return codec.encode(pixels), pixels
