"""HCOMPRESS_1: worked examples, the two engines bit for bit, lossy tiles, sizes that lie, tiles of any number of axes."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from support.tiles import each_engine

from astropy_tilecomp.codecs import HCompress1, engines
from astropy_tilecomp.codecs.hcompress import plane_shape
from astropy_tilecomp.errors import CorruptTileError

LOSSY = (
    [[10, 11, 12, 13], [11, 30, 12, 12], [10, 11, 11, 14], [9, 10, 12, 13]],
    4,
    "dd99000000040000000400000004000000000000001a020303f8fdfbffbf9effef7effeff800a0",
    [[10, 12, 12, 12], [12, 30, 12, 12], [10, 10, 11, 13], [10, 10, 11, 13]],
)
ODD_EDGE = (
    [[1, 2, 3, 4, 5], [2, 3, 4, 5, 6], [3, 4, 50, 6, 7], [4, 5, 6, 7, -8]],
    0,
    "dd99000000040000000500000000000000000000005006060606 8012f6004bd1ffbc7fde3c7ffff7b1e88090090757fde3fef1e3fef0008486",
    [[1, 2, 3, 4, 5], [2, 3, 4, 5, 6], [3, 4, 50, 6, 7], [4, 5, 6, 7, -8]],
)


@pytest.mark.parametrize(("pixels", "scale", "stream", "decoded"), [LOSSY, ODD_EDGE], ids=["lossy", "odd edge"])
@pytest.mark.parametrize("smooth", [False, True])
@each_engine
def test_worked_examples(pixels, scale, stream, decoded, smooth, engine):
    codec = HCompress1(scale=scale, smooth=smooth, tile_shape=np.shape(pixels), engine=engine)
    stream = bytes.fromhex(stream)
    assert codec.encode(np.array(pixels)) == stream
    assert_array_equal(codec.decode(stream), decoded)


@settings(max_examples=150)
@given(data=st.data())
def test_engines_agree(data):
    shape = data.draw(st.tuples(st.integers(1, 24), st.integers(1, 24)))
    bits = data.draw(st.sampled_from([8, 16, 32]))
    spread = data.draw(st.integers(0, bits))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    dtype = {8: "u1", 16: "i2", 32: "i4"}[bits]
    pixels = rng.integers(0, 1 << spread, shape, dtype=np.uint64).astype(f"u{bits // 8}").view(dtype)
    settings_ = {
        "scale": data.draw(st.sampled_from([0, 1, 2, 7, 100])), "smooth": data.draw(st.booleans()), "tile_shape": shape,
        "dtype": dtype,
    }  # fmt: skip
    both = [HCompress1(**settings_, engine=engine) for engine in engines()]
    streams = {codec.encode(pixels) for codec in both}
    assert len(streams) == 1
    decoded = [codec.decode(*streams) for codec in both]
    assert_array_equal(decoded[0], decoded[-1])
    if settings_["scale"] <= 1:
        assert_array_equal(decoded[0], pixels)


@settings(max_examples=300)
@given(data=st.data())
def test_engines_agree_on_damaged_streams(data):
    shape = data.draw(st.tuples(st.integers(2, 9), st.integers(2, 9)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    stream = bytearray(HCompress1(tile_shape=shape, scale=3).encode(rng.integers(0, 500, shape, dtype="i4")))
    for place in data.draw(st.lists(st.integers(14, len(stream) - 1), min_size=1, max_size=3)):
        stream[place] = data.draw(st.integers(0, 255))
    smooth = data.draw(st.booleans())
    results = []
    for engine in engines():
        try:
            codec = HCompress1(tile_shape=shape, dtype="i2", smooth=smooth, engine=engine)
            results.append((codec.decode_prefix(stream)[0].tobytes(), codec.decode_prefix(stream)[1]))
        except CorruptTileError as error:
            results.append(str(error))
    assert len(set(results)) == 1


@each_engine
@pytest.mark.parametrize("dtype", ["u1", "i2", ">i2"])
def test_lossy_pixels_are_clipped(dtype, engine):
    """cfitsio stops with an overflow on 8 bits; the pixel is at the end of the range."""
    limits = np.iinfo(dtype)
    pixels = np.where(np.arange(64).reshape(8, 8) % 7 < 3, limits.max, limits.min).astype(dtype)
    codec = HCompress1(scale=60, dtype=dtype, tile_shape=(8, 8), engine=engine)
    decoded = codec.decode(codec.encode(pixels))
    assert decoded.dtype == np.dtype(dtype)
    assert decoded.max() == limits.max
    assert decoded.min() == limits.min


@each_engine
@pytest.mark.parametrize(
    ("rows", "columns"),
    [(4, 16), (2**16, 2**16), (-1, 8), (0, 8), (8, 0), (2**31 - 1, 2**31 - 1), (8, 9), (16, 4)],
)
def test_sizes_that_lie(rows, columns, engine):
    stream = bytearray(HCompress1().encode(np.arange(64, dtype="i4").reshape(8, 8)))
    stream[2:10] = struct.pack(">ii", rows, columns)
    with pytest.raises(CorruptTileError, match="HCOMPRESS_1: the stream holds another number of pixels than the tile"):
        HCompress1(tile_shape=(8, 8), engine=engine).decode(stream)


@each_engine
def test_bit_planes_that_lie(engine):
    """255 planes of nothing take 10 bits each and would take 255 passes over the tile."""
    stream = bytearray(HCompress1().encode(np.zeros((8, 8), "i4")))
    stream[22:25] = b"\xff\xff\xff"
    with pytest.raises(CorruptTileError, match="value that its pixels cannot have"):
        HCompress1(tile_shape=(8, 8), engine=engine).decode(bytes(stream) + bytes(2000))


@each_engine
def test_another_format(engine):
    with pytest.raises(CorruptTileError, match="does not begin with the mark"):
        HCompress1(tile_shape=(8, 8), engine=engine).decode(bytes(100))


@pytest.mark.parametrize(
    ("shape", "plane"),
    [((5, 4), (4, 5)), ((3, 1, 4, 5), (5, 12)), ((5, 1, 1), (5, 1)), ((1, 1), (1, 1)), ((7,), (7, 1)), ((4, 1), (4, 1))],
)
def test_tiles_of_other_numbers_of_axes(shape, plane):
    assert plane_shape(shape) == plane
    pixels = np.arange(np.prod(shape), dtype="i4").reshape(shape)
    for engine in engines():
        codec = HCompress1(tile_shape=shape, engine=engine)
        stream = codec.encode(pixels)
        assert struct.unpack(">ii", stream[2:10]) == plane[::-1]
        assert_array_equal(codec.decode(stream), pixels)
        assert codec.encode(pixels.reshape(-1)) == stream


def test_pixels_that_do_not_make_the_tile():
    with pytest.raises(ValueError, match=r"7 pixels do not make a tile of shape \(2, 3\)"):
        HCompress1(tile_shape=(2, 3)).encode(np.arange(7))
