"""map_tiles: a number for each tile, and the noise estimate behind one of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support.damaged_files import BROKEN_ROWS, star_image, streams_of, write_broken
from support.needs import SHIPPED

import astropy_tilecomp as tc
from astropy_tilecomp.tasks.tile_maps import estimate_noise


def test_integers(tmp_path):
    tc.write_image(tmp_path / "a.fits.fz", star_image(shape=(100, 90)), tile_shape=(32, 32))
    maps = tc.map_tiles(tmp_path / "a.fits.fz")
    sizes = np.array([len(stream) for stream in streams_of(tmp_path / "a.fits.fz")[0]]).reshape(4, 3)
    n_pixels = np.outer([32, 32, 32, 4], [32, 32, 26])
    assert_allclose(maps.bits_per_pixel, 8 * sizes / n_pixels)
    assert_allclose(maps.ratio, 2 * n_pixels / sizes)
    assert_allclose(maps.noise, 10, rtol=0.2)
    assert maps.zscale is None
    assert_array_equal(maps.column, np.ones((4, 3)))
    assert not maps.damaged.any()


def test_quantized_floats():
    maps = tc.map_tiles(SHIPPED / "fitslib_rice_f32_dither1.fz")
    assert maps.zscale.shape == maps.noise.shape == (8, 1)
    assert (maps.zscale > 0).all()
    fallback = tc.map_tiles(SHIPPED / "fitslib_rice_f32_nan_gzipfallback.fz")
    assert np.isnan(fallback.zscale).all()
    assert (fallback.column == 2).all()


def test_damage(tmp_path):
    write_broken(tmp_path / "a.fits.fz")
    maps = tc.map_tiles(tmp_path / "a.fits.fz")
    assert np.flatnonzero(maps.damaged).tolist() == list(BROKEN_ROWS)
    assert_array_equal(np.isnan(maps.noise), maps.damaged)


def test_more_axes():
    maps = tc.map_tiles(SHIPPED / "fitslib_rice_cube.fz")
    assert maps.noise.ndim == 3
    assert maps.image_shape == (3, 24, 40)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2"])
def test_noise_estimate(dtype):
    image = star_image("f8", (300, 300)) + 100 * np.linspace(0, 1, 300)
    image[40:45, 40:45] = 30_000
    image = image.astype(dtype)
    if dtype[0] == "f":
        image[100:110] = np.nan
    assert estimate_noise(image) == pytest.approx(10, rel=0.03)


def test_noise_of_what_has_none():
    assert estimate_noise(np.full((5, 50), 3, "i2")) == 0
    assert np.isnan(estimate_noise(np.zeros((50, 4))))
    assert np.isnan(estimate_noise(np.full((5, 50), np.nan)))
