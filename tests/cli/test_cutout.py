"""tilecomp cutout: pixels in three notations, the sky, the WCS, pictures, remote files."""

import subprocess
import sys

import numpy as np
import pytest
from astropy.coordinates import SkyCoord
from astropy.io import fits
from astropy.wcs import WCS
from numpy.testing import assert_allclose, assert_array_equal
from support.command_line import check_help, check_no_fits, fail, process, succeed
from support.damaged_files import star_image, write_broken
from support.needs import REPOSITORY, SHIPPED
from support.servers import range_server

import astropy_tilecomp as tc

PANOPTES = SHIPPED / "panoptes_solved.fits.fz"
IMAGE = tc.read_image(PANOPTES)


@pytest.fixture
def sky(tmp_path):
    """An image with world coordinates."""
    wcs = WCS(naxis=2)
    wcs.wcs.ctype, wcs.wcs.crval, wcs.wcs.crpix, wcs.wcs.cdelt = ["RA---TAN", "DEC--TAN"], [210.8, 54.35], [120, 100], [-0.01, 0.01]
    tc.write_image(tmp_path / "sky.fits.fz", star_image(shape=(200, 240)), wcs.to_header(), tile_shape=(32, 32))
    return tmp_path / "sky.fits.fz", wcs


def test_help_and_bad_files(tmp_path):
    check_help("cutout", "--index", "--section", "--sky", "--png")
    check_no_fits("cutout", tmp_path, "--index", "0:1,0:1")
    assert "No such file" in fail("cutout", "--index", "0:1,0:1", tmp_path / "nowhere.fits.fz")


@pytest.mark.parametrize(
    "words", [["--index", "300:340,200:260"], ["--section", "[201:260,301:340]"], ["--at", "229.5,319.5", "--size", "60,40"]],
    ids=lambda words: words[0],
)
def test_pixels(tmp_path, words):
    out = tmp_path / "a.fits"
    text = succeed("cutout", PANOPTES, *words, "-o", out)
    assert "40 x 60 pixels, 40 tiles" in text
    assert_array_equal(fits.getdata(out), IMAGE[300:340, 200:260])


def test_the_usual_name(tmp_path):
    (tmp_path / "p.fits.fz").write_bytes(PANOPTES.read_bytes())
    succeed("cutout", tmp_path / "p.fits.fz", "--index", "0:9,0:9", "--quiet")
    assert_array_equal(fits.getdata(tmp_path / "p.cutout.fits"), IMAGE[:9, :9])
    assert "exists already" in fail("cutout", tmp_path / "p.fits.fz", "--index", "0:9,0:9")
    succeed("cutout", tmp_path / "p.fits.fz", "--index", "0:9,0:9", "--compress")
    assert_array_equal(tc.read_image(tmp_path / "p.cutout.fits.fz"), IMAGE[:9, :9])


@pytest.mark.parametrize("text", ["210.9 54.5", "14h03m36s +54d30m00s", "14:03:36 +54:30:00"])
def test_the_sky(sky, tmp_path, text):
    path, wcs = sky
    out = tmp_path / "a.fits"
    succeed("cutout", path, "--sky", text, "--size", "18 arcmin", "-o", out)
    header = fits.getheader(out)
    assert (header["NAXIS1"], header["NAXIS2"]) == (30, 30)
    x, y = WCS(header).world_to_pixel(SkyCoord(210.9, 54.5, unit="deg"))
    assert_allclose([x, y], 14.5, atol=0.6)
    corner = wcs.world_to_pixel(WCS(header).pixel_to_world(0, 0))
    left, bottom = (round(float(value)) for value in corner)
    assert_array_equal(fits.getdata(out), star_image(shape=(200, 240))[bottom:bottom + 30, left:left + 30])


def test_a_picture(tmp_path):
    for words in (["-o", tmp_path / "a.png"], ["--png", "-o", tmp_path / "b"]):
        succeed("cutout", PANOPTES, "--index", "0:50,0:60", *words)
        assert words[-1].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    from matplotlib.image import imread

    assert imread(tmp_path / "a.png").shape[:2] == (50, 60)


def test_remote(tmp_path):
    with range_server({"p.fits.fz": PANOPTES.read_bytes()}) as server:
        text = succeed("cutout", server.url + "p.fits.fz", "--index", "300:340,200:260", "-o", tmp_path / "a.fits")
        assert server.nbytes < 200_000
    assert "2 requests" in text
    assert_array_equal(fits.getdata(tmp_path / "a.fits"), IMAGE[300:340, 200:260])


def test_many_files_and_standard_output(tmp_path):
    (tmp_path / "out").mkdir()
    names = ["galsim_testS_internal.fits.fz", "galsim_testD.fits.fz"]
    succeed("cutout", *(SHIPPED / name for name in names), "--index", "0:3,0:3", "-o", tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["galsim_testD.cutout.fits", "galsim_testS_internal.cutout.fits"]
    done = process("cutout", PANOPTES, "--index", "0:9,0:9", "-o", "-")
    assert_array_equal(fits.HDUList.fromstring(done.stdout)[0].data, IMAGE[:9, :9])


def test_edges(tmp_path):
    succeed("cutout", PANOPTES, "--at", "0,0", "--size", "10", "-o", tmp_path / "trim.fits")
    assert fits.getdata(tmp_path / "trim.fits").shape == (5, 5)
    message = fail("cutout", PANOPTES, "--at", "0,0", "--size", "10", "--mode", "strict", "-o", tmp_path / "x.fits")
    assert message == f"tilecomp: {PANOPTES}: the cutout at x, y = 0, 0 reaches over the edge of the image of shape (700, 700)\n"
    assert "--mode trim" in fail("cutout", PANOPTES, "--at", "0,0", "--size", "10", "--mode", "partial", "-o", tmp_path / "x.fits")
    assert "from 1 on" in fail("cutout", PANOPTES, "--at", "50,50", "--size", "2.7", "-o", tmp_path / "x.fits")


def test_a_disk_that_is_full(tmp_path):
    """What astropy writes too is an error with a message, and leaves nothing."""
    command = f"ulimit -f 200; {sys.executable} -m astropy_tilecomp cutout {PANOPTES} --index 0:700,0:700 -o {tmp_path / 'a.fits'}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=REPOSITORY)
    assert done.returncode == 1
    assert done.stderr.startswith(f"tilecomp: {PANOPTES}: ")
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_damage(tmp_path):
    write_broken(tmp_path / "a.fits.fz", "f4")
    assert "row 3" in fail("cutout", tmp_path / "a.fits.fz", "--index", "0:16,32:64")
    assert ", 1 damaged tile filled\n" in succeed("cutout", "--fill", tmp_path / "a.fits.fz", "--index", "0:16,32:64")
    assert np.isnan(fits.getdata(tmp_path / "a.cutout.fits")).sum() == 256
    (tmp_path / "cut.fits.fz").write_bytes((tmp_path / "a.fits.fz").read_bytes()[:30_000])
    assert "cut.fits.fz" in fail("cutout", tmp_path / "cut.fits.fz", "--index", "250:256,250:256")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give one of"), (["--index", "0:9,0:9", "--at", "1,1"], "give one of"), (["--index", "9:x"], "expected a range"),
        (["--index", "::-1"], "expected a range"),
        (["--section", "0:9,1:9"], "expected a range"), (["--at", "1,1"], "--size belongs"),
        (["--index", "0:9,0:9", "--size", "3"], "--size belongs"),
        (["--at", "here", "--size", "3"], "expected X,Y"), (["--sky", "up and left", "--size", "3"], "--sky"),
        (["--at", "1,1", "--size", "big"], "--size"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_options(words, message):
    assert message in fail("cutout", PANOPTES, *words, code=2)


def test_boxes_outside(tmp_path):
    for words in (["--sky", "10 20", "--size", "1 arcmin"], ["--at", "9000,10", "--size", "5"]):
        message = fail("cutout", PANOPTES, *words, "-o", tmp_path / "a.fits")
        assert message.startswith(f"tilecomp: {PANOPTES}: the ")
        assert "does not" in message
    assert "tilecomp: " in fail("cutout", PANOPTES, "--index", "900:910,0:10", "-o", tmp_path / "a.fits")
    assert "tilecomp: " in fail("cutout", PANOPTES, "--index", "0:10", "--hdu", "NOWHERE", "-o", tmp_path / "a.fits")


@pytest.mark.parametrize("index", ["-100:,-100:", "5", "5,0:7", "300:400:2,200:300", "::2,::3", ":,7", "[0:5, 0:5]", "-1"])
def test_index_is_that_of_numpy(index, tmp_path):
    image = np.arange(700 * 600, dtype="i4").reshape(700, 600)
    tc.write_image(tmp_path / "a.fits.fz", image, tile_shape=(100, 100))
    succeed("cutout", tmp_path / "a.fits.fz", f"--index={index}", "-o", tmp_path / "c.fits")
    want = eval(f"image[{index.strip('[]')}]", {"image": image})
    assert_array_equal(np.squeeze(fits.getdata(tmp_path / "c.fits")), np.squeeze(want))


def test_steps_keep_the_world_coordinates(tmp_path):
    cards = {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRVAL1": 10.0, "CRVAL2": 20.0, "CRPIX1": 30.0, "CRPIX2": 20.0,
             "CD1_1": -0.001, "CD1_2": 0.0002, "CD2_1": 0.0001, "CD2_2": 0.001}
    image = np.arange(2400, dtype="i4").reshape(40, 60)
    tc.write_image(tmp_path / "a.fits.fz", image, cards)
    succeed("cutout", tmp_path / "a.fits.fz", "--index=4:30:3,6::2", "-o", tmp_path / "c.fits")
    with fits.open(tmp_path / "c.fits") as hdus:
        assert_array_equal(hdus[0].data, image[4:30:3, 6::2])
        found = WCS(hdus[0].header).pixel_to_world_values([0, 5], [0, 3])
    want = WCS(fits.Header(cards)).pixel_to_world_values([6, 16], [4, 13])
    assert np.allclose(found, want, rtol=0, atol=1e-10)


def test_the_name_of_an_hdu_after_a_file_is_explained(panoptes, tmp_path):
    assert "--hdu 1" in fail("cutout", f"{panoptes}[1]", "--index", "0:5,0:5", "-o", tmp_path / "c.fits")


def test_steps_in_an_image_with_distortion_are_refused(panoptes, tmp_path):
    assert "A_ORDER" in fail("cutout", panoptes, "--index=::2,:", "-o", tmp_path / "c.fits")
