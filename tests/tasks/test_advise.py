"""advise: what is measured is true, and what is recommended follows its own rule."""

import numpy as np
import pytest
from astropy.io import fits
from support.damaged_files import star_image
from support.needs import SHIPPED

import astropy_tilecomp as tc
from astropy_tilecomp.tasks.advise import CUTOUT_TOLERANCE, SIZE_TOLERANCE


def test_integers_lose_nothing():
    advice = tc.advise(star_image(shape=(300, 400)))
    assert {each.algorithm for each in advice.candidates} == {"RICE_1", "HCOMPRESS_1", "GZIP_2"}
    assert all(each.lossless and each.rms_error == each.loss == 0 for each in advice.candidates)
    assert advice.noise == pytest.approx(10, rel=0.05)
    assert advice.loses.startswith("nothing")


def test_row_tiles_are_not_recommended_where_cutouts_cost_more():  # S38
    image = star_image(shape=(1024, 1024))
    advice = tc.advise(image, algorithms=["RICE_1"], tile_shapes=["row", (128, 128)])
    rows, squares = advice.candidates
    assert (rows.tile_shape, squares.tile_shape) == ((1, 1024), (128, 128))
    assert advice.best is squares
    assert rows.cutout.nbytes > 1.5 * squares.cutout.nbytes
    assert rows.ratio == pytest.approx(squares.ratio, rel=0.05)


def test_measured_sizes_are_those_of_a_file(tmp_path):
    image = star_image(shape=(256, 300))
    for each in tc.advise(image).candidates:
        tc.write_image(tmp_path / "a.fits.fz", image, overwrite=True, **each.settings)
        found = tc.info(tmp_path / "a.fits.fz").images[0].image
        assert found.ratio == pytest.approx(each.ratio, rel=1e-6), each


def test_floats(tmp_path):
    image = star_image("f4", (256, 300))
    advice = tc.advise(image)
    by_level = {level: [each for each in advice.candidates if each.quantize_level == level] for level in (None, 2.0, 4.0, 16.0)}
    assert all(each.lossless for each in by_level[None])
    assert {each.algorithm for each in by_level[None]} == {"GZIP_2"}
    for level in (2.0, 4.0, 16.0):  # steps of noise / level leave errors of step / sqrt(12)
        assert [each.loss for each in by_level[level]] == pytest.approx([1 / level / 12**0.5] * len(by_level[level]), rel=0.08)
    assert advice.best.quantize_level == 4.0
    assert "of the noise" in advice.loses
    assert tc.advise(image, max_loss=0).best.lossless


def test_the_rule():
    advice = tc.advise(star_image("f4", (512, 512)), max_loss=0.05)
    fit = [each for each in advice.candidates if each.loss <= 0.05]
    small = [each for each in fit if each.nbytes <= SIZE_TOLERANCE * min(one.nbytes for one in fit)]
    cheap = [each for each in small if each.cutout.nbytes <= CUTOUT_TOLERANCE * min(one.cutout.nbytes for one in small)]
    assert advice.best in cheap
    assert advice.best.read_speed == max(each.read_speed for each in cheap)


@pytest.mark.parametrize("dtype", ["u1", "i2", "u2", "i4", "i8", "f4", "f8"])
def test_files_of_every_type(tmp_path, dtype):
    image = star_image(dtype, (120, 130)) if dtype != "u1" else star_image("i2", (120, 130)).astype("u1")
    fits.PrimaryHDU(image).writeto(tmp_path / "a.fits")
    advice = tc.advise(tmp_path / "a.fits", tile_shapes=["row"])
    assert (advice.dtype, advice.shape) == (np.dtype(dtype).name, (120, 130))
    from_array = tc.advise(image, tile_shapes=["row"])
    assert [each.nbytes for each in advice.candidates] == [each.nbytes for each in from_array.candidates]


def test_compressed_files_and_cubes():
    packed = tc.advise(SHIPPED / "panoptes_solved.fits.fz", tile_shapes=["row"], algorithms=["RICE_1"])
    assert (packed.shape, packed.dtype) == ((700, 700), "uint16")
    cube = tc.advise(SHIPPED / "fitslib_rice_cube.fz", tile_shapes=["row", (8, 8)], algorithms=["RICE_1", "GZIP_2"])
    assert (cube.shape, cube.sample_shape) == ((3, 24, 40), (1, 24, 40))


def test_masks_are_tried_with_plio():
    mask = (star_image(shape=(256, 256)) > 1015).astype("i2")
    assert "PLIO_1" in {each.algorithm for each in tc.advise(mask).candidates}


def test_large_images_are_sampled():
    advice = tc.advise(np.zeros((3000, 2000), "i2"), max_pixels=1 << 18, tile_shapes=["row"], algorithms=["RICE_1"])
    assert advice.sample_shape == (512, 512)
    vector = tc.advise(np.arange(5000, dtype="i4"), tile_shapes=["row"])
    assert vector.best.cutout is None


def test_what_cannot_be_done_is_told(tmp_path):
    negative = -star_image(shape=(64, 64))
    advice = tc.advise(negative, algorithms=["PLIO_1", "RICE_1"], tile_shapes=["row"])
    assert [each.algorithm for each in advice.candidates] == ["RICE_1"]
    assert advice.refused[0].startswith("PLIO_1")
    with pytest.raises(tc.HeaderError, match="nothing that was tried"):
        tc.advise(negative, algorithms=["PLIO_1"])
    with pytest.raises(tc.HeaderError, match="no pixels"):
        tc.advise(np.zeros((0, 5), "i2"))
    fits.PrimaryHDU().writeto(tmp_path / "empty.fits")
    with pytest.raises(tc.HeaderError, match="no image found"):
        tc.advise(tmp_path / "empty.fits")
    with pytest.raises(ValueError, match="tile shape"):
        tc.advise(star_image(), tile_shapes=["column"])
