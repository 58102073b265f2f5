"""What is assigned to an image is what is read back, and what was not assigned keeps its bytes."""

import copy
import io
import pickle
import warnings

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal

import astropy_tilecomp as tc

TYPES = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8")
OLD = (*TYPES, "f4 quantized", "i2 scaled", "i2 blank", "i4 scaled")
ALGORITHMS = ("RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1", "NOCOMPRESS")
CARDS = {"scaled": {"BSCALE": 0.5, "BZERO": 10.0, "BLANK": 7}, "blank": {"BLANK": 7}}
SHAPE = (8, 12)

pytestmark = pytest.mark.filterwarnings("ignore::astropy_tilecomp.TileCompWarning")


def random_pixels(dtype, shape=SHAPE):
    """Pixels up to the limits of integers; floats that no integers hold."""
    rng, dtype = np.random.default_rng(3), np.dtype(dtype)
    if dtype.kind == "f":
        return rng.normal(1000, 30, shape).astype(dtype)
    limits = np.iinfo(dtype)
    pixels = rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    pixels.flat[:3] = limits.min, limits.max, 7
    return pixels


def write_old(path, kind, **options):
    """A file with an image of some kind."""
    dtype, _, how = kind.partition(" ")
    tc.write_image(path, random_pixels(dtype), lossless=how != "quantized", **options)
    if how in CARDS:
        with fits.open(path, mode="update", disable_image_compression=True) as hdus:
            hdus[1].header.update(CARDS[how])


def raw_header(path):
    with fits.open(path, disable_image_compression=True) as hdus:
        return hdus[1].header


def largest_step(path):
    with fits.open(path, disable_image_compression=True) as hdus:
        return float(np.max(hdus[1].data["ZSCALE"])) if "ZSCALE" in hdus[1].data.names else 0


def require_pixels(path, want, *, quantized=False):
    """The image in a file has these pixels, as this package and astropy read it."""
    for got in (tc.read_image(path), fits.getdata(path, 1)):
        assert got.shape == want.shape
        if quantized:
            assert np.all(abs(got - want) <= 0.501 * largest_step(path) + 1e-4)
        else:
            assert got.tolist() == want.tolist()  # Python's numbers: exact for all types


def edit_header(hdus):
    hdus[1].header["OBJECT"] = "M31"


def edit_pixel(hdus):
    hdus[1].data[0, 0] = 5


def assign_other(hdus):
    hdus[1].data = np.full((3, 5), 3, "i4")


ORDERS = (
    (),
    (lambda hdus: hdus[1].data,),
    (lambda hdus: hdus[1].section[1:, 2:4],),
    (edit_header,),
    (edit_pixel,),
    (assign_other,),
    (edit_header, fits.HDUList.flush),
    (edit_pixel, fits.HDUList.flush),
    (assign_other, fits.HDUList.flush),
    (edit_pixel, fits.HDUList.flush, edit_pixel),
    (lambda hdus: hdus[1].data, fits.HDUList.flush, edit_header),
)


@pytest.mark.parametrize("old", OLD)
@pytest.mark.parametrize("new", TYPES)
def test_what_is_assigned_is_read_back_in_every_order(tmp_path, old, new):
    quantized = old == "f4 quantized" and new[0] == "f"
    first = OLD.index(old) + TYPES.index(new)
    for order in (ORDERS[0], ORDERS[first % len(ORDERS)], ORDERS[(first + 5) % len(ORDERS)]):
        write_old(tmp_path / "old.fits", old, overwrite=True)
        with tc.open(tmp_path / "old.fits", mode="update") as hdus:
            for step in order:
                step(hdus)
            hdus[1].data = random_pixels(new)
            hdus.writeto(tmp_path / "new.fits", overwrite=True)
        require_pixels(tmp_path / "new.fits", random_pixels(new), quantized=quantized)
        require_pixels(tmp_path / "old.fits", random_pixels(new), quantized=quantized)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("new", TYPES)
def test_a_type_that_the_algorithm_cannot_hold_is_stored_by_another(tmp_path, algorithm, new):
    image = random_pixels("u1")
    tc.write_image(tmp_path / "a.fits", image, algorithm=algorithm)
    with tc.open(tmp_path / "a.fits", mode="update") as hdus:
        hdus[1].data = (random_pixels(new) & 0x7F) if new[0] in "iu" else random_pixels(new)
        want = hdus[1].data.copy()
    require_pixels(tmp_path / "a.fits", want)
    is_held = algorithm in ("GZIP_1", "GZIP_2", "NOCOMPRESS") or (new[0] != "f" and new[1] != "8")
    if algorithm == "PLIO_1" and new[0] == "u" and new[1] != "1":
        is_held = False
    assert raw_header(tmp_path / "a.fits")["ZCMPTYPE"] == (algorithm if is_held else "GZIP_2")


def n_warnings(action):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        action()
    return sum(issubclass(warning.category, tc.TileCompWarning) for warning in seen)


@pytest.mark.parametrize(("pixels", "n", "bitpix"), [
    (np.arange(96, dtype="f4").reshape(SHAPE) / 2 + 30, 0, 16),
    (np.full(SHAPE, np.nan, "f4"), 0, 16),
    (np.arange(96, dtype="f4").reshape(SHAPE) / 3, 1, -32),
    (random_pixels("i8"), 1, 64),
], ids=["held by the scaled integers", "blank", "not held", "64 bits"])
def test_there_is_one_warning_where_the_storage_changes(tmp_path, pixels, n, bitpix):
    write_old(tmp_path / "a.fits", "i2 scaled")

    def assign():
        with tc.open(tmp_path / "a.fits", mode="update") as hdus:
            hdus[1].data = pixels

    assert n_warnings(assign) == n
    assert raw_header(tmp_path / "a.fits")["ZBITPIX"] == bitpix
    assert_array_equal(tc.read_image(tmp_path / "a.fits"), pixels)


@pytest.mark.parametrize("kind", ["i2", "u2", "f4", "f4 quantized", "i2 scaled", "i2 blank"])
@pytest.mark.parametrize("options", [{}, {"scale_back": True}, {"uint": False}, {"do_not_scale_image_data": True}], ids=str)
def test_equal_pixels_write_nothing(tmp_path, kind, options):
    write_old(tmp_path / "a.fits", kind)
    before, number = (tmp_path / "a.fits").read_bytes(), (tmp_path / "a.fits").stat().st_ino
    with tc.open(tmp_path / "a.fits", mode="update", **options) as hdus:
        hdus[1].data[...] = hdus[1].data.copy()
        hdus.flush()
        hdus[1].section[2, 3] = hdus[1].data[2, 3]
    assert (tmp_path / "a.fits").read_bytes() == before
    assert (tmp_path / "a.fits").stat().st_ino == number


@pytest.mark.parametrize("kind", ["i2", "u2", "f4", "f4 quantized", "i2 scaled", "i2 blank"])
def test_equal_pixels_in_another_array_keep_every_tile(tmp_path, kind):
    write_old(tmp_path / "a.fits", kind)
    with fits.open(tmp_path / "a.fits", disable_image_compression=True) as hdus:
        before = hdus[1].data.tobytes(), hdus[1].header.tostring()
    with tc.open(tmp_path / "a.fits", mode="update") as hdus:
        hdus[1].data = hdus[1].data.copy()
    with fits.open(tmp_path / "a.fits", disable_image_compression=True) as hdus:
        assert hdus[1].data.tobytes() == before[0]
        assert {**hdus[1].header} == {**fits.Header.fromstring(before[1])}


@pytest.mark.parametrize("kind", ["i2 scaled", "u1 scaled", "i4 scaled", "i2 blank"])
@pytest.mark.parametrize("by", ["data", "section"])
@pytest.mark.parametrize("options", [{}, {"scale_back": True}], ids=str)
def test_an_edit_leaves_the_integers_of_all_other_pixels(tmp_path, kind, by, options):
    write_old(tmp_path / "a.fits", kind)
    stored = random_pixels(kind[:2])
    stored[2, 3] = 20
    value = 10 + 0.5 * 20 if "scaled" in kind else 20
    with tc.open(tmp_path / "a.fits", mode="update", **options) as hdus:
        getattr(hdus[1], by)[2, 3] = value
    with fits.open(tmp_path / "a.fits", do_not_scale_image_data=True) as hdus:
        assert_array_equal(hdus[1].data, stored)
    header = raw_header(tmp_path / "a.fits")
    assert {name: header.get(name) for name in CARDS[kind[3:]]} == CARDS[kind[3:]]


def test_integers_that_floats_cannot_tell_apart_are_left(tmp_path):
    stored = 2**60 + np.arange(96).reshape(SHAPE)
    tc.write_image(tmp_path / "a.fits", stored)
    with fits.open(tmp_path / "a.fits", mode="update", disable_image_compression=True) as hdus:
        hdus[1].header["BSCALE"] = 0.5
    with tc.open(tmp_path / "a.fits", mode="update") as hdus:
        hdus[1].data[0, 0] = 2.0
    stored[0, 0] = 4
    with fits.open(tmp_path / "a.fits", do_not_scale_image_data=True) as hdus:
        assert_array_equal(hdus[1].data, stored)


@pytest.mark.parametrize("by", ["data", "section"])
def test_values_that_scaled_integers_do_not_hold_are_read_back_too(tmp_path, by):
    write_old(tmp_path / "a.fits", "i2 scaled")
    want = tc.read_image(tmp_path / "a.fits")
    want[2, 3] = 77.125
    with tc.open(tmp_path / "a.fits", mode="update") as hdus:
        getattr(hdus[1], by)[2, 3] = 77.125
        assert hdus[1].section[2, 3] == 77.125
    assert_array_equal(tc.read_image(tmp_path / "a.fits"), want)


COPIES = {
    "copy": lambda hdu: hdu.copy(), "copy.copy": copy.copy, "deepcopy": copy.deepcopy,
    "pickle": lambda hdu: pickle.loads(pickle.dumps(hdu)),
}


@pytest.mark.parametrize("kind", OLD)
@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("options", [{}, {"do_not_scale_image_data": True}, {"uint": False}], ids=str)
def test_a_copy_means_what_its_original_means(tmp_path, kind, way, options):
    write_old(tmp_path / "a.fits", kind)
    for step in (lambda hdus: None, lambda hdus: hdus[1].data, edit_header):
        with tc.open(tmp_path / "a.fits", **options) as hdus:
            step(hdus)
            COPIES[way](hdus[1]).writeto(tmp_path / "b.fits", overwrite=True)
        assert_array_equal(fits.getdata(tmp_path / "b.fits", 1), fits.getdata(tmp_path / "a.fits", 1))
        assert ("OBJECT" in raw_header(tmp_path / "b.fits")) == (step is edit_header)


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_does_not_follow_edits_of_its_original(tmp_path, way):
    write_old(tmp_path / "a.fits", "i2")
    with tc.open(tmp_path / "a.fits", mode="update") as hdus:
        copied = COPIES[way](hdus[1])
        hdus[1].section[2:5] = 0
        assert_array_equal(copied.section[...], random_pixels("i2"))
    assert_array_equal(copied.data, random_pixels("i2"))


def test_writing_twice_gives_the_same_pixels_twice(tmp_path):
    write_old(tmp_path / "a.fits", "i2 scaled")
    want = tc.read_image(tmp_path / "a.fits")
    with tc.open(tmp_path / "a.fits", mode="update", scale_back=True) as hdus:
        hdus[1].data[0, 5] = want[0, 5] = 20
        for name in ("b.fits", "c.fits"):
            hdus.writeto(tmp_path / name)
            hdus.flush()
    for name in ("a.fits", "b.fits", "c.fits"):
        assert_array_equal(tc.read_image(tmp_path / name), want)
        assert raw_header(tmp_path / name)["ZBITPIX"] == 16


@pytest.mark.parametrize("options", [{}, {"scale_back": True}], ids=str)
def test_tiles_of_quantized_floats_keep_their_bytes(tmp_path, options):
    write_old(tmp_path / "a.fits", "f4 quantized")
    before = tc.read_image(tmp_path / "a.fits")
    with tc.open(tmp_path / "a.fits", mode="update", **options) as hdus:
        hdus[1].data[0, 0] += 100
    after = tc.read_image(tmp_path / "a.fits")
    assert_array_equal(after[1:], before[1:])
    assert after[0, 0] != before[0, 0]


def test_a_new_number_of_axes_is_no_wish_to_lose_anything(tmp_path):
    for kind in ("i2", "f4"):
        for shape in ((5,), (3, 4, 5)):
            write_old(tmp_path / "a.fits", kind, overwrite=True)
            with tc.open(tmp_path / "a.fits", mode="update") as hdus:
                hdus[1].data = random_pixels("f4", shape)
            require_pixels(tmp_path / "a.fits", random_pixels("f4", shape))


def test_floats_are_quantized_where_settings_were_given(tmp_path):
    write_old(tmp_path / "a.fits", "i2")
    with tc.open(tmp_path / "a.fits", mode="update") as hdus:
        hdus[1].quantize_level = 16.0  # what it was already
        hdus[1].data = random_pixels("f4")
    assert largest_step(tmp_path / "a.fits") > 0
    require_pixels(tmp_path / "a.fits", random_pixels("f4"), quantized=True)
    with tc.open(tmp_path / "a.fits", mode="update") as hdus:
        hdus[1].quantize_level = 0
        hdus[1].data = random_pixels("f8")
    require_pixels(tmp_path / "a.fits", random_pixels("f8"))


def test_floats_in_place_of_integers_of_a_new_image_keep_every_bit(tmp_path):
    for options in ({}, {"compression_type": "RICE_1"}, {"compression_type": "HCOMPRESS_1"}):
        hdu = tc.CompImageHDU(random_pixels("i2"), **options)
        hdu.data = random_pixels("f4")
        hdu.writeto(tmp_path / "a.fits", overwrite=True)
        require_pixels(tmp_path / "a.fits", random_pixels("f4"))
    hdu = tc.CompImageHDU(random_pixels("i2"), quantize_method=1)
    hdu.data = random_pixels("f4")
    hdu.writeto(tmp_path / "a.fits", overwrite=True)
    assert largest_step(tmp_path / "a.fits") > 0


def test_an_edit_on_disk_does_not_disturb_the_other_images(tmp_path):
    images = [tc.CompImageHDU(random_pixels("i2")), tc.CompImageHDU(random_pixels("i4")), tc.CompImageHDU(random_pixels("u2"))]
    fits.HDUList([fits.PrimaryHDU(), *images]).writeto(tmp_path / "a.fits")
    with tc.open(tmp_path / "a.fits", mode="update") as hdus:
        hdus[3].data[0, 0] = 9
        assert hdus[2].section[1, 1] == random_pixels("i4")[1, 1]
        hdus[1].section[2:5] = 4
        hdus[2].section[3] = 6
        assert hdus[1].section[3, 3] == 4
        hdus.flush()
        copied = hdus[2].copy()
    assert_array_equal(copied.data[3], 6)
    for number, dtype in ((1, "i2"), (2, "i4"), (3, "u2")):
        want = random_pixels(dtype)
        index, value = {1: (slice(2, 5), 4), 2: (3, 6), 3: ((0, 0), 9)}[number]
        want[index] = value
        assert_array_equal(tc.read_image(tmp_path / "a.fits", hdu=number), want)


def test_a_copy_after_a_flush_in_place(tmp_path):
    write_old(tmp_path / "a.fits", "f4 quantized")
    with tc.enabled(), fits.open(tmp_path / "a.fits", mode="update") as hdus:
        hdus[1].data[0, 0] += 1
        hdus.flush()
        copied, want = hdus[1].copy(), hdus[1].data.copy()
    assert_array_equal(copied.data, want)


@pytest.mark.parametrize("cards", [("BLANK",), ("BSCALE", "BZERO"), ("BSCALE",)], ids=str)
@pytest.mark.parametrize("mode", ["update", "readonly"])
def test_deleted_cards_mean_what_they_mean_for_a_plain_image(tmp_path, cards, mode):
    write_old(tmp_path / "a.fits", "i2 scaled")
    with fits.open(tmp_path / "a.fits", do_not_scale_image_data=True) as hdus:
        header, stored = hdus[1].header.copy(), hdus[1].data.copy()
    plain = fits.ImageHDU(stored)
    plain.header.update({card: header[card] for card in CARDS["scaled"] if card not in cards})
    with tc.open(tmp_path / "a.fits", mode=mode) as hdus:
        for card in cards:
            del hdus[1].header[card]
        if mode == "readonly":
            hdus.writeto(tmp_path / "b.fits")
    path = tmp_path / ("a.fits" if mode == "update" else "b.fits")
    assert not set(cards) & set(raw_header(path))
    target = io.BytesIO()
    fits.HDUList([fits.PrimaryHDU(), plain]).writeto(target)
    target.seek(0)
    assert_array_equal(tc.read_image(path), fits.getdata(target, 1))


def test_scale_cards_set_after_the_data_were_loaded_describe_nothing_stored(tmp_path):
    for kind in ("i2 scaled", "f4", "u2"):
        write_old(tmp_path / "a.fits", kind, overwrite=True)
        want = tc.read_image(tmp_path / "a.fits")
        with tc.open(tmp_path / "a.fits", mode="update") as hdus:
            assert hdus[1].data is not None
            hdus[1].header["BSCALE"], hdus[1].header["BZERO"] = 3.0, 100.0
        assert_array_equal(tc.read_image(tmp_path / "a.fits"), want)


@pytest.mark.parametrize("load", [False, True])
def test_the_shape_comes_from_the_data_whatever_the_header_says(tmp_path, load):
    write_old(tmp_path / "a.fits", "i2")
    with tc.open(tmp_path / "a.fits", mode="update") as hdus:
        if load:
            hdus[1].data[0, 0] = 5
        hdus[1].header["NAXIS1"], hdus[1].header["BITPIX"] = 3, -32
        hdus.flush(output_verify="ignore")
        hdus[1].header["NAXIS"] = 1
        hdus.writeto(tmp_path / "b.fits", output_verify="ignore")
    want = random_pixels("i2")
    want[0, 0] = 5 if load else want[0, 0]
    for name in ("a.fits", "b.fits"):
        require_pixels(tmp_path / name, want)


def test_scaling_by_hand_is_kept(tmp_path):
    for make in (fits.ImageHDU, tc.CompImageHDU):
        hdu = make(np.arange(96, dtype="f4").reshape(SHAPE) * 2 + 7)
        hdu.scale("int16", bscale=2.0, bzero=7.0)
        fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(tmp_path / "a.fits", overwrite=True)
        assert_array_equal(fits.getdata(tmp_path / "a.fits", 1), np.arange(96).reshape(SHAPE) * 2 + 7)
    assert raw_header(tmp_path / "a.fits")["ZBITPIX"] == 16


@pytest.mark.parametrize("to", ["uint8", "int16", "int32", "int64", "float32", "float64"])
def test_scaling_by_hand_to_any_type(tmp_path, to):
    image = np.arange(96, dtype="i2").reshape(SHAPE)
    tc.write_image(tmp_path / "a.fits", image)
    with tc.open(tmp_path / "a.fits") as hdus:
        hdus[1].scale(to)
        hdus[1].writeto(tmp_path / "b.fits")
    hdu = tc.CompImageHDU(image.copy())
    hdu.scale(to)
    hdu.writeto(tmp_path / "c.fits")
    for name in ("b.fits", "c.fits"):
        assert fits.getdata(tmp_path / name, 1).dtype == np.dtype(to)
        require_pixels(tmp_path / name, image, quantized=to[0] == "f" and name == "c.fits")


def test_floats_under_the_header_of_an_integer_image(tmp_path):
    header = fits.Header({"BLANK": -32768, "BSCALE": 0.5, "BZERO": 3.0, "OBJECT": "Sun"})
    for dtype in ("f4", "f8"):
        for algorithm in ("RICE_1", "GZIP_2"):
            hdu = tc.CompImageHDU(random_pixels(dtype), header, compression_type=algorithm)
            hdu.writeto(tmp_path / "a.fits", overwrite=True)
            require_pixels(tmp_path / "a.fits", random_pixels(dtype), quantized=True)
            assert raw_header(tmp_path / "a.fits")["OBJECT"] == "Sun"


def test_repeated_and_blank_keywords_are_kept(tmp_path):
    header = fits.Header([("", "a heading"), ("A", 1), ("A", 2), ("HISTORY", "one"), ("", ""), ("COMMENT", "two"), ("B", 3)])
    want = [card.image for card in header.cards]
    fits.HDUList([fits.PrimaryHDU(), tc.CompImageHDU(random_pixels("i2"), header)]).writeto(tmp_path / "a.fits")
    with tc.open(tmp_path / "a.fits", mode="update") as hdus:
        assert [card.image for card in hdus[1].header.cards if card.image in want] == want
        hdus[1].data = random_pixels("f8", (4, 5))
    with tc.open(tmp_path / "a.fits") as hdus:
        assert [card.image for card in hdus[1].header.cards if card.image in want] == want


@pytest.mark.parametrize("options", [{}, {"scale_back": True}], ids=str)
def test_masked_pixels_are_refused_for_scaled_integers_too(tmp_path, options):
    write_old(tmp_path / "a.fits", "i2 scaled")
    with tc.open(tmp_path / "a.fits", **options) as hdus:
        hdus[1].data = np.ma.masked_less(np.arange(96, dtype="f4").reshape(SHAPE), 5)
        with pytest.raises(ValueError, match="mask"):
            hdus.writeto(tmp_path / "b.fits")


def test_dask_arrays_in_place_of_scaled_integers(tmp_path):
    da = pytest.importorskip("dask.array")
    for image in (np.arange(96, dtype="f4").reshape(SHAPE), np.arange(96, dtype="f4").reshape(SHAPE) / 3):
        write_old(tmp_path / "a.fits", "i2 scaled", overwrite=True)
        with tc.open(tmp_path / "a.fits") as hdus:
            hdus[1].data = da.from_array(image, chunks=4)
            hdus.writeto(tmp_path / "b.fits", overwrite=True)
        assert_array_equal(tc.read_image(tmp_path / "b.fits"), image)


def test_sizes_of_tiles_are_integers():
    with pytest.raises(TypeError):
        tc.CompImageHDU(random_pixels("i2"), tile_shape=(10.0, 10))


@pytest.mark.parametrize("engine", ["kernel", "cfitsio"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_plio_stores_undefined_floats(tmp_path, dtype, engine):
    image = np.full(SHAPE, np.nan, dtype)
    image[3, ::2] = 5.25
    tc.CompImageHDU(image, compression_type="PLIO_1", engine=engine).writeto(tmp_path / "a.fits")
    tc.write_image(tmp_path / "b.fits", image, algorithm="PLIO_1", engine=engine)
    for name in ("a.fits", "b.fits"):
        assert_array_equal(tc.read_image(tmp_path / name), image)
        assert_array_equal(fits.getdata(tmp_path / name, 1), image)


@pytest.mark.parametrize("shape", [(22, 10), (30, 7), (10, 22), (31, 5), (4, 4), (3, 33, 9)], ids=str)
def test_hcompress_of_small_and_odd_images(tmp_path, shape):
    image = random_pixels("i2", shape)
    tc.CompImageHDU(image, compression_type="HCOMPRESS_1").writeto(tmp_path / "a.fits")
    tc.write_image(tmp_path / "b.fits", image, algorithm="HCOMPRESS_1")
    require_pixels(tmp_path / "a.fits", image)
    for axis in range(1, image.ndim + 1):
        assert raw_header(tmp_path / "a.fits")[f"ZTILE{axis}"] == raw_header(tmp_path / "b.fits")[f"ZTILE{axis}"]


def test_hcompress_needs_two_axes_of_four_pixels(tmp_path):
    with pytest.raises(tc.HeaderError, match="4 pixels or more"):
        tc.CompImageHDU(random_pixels("i2", (3, 9)), compression_type="HCOMPRESS_1")
    tc.write_image(tmp_path / "a.fits", random_pixels("i2"), algorithm="HCOMPRESS_1")
    for shape in ((3, 9), (9,), (1, 1), (5, 7), (6, 5, 4)):
        with tc.open(tmp_path / "a.fits", mode="update") as hdus:
            hdus[1].data = random_pixels("i2", shape)
        require_pixels(tmp_path / "a.fits", random_pixels("i2", shape))
