"""plot: figures have the panels that they should have, and files appear."""

from dataclasses import replace

import numpy as np
import pytest
from support import needs
from support.damaged_files import write_broken

import astropy_tilecomp as tc
from astropy_tilecomp.adapters.plotting import plot_maps

matplotlib = needs.module("matplotlib")
matplotlib.use("Agg")


def titles(figure):
    return [axis.get_title() for axis in figure.axes if axis.get_title()]


def test_all_panels_of_floats(tmp_path):
    write_broken(tmp_path / "a.fits.fz", "f4")
    figure = tc.plot(tmp_path / "a.fits.fz", output=tmp_path / "a.png")
    assert titles(figure) == [
        "image and tiles", "bits per pixel", "compression ratio", "noise (stored units)", "ZSCALE", "column", "damage"]
    assert (tmp_path / "a.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    legend = {text.get_text() for axis in figure.axes if axis.get_legend() for text in axis.get_legend().get_texts()}
    assert legend == {"COMPRESSED: 256", "good: 253", "bad: 3"}
    assert "256 tiles of 16 × 16" in figure.get_suptitle()


def test_the_map_shows_the_numbers(tmp_path):
    write_broken(tmp_path / "a.fits.fz")
    figure = tc.plot(tmp_path / "a.fits.fz", maps=["noise"], output=tmp_path / "a.png")
    shown = figure.axes[1].images[0]
    maps = tc.map_tiles(tmp_path / "a.fits.fz")
    np.testing.assert_array_equal(np.ma.filled(shown.get_array(), np.nan), maps.noise)
    assert shown.get_extent() == [-0.5, 255.5, -0.5, 255.5]


def test_edge_tiles_are_drawn_as_small_as_they_are(tmp_path):
    tc.write_image(tmp_path / "a.fits.fz", np.arange(100, dtype="i2").reshape(10, 10), tile_shape=(8, 8))
    figure = tc.plot(tmp_path / "a.fits.fz", maps=["ratio"], output=tmp_path / "a.png")
    drawn = figure.axes[1].images[0].get_array()
    maps = tc.map_tiles(tmp_path / "a.fits.fz")
    np.testing.assert_array_equal(drawn, np.repeat(np.repeat(maps.ratio, [8, 2], 0), [8, 2], 1))


@pytest.mark.parametrize("name", ["fitslib_rice_cube.fz", "panoptes_solved.fits.fz", "astropy_compressed_float_bzero.fits",
                                  "fitslib_plio_i16_mask.fz"])
def test_images_of_every_kind(name, tmp_path):
    figure = tc.plot(needs.SHIPPED / name, output=tmp_path / "a.svg")
    assert titles(figure)[0] == "image and tiles"
    assert b"<svg" in (tmp_path / "a.svg").read_bytes()[:500]


def test_planes():
    path = needs.SHIPPED / "fitslib_rice_cube.fz"
    first, last = (tc.plot(path, plane=[n], maps=["noise"]).axes[0].images[0].get_array() for n in (0, 2))
    image = tc.read_image(path)
    np.testing.assert_array_equal(first, image[0])
    np.testing.assert_array_equal(last, image[2])
    with pytest.raises(ValueError, match="plane is"):
        tc.plot(path, plane=[0, 1])
    for number in (5, -1):
        with pytest.raises(IndexError, match=rf"plane is \({number},\), expected indices from 0 and below \(3,\)"):
            tc.plot(path, plane=[number])
    matplotlib.pyplot.close("all")


def test_unknown_maps():
    with pytest.raises(ValueError, match="no map is called 'beauty'"):
        tc.plot(needs.SHIPPED / "fitslib_rice_cube.fz", maps=["beauty"])


def test_damaged_tiles_do_not_dim_the_image(tmp_path):
    """What stands in the place of their pixels has no part in the choice of white and black."""
    image = np.random.default_rng(1).normal(1000, 5, (64, 64)).astype("i2")
    tc.write_image(tmp_path / "a.fits.fz", image, tile_shape=(8, 64))
    measured = replace(tc.map_tiles(tmp_path / "a.fits.fz"), damaged=np.arange(8)[:, np.newaxis] < 4)
    image[:32] = 0
    shown = plot_maps(measured, image, maps=[], output=tmp_path / "a.png").axes[0].images[0]
    assert shown.get_clim() == tuple(np.percentile(image[32:], (1, 99.5)))
