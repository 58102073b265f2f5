"""RICE_1: worked examples, the two engines bit for bit, block sizes, extremes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from support.tiles import each_engine

from astropy_tilecomp.codecs import Rice1, engines
from astropy_tilecomp.errors import CorruptTileError, TruncatedTileError

EXAMPLES = [
    (2, [10, 12, 11, 11, 40, 41, 39, 38, 100, -5], "000a6824860751 4708f00c40"),
    (1, [3, 3, 3, 3], "0300"),
    (1, [3, 4, 4, 2, 3], "033312"),
    (1, [0, 255, 7, 200, 90], "00e000220fbb60"),
    (4, [1000, 1003, 998, 1001, 1000], "000003e81420c580"),
    (4, [0, 2**31 - 1, -(2**31), 5], "00000000d000000007fffffff000000017ffffffa8"),
    (2, [33] * 7 + [9, 9], None),
]


@pytest.mark.parametrize(("bytepix", "pixels", "stream"), EXAMPLES, ids=lambda value: str(value)[:20])
@each_engine
def test_worked_examples(bytepix, pixels, stream, engine):
    codec = Rice1(bytepix=bytepix, tilesize=len(pixels), engine=engine)
    pixels = np.array(pixels, codec.pixel_dtype)
    if stream is not None:
        assert codec.encode(pixels).hex() == stream.replace(" ", "")
        assert_array_equal(codec.decode(bytes.fromhex(stream)), pixels)
    assert_array_equal(codec.decode(codec.encode(pixels)), pixels)


def test_two_blocks():
    pixels = np.array([9] * 7 + [9, 9], "i2")
    codec = Rice1(bytepix=2, blocksize=7, tilesize=9)
    assert_array_equal(codec.decode(codec.encode(pixels)), pixels)
    assert codec.encode(pixels).hex() == "000900"


@st.composite
def tiles(draw, widths=(1, 2, 4)):
    """A pixel width, and a tile: noise of some spread on a level, with any extremes."""
    bytepix = draw(st.sampled_from(widths))
    dtype = {1: "u1", 2: "i2", 4: "i4"}[bytepix]
    n = draw(st.integers(1, 300))
    bits = 8 * bytepix
    spread = draw(st.integers(0, bits))
    seed = draw(st.integers(0, 2**32 - 1))
    noise = np.random.default_rng(seed).integers(0, 1 << spread, n, dtype=np.uint64)
    pixels = (noise + np.uint64(draw(st.integers(0, 2**bits - 1)))).astype(f"u{bytepix}").view(dtype)
    for place in draw(st.lists(st.integers(0, n - 1), max_size=3)):
        pixels[place] = draw(hnp.from_dtype(np.dtype(dtype)))
    return bytepix, pixels


@settings(max_examples=300)
@given(tile=tiles(), blocksize=st.integers(1, 100))
def test_engines_agree(tile, blocksize):
    bytepix, pixels = tile
    both = [Rice1(bytepix=bytepix, blocksize=blocksize, tilesize=pixels.size, engine=e) for e in engines()]
    streams = {codec.encode(pixels) for codec in both}
    assert len(streams) == 1
    for codec in both:
        assert_array_equal(codec.decode(*streams), pixels)


@settings(max_examples=300)
@given(stream=st.binary(max_size=80), bytepix=st.sampled_from([1, 2, 4]), n=st.integers(1, 70), blocksize=st.integers(1, 40))
def test_engines_agree_on_any_bytes(stream, bytepix, n, blocksize):
    results = []
    for engine in engines():
        try:
            pixels, used = Rice1(bytepix=bytepix, blocksize=blocksize, tilesize=n, engine=engine).decode_prefix(stream)
            results.append((pixels.tobytes(), used))
        except CorruptTileError as error:
            results.append(str(error))
    assert len(set(results)) == 1


@each_engine
def test_wide_differences_in_large_blocks(engine):
    """Pixels of 4 bytes in blocks of more than 32, which libcfitsio's encoder gets wrong."""
    pixels = np.zeros(128, "i4")
    pixels[5], pixels[6] = 2**31 - 1, -(2**31)
    codec = Rice1(blocksize=64, tilesize=128, engine=engine)
    assert_array_equal(codec.decode(codec.encode(pixels)), pixels)
    assert codec.encode(pixels) == Rice1(blocksize=64, tilesize=128).encode(pixels)


@each_engine
def test_pixels_are_clipped_to_the_dtype(engine):
    """S41: old files have BYTEPIX 4 with ZBITPIX 16."""
    pixels = np.array([-70000, -5, 0, 40000], "i4")
    stream = Rice1(bytepix=4, engine=engine).encode(pixels)
    for dtype, expected in (("i2", [-32768, -5, 0, 32767]), (">i2", [-32768, -5, 0, 32767]), ("u1", [0, 0, 0, 255]),
                            ("i8", pixels), ("u2", [0, 0, 0, 40000])):  # fmt: skip
        decoded = Rice1(bytepix=4, tilesize=4, dtype=dtype, engine=engine).decode(stream)
        assert decoded.dtype == np.dtype(dtype)
        assert_array_equal(decoded, expected)


@each_engine
def test_where_a_stream_ends(engine):
    pixels = np.arange(0, 4096 * 3, 3, dtype="i4")
    codec = Rice1(tilesize=4096, engine=engine)
    stream = codec.encode(pixels)
    with pytest.raises(TruncatedTileError, match=r"RICE_1: stream ends at pixel \d+ of 4096") as caught:
        codec.decode(stream[: len(stream) // 2])
    assert 2000 < int(str(caught.value).split()[-3]) < 2100
    with pytest.raises(CorruptTileError, match="code that the format does not define at pixel 0 of 4"):
        Rice1(tilesize=4).decode(bytes.fromhex("00000000ffffffff"))
