"""Finding HDUs in files: odd headers, odd beginnings, odd names."""

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
