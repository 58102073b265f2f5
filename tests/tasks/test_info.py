"""info: what is in a file, read from headers and tables alone."""

import shutil

import numpy as np
import pytest
from astropy.io import fits
from support.damaged_files import star_image, write_broken
from support.needs import SHIPPED
from support.servers import range_server
from support.small_files import PRIMARY, CompressedImage, gzip_1

import astropy_tilecomp as tc


def test_every_kind_of_hdu(tmp_path):
    path = tmp_path / "a.fits"
    table = fits.BinTableHDU.from_columns([fits.Column("X", "J", array=np.arange(7))], name="LIST")
    fits.HDUList([
        fits.PrimaryHDU(), fits.ImageHDU(np.zeros((3, 4), "f4"), name="plain"), table,
        fits.CompImageHDU(star_image(), name="packed"),
    ]).writeto(path)
    report = tc.info(path)
    assert [hdu.kind for hdu in report.hdus] == ["empty", "image", "table", "compressed image"]
    assert [hdu.shape for hdu in report.hdus] == [(), (3, 4), (7,), (256, 256)]
    assert [hdu.name for hdu in report.hdus] == ["", "PLAIN", "LIST", "PACKED"]
    assert report.nbytes == path.stat().st_size
    assert report.problem == ""


def test_an_image():
    report = tc.info(SHIPPED / "fitslib_rice_f32_dither1.fz")
    image = report.images[0].image
    assert (image.algorithm, image.settings) == ("RICE_1", {"blocksize": 32, "bytepix": 4})
    assert (image.shape, image.n_tiles, image.dtype) == ((64, 64), 8, "float32")
    assert image.quantization == "SUBTRACTIVE_DITHER_1"
    with fits.open(SHIPPED / "fitslib_rice_f32_dither1.fz", disable_image_compression=True) as hdul:
        scales = hdul[1].data["ZSCALE"]
        assert image.zscale == (scales.min(), scales.max())
        assert image.zdither0 == hdul[1].header["ZDITHER0"]
        assert image.ratio == 64 * 64 * 4 / (hdul[1].header["NAXIS1"] * 8 + hdul[1].header["PCOUNT"])


def test_fallback_tiles():
    image = tc.info(SHIPPED / "fitslib_rice_f32_nan_gzipfallback.fz").images[0].image
    assert (image.n_gzip, image.n_raw, image.n_unusable) == (8, 0, 0)
    assert image.zscale is None


def test_the_heap():
    pixels = np.arange(24, dtype="i2").reshape(4, 6)
    streams = [gzip_1(pixels[row:row + 1], "i2") for row in range(4)]
    image = CompressedImage((4, 6), (1, 6), 16, "GZIP_1")
    image.heap = b"".join(streams[row] + b"gap" for row in (1, 0, 3, 2))
    place, at = {}, 0
    for row in (1, 0, 3, 2):
        place[row], at = at, at + len(streams[row]) + 3
    image.set_descriptors([(len(streams[row]), place[row]) for row in range(4)])
    heap = tc.info(PRIMARY + image.hdu_bytes()).images[0].image.heap
    assert (heap.in_order, heap.contiguous, heap.n_gaps, heap.gap_nbytes) == (False, False, 4, 12)
    assert heap.tile_nbytes == sum(map(len, streams))
    assert (heap.smallest, heap.largest) == (min(map(len, streams)), max(map(len, streams)))


@pytest.mark.parametrize("tile", [(1, 1000), (64, 64), (256, 256), (1000, 1000)], ids=str)
def test_the_cost_of_a_cutout_is_what_it_takes(tmp_path, tile):
    """Over http the same cutout fetches these bytes, in these requests, besides the header's."""
    tc.write_image(tmp_path / "a.fits.fz", star_image(shape=(1000, 1000)), tile_shape=tile)
    cost = tc.info(tmp_path / "a.fits.fz").images[0].image.cutout
    assert cost.shape == (200, 200)
    served = {"a.fits.fz": (tmp_path / "a.fits.fz").read_bytes()}
    with range_server(served) as server, tc.open(server.url + "a.fits.fz") as hdul:
        section = hdul[1].section
        section[400:600, 400:600]
        assert section.stats.nbytes == cost.nbytes
        assert section.stats.n_requests == cost.n_requests
        assert section.stats.n_tiles == cost.n_tiles


def test_damage_does_not_hide_the_rest(tmp_path):
    write_broken(tmp_path / "a.fits.fz")
    assert tc.info(tmp_path / "a.fits.fz").images[0].image.n_unusable == 0  # streams are not decoded
    content = (tmp_path / "a.fits.fz").read_bytes()
    cut = tc.info(content[:40_000])
    assert cut.hdus[1].missing_nbytes > 0
    assert cut.hdus[1].image.n_unusable == 93
    in_table = tc.info(content[:cut.hdus[1].offset + cut.hdus[1].header_nbytes + 1000])
    assert "the table takes" in in_table.hdus[1].problem
    in_header = tc.info(content[:2880 + 2000])
    assert len(in_header.hdus) == 1
    assert "no END card" in in_header.problem


def test_a_broken_header_is_a_problem_of_its_hdu(tmp_path):
    shutil.copy(SHIPPED / "galsim_testD.fits.fz", tmp_path / "a.fits")
    content = (tmp_path / "a.fits").read_bytes().replace(b"ZCMPTYPE= 'RICE_1", b"ZCMPTYPE= 'RISE_1")
    report = tc.info(content)
    assert report.images == ()
    assert "ZCMPTYPE is 'RISE_1" in report.hdus[1].problem


def test_no_fits_file_raises():
    with pytest.raises(tc.HeaderError, match="not a FITS file"):
        tc.info(b"nothing of the kind" * 300)
