"""Quantized floats: the worked example, what differs from tile to tile, lossless refusal, threads."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from astropy_tilecomp.codecs import NotQuantizableError, PreparedTile, Quantize, Rice1, dequantize, from_config, quantize
from astropy_tilecomp.errors import CorruptTileError, HeaderError, TileCompError

VALUES = np.array([1, 1.5, 0.75, 2, 1.25, 1, 0.5, 1.75, 1.5, 1, 3, 0.25], "f4")
ZSCALE = np.uint64(0x3FC9291C666813E6).view("f8")
OFFSET = -2147483637
METHODS = ("NO_DITHER", "SUBTRACTIVE_DITHER_1", "SUBTRACTIVE_DITHER_2")
EXAMPLES = {
    "NO_DITHER": (
        "3fc9291c666813e6", 0, [4, 7, 3, 9, 5, 4, 2, 8, 7, 4, 14, 0],
        "3f7b9b1c 3fc948e3 3f4948e3 3ffb9b1c 3f96f6aa 3f7b9b1c 3f16f6aa 3fe27200 3fc948e3 3f7b9b1c 403cb455 3e4948e3",
    ),
    "SUBTRACTIVE_DITHER_1": (
        "3fc9291c666813e6", 0, [4, 6, 3, 9, 5, 4, 1, 8, 7, 5, 14, 0],
        "3f8a620f 3fb96515 3f3c6c1f 3ffca573 3f96239c 3f84dfc5 3ef6df08 3fddf1e9 3fc4c605 3f8c06c3 403e2b85 3e456062",
    ),
    "SUBTRACTIVE_DITHER_2": (
        "41b9291c647e8b75", OFFSET, [3, 6, 3, 9, 5, 4, 1, 8, 7, 4, 14, 0],
        "3f701fad 3fc03bf8 3f4a19e7 4001be2b 3f9cfa7f 3f8bb6a8 3f091d4b 3fe4c8cc 3fcb9ce8 3f736914 404196f7 3e7c1780",
    ),
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_worked_example(method):
    zzero, offset, integers, decoded = EXAMPLES[method]
    tile = quantize(VALUES, row=0, quantize_level=4, zquantiz=method, zdither0=1)
    assert tile.zscale == ZSCALE
    assert float(tile.zzero).hex() == float(np.uint64(int(zzero, 16)).view("f8")).hex()
    assert tile.zblank is None
    assert tile.column == "COMPRESSED_DATA"
    assert_array_equal(tile.pixels, np.array(integers) + offset)
    values = dequantize(tile.pixels, tile.zscale, tile.zzero, row=0, zquantiz=method, zdither0=1)
    assert " ".join(f"{bits:08x}" for bits in values.view("u4")) == decoded


@given(
    shape=st.tuples(st.integers(1, 5), st.integers(16, 40)),
    seed=st.integers(0, 2**32 - 1),
    dtype=st.sampled_from(["f4", "f8", ">f4"]),
    method=st.sampled_from(METHODS),
    row=st.integers(0, 30000),
    zdither0=st.integers(1, 10000),
    with_codec=st.booleans(),
)
def test_values_come_back_within_half_a_step(shape, seed, dtype, method, row, zdither0, with_codec):
    """S21: NaN stays NaN, and with the second method 0 stays 0."""
    rng = np.random.default_rng(seed)
    values = rng.normal(100, 3, shape).astype(dtype)
    values[0, 1], values[0, 2] = np.nan, 0
    inner = Rice1(tile_shape=shape) if with_codec else None
    codec = Quantize(dtype=dtype, zquantiz=method, zdither0=zdither0, codec=inner)
    tile = codec.encode(values, row=row)
    assert isinstance(tile, PreparedTile)
    assert tile.zblank == -(2**31)
    decoded = codec.decode(tile.pixels, zscale=tile.zscale, zzero=tile.zzero, zblank=tile.zblank, row=row)
    assert decoded.dtype == np.dtype(dtype)
    assert_array_equal(np.isnan(decoded), np.isnan(values))
    good = ~np.isnan(values)
    rounding = np.abs(values[good]) * np.finfo("f4").eps + 2e-6  # ZZERO of a shifted tile is 2**31 steps away
    assert (np.abs(decoded[good] - values[good]) <= 0.5000001 * tile.zscale + rounding).all()
    if method == "SUBTRACTIVE_DITHER_2":
        assert decoded[0, 2] == 0


def test_what_differs_from_tile_to_tile_is_no_state():
    """S4: 2 threads encode different tiles with one instance, which stays as it was."""
    codec = Quantize(zquantiz="SUBTRACTIVE_DITHER_1", zdither0=3)
    config = codec.get_config()
    tiles = [np.random.default_rng(row).normal(row, 1 + row, 500).astype("f4") for row in range(40)]
    alone = [codec.encode(tile, row=row) for row, tile in enumerate(tiles)]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda row: codec.encode(tiles[row], row=row), range(40)))
    for one, other in zip(alone, together, strict=True):
        assert_array_equal(one.pixels, other.pixels)
        assert one[1:] == other[1:]
    assert len({tile.zscale for tile in alone}) == 40
    assert codec.get_config() == config
    with pytest.raises(AttributeError):
        codec.zscale = 3


def test_lists_of_all_tiles():
    """S10: a codec with the numbers of all tiles decodes right when told which tile it is."""
    rows = range(6)
    tiles = [np.random.default_rng(row).normal(row, 1 + row, (3, 20)).astype("f4") for row in rows]
    plain = Quantize(zquantiz="SUBTRACTIVE_DITHER_1", zdither0=9, codec=Rice1(tile_shape=(3, 20)))
    encoded = [plain.encode(tile, row=row) for row, tile in enumerate(tiles)]
    settings = plain.get_config() | {"zscale": [t.zscale for t in encoded], "zzero": [t.zzero for t in encoded]}
    codec = from_config(json.loads(json.dumps(settings)))
    for row in rows:
        one = plain.decode(encoded[row].pixels, zscale=encoded[row].zscale, zzero=encoded[row].zzero, row=row)
        assert_array_equal(codec.decode(encoded[row].pixels, row=row), one)
        assert np.abs(one - tiles[row]).max() <= encoded[row].zscale
    with pytest.raises(ValueError, match="row is 6, and zscale a list of 6"):
        codec.decode(encoded[0].pixels, row=6)
    with pytest.raises(ValueError, match="zscale is a list of 2: give the row"):
        Quantize(zscale=[1, 2], zzero=0).decode(np.zeros(3, "i4"))


@pytest.mark.parametrize("kind", ["u1", "i2", ">i2", "i4", ">i4"])
def test_integers_of_any_width(kind):
    """S24, S36: in either byte order, to either float."""
    integers = np.array([[0, 1], [2, 100]], kind)
    for dtype in ("f4", "f8", ">f4", ">f8"):
        values = Quantize(dtype=dtype, zscale=0.5, zzero=-3).decode(integers)
        assert values.dtype == np.dtype(dtype)
        assert_array_equal(values, [[-3, -2.5], [-2, 47]])


def test_null_and_zero_marker():
    integers = np.array([-(2**31), -(2**31) + 1, -(2**31) + 2, 5], "i4")
    decode = Quantize(zscale=1, zzero=0, zquantiz="SUBTRACTIVE_DITHER_2", zblank=None).decode
    assert_array_equal(np.isnan(decode(integers, row=0)), [False] * 4)
    assert decode(integers, row=0)[2] == 0
    assert_array_equal(np.isnan(decode(integers, row=0, zblank=-(2**31) + 1)), [False, True, False, False])
    assert_array_equal(np.isnan(decode(integers, row=0, zblank=2**40)), [False] * 4)
    no_dither = Quantize(zscale=1, zzero=0)
    assert_array_equal(np.isnan(no_dither.decode(integers)), [True, False, False, False])
    assert no_dither.decode(integers)[2] == np.float32(-(2**31) + 2)


def test_out():
    """S15, S35."""
    codec = Quantize(dtype=">f4", zscale=2, zzero=1)
    integers = np.arange(6, dtype="i4").reshape(2, 3)
    expected = integers * 2 + 1
    for out in (np.empty((2, 3), ">f4"), np.empty((2, 3), "<f4"), np.empty((2, 3), "f8"), np.empty((3, 2), "f4").T):
        assert codec.decode(integers, out) is out
        assert_array_equal(out, expected)
    raw = bytearray(24)
    assert codec.decode(integers.tobytes(), raw) is raw
    assert_array_equal(np.frombuffer(raw, ">f4"), expected.reshape(-1))
    with pytest.raises(ValueError, match="out has the shape"):
        codec.decode(integers, np.empty(5, "f4"))


@pytest.mark.parametrize("shift", [0, 1, 3])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_out_that_holds_the_integers(shift, dtype):
    memory = np.arange(9001, dtype="i4")
    integers = memory[:4000]
    expected = integers * 2.0 + 1
    out = memory[shift * np.dtype(dtype).itemsize // 4 :].view(np.uint8)[: 4000 * np.dtype(dtype).itemsize].view(dtype)
    assert dequantize(integers, 2, 1, out=out) is out
    assert_array_equal(out, expected)


def test_no_method():
    """A header without ZQUANTIZ."""
    codec = Quantize(zquantiz=None, zscale=2, zzero=1)
    assert codec == Quantize(zscale=2, zzero=1)
    assert_array_equal(codec.decode(np.arange(3, dtype="i4")), [1, 3, 5])


@pytest.mark.parametrize(
    "values",
    [np.full(100, 3, "f4"), np.array([1], "f4"), np.array([1, np.inf] * 50, "f4"),
     np.tile(np.array([-3e38, 3e38, 1, 2, 3, 5], "f4"), 9)],
    ids=["constant", "one pixel", "infinite", "range"],
)  # fmt: skip
def test_tiles_that_cannot_be_quantized(values):
    with pytest.raises(NotQuantizableError, match="row 7: the tile cannot be quantized") as caught:
        quantize(values, row=7, quantize_level=1e6)
    assert isinstance(caught.value, (TileCompError, ValueError))


def test_arguments_are_checked():
    noise = np.random.default_rng(0).normal(size=50).astype("f4")
    for call, error, message in (
        (lambda: quantize(noise, zquantiz="DITHER"), HeaderError, "ZQUANTIZ is 'DITHER'"),
        (lambda: quantize(noise, zquantiz=METHODS[1], zdither0=0), HeaderError, "ZDITHER0 is 0, expected 1 to 10000"),
        (lambda: quantize(noise, zquantiz=METHODS[1], zdither0=1.5), HeaderError, "ZDITHER0 is 1.5, expected 1 to 10000"),
        (lambda: quantize(noise, row=1.5), TypeError, "integer"),
        (lambda: dequantize(noise.view("i4"), 1, 0, row=1.5), TypeError, "integer"),
        (lambda: quantize(noise, zblank=0), HeaderError, "ZBLANK is 0"),
        (lambda: quantize(np.ma.masked_less(noise, 0)), ValueError, "of 50 pixels are masked"),
        (lambda: Quantize().encode(np.ma.masked_less(noise, 0)), ValueError, "of 50 pixels are masked"),
        (lambda: quantize(noise.astype("i4")), TypeError, "only float32 and float64"),
        (lambda: quantize(noise, quantize_level=np.nan), ValueError, "quantize_level is nan"),
        (lambda: dequantize(np.zeros(3, "i4"), 1, 0, out=np.zeros(3, "i4")), TypeError, "expected float32 or float64"),
        (lambda: dequantize(np.zeros(3, "i4"), 1, 0, out=np.zeros(4, "f4")), ValueError, "4 pixels, the tile 3"),
        (lambda: Quantize(zquantiz=METHODS[1]).encode(noise), ValueError, "depends on the table row"),
        (lambda: Quantize(zquantiz=METHODS[1]).decode(noise.view("i4")), ValueError, "depends on the table row"),
        (lambda: Quantize().decode(noise.view("i4")), ValueError, "zscale of the tile is not known"),
        (lambda: Quantize(zscale=1, zzero=1, codec=Rice1(tilesize=9)).decode(b""), CorruptTileError, "RICE_1"),
        (lambda: Quantize(dtype="f4").encode(noise.astype("f8")), ValueError, "do not fit"),
    ):
        with pytest.raises(error, match=message):
            call()
