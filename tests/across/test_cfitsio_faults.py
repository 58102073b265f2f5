"""
Where libcfitsio, fpack or funpack give a wrong image, no error or worse: here each case gives the right result.

Faults of single streams are in test_plio (lost zeros, room for its lists), test_rice (large blocks) and test_hcompress
(sizes and planes that lie, clipping); this is what goes wrong in whole files.
"""

import gzip
import subprocess
import tracemalloc

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal
from support import needs
from support.faulty_images import assert_reads_as, integers, quantized
from support.small_files import CompressedImage, gzip_1, gzipped, plio_1, rice_1, rice_cards
from support.tiles import each_engine

import astropy_tilecomp as tc
from astropy_tilecomp.codecs import HCompress1

UNQUIET = np.array([np.inf, -np.inf, np.nan, -0.0, 1e-40, 3e38], "f4")


def same_bits(path, expected, **options):
    """Both engines give exactly these bits, down to the signs of zeros."""
    for engine in ("kernel", "cfitsio"):
        got = tc.read_image(path, engine=engine, **options)
        assert got.dtype == expected.dtype.newbyteorder("=")
        assert got.tobytes() == expected.astype(got.dtype).tobytes()


def test_infinities_zeros_and_denormals_of_a_fallen_back_tile(tmp_path):
    """With null checking cfitsio makes infinities undefined and flushes denormals and -0.0."""
    image, values = quantized(integers((6, 9), "i4"), (3, 4), 37, cards=[("ZBLANK", -2147483648)])
    boxes = image.boxes()
    values[boxes[4]].flat[:6] = UNQUIET
    image.heap = b""
    image.add_tiles([None if row == 4 else gzip_1(integers((6, 9), "i4")[box], "i4") for row, box in enumerate(boxes)])
    image.add_tiles([gzip_1(values[box], "f4") if row == 4 else None for row, box in enumerate(boxes)],
                    column="GZIP_COMPRESSED_DATA")
    same_bits(image.write(tmp_path / "fallback.fits"), values)


def test_infinities_of_a_lossless_image_with_zblank(tmp_path):
    """The same, where nothing is quantized."""
    values = np.resize(UNQUIET, (6, 8))
    same_bits(gzipped(values, (3, 4), cards=[("ZBLANK", -5)]).write(tmp_path / "lossless.fits"), values)


def test_scale_columns_beside_zquantiz_none(tmp_path):
    """cfitsio takes the integers for floats, astropy dithers them."""
    image, values = quantized(integers((6, 9), "i4"), (3, 4), 37, method="NO_DITHER")
    image.cards = [("ZQUANTIZ", "NONE"), *image.cards[1:]]
    same_bits(image.write(tmp_path / "none.fits"), values)


def test_scaling_of_floats_holds_for_fallen_back_tiles_too(tmp_path):
    """cfitsio folds BSCALE and BZERO into ZSCALE and ZZERO, and forgets the tiles that have none."""
    image, values = quantized(integers((6, 9), "i4"), (3, 4), 1, cards=[("BSCALE", 2.0), ("BZERO", -1.0)])
    boxes = image.boxes()
    raw = np.random.default_rng(2).normal(0, 9, (6, 9)).astype("f4")
    values[boxes[2]] = raw[boxes[2]]
    image.heap = b""
    image.add_tiles([None if row == 2 else gzip_1(integers((6, 9), "i4")[box], "i4") for row, box in enumerate(boxes)])
    image.add_tiles([gzip_1(raw[box], "f4") if row == 2 else None for row, box in enumerate(boxes)],
                    column="GZIP_COMPRESSED_DATA")
    got = tc.read_image(image.write(tmp_path / "scaled.fits"))
    np.testing.assert_allclose(got, values.astype("f8") * 2 - 1, rtol=1e-6)
    assert_array_equal(got[boxes[2]], raw[boxes[2]] * np.float32(2) - np.float32(1))


def test_blank_stands_in_for_a_missing_zblank(tmp_path):
    """Quantized floats of old writers: undefined where the integer is BLANK."""
    ints = integers((6, 9), "i4")
    ints[[0, 5], [3, 8]] = -999
    image, values = quantized(ints, (3, 4), 5, cards=[("BLANK", -999)])
    values[ints == -999] = np.nan
    assert_reads_as(image.write(tmp_path / "blank.fits"), values)


@pytest.mark.parametrize("zdither0", [0, -1, -9999, 10001, 2**31 - 1])
def test_a_seed_out_of_range(tmp_path, zdither0):
    """cfitsio and astropy read outside of their table of random numbers; here the seed counts modulo 10000."""
    image, values = quantized(integers((6, 9), "i4"), (3, 4), (zdither0 - 1) % 10000 + 1)
    image.cards = [("ZDITHER0", zdither0) if name == "ZDITHER0" else (name, value) for name, value in image.cards]
    assert_reads_as(image.write(tmp_path / "seed.fits"), values)


@pytest.mark.parametrize("algorithm", ["GZIP_1", "GZIP_2"])
@pytest.mark.parametrize(("dtype", "bzero", "result"), [("i8", 0, "i8"), ("i8", 2**63, "u8")])
def test_integers_of_64_bits(tmp_path, algorithm, dtype, bzero, result):
    """cfitsio gives memory that nobody has written to, and status 0."""
    stored = np.random.default_rng(1).integers(-(2**63), 2**63 - 1, (6, 8), dtype)
    image = CompressedImage(stored.shape, (3, 4), 64, algorithm, [("BZERO", bzero)] if bzero else [])
    shuffled = [stored[box].astype(">i8").tobytes() for box in image.boxes()]
    if algorithm == "GZIP_2":
        shuffled = [np.frombuffer(raw, "u1").reshape(-1, 8).T.tobytes() for raw in shuffled]
    image.add_tiles([gzip.compress(raw, mtime=0) for raw in shuffled])
    expected = stored if not bzero else stored.view("u8") + np.uint64(bzero)
    assert_reads_as(image.write(tmp_path / "wide.fits"), expected.astype(result))


@pytest.mark.parametrize("width", ["u1", ">i2"])
@pytest.mark.parametrize("bitpix", [-32, -64])
def test_narrow_pixels_in_a_lossless_float_image(tmp_path, width, bitpix):
    """cfitsio reads 8 bytes for each pixel of a buffer with one or two."""
    image = CompressedImage((6, 8), (6, 8), bitpix, "GZIP_1")
    image.add_tiles([gzip_1(np.zeros((6, 8)), width)])
    for engine in ("kernel", "cfitsio"):
        with pytest.raises(tc.CorruptTileError):
            tc.read_image(image.write(tmp_path / "narrow.fits"), engine=engine)


def test_a_gzip_tile_that_would_fill_the_memory(tmp_path):
    """cfitsio lets a stream inflate without bound, and a cut one grow its buffer until memory ends."""
    bomb = gzip.compress(bytes(64 << 20))
    for stream in (bomb, bomb[:-2000]):
        path = CompressedImage((6, 8), (6, 8), 16, "GZIP_1").add_tiles([stream]).write(tmp_path / "bomb.fits")
        tracemalloc.start()
        with pytest.raises(tc.CorruptTileError):
            tc.read_image(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4 << 20


def test_more_uncompressed_pixels_than_the_tile_has(tmp_path):
    """cfitsio reads as many as the descriptor says into a buffer of one tile."""
    pixels = integers((6, 8))
    image = CompressedImage(pixels.shape, (6, 8), 16, "RICE_1", rice_cards(2))
    image.add_tiles([None]).add_tiles([pixels.astype(">i2").tobytes() * 50], column="UNCOMPRESSED_DATA", form="1PI", element=2)
    path = image.write(tmp_path / "longer.fits")
    for engine in ("kernel", "cfitsio"):
        with pytest.raises(tc.TrailingBytesError, match="complete after 96 bytes, 4800 were given"):
            tc.read_image(path, engine=engine)


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("size", [-4, 0, -(2**31)])
def test_tile_sizes_below_one(tmp_path, axis, size):
    """cfitsio tests ZTILEn for 0 alone; the rest reaches malloc."""
    image = gzipped(integers((6, 8)), (3, 4))
    tile = [3, 4]
    boxes = image.boxes()
    tile[-axis] = size
    image.tile = tuple(tile)
    assert len(boxes) == 4
    with pytest.raises(tc.HeaderError, match=f"ZTILE{axis} is {size}, expected 1 or more"):
        tc.read_image(image.write(tmp_path / "tile.fits"))


@each_engine
def test_extremes_in_long_hcompress_tiles(engine):
    """Coefficients of tiles longer than 8192 pixels do not fit in the 32 bits that cfitsio computes 16-bit pixels with."""
    pixels = np.full((4, 16384), -32768, "i2")
    pixels[:, ::3] = 32767
    codec = HCompress1(dtype="i2", tile_shape=pixels.shape, engine=engine)
    assert_array_equal(codec.decode(codec.encode(pixels)), pixels)


@each_engine
@pytest.mark.parametrize("shape", [(1, 300), (300, 1), (2, 300), (1, 1)], ids=str)
def test_hcompress_tiles_one_pixel_wide(engine, shape):
    """They overflow a scratch buffer of cfitsio."""
    pixels = np.random.default_rng(5).integers(-30000, 30000, shape).astype("i4")
    codec = HCompress1(tile_shape=shape, engine=engine)
    assert_array_equal(codec.decode(codec.encode(pixels)), pixels)


@each_engine
@pytest.mark.parametrize("shape", [(4, 4), (17, 33)], ids=str)
def test_very_noisy_small_hcompress_tiles(engine, shape):
    """They need more than the 2.2 bytes a pixel that cfitsio gives its encoder."""
    pixels = np.random.default_rng(6).integers(-32768, 32768, shape).astype("i2")
    codec = HCompress1(dtype="i2", tile_shape=shape, engine=engine)
    stream = codec.encode(pixels)
    assert_array_equal(codec.decode(stream), pixels)


def test_undefined_pixels_in_square_tiles_unpack_where_they_belong(tmp_path):
    """funpack writes the pixels of such a tile one after the other, as if it were a whole row."""
    ints = integers((6, 9), "i4")
    ints[[1, 4], [2, 7]] = -2147483648
    image, values = quantized(ints, (3, 4), 5, cards=[("ZBLANK", -2147483648)])
    values[ints == -2147483648] = np.nan
    tc.unpack(image.write(tmp_path / "square.fits"), tmp_path / "plain.fits")
    with fits.open(tmp_path / "plain.fits") as hdul:
        assert_array_equal(hdul[-1].data, values)


def test_a_file_cut_in_a_tile_is_not_unpacked(tmp_path):
    """funpack takes the end of the file for that of the image: exit code 0 and a wrong file."""
    pixels = integers((64, 64), "i4", -(2**30), 2**30)
    path, target = tmp_path / "cut.fits", tmp_path / "plain.fits"
    path.write_bytes(gzipped(pixels, (8, 64)).write(path).read_bytes()[:-6000])
    with pytest.raises(tc.TileCompError):
        tc.unpack(path, target)
    assert not target.exists()


def test_masks_of_unsigned_images_written_by_astropy_and_by_cfitsio(tmp_path):
    """cfitsio codes the value itself where BZERO is 32768, which astropy forgets to take back."""
    stored = integers((6, 8), "i2", -32768, 32767)
    image = CompressedImage(stored.shape, (3, 4), 16, "PLIO_1", [("BZERO", 32768), ("BSCALE", 1)])
    streams = [plio_1(stored[box].astype("i4") + 32768) for box in image.boxes()]
    image.add_tiles(streams, form="1PI", element=2)
    assert_reads_as(image.write(tmp_path / "plio.fits"), (stored.astype("i4") + 32768).astype("u2"))


def test_old_rice_tiles_of_8_bytes_are_refused(tmp_path):
    """cfitsio decodes BYTEPIX 8 as if it were 4."""
    pixels = integers((6, 8), "i4")
    image = CompressedImage(pixels.shape, (6, 8), 32, "RICE_1", rice_cards(8)).add_tiles([rice_1(pixels, 4)])
    with pytest.raises(tc.UnsupportedError, match="BYTEPIX is 8"):
        tc.read_image(image.write(tmp_path / "bytepix.fits"))


@pytest.mark.parametrize("scale", [2, 8])
@pytest.mark.parametrize("level", [4, -0.5])
def test_undefined_pixels_in_lossy_hcompress_of_fpack(scale, level, tmp_path):
    """
    fpack lets the transform move ZBLANK, which lies 10 below the least pixel, by more than 10: the NaN are lost in the file.

    Integers that leave the range on the way wrap in cfitsio, so that pixels next to the least one become the greatest.
    """
    image = np.random.default_rng(1).normal(1000, 10, (64, 64)).astype("f4")
    image[10:13, 20:24] = image[40, 5] = np.nan
    fits.PrimaryHDU(image).writeto(tmp_path / "a.fits")
    path = tmp_path / "a.fits.fz"
    subprocess.run([needs.tool("fpack"), "-h", "-s", str(scale), "-q", str(level), "-O", path, tmp_path / "a.fits"], check=True)
    got, defined = tc.read_image(path), np.isfinite(image)
    assert_array_equal(tc.read_image(path, engine="cfitsio"), got)
    with fits.open(path, disable_image_compression=True) as hdus:
        step = np.max(hdus[1].data["ZSCALE"])
    assert np.nanmax(np.abs(got - image)[defined]) < 400 * step  # wrapped it would be 2**32 steps; fpack dithers by the clock
    assert np.nanmax(np.abs(got - 1000)) < 400 * step + 100

    tc.write_image(tmp_path / "own.fits", image, algorithm="HCOMPRESS_1", hcomp_scale=scale, quantize_level=level)
    assert_array_equal(np.isnan(tc.read_image(tmp_path / "own.fits")), ~defined)
