"""The last step of decoding and the first of encoding, alone and as part of the whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from astropy_tilecomp.codecs import codec_for, dequantize, finalize, prepare
from astropy_tilecomp.tiling.params import CompressionParams

SHAPE = (3, 20)
RNG = np.random.default_rng(5)


def params(zbitpix=16, **settings):
    """Parameters of a small image."""
    zcmptype = settings.pop("zcmptype", "GZIP_1" if zbitpix < 0 or zbitpix == 64 else "RICE_1")
    return CompressionParams(
        zcmptype=zcmptype, zbitpix=zbitpix, image_shape=SHAPE, tile_shape=SHAPE,
        bytepix={8: 1, 16: 2}.get(zbitpix, 4), **settings,
    )  # fmt: skip


def quantized(zbitpix=-32, **settings):
    """Parameters of a small quantized image."""
    settings = {"zquantiz": "SUBTRACTIVE_DITHER_2", "zdither0": 11, **settings}
    return params(zbitpix, zcmptype="RICE_1", quantized=True, **settings)


@pytest.mark.parametrize(
    ("zbitpix", "bzero", "dtype"), [(8, -128, "i1"), (16, 2**15, "u2"), (32, 2**31, "u4"), (64, 2**63, "u8")]
)
@pytest.mark.parametrize("order", "<>")
def test_integer_offsets(zbitpix, bzero, dtype, order):
    """Unsigned and signed-byte images: exact over the whole range."""
    image = params(zbitpix, bzero=bzero)
    values = RNG.integers(0, 2**64, SHAPE, dtype="u8").astype(f"u{zbitpix // 8}").view(dtype)
    values[0, :2] = np.iinfo(dtype).min, np.iinfo(dtype).max
    tile = prepare(values, image)
    assert tile.pixels.dtype == image.dtype
    assert tile.zscale is None
    expected = [int(value) - bzero for value in values.ravel()]
    assert [int(pixel) for pixel in tile.pixels.ravel()] == expected
    stored = tile.pixels.astype(tile.pixels.dtype.newbyteorder(order))
    assert finalize(stored, image).dtype == np.dtype(dtype)
    assert_array_equal(finalize(stored, image), values)
    assert_array_equal(finalize(stored, image, scaled=False), tile.pixels)


@pytest.mark.parametrize(("zbitpix", "dtype"), [(8, "f4"), (16, "f4"), (32, "f8"), (64, "f8")])
def test_scaled_integers(zbitpix, dtype):
    image = params(zbitpix, bscale=0.25, bzero=-3.0, blank=100)
    stored = np.array([[0, 1, 100, 120]], image.dtype)
    values = finalize(stored, image)
    assert values.dtype == np.dtype(dtype)
    assert_array_equal(values, [[-3, -2.75, np.nan, 27]])
    assert_array_equal(prepare(values, image).pixels, stored)
    assert finalize(stored, image, scaled=False).dtype == image.dtype
    assert_array_equal(finalize(stored, image, scaled=False), stored)


def test_blank_alone():
    image = params(16, blank=-7)
    values = finalize(np.array([-7, 7], "i2"), image)
    assert values.dtype == np.float32
    assert_array_equal(values, [np.nan, 7])


def test_zblank_of_an_integer_tile():
    """Pan-STARRS: the tile's ZBLANK differs from the image's BLANK."""
    image = params(16, blank=-7)
    assert_array_equal(finalize(np.array([5, -7, 3], "i2"), image, zblank=5), [np.nan, np.nan, 3])
    assert_array_equal(finalize(np.array([5, -7, 3], "i2"), image, zblank=5, scaled=False), [-7, -7, 3])
    assert_array_equal(finalize(np.array([5, -7], "i2"), params(16), zblank=5), [5, -7])


@pytest.mark.parametrize(("zbitpix", "blank"), [(8, -128), (16, 70000), (32, 2**35)])
def test_blank_that_no_pixel_can_have(zbitpix, blank):
    """The header of an 8-bit image with a ZBLANK column alone leads to the first."""
    assert_array_equal(finalize(np.array([5, 3], "i2"), params(zbitpix, blank=blank), zblank=5, scaled=False), [5, 3])


def test_clipping_to_the_type_of_the_image():
    for zbitpix, expected in ((8, [0, 0, 255]), (16, [-32768, 5, 32767]), (32, [-(2**31), 5, 2**31 - 1])):
        pixels = np.array([-(2**40), 0 if zbitpix == 8 else 5, 2**40])
        assert_array_equal(finalize(pixels, params(zbitpix)), expected)


@pytest.mark.parametrize("zbitpix", [-32, -64])
@pytest.mark.parametrize("order", "<>")
def test_quantized_tiles(zbitpix, order):
    image = quantized(zbitpix)
    integers = RNG.integers(-50, 50, SHAPE).astype(order + "i4")
    integers[0, 0] = -(2**31)
    values = finalize(integers, image, row=4, zscale=0.3, zzero=9.0, zblank=-(2**31))
    out = np.empty(SHAPE, image.dtype)
    expected = dequantize(integers, 0.3, 9.0, row=4, zquantiz=image.zquantiz, zdither0=11, zblank=-(2**31), out=out)
    assert_array_equal(values, expected)
    assert np.isnan(values[0, 0])
    constants = quantized(zbitpix, zscale=0.3, zzero=9.0, zblank=-(2**31))
    assert_array_equal(finalize(integers, constants, row=4), expected)
    with pytest.raises(ValueError, match="row 4: a quantized tile needs zscale and zzero"):
        finalize(integers, image, row=4)


@pytest.mark.parametrize("column", ["GZIP_COMPRESSED_DATA", "UNCOMPRESSED_DATA"])
def test_fallback_tiles_are_taken_as_they_are(column):
    """Floats: no dequantizing, no null test, every bit; BSCALE and BZERO apply to them as to all tiles."""
    pixels = np.array([1, np.nan, -np.inf, -0.0, 1e-42], "f4")
    image = quantized(zblank=1)
    assert finalize(pixels, image, column=column).tobytes() == pixels.tobytes()
    scaled = quantized(bscale=2.0, bzero=1.0)
    assert_array_equal(finalize(pixels, scaled, column=column), pixels * 2 + 1)


def test_out_and_shape():
    """S15, S44."""
    image = params(16, bzero=2**15)
    flat = np.arange(60, dtype="i2")
    for out in (np.empty(SHAPE, "u2"), np.empty(SHAPE, ">u2"), np.empty(SHAPE[::-1], "u2").T):
        assert finalize(flat, image, tile_shape=SHAPE, out=out) is out
        assert_array_equal(out.reshape(-1), flat.astype(int) + 2**15)
    with pytest.raises(ValueError, match="out has the shape"):
        finalize(flat, image, out=np.empty(59, "u2"))
    with pytest.raises(TypeError, match="cannot hold"):
        finalize(flat, image, out=np.empty(60, "i2"))


@given(st.data())
def test_prepare_is_the_inverse(data):
    zbitpix = data.draw(st.sampled_from([8, 16, 32]))
    bscale, bzero = data.draw(st.sampled_from([(1, 0), (0.5, 0), (2, 7), (0.25, -1000)]))
    image = params(zbitpix, bscale=bscale, bzero=bzero)
    limits = np.iinfo(image.dtype)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    stored = rng.integers(max(limits.min, -(2**22)), min(limits.max, 2**22), SHAPE).astype(image.dtype)
    assert_array_equal(prepare(finalize(stored, image), image).pixels, stored)


def test_prepare_of_floats():
    noise = RNG.normal(3, 1, SHAPE).astype("f4")
    noise[0, 0] = np.nan
    image = quantized()
    tile = prepare(noise, image, row=2)
    assert tile.pixels.dtype == np.int32
    assert tile.zblank == -(2**31)
    values = finalize(tile.pixels, image, row=2, zscale=tile.zscale, zzero=tile.zzero, zblank=tile.zblank)
    assert np.nanmax(np.abs(values - noise)) < tile.zscale
    constant = np.full(SHAPE, 3, "f4")
    tile = prepare(constant, image)
    assert tile.column == "GZIP_COMPRESSED_DATA"
    assert tile.zscale is None
    codec = codec_for(image, column=tile.column)
    assert_array_equal(finalize(codec.decode(codec.encode(tile.pixels)), image, column=tile.column), constant)
    assert prepare(noise, params(-32)).pixels.tobytes() == noise.tobytes()


def test_prepare_refuses_what_does_not_fit():
    for image, values, message in (
        (params(16), [40000], "do not fit int16"),
        (params(16, bzero=2**15), [-1], "do not fit uint16"),
        (params(16), [np.nan], "without BLANK"),
        (params(16, blank=70000), [np.nan], "without BLANK in their range"),
        (params(8, bscale=0.5), [200.0], "do not fit uint8"),
        (params(32), np.float32([2**31]), "do not fit int32"),
        (params(32, bzero=2**31), np.float32([2**32]), "do not fit uint32"),
        (params(64), np.float64([2**63]), "do not fit int64"),
        (params(64, bzero=2**63), np.float64([2**64]), "do not fit uint64"),
    ):
        with pytest.raises(ValueError, match=message):
            prepare(np.array(values), image)
    with pytest.raises(ValueError, match="1 of 2 pixels are masked"):
        prepare(np.ma.masked_equal([1, 2], 2), params(16))
    image = params(16, blank=-1)
    assert_array_equal(prepare(np.array([np.nan, 2.0]), image).pixels, [-1, 2])


def test_prepare_takes_the_nearest_integers():
    assert_array_equal(prepare(np.array([2.7, 3.2]), params(16)).pixels, [3, 3])
    assert_array_equal(prepare(np.array([2.7, 3.2]), params(16, bzero=2**15)).pixels, [3 - 2**15, 3 - 2**15])
