"""Tables that astropy reads when somebody asks: until then their place is known, and afterwards nothing tells them from others."""

import copy
import gzip
import io
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal
from support.small_files import PRIMARY, gzipped

import astropy_tilecomp as tc
from astropy_tilecomp.adapters.fits.unread import _UnreadTable, unread_image

PIXELS = np.arange(48, dtype="i2").reshape(6, 8)
HDU = gzipped(PIXELS, (3, 4)).hdu_bytes()


@pytest.fixture
def path(tmp_path):
    """A file of two compressed images and a plain one between them."""
    file = tmp_path / "images.fits"
    plain = tmp_path / "plain.fits"
    fits.HDUList([fits.PrimaryHDU(), fits.ImageHDU(PIXELS + 1)]).writeto(plain)
    file.write_bytes(PRIMARY + HDU + plain.read_bytes()[len(PRIMARY):] + HDU)
    return file


def table_of(hdul, number):
    """The table of an image, and whether astropy has read it."""
    table = hdul[number]._bintable
    return table, type(table) is fits.BinTableHDU


def test_pixels_need_no_table(path):
    with tc.open(path) as hdul:
        for number in (1, 3):
            assert_array_equal(hdul[number].data, PIXELS)
            assert_array_equal(hdul[number].section[1:3], PIXELS[1:3])
            assert hdul[number].shape == PIXELS.shape
            assert hdul[number].name == "COMPRESSED_IMAGE"
            assert not table_of(hdul, number)[1]
        assert_array_equal(hdul[2].data, PIXELS + 1)
        assert len(hdul) == 4
    assert not table_of(hdul, 1)[1]


QUESTIONS = {
    "columns": lambda table: table.columns,
    "header": lambda table: table.header["NAXIS1"],
    "_header": lambda table: table._header,
    "repr": repr,
    "copy": copy.copy,
    "name": lambda table: setattr(table, "name", "ELSE"),
}


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
def test_whatever_is_asked_for_makes_it_the_table(path, ask):
    with tc.open(path) as hdul:
        table, is_read = table_of(hdul, 3)
        assert not is_read
        ask(table)
        assert type(table) is fits.BinTableHDU
        assert table_of(hdul, 3)[0] is table
        assert_array_equal(hdul[3].data, PIXELS)


def test_it_is_the_table_that_astropy_makes(path):
    keywords = {"uint": True, "character_as_bytes": True, "disable_image_compression": True}
    with tc.open(path, character_as_bytes=True) as ours, fits.open(path, **keywords) as theirs:
        for number in (1, 3):
            table, read = ours[number]._bintable, theirs[number]
            assert isinstance(table, fits.BinTableHDU)
            assert type(table) is not fits.BinTableHDU
            assert table.size == read.size  # from here on it is one
            found, expected = dict(vars(table)), dict(vars(read))
            assert found.pop("_file") is not expected.pop("_file")
            assert found == expected | {"_load_variable_length_data": False, "_manages_own_heap": True}
            assert repr(table.columns) == repr(read.columns)
            assert repr(table.header) == repr(read.header)


def test_the_header_is_there_after_closing(path):
    with tc.open(path) as hdul:
        hdu = hdul[3]
    assert hdu.header["NAXIS2"] == 6
    assert hdu._bintable.header["ZNAXIS1"] == 8
    with pytest.raises(ValueError, match="closed"):
        hdu.section[0]


def test_many_threads_ask_at_once(path):
    for _ in range(20):
        with tc.open(path) as hdul, ThreadPoolExecutor(8) as pool:
            table, _ = table_of(hdul, 1)
            headers = list(pool.map(lambda _, table=table: table.header["NAXIS2"], range(16)))
            assert headers == [4] * 16


def test_pickles_and_copies(path):
    with tc.open(path) as hdul:
        again = pickle.loads(pickle.dumps(hdul[3]))
        hdul[3].copy()
        assert_array_equal(again.data, PIXELS)


@pytest.mark.parametrize("cut", [1, 500, 2880])
def test_a_cut_file_is_warned_of_as_often_as_by_astropy(path, cut):
    data = path.read_bytes()[:-cut]
    counts = []
    for opener in (fits.open, tc.open):
        with warnings.catch_warnings(record=True) as caught, opener(io.BytesIO(data)) as hdul:
            warnings.simplefilter("always")
            len(hdul)
        counts.append(sum("truncated" in str(each.message) for each in caught))
    assert counts[0] == counts[1] > 0


def test_a_cut_file_that_was_compressed_as_a_whole(tmp_path):
    """Its list ends where the bytes end, as astropy's, wherever that is."""
    rng = np.random.default_rng(1)
    noise = [fits.CompImageHDU(rng.integers(-30000, 30000, (40, 50)).astype("i2")) for _ in range(4)]
    plain, packed = io.BytesIO(), tmp_path / "images.fits.gz"
    fits.HDUList([fits.PrimaryHDU(), *noise]).writeto(plain)
    whole = gzip.compress(plain.getvalue())
    for at in range(len(whole) // 3, len(whole) - 10, 977):
        packed.write_bytes(whole[:at])
        with fits.open(packed) as hdul:
            expected = len(hdul)
        with tc.enabled(), fits.open(packed) as hdul:
            assert len(hdul) == expected
            assert all(isinstance(hdu, tc.CompImageHDU) for hdu in hdul[1:])


def test_attributes_are_given_up_as_those_of_a_table(path):
    with tc.open(path) as hdul:
        table, _ = table_of(hdul, 1)
        del table.data  # astropy's way to free them
        assert type(table) is fits.BinTableHDU


ODD = [
    ("GCOUNT", "2"), ("BITPIX", "16"), ("NAXIS", "3"), ("PCOUNT", "-1"), ("NAXIS1", "'8'"), ("ZIMAGE", "F"), ("NAXIS2", "1.5"),
    ("NAXIS2", str(2**62)), ("XTENSION", "'IMAGE'"),
]  # fmt: skip


@pytest.mark.parametrize(("keyword", "value"), ODD)
def test_what_is_odd_is_left_to_astropy(keyword, value):
    assert type(unread_image(HDU[:HDU.index(b"END  ") // 2880 * 2880 + 2880], 2880, None, {})) is _UnreadTable
    header = bytearray(HDU[:HDU.index(b"END  ") // 2880 * 2880 + 2880])
    at = header.index(f"{keyword:<8}=".encode())
    header[at + 10:at + 80] = f"{value:>20}".ljust(70).encode()
    assert unread_image(bytes(header), 2880, None, {}) is None


@pytest.mark.parametrize("change", [
    lambda header: header[:-80], lambda header: header + bytes(2880), lambda header: header.replace(b"TTYPE1", b"T\xe4PE1 "),
    lambda header: header.replace(b"TTYPE1  ", b"GCOUNT  "), lambda header: header.replace(b"TTYPE1", bytes(6)), lambda header: b"",
], ids=["cut", "too long", "no ASCII", "a size twice", "nulls", "nothing"])
def test_a_broken_header_is_left_to_astropy(change):
    header = HDU[:HDU.index(b"END  ") // 2880 * 2880 + 2880]
    changed = change(header)
    assert changed != header
    assert unread_image(changed, 2880, None, {}) is None


def test_dir_lists_the_attributes_of_an_image_that_was_not_looked_at(tmp_path):
    path = tmp_path / "a.fits"
    fits.CompImageHDU(np.arange(12, dtype="i2").reshape(3, 4)).writeto(path)
    with tc.open(path) as hdul, fits.open(path) as astropys:
        missing = set(dir(astropys[1])) - set(dir(hdul[1]))
        assert not {name for name in missing if not name.startswith("_")}
        assert {"header", "compression_type", "quantize_level"} <= set(dir(hdul[1]))


@pytest.mark.parametrize("bitpix", [8, 16, 32])
def test_blank_can_be_ignored(tmp_path, bitpix):
    path, image = tmp_path / "a.fits", np.arange(600).reshape(20, 30).astype({8: "u1", 16: "i2", 32: "i4"}[bitpix])
    fits.CompImageHDU(image, tile_shape=(5, 30)).writeto(path)
    with fits.open(path, mode="update", disable_image_compression=True) as hdul:
        hdul[1].header["BLANK"] = 7
    with tc.open(path) as hdul:
        assert np.isnan(hdul[1].data).sum() == (image == 7).sum()
    with tc.open(path, ignore_blank=True) as hdul:
        for found in (hdul[1].section[...], hdul[1].data, hdul[1].section[...]):
            assert found.dtype == image.dtype
            assert_array_equal(found, image)
        assert hdul[1].header["BLANK"] == 7
        again = pickle.loads(pickle.dumps(hdul[1]))
        assert_array_equal(again.section[3], image[3])
