"""repr and _repr_html_ of images and sections: what they say, and that they never raise."""

import numpy as np
from support.damaged_files import star_image
from support.needs import SHIPPED

import astropy_tilecomp as tc

PANOPTES = SHIPPED / "panoptes_solved.fits.fz"


def test_an_image_from_a_file():
    with tc.open(PANOPTES) as hdul:
        facts = "700 x 700 uint16, RICE_1, 700 tiles of 1 x 700, 0.558 MB, ratio 1.76>"
        assert repr(hdul[1]) == f"<CompImageHDU 'COMPRESSED_IMAGE': {facts}"
        assert repr(hdul[1].section) == f"<section of 'COMPRESSED_IMAGE': {facts}"
        assert hdul[1].section.stats.n_requests == 0  # headers alone
        assert hdul[1]._opening is not None  # and not converted


def test_html():
    with tc.open(PANOPTES) as hdul:
        hdul[1].section[5, 5]
        html = hdul[1].section._repr_html_()
        assert ">700 tiles of 1 x 700</td>" in html
        assert ">1 tiles, " in html
        assert "read so far" not in hdul[1]._repr_html_()
        hdul[1].name = "<b>&"
        assert "<b>" not in hdul[1]._repr_html_()


def test_quantized_floats():
    with tc.open(SHIPPED / "fitslib_rice_f32_dither1.fz") as hdul:
        assert "SUBTRACTIVE_DITHER_1" in repr(hdul[1])


def test_images_in_memory():
    hdu = tc.CompImageHDU(star_image(), name="new")
    assert repr(hdu) == "<CompImageHDU 'NEW': 256 x 256 int16 in memory, RICE_1 when it is written>"
    assert "256 x 256 int16" in hdu.section._repr_html_()
    assert "no pixels" in repr(tc.CompImageHDU())


def test_it_never_raises():
    content = PANOPTES.read_bytes().replace(b"ZCMPTYPE= 'RICE_1", b"ZCMPTYPE= 'RISE_1")
    with tc.open(content) as hdul:
        assert "ZCMPTYPE is 'RISE_1" in repr(hdul[1])
        assert "ZCMPTYPE" in hdul[1].section._repr_html_()
    hdul = tc.open(PANOPTES)
    closed, section = hdul[1], hdul[1].section
    hdul.close()
    assert "closed file" in repr(closed)
    assert "closed file" in section._repr_html_()


def test_once_the_data_are_loaded():
    with tc.open(PANOPTES) as hdul:
        image = hdul[1].data
        assert "700 x 700" in repr(hdul[1])
        hdul[1].data = np.zeros_like(image)
        assert "ratio" in repr(hdul[1])
