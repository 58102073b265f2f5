"""GZIP_1 and GZIP_2: worked examples, whatever zlib writes, several members, streams that inflate without end."""

import gzip
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from astropy_tilecomp.codecs import Gzip1, Gzip2
from astropy_tilecomp.errors import CorruptTileError, TrailingBytesError, TruncatedTileError

PIXELS = [1, 2, 3, 258]
ZLIB_1 = bytes.fromhex("1f8b080000000000 0403 63606460626066 640200 8969c64c 08000000")
ZLIB_2 = bytes.fromhex("1f8b080000000000 0403 636060606464 6266 0200 3d775926 08000000")


def test_worked_examples():
    assert_array_equal(Gzip1(dtype="i2").decode(ZLIB_1), PIXELS)
    assert_array_equal(Gzip2(dtype="i2").decode(ZLIB_2), PIXELS)
    assert gzip.decompress(Gzip1().encode(np.array(PIXELS, "i2"))) == np.array(PIXELS, ">i2").tobytes()
    assert gzip.decompress(Gzip2(itemsize=2).encode(np.array(PIXELS, "i2"))) == bytes([0, 0, 0, 1, 1, 2, 3, 2])


@given(
    pixels=st.sampled_from(["u1", "i2", "i4", "i8", "f4", "f8"]).flatmap(
        lambda kind: hnp.arrays(kind, st.integers(1, 40))
    ),
    codec=st.sampled_from([Gzip1, Gzip2]),
    order=st.sampled_from("<>"),
    level=st.integers(0, 12),
)
def test_round_trip(pixels, codec, order, level):
    dtype = pixels.dtype.newbyteorder(order)
    made = codec(dtype=dtype, level=level, tile_shape=pixels.shape)
    decoded = made.decode(made.encode(pixels.astype(dtype)))
    assert decoded.dtype == dtype
    assert decoded.tobytes() == pixels.astype(dtype).tobytes()  # NaN payloads, -0.0 and denormals too


@pytest.mark.parametrize("level", [0, 1, 6, 9])
def test_members_of_zlib(level):
    pixels = np.random.default_rng(level).integers(0, 900, (30, 40)).astype(">i2")
    for member in (gzip.compress(pixels.tobytes(), level), _member_with_a_name(pixels.tobytes())):
        assert_array_equal(Gzip1(dtype=">i2", tile_shape=(30, 40)).decode(member), pixels)
        assert_array_equal(Gzip1(dtype="i2").decode(member), pixels.reshape(-1))


def _member_with_a_name(content):
    """A member with the optional fields of RFC 1952: name, comment, extra field."""
    deflate = zlib.compressobj(wbits=-15)
    body = deflate.compress(content) + deflate.flush()
    head = b"\x1f\x8b\x08\x1c" + bytes(6) + b"\x04\0abcd" + b"name\0" + b"comment\0"
    return head + body + zlib.crc32(content).to_bytes(4, "little") + len(content).to_bytes(4, "little")


@pytest.mark.parametrize("codec", [Gzip1(dtype=">i2", tile_shape=(4,)), Gzip1(dtype=">i2"), Gzip1()], ids=repr)
def test_concatenated_members(codec):
    """S45: never silently joined; `decode_many` takes them one by one."""
    first, second = (Gzip1().encode(np.arange(start, start + 4, dtype="i2")) for start in (0, 100))
    with pytest.raises(TrailingBytesError) as caught:
        codec.decode(first + second)
    assert (caught.value.used, caught.value.nbytes) == (len(first), len(first + second))
    if codec.tile_shape:
        assert_array_equal(codec.decode_many(first + second, 2), [[0, 1, 2, 3], [100, 101, 102, 103]])
        assert_array_equal(codec.decode_prefix(first + second)[0], [0, 1, 2, 3])


@pytest.mark.parametrize("dtype", ["u1", "i2", ">i2", "i4", ">i8"])
@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_width_follows_from_the_length(width, dtype):
    """Integers of any width are converted, clipped to the type of the image."""
    coded = np.array([0, 7, 120, 3], {1: "u1", 2: "i2", 4: "i4", 8: "i8"}[width])
    for codec in (Gzip1, Gzip2):
        stream = codec(dtype=coded.dtype).encode(coded)
        decoded = codec(dtype=dtype, tile_shape=4).decode(stream)
        assert decoded.dtype == np.dtype(dtype)
        assert_array_equal(decoded, coded)
    stream = Gzip1().encode(np.array([-5, 300], "i4"))
    assert_array_equal(Gzip1(dtype="u1", tile_shape=2).decode(stream), [0, 255])


def test_floats_have_one_width():
    stream = Gzip1().encode(np.zeros(4, "f4"))
    for dtype in ("f8", ">f8"):
        with pytest.raises(CorruptTileError, match="16 bytes for 4 pixels"):
            Gzip1(dtype=dtype, tile_shape=4).decode(stream)
    with pytest.raises(CorruptTileError, match="for 3 pixels"):
        Gzip1(dtype="i2", tile_shape=3).decode(stream)


def test_a_stream_that_inflates_without_end():
    """A thousand times its size; the buffer is that of the tile, whatever the stream would give."""
    bomb = gzip.compress(bytes(30_000_000), 9)
    tracemalloc.start()
    with pytest.raises(CorruptTileError, match="more than 512 bytes for 64 pixels"):
        Gzip1(dtype="i4", tile_shape=64).decode(bomb)
    assert tracemalloc.get_traced_memory()[1] < 200_000
    tracemalloc.stop()
    assert Gzip1().decode(bomb).size == 30_000_000


def test_a_size_that_lies():
    """The last four bytes of a member state its size; 4 GB of it is not believed for 30 bytes."""
    member = bytearray(Gzip1().encode(np.arange(8, dtype="i2")))
    member[-4:] = b"\xff\xff\xff\xff"
    tracemalloc.start()
    with pytest.raises(CorruptTileError):
        Gzip1().decode(member)
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()


def test_damage():
    codec = Gzip1(dtype="i2", tile_shape=100)
    stream = codec.encode(np.arange(100, dtype="i2"))
    with pytest.raises(TruncatedTileError, match="GZIP_1: stream ends"):
        codec.decode(stream[:15])
    with pytest.raises(CorruptTileError, match="does not begin with the mark"):
        codec.decode(b"\x00" + stream[1:])
    with pytest.raises(CorruptTileError):
        codec.decode(stream[:-8] + bytes(4) + stream[-4:])
    with pytest.raises(CorruptTileError, match="no whole number of"):
        Gzip2(itemsize=2).decode(Gzip1().encode(np.zeros(3, "u1")))
    with pytest.raises(CorruptTileError, match="holds 3 bytes, no whole number of <i2 pixels"):
        Gzip1(dtype="i2").decode(Gzip1().encode(np.zeros(3, "u1")))


def test_plain_bytes_of_gzip2():
    pixels = np.arange(6, dtype=">i4")
    assert Gzip2(itemsize=4).decode(Gzip2(itemsize=4).encode(pixels.tobytes())).tobytes() == pixels.tobytes()
    with pytest.raises(ValueError, match="no whole number of pixels of 4"):
        Gzip2(itemsize=4).encode(b"12345")
