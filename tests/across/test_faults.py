"""Small files with one peculiarity or one fault each, made in the test: the right pixels, or an error that says what is wrong."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal
from support import needs
from support.faulty_images import assert_reads_as, integers, quantized
from support.small_files import (
    PRIMARY,
    CompressedImage,
    gzip_1,
    gzipped,
    plio_1,
    rice_1,
    rice_cards,
    tile_boxes,
)

import astropy_tilecomp as tc

DATA_ERRORS = (tc.CorruptTileError, tc.HeaderError, tc.UnsupportedError)


def assert_refused(path, error=DATA_ERRORS, match=None, hdu=1):
    """Reading raises a named error, whole and in part, by both engines."""
    for engine in ("kernel", "cfitsio"):
        with tc.open(path, engine=engine) as hdul, pytest.raises(error, match=match):
            hdul[hdu].data
        with tc.open(path, engine=engine) as hdul, pytest.raises(error, match=match):
            hdul[hdu].section[:1]


# --- undefined pixels and scaling ------------------------------------------------------------------------------------


@pytest.mark.parametrize("keyword", ["BLANK", "ZBLANK"])
def test_undefined_pixels_of_integers_are_nan(tmp_path, keyword):
    stored = integers((6, 8))
    stored[[0, 2, 5], [0, 5, 7]] = -32768
    path = gzipped(stored, (3, 4), cards=[(keyword, -32768)]).write(tmp_path / "blank.fits")
    assert_reads_as(path, np.where(stored == -32768, np.nan, stored).astype("f4"))


@pytest.mark.parametrize(("dtype", "kind"), [("i2", "f4"), ("i4", "f8"), ("u1", "f4")])
def test_scaled_integers_become_floats(tmp_path, dtype, kind):
    stored = integers((6, 8), dtype, 0, 200)
    path = gzipped(stored, (3, 4), cards=[("BSCALE", 0.5), ("BZERO", 10.0)]).write(tmp_path / "scaled.fits")
    assert_reads_as(path, (stored * 0.5 + 10).astype(kind))


@pytest.mark.parametrize(("dtype", "bzero", "result"), [("i2", 2**15, "u2"), ("i4", 2**31, "u4"), ("u1", -128, "i1")])
def test_integer_offsets_give_the_other_sign(tmp_path, dtype, bzero, result):
    info = np.iinfo(dtype)
    stored = integers((6, 8), dtype, info.min, info.max)
    stored[0, :2] = info.min, info.max
    path = gzipped(stored, (4, 5), cards=[("BSCALE", 1), ("BZERO", bzero)]).write(tmp_path / "offset.fits")
    assert_reads_as(path, (stored.astype("i8") + bzero).astype(result))
    with tc.open(path) as hdul:
        assert hdul[1].section.dtype == np.dtype(result)


def test_editing_the_header_of_a_scaled_image_keeps_the_pixels(tmp_path):
    needs.face("write_image")
    stored = integers((6, 8))
    path = gzipped(stored, (3, 4), cards=[("BSCALE", 0.5), ("BZERO", 10.0)]).write(tmp_path / "edit.fits")
    for n in range(3):
        with tc.open(path, mode="update") as hdul:
            hdul[1].header["EXPTIME"] = n
    with tc.open(path) as hdul:
        assert hdul[1].header["EXPTIME"] == 2
        assert_array_equal(hdul[1].data, (stored * 0.5 + 10).astype("f4"))


# --- quantized floats ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bitpix", [-32, -64])
@pytest.mark.parametrize(("method", "zdither0"), [("NO_DITHER", None), ("SUBTRACTIVE_DITHER_1", 37),
                                                  ("SUBTRACTIVE_DITHER_1", 9999)])
def test_quantized_floats(tmp_path, method, zdither0, bitpix):
    image, values = quantized(integers((6, 9), "i4"), (3, 4), zdither0, method=method, bitpix=bitpix)
    assert_reads_as(image.write(tmp_path / "quantized.fits"), values)


def test_a_missing_seed_is_1(tmp_path):
    image, values = quantized(integers((6, 8), "i4"), (3, 4), None)
    assert_reads_as(image.write(tmp_path / "seed.fits"), values)


@pytest.mark.parametrize("as_column", [False, True], ids=["keyword", "column"])
def test_undefined_pixels_use_up_a_random_number(tmp_path, as_column):
    ints = integers((6, 9), "i4")
    ints[[0, 2, 5], [1, 5, 8]] = -2147483648
    image, values = quantized(ints, (3, 4), 5, cards=[] if as_column else [("ZBLANK", -2147483648)])
    if as_column:
        image.add_column("ZBLANK", np.full(len(image.boxes()), -2147483648), "1J", ">i4")
    values[ints == -2147483648] = np.nan
    assert_reads_as(image.write(tmp_path / "zblank.fits"), values)


def test_zero_pixels_of_the_second_dither_method_stay_zero(tmp_path):
    ints = integers((6, 9), "i4")
    ints[[1, 3], [2, 7]] = -2147483646
    image, values = quantized(ints, (3, 4), 5, method="SUBTRACTIVE_DITHER_2")
    values[ints == -2147483646] = 0
    assert_reads_as(image.write(tmp_path / "zero.fits"), values)


def test_scale_and_zero_as_keywords(tmp_path):
    ints = integers((6, 8), "i4")
    image = CompressedImage(ints.shape, (3, 4), -32, "GZIP_1",
                            [("ZQUANTIZ", "NO_DITHER"), ("ZSCALE", 0.25), ("ZZERO", 10.0)])
    image.add_tiles([gzip_1(ints[box], "i4") for box in image.boxes()])
    assert_reads_as(image.write(tmp_path / "keywords.fits"), (ints * 0.25 + 10).astype("f4"))


@pytest.mark.parametrize("method", ["NO_DITHER", "NONE", "SUBTRACTIVE_DITHER_1"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_floats_without_scale_columns_are_bit_for_bit(tmp_path, method, dtype):
    values = np.random.default_rng(1).normal(0, 1, (6, 8)).astype(dtype)
    values[0, :5] = np.inf, -np.inf, -0.0, 1e-40, np.nan
    path = gzipped(values, (4, 5), cards=[("ZQUANTIZ", method), ("ZDITHER0", 1)]).write(tmp_path / "lossless.fits")
    assert_reads_as(path, values)
    assert tc.read_image(path).astype(f"<{dtype}").tobytes() == values.astype(f"<{dtype}").tobytes()


def test_tiles_that_fell_back_take_no_scale(tmp_path):
    image, values = quantized(integers((6, 9), "i4"), (3, 4), 37)
    raw = np.random.default_rng(2).normal(0, 1e9, (6, 9)).astype("f4")
    streams, fallback, plain = [], [], []
    for row, box in enumerate(image.boxes()):
        if row in (1, 4):
            values[box] = raw[box]
        stream = gzip_1(integers((6, 9), "i4")[box], "i4")
        streams.append(None if row in (1, 4) else stream)
        fallback.append(gzip_1(raw[box], "f4") if row == 1 else None)
        plain.append(raw[box].astype(">f4").tobytes() if row == 4 else None)
    image.heap = b""
    image.add_tiles(streams).add_tiles(fallback, column="GZIP_COMPRESSED_DATA")
    image.add_tiles(plain, column="UNCOMPRESSED_DATA", form="1PE", element=4)
    assert_reads_as(image.write(tmp_path / "fallback.fits"), values)


@pytest.mark.parametrize(("dtype", "bitpix", "bytepix"), [("i2", 16, 2), ("i4", 32, 4)])
def test_integer_tiles_that_fell_back(tmp_path, dtype, bitpix, bytepix):
    pixels = integers((6, 8), dtype)
    image = CompressedImage(pixels.shape, (3, 4), bitpix, "RICE_1", rice_cards(bytepix))
    streams = [rice_1(pixels[box], bytepix) for box in image.boxes()]
    image.add_tiles([None if row == 2 else stream for row, stream in enumerate(streams)])
    raw = [gzip_1(pixels[box], dtype) if row == 2 else None for row, box in enumerate(image.boxes())]
    image.add_tiles(raw, column="GZIP_COMPRESSED_DATA")
    assert_reads_as(image.write(tmp_path / "fallback.fits"), pixels)


def test_null_pixel_mask(tmp_path):
    ints = integers((6, 8), "i4")
    image, values = quantized(ints, (3, 4), None, method="NO_DITHER", cards=[("ZMASKCMP", "GZIP_1")])
    lost = np.zeros(ints.shape, "u1")
    lost[[0, 1, 5], [0, 6, 5]] = 1
    masks = [gzip_1(lost[box], "u1") if lost[box].any() else None for box in image.boxes()]
    image.add_tiles(masks, column="NULL_PIXEL_MASK")
    assert_reads_as(image.write(tmp_path / "mask.fits"), np.where(lost, np.float32(np.nan), values))


# --- algorithms and their parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("bytepix", "bitpix", "blocksize", "name", "low", "high"), [
    (4, 16, 32, "RICE_1", -3000, 3000), (4, 8, 32, "RICE_1", 0, 256), (2, 8, 16, "RICE_1", 0, 256),
    (2, 32, 32, "RICE_ONE", -30, 30), (1, 16, 32, "RICE_1", 0, 256), (2, 16, 16, "RICE_1", -32768, 32768),
    (1, 8, 64, "RICE_1", 0, 256),
])
def test_rice_pixels_of_another_width(tmp_path, bytepix, bitpix, blocksize, name, low, high):
    pixels = integers((7, 11), {8: "u1", 16: "i2", 32: "i4"}[bitpix], low, high)
    image = CompressedImage(pixels.shape, (3, 4), bitpix, name, rice_cards(bytepix, blocksize))
    image.add_tiles([rice_1(pixels[box], bytepix, blocksize) for box in image.boxes()])
    assert_reads_as(image.write(tmp_path / "rice.fits"), pixels)


@pytest.mark.parametrize(("dtype", "bitpix"), [("i2", 16), ("i4", 32)])
def test_rice_parameters_that_are_missing(tmp_path, dtype, bitpix):
    pixels = integers((6, 9), dtype)
    image = CompressedImage(pixels.shape, (4, 9), bitpix, "RICE_1")
    image.add_tiles([rice_1(pixels[box], 4) for box in image.boxes()])
    assert_reads_as(image.write(tmp_path / "defaults.fits"), pixels)


def test_bytes_behind_a_complete_tile_warn_once(tmp_path):
    pixels = integers((8, 12), "i4")
    image = CompressedImage(pixels.shape, (4, 6), 32, "RICE_1", rice_cards(4))
    image.add_tiles([rice_1(pixels[box], 4) + bytes(6) for box in image.boxes()])
    path = image.write(tmp_path / "trailing.fits")
    with tc.open(path) as hdul, pytest.warns(tc.TileCompWarning) as warnings:
        assert_array_equal(hdul[1].section[...], pixels)
        assert_array_equal(hdul[1].section[:2], pixels[:2])
    assert len([w for w in warnings if issubclass(w.category, tc.TileCompWarning)]) == 1


def test_a_codec_refuses_bytes_left_over():
    from astropy_tilecomp import codecs

    pixels = integers((256,), "i2")
    decoder = codecs.Rice1(blocksize=32, bytepix=2, tilesize=256)
    stream = rice_1(pixels, 2)
    for given in (stream, bytearray(stream), memoryview(stream), np.frombuffer(stream, "u1")):
        assert_array_equal(np.ravel(decoder.decode(given)), pixels)
    with pytest.raises(tc.TrailingBytesError, match=str(len(stream))):
        decoder.decode(stream + b"spare")


def test_plio_keeps_unsigned_pixels_as_they_are(tmp_path):
    pixels = integers((12, 20), "u2", 0, 65536)
    pixels[3, 3], pixels[4] = 65535, 0
    image = CompressedImage(pixels.shape, (5, 20), 16, "PLIO_1", [("BZERO", 32768), ("BSCALE", 1)])
    image.add_tiles([plio_1(pixels[box]) for box in image.boxes()], form="1PI", element=2)
    assert_reads_as(image.write(tmp_path / "plio.fits"), pixels)


@pytest.mark.parametrize("length", [2, 4, 12, 14, 16, 40, 126])
def test_a_plio_tile_that_is_cut(tmp_path, length):
    pixels = integers((16, 16), "i4", 1, 7)
    image = CompressedImage(pixels.shape, (16, 16), 32, "PLIO_1")
    image.add_tiles([plio_1(pixels)[:length]], form="1PI", element=2)
    assert_refused(image.write(tmp_path / "cut.fits"), tc.CorruptTileError)


HCOMPRESS_4X4 = bytes.fromhex(
    "dd99 00000004 00000004 00000004 000000000000001a 020303 f8fdfbffbf9effef7effeff800a0"
)


def hcompress_image(stream):
    return CompressedImage((4, 4), (4, 4), 16, "HCOMPRESS_1", [("ZNAME1", "SCALE"), ("ZVAL1", 4.0), ("ZNAME2", "SMOOTH"),
                                                               ("ZVAL2", 0)]).add_tiles([stream])


def test_a_hcompress_tile(tmp_path):
    path = hcompress_image(HCOMPRESS_4X4).write(tmp_path / "good.fits")
    assert_reads_as(path, np.array([[10, 12, 12, 12], [12, 30, 12, 12], [10, 10, 11, 13], [10, 10, 11, 13]], "i2"))


@pytest.mark.parametrize("size", [(512, 512), (40000, 40000), (-4, -4), (2, 8), (8, 2), (0, 0), (2**31 - 1, 1)], ids=str)
def test_a_hcompress_tile_that_lies_about_its_size(tmp_path, size):
    stream = HCOMPRESS_4X4[:2] + np.array(size, ">i4").tobytes() + HCOMPRESS_4X4[10:]
    assert_refused(hcompress_image(stream).write(tmp_path / "lies.fits"), tc.CorruptTileError)


@pytest.mark.parametrize("length", range(len(HCOMPRESS_4X4) - 3))
def test_a_hcompress_tile_that_is_cut(tmp_path, length):
    assert_refused(hcompress_image(HCOMPRESS_4X4[:length] or b"\0").write(tmp_path / "cut.fits"), tc.CorruptTileError)


@pytest.mark.parametrize("fault", ["cut", "checksum", "length", "short", "bomb", "zlib", "two members", "two halves", "trailing"])
def test_a_gzip_tile_that_is_broken(tmp_path, fault):
    pixels = integers((16, 16), "i4")
    whole = gzip_1(pixels, "i4")
    stream = {
        "cut": whole[: len(whole) // 2], "checksum": whole[:-8] + bytes(4) + whole[-4:], "length": whole[:-4] + bytes(4),
        "short": gzip_1(pixels[:, :12], "i4"), "bomb": gzip_1(np.zeros(1 << 26), "u1"), "zlib": b"\x78\x9c" + whole[10:-8],
        "two members": gzip_1(pixels[:12], "i4") + gzip_1(pixels[12:], "i4"),
        "two halves": gzip_1(pixels[:8], "i4") + gzip_1(pixels[8:], "i4"), "trailing": whole[:10],
    }[fault]
    image = CompressedImage(pixels.shape, (16, 16), 32, "GZIP_1").add_tiles([stream])
    assert_refused(image.write(tmp_path / "broken.fits"), tc.CorruptTileError)


# --- geometry --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "tile"), [((3, 7, 11), (2, 3, 4)), ((23,), (5,)), ((2, 3, 2, 5), (1, 2, 2, 3)),
                                             ((2, 1, 3, 2, 2, 3), (1, 1, 2, 2, 1, 2))], ids=str)
@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "f4", "f8"])
def test_edge_tiles(tmp_path, shape, tile, dtype):
    pixels = integers(shape, dtype, 0, 200)
    assert_reads_as(gzipped(pixels, tile).write(tmp_path / "edge.fits"), pixels)


def test_tile_larger_than_the_image(tmp_path):
    pixels = integers((7, 11), "i4")
    image = CompressedImage(pixels.shape, (20, 64), 32, "RICE_1", rice_cards(4)).add_tiles([rice_1(pixels, 4)])
    assert_reads_as(image.write(tmp_path / "larger.fits"), pixels)


def test_without_ztile_the_tiles_are_rows(tmp_path):
    pixels = integers((5, 3, 7))
    path = gzipped(pixels, (1, 1, 7)).write(tmp_path / "rows.fits", leave_out=["ZTILE"])
    assert_reads_as(path, pixels)


@pytest.mark.parametrize("shape", [(0, 5), (4, 0)], ids=str)
def test_an_axis_without_pixels(tmp_path, shape):
    image = CompressedImage(shape, (1, 5), 16, "GZIP_1").set_descriptors(np.zeros((0, 2), int))
    assert_reads_as(image.write(tmp_path / "empty.fits"), np.zeros(shape, "i2"))


CUBE_INDICES = [
    np.s_[2:5, 3, ::2], np.s_[::-1], np.s_[5:2:-1, ::-2, 4], np.s_[3:3], np.s_[..., 1], np.s_[-1], np.s_[6:0:-3],
    np.s_[2:100], np.s_[10:], np.s_[7:7, 0], np.s_[3, 4, 2], np.s_[1:2, ..., 0], np.s_[()], np.s_[:, :, -1:],
]


@pytest.mark.parametrize("index", CUBE_INDICES, ids=str)
@pytest.mark.parametrize("loaded", [False, True])
def test_parts_of_a_cube(tmp_path, index, loaded):
    pixels = np.arange(7 * 11 * 5, dtype="i4").reshape(7, 11, 5)
    path = gzipped(pixels, (3, 4, 2)).write(tmp_path / "cube.fits")
    with tc.open(path) as hdul:
        if loaded:
            assert hdul[1].data.shape == pixels.shape
        assert_array_equal(hdul[1].section[index], pixels[index])


@pytest.mark.parametrize("index", [7, (0, 11), 1.5, "a", (0, 0, 0, 0), (Ellipsis, Ellipsis)], ids=str)
def test_indices_that_numpy_refuses(tmp_path, index):
    pixels = np.zeros((7, 11, 5), "i4")
    with tc.open(gzipped(pixels, (3, 4, 2)).write(tmp_path / "cube.fits")) as hdul, pytest.raises(IndexError):
        hdul[1].section[index]


@pytest.mark.parametrize("memmap", [True, False])
def test_parts_read_by_eight_threads(tmp_path, memmap):
    pixels = integers((128, 128))
    path = gzipped(pixels, (16, 16)).write(tmp_path / "parallel.fits")
    with tc.open(path, memmap=memmap) as hdul, ThreadPoolExecutor(8) as pool:
        section = hdul[1].section
        for n, row in enumerate(pool.map(lambda n: section[n % 128], range(512))):
            assert_array_equal(row, pixels[n % 128])


@pytest.mark.parametrize("what", ["hdu", "section"])
def test_pickles_read_the_same(tmp_path, what):
    pixels = integers((12, 20))
    with tc.open(gzipped(pixels, (4, 5)).write(tmp_path / "pickle.fits")) as hdul:
        copy = pickle.loads(pickle.dumps(hdul[1] if what == "hdu" else hdul[1].section))
    assert_array_equal(copy.data if what == "hdu" else copy[...], pixels)


# --- the heap --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["1PB(90)", "1QB(90)", "PB(90)"])
def test_heap_with_gap_and_any_order(tmp_path, form):
    pixels = integers((8, 12), "i2")
    pixels[4:, :6] = pixels[:4, 6:]
    image = CompressedImage(pixels.shape, (4, 6), 16, "GZIP_1", gap=200)
    at = {}
    for row in (3, 0, 1):
        stream = gzip_1(pixels[image.boxes()[row]], "i2")
        at[row] = len(stream), len(image.heap)
        image.heap += stream + b"spare bytes"
    at[2] = at[1]
    image.set_descriptors([at[row] for row in range(4)], form=form)
    assert_reads_as(image.write(tmp_path / "heap.fits"), pixels)


@pytest.mark.parametrize(("form", "count", "offset"), [
    ("1PB", None, -50), ("1PB", None, -(2**31) + 5), ("1PB", None, 10**8), ("1PB", 10**9, 0), ("1PB", -5, 0),
    ("1QB", None, -(2**40)), ("1QB", 2**40, 0), ("1QB", 2**62, 2**62), ("1QB", -1, -1),
])
def test_a_descriptor_that_points_outside_of_the_heap(tmp_path, form, count, offset):
    pixels = integers((32, 16), "i4")
    image = gzipped(pixels, (16, 16))
    descriptors = image.columns["COMPRESSED_DATA"][1].astype("i8")
    descriptors[0] = descriptors[0, 0] if count is None else count, offset
    path = image.set_descriptors(descriptors, form=form).write(tmp_path / "outside.fits")
    assert_refused(path, tc.CorruptTileError, match="row 0")
    with tc.open(path) as hdul:
        assert_array_equal(hdul[1].section[16:], pixels[16:])
    with tc.open(path, on_error="fill") as hdul:
        got = hdul[1].data
        assert_array_equal(got[16:], pixels[16:])
        assert not got[:16].any()
        assert len(hdul[1].damaged_tiles) == 1


def test_a_descriptor_past_two_gigabytes(tmp_path):
    pixels = integers((4, 8), "i4")
    first, second = gzip_1(pixels[:2], "i4"), gzip_1(pixels[2:], "i4")
    far = 2**31 + 4096
    image = CompressedImage(pixels.shape, (2, 8), 32, "GZIP_1", heap=first, heap_nbytes=far + len(second))
    path = image.set_descriptors([(len(first), 0), (len(second), far)]).write(tmp_path / "far.fits")
    start = path.stat().st_size - 2880 + len(image.table_bytes())
    with path.open("r+b") as file:
        file.seek(start + far)
        file.write(second)
        file.truncate(start + far + 2880 * 2)
    assert_reads_as(path, pixels)


# --- headers ---------------------------------------------------------------------------------------------------------


def test_header_of_a_packed_primary_image(tmp_path):
    pixels = np.arange(77, dtype="i2").reshape(7, 11)
    image = gzipped(pixels, (7, 11), cards=[
        ("ZSIMPLE", True), ("ZEXTEND", True), ("EXTNAME", "COMPRESSED_IMAGE"), ("ZNAXIS3", 0), ("ZQUANTIZ", "NO_DITHER"),
        ("ZPOS", 3), ("ZERO", 4.5), ("LONGSTR", "y" * 90), ("COMMENT", "one"), ("EXPTIME", 1.5), ("COMMENT", "two"),
        ("HISTORY", "step"), ("ESO DET NAME", "abc"),
    ])
    with tc.open(image.write(tmp_path / "primary.fits")) as hdul:
        header = hdul[1].header
        assert_array_equal(hdul[1].data, pixels)
    kept = {"BITPIX": 16, "NAXIS": 2, "NAXIS1": 11, "NAXIS2": 7, "ZPOS": 3, "ZERO": 4.5, "LONGSTR": "y" * 90,
            "EXPTIME": 1.5, "ESO DET NAME": "abc"}
    assert {keyword: header[keyword] for keyword in kept} == kept
    assert (list(header["COMMENT"]), list(header["HISTORY"])) == (["one", "two"], ["step"])
    for keyword in ("ZQUANTIZ", "ZNAXIS3", "NAXIS3", "TFORM1", "ZIMAGE", "ZCMPTYPE"):
        assert keyword not in header


@pytest.mark.parametrize(("leave_out", "cards", "bitpix", "algorithm"), [
    (["ZNAXIS1"], [], 16, "GZIP_1"), (["ZBITPIX"], [], 16, "GZIP_1"), ([], [], 12, "GZIP_1"), ([], [], 16, "BZIP2_1"),
    ([], [], 16, "NEW_1"), (["ZCMPTYPE"], [], 16, "GZIP_1"), ([], [("ZNAXIS1", -1)], 16, "GZIP_1"),
])
def test_headers_that_make_no_sense(tmp_path, leave_out, cards, bitpix, algorithm):
    image = gzipped(integers((6, 8)), (3, 4), bitpix=bitpix, cards=cards)
    image.algorithm = algorithm
    if cards:
        leave_out = [cards[0][0]]
        text = image.hdu_bytes().replace(b"ZNAXIS1 =                    8", b"ZNAXIS1 =                   -8")
        path = tmp_path / "header.fits"
        path.write_bytes(PRIMARY + text)
    else:
        path = image.write(tmp_path / "header.fits", leave_out)
    assert_refused(path, (tc.HeaderError, tc.UnsupportedError))


@pytest.mark.parametrize("blocksize", [0, -1, 2**16 + 1, 2**31 - 1])
def test_a_block_size_that_is_absurd(tmp_path, blocksize):
    pixels = integers((6, 8))
    image = CompressedImage(pixels.shape, (6, 8), 16, "RICE_1", rice_cards(2, blocksize)).add_tiles([rice_1(pixels, 2)])
    assert_refused(image.write(tmp_path / "blocksize.fits"), (tc.HeaderError, tc.UnsupportedError))


@pytest.mark.parametrize("n_rows", [0, 3, 5, 10**6, 2**40])
def test_a_row_count_that_does_not_match_the_grid(tmp_path, n_rows):
    image = gzipped(integers((6, 8)), (3, 4))
    image.n_rows = n_rows
    assert_refused(image.write(tmp_path / "rows.fits"), tc.HeaderError, match=f"NAXIS2 is {n_rows}, expected 4")


@pytest.mark.parametrize("tile", [(2**31 - 1, 2**31 - 1), (1, 2**31 - 1), (4, 4)], ids=str)
def test_an_image_of_absurd_size(tmp_path, tile):
    image = CompressedImage((2**31 - 1, 2**31 - 1), tile, 16, "RICE_1", rice_cards(2))
    image.add_tiles([rice_1(np.arange(16), 2)])
    assert_refused(image.write(tmp_path / "absurd.fits"))


def test_a_bad_header_leaves_the_hdus_behind_it_readable(tmp_path):
    pixels = integers((6, 8))
    good, bad = gzipped(pixels, (3, 4)), gzipped(pixels, (3, 4))
    bad.algorithm = "NEW_1"
    path = tmp_path / "five.fits"
    path.write_bytes(PRIMARY + b"".join(image.hdu_bytes() for image in (good, bad, good, good, good)))
    with tc.open(path) as hdul:
        assert len(hdul) == 6
        with pytest.raises((tc.HeaderError, tc.UnsupportedError)):
            hdul[2].data
        for n in (1, 3, 4, 5):
            assert_array_equal(hdul[n].data, pixels)


@pytest.mark.parametrize("missing", [1, 100, 2880, 3000])
def test_a_file_that_is_cut(tmp_path, missing):
    pixels = integers((64, 64), "i4", -(2**30), 2**30)
    path = gzipped(pixels, (8, 64)).write(tmp_path / "cut.fits")
    used = len(PRIMARY) + 2880 + 64 + len(gzipped(pixels, (8, 64)).heap)
    path.write_bytes(path.read_bytes()[: used - missing])
    with pytest.warns() as _, tc.open(path) as hdul:
        with pytest.raises(tc.TruncatedTileError):
            hdul[1].data
        assert_array_equal(hdul[1].section[:8], pixels[:8])


# --- writing ---------------------------------------------------------------------------------------------------------


def write_and_read(path, pixels, **settings):
    """Write an image compressed by our own encoders, and read it back."""
    needs.face("write_image")
    fits.HDUList([fits.PrimaryHDU(), tc.CompImageHDU(pixels, **settings)]).writeto(path)
    with tc.open(path) as hdul:
        return np.array(hdul[1].data)


@pytest.mark.parametrize("pixels", [
    np.arange(9, dtype="i4").reshape(3, 3) * 5000, np.tile(np.array([0, 2**24 - 1, 5, 2**23], "i4"), (40, 10)),
], ids=["tiny", "jumps"])
def test_writing_masks_that_need_three_words_a_pixel(tmp_path, pixels):
    got = write_and_read(tmp_path / "plio.fits", pixels, compression_type="PLIO_1", tile_shape=pixels.shape)
    assert_array_equal(got, pixels)


@pytest.mark.parametrize("algorithm", ["RICE_1", "HCOMPRESS_1", "GZIP_1", "GZIP_2"])
def test_writing_floats_without_loss(tmp_path, algorithm):
    pixels = np.random.default_rng(3).normal(0, 1, (20, 30)).astype("f4")
    settings = {"compression_type": algorithm, "quantize_level": 0, "tile_shape": (20, 30)}
    if algorithm in ("RICE_1", "HCOMPRESS_1"):
        with pytest.raises((ValueError, TypeError, NotImplementedError)):
            write_and_read(tmp_path / "lossless.fits", pixels, **settings)
    else:
        assert_array_equal(write_and_read(tmp_path / "lossless.fits", pixels, **settings), pixels)


def test_boxes_of_tiles_cover_the_image_once():
    seen = np.zeros((7, 11), int)
    for box in tile_boxes((7, 11), (3, 4)):
        seen[box] += 1
    assert (seen == 1).all()
