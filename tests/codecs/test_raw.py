"""NOCOMPRESS: big-endian pixels as they are."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from astropy_tilecomp.codecs import NoCompress
from astropy_tilecomp.errors import CorruptTileError, TruncatedTileError


@pytest.mark.parametrize("kind", ["u1", "i2", "i4", "i8", "f4", "f8"])
@pytest.mark.parametrize("order", "<>")
def test_round_trip(kind, order):
    dtype = np.dtype(kind).newbyteorder(order)
    pixels = np.arange(-3, 9).astype(dtype).reshape(3, 4)
    codec = NoCompress(dtype=dtype, tile_shape=(3, 4))
    stream = codec.encode(pixels)
    assert stream == pixels.astype(dtype.newbyteorder(">")).tobytes()
    decoded = codec.decode(stream)
    assert decoded.dtype == dtype
    assert_array_equal(decoded, pixels)
    assert not np.may_share_memory(decoded, np.frombuffer(stream, "u1"))
    assert NoCompress().decode(stream).tobytes() == stream


def test_damage():
    codec = NoCompress(dtype="i4", tile_shape=3)
    with pytest.raises(TruncatedTileError, match="NOCOMPRESS: stream ends at pixel 2 of 3"):
        codec.decode(bytes(11))
    with pytest.raises(CorruptTileError, match="holds 7 bytes, no whole number of <i4"):
        NoCompress(dtype="i4").decode(bytes(7))
    with pytest.raises(CorruptTileError, match="holds 0 bytes"):
        NoCompress().decode(b"")


def test_floats_keep_every_bit():
    pixels = np.array([0x7FC00001, 0xFFFFFFFF, 0x80000000, 1, 0x7F800000], "u4").view("f4")
    codec = NoCompress(dtype="f4")
    assert codec.decode(codec.encode(pixels)).tobytes() == pixels.tobytes()
    with pytest.raises(ValueError, match="do not fit float32"):
        codec.encode(np.zeros(3, "f8"))
