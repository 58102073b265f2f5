"""Finding HDUs in files: odd headers, odd beginnings, odd names."""

import io

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal

import astropy_tilecomp as tc

IMAGE = np.arange(600, dtype="i2").reshape(20, 30)


def with_decimal_point(content: bytes, keyword: str, start: int) -> bytes:
    """The bytes of a file with one integer card made a float."""
    place = content.find(f"{keyword:8}=".encode(), start)
    assert place >= 0
    card = content[place : place + 30]
    return content[:place] + card[:10] + (card[10:].strip() + b".").rjust(20) + content[place + 30 :]


@pytest.mark.parametrize("keyword", ["BITPIX", "NAXIS", "NAXIS1", "NAXIS2", "PCOUNT", "GCOUNT", "TFIELDS", "ZNAXIS1", "ZTILE1", "ZBITPIX"])
def test_integers_with_a_decimal_point_are_integers_to_all_readers(tmp_path, keyword):
    path = tmp_path / "a.fits.fz"
    tc.write_image(path, IMAGE, tile_shape=(8, 30))
    path.write_bytes(with_decimal_point(path.read_bytes(), keyword, 2880))
    assert_array_equal(tc.read_image(path), IMAGE)
    assert_array_equal(tc.read_section(path, np.s_[3:5]), IMAGE[3:5])
    with tc.open(path) as hdul:
        assert_array_equal(hdul[1].section[3:5], IMAGE[3:5])
        assert_array_equal(hdul[1].data, IMAGE)
    assert tc.info(path).images[0].shape == IMAGE.shape
    assert not tc.verify(path).faults


@pytest.mark.parametrize("keyword", ["BITPIX", "NAXIS", "NAXIS1", "NAXIS2"])
def test_plain_images_with_a_decimal_point_in_their_sizes(tmp_path, keyword):
    path = tmp_path / "a.fits"
    fits.PrimaryHDU(np.tile(IMAGE, (10, 10))).writeto(path)
    path.write_bytes(with_decimal_point(path.read_bytes(), keyword, 0))
    assert tc.info(path).hdus[0].shape == (200, 300)
    assert all(type(size) is int for size in tc.info(path).hdus[0].shape)
    tc.pack(path, tmp_path / "a.fits.fz")
    assert_array_equal(tc.read_image(tmp_path / "a.fits.fz"), np.tile(IMAGE, (10, 10)))
    tc.advise(path)


@pytest.fixture
def without_primary(tmp_path):
    path = tmp_path / "extension_first.fits"
    fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(IMAGE), fits.ImageHDU(IMAGE + 1)]).writeto(path)
    path.write_bytes(path.read_bytes()[2880:])
    return path


@pytest.mark.parametrize("read", [
    lambda file: tc.open(file)[0].data, lambda file: tc.open(file)[0].section[...], lambda file: tc.open(file)[1].data - 1,
    tc.read_image, lambda file: tc.read_section(file, ...), lambda file: tc.info(file).images and IMAGE,
], ids=["data", "section", "plain image", "read_image", "read_section", "info"])
@pytest.mark.parametrize("kind", ["path", "bytes", "file"])
def test_a_file_that_begins_with_an_extension_is_read_with_one_warning(without_primary, read, kind):
    file = {"path": without_primary, "bytes": without_primary.read_bytes(), "file": io.BytesIO(without_primary.read_bytes())}[kind]
    with pytest.warns(tc.TileCompWarning, match="begins with an extension") as caught:
        assert_array_equal(read(file), IMAGE)
    assert sum(issubclass(each.category, tc.TileCompWarning) for each in caught) == 1


def test_a_file_that_begins_with_an_extension_is_not_a_fits_file_to_astropy(without_primary):
    with tc.enabled(), pytest.raises(OSError, match="No SIMPLE card"):
        fits.open(without_primary)
    with pytest.raises(OSError, match="No SIMPLE card"):
        tc.open(without_primary, mode="update")


@pytest.mark.parametrize("read", [tc.open, tc.read_image, tc.info, tc.verify])
@pytest.mark.parametrize("brackets", ["[1]", "[1][1:5,1:4]", "[SCI,1]"])
def test_extended_file_names_are_errors_that_show_the_way(tmp_path, read, brackets):
    path = tmp_path / "a.fits"
    fits.CompImageHDU(IMAGE).writeto(path)
    with pytest.raises(FileNotFoundError, match=r"hdu=, and read_section"):
        read(f"{path}{brackets}")
    path.rename(tmp_path / f"a.fits{brackets}")
    read(f"{path}{brackets}")


@pytest.mark.parametrize(("name", "way"), [("x.fits[compress R 10,5]", "algorithm= and tile_shape="), ("!x.fits", "overwrite=True")])
def test_extended_names_of_new_files_are_errors_that_show_the_way(tmp_path, name, way):
    with pytest.raises(ValueError, match=way):
        tc.write_image(tmp_path / name, IMAGE)
    assert list(tmp_path.iterdir()) == []
