"""tilecomp pack: fpack's options and names, many files, folders, --force, --verify, pipes."""

import gzip

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal
from support import needs
from support.command_line import check_help, check_missing, check_no_fits, fail, leftovers, process, succeed
from support.damaged_files import star_image

import astropy_tilecomp as tc


@pytest.fixture
def files(tmp_path):
    """Two integer images and one of floats."""
    for name, dtype in (("a", "i2"), ("b", "i2"), ("f", "f4")):
        fits.PrimaryHDU(star_image(dtype, (60, 80))).writeto(tmp_path / f"{name}.fits")
    return tmp_path


def header_of(path):
    return fits.getheader(path, 1, disable_image_compression=True)


def test_help_and_bad_files(tmp_path):
    check_help("pack", "-g2", "-qz", "--tile", "--verify", "--force", "-j")
    check_missing("pack", tmp_path)
    check_no_fits("pack", tmp_path)


def test_the_usual_name(files):
    text = succeed("pack", files / "a.fits")
    assert f"{files / 'a.fits'} -> {files / 'a.fits.fz'}: 1 of 1 HDUs packed (RICE_1), ratio" in text
    assert_array_equal(tc.read_image(files / "a.fits.fz"), star_image("i2", (60, 80)))
    assert succeed("pack", "--quiet", files / "b.fits") == ""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], {"ZCMPTYPE": "RICE_1", "ZTILE1": 80, "ZTILE2": 1}),
        (["-r", "-t", "20,10"], {"ZCMPTYPE": "RICE_1", "ZTILE1": 20, "ZTILE2": 10}),
        (["-w"], {"ZTILE1": 80, "ZTILE2": 60}),
        (["--tile", "row"], {"ZTILE1": 80, "ZTILE2": 1}),
        (["-h"], {"ZCMPTYPE": "HCOMPRESS_1", "ZVAL1": 0}),
        (["-h", "-s", "-3", "--smooth"], {"ZCMPTYPE": "HCOMPRESS_1", "ZVAL1": -3, "ZVAL2": 1}),
        (["-g"], {"ZCMPTYPE": "GZIP_1"}),
        (["-g1"], {"ZCMPTYPE": "GZIP_1"}),
        (["-g2"], {"ZCMPTYPE": "GZIP_2"}),
        (["-p"], {"ZCMPTYPE": "PLIO_1"}),
        (["-d"], {"ZCMPTYPE": "NOCOMPRESS"}),
        (["-a", "gzip_2"], {"ZCMPTYPE": "GZIP_2"}),
        (["-C"], {"CHECKSUM": None}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_options(files, words, expected):
    succeed("pack", *words, "--engine", "kernel", files / "a.fits")
    header = header_of(files / "a.fits.fz")
    assert {key: header.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("words", "method", "level"),
    [(["-q", "8"], "SUBTRACTIVE_DITHER_1", 8), (["-qz", "8"], "SUBTRACTIVE_DITHER_2", 8), (["-q0", "8"], "NO_DITHER", 8),
     (["-q", "0"], "NONE", None), (["--lossless"], "NONE", None), ([], "SUBTRACTIVE_DITHER_1", 4)],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_quantization(files, words, method, level):
    text = succeed("pack", *words, "--seed", "7", files / "f.fits")
    header = header_of(files / "f.fits.fz")
    assert header["ZQUANTIZ"] == method
    assert ("floats quantized" in text) == (level is not None)
    if level is not None:
        assert f"q = {level:f}" in str(header["HISTORY"])
        assert header.get("ZDITHER0") == (None if method == "NO_DITHER" else 7)
    else:
        assert_array_equal(tc.read_image(files / "f.fits.fz"), fits.getdata(files / "f.fits"))


def test_nothing_is_overwritten(files):
    (files / "a.fits.fz").write_bytes(b"mine")
    message = fail("pack", files / "a.fits")
    assert "exists already; --force replaces it" in message
    assert (files / "a.fits.fz").read_bytes() == b"mine"
    succeed("pack", "--force", files / "a.fits")
    assert tc.info(files / "a.fits.fz").images
    assert leftovers(files) == []


def test_output_names(files):
    succeed("pack", files / "a.fits", "-o", files / "other.fz")
    assert (files / "other.fz").exists()
    (files / "out").mkdir()
    succeed("pack", "-j2", files / "[ab].fits", "-o", files / "out")
    assert sorted(path.name for path in (files / "out").iterdir()) == ["a.fits.fz", "b.fits.fz"]
    assert "is no folder" in fail("pack", files / "a.fits", files / "b.fits", "-o", files / "x.fz", code=2)


def test_delete(files):
    succeed("pack", "-D", files / "a.fits")
    assert not (files / "a.fits").exists()
    fail("pack", "-D", files / "b.fits", "-o", files / "a.fits.fz")
    assert (files / "b.fits").exists()


@pytest.mark.parametrize("name", ["a.fits", "link.fits"])
def test_delete_keeps_what_took_the_place_of_the_file(files, name):
    (files / "link.fits").symlink_to(files / "a.fits")
    succeed("pack", "-D", "--force", files / "a.fits", "-o", files / name)
    assert_array_equal(tc.read_image(files / "a.fits"), star_image("i2", (60, 80)))


def test_delete_no_url(files):
    needs.module("fsspec")
    assert "1 of 1 HDUs packed" in succeed("pack", "-D", (files / "a.fits").as_uri(), "-o", files / "x.fz")
    assert (files / "a.fits").exists()


def test_delete_only_what_a_file_holds(files):
    """Neither standard output nor a device keeps the data."""
    assert "--stdout" in fail("pack", "-D", "-S", files / "a.fits", code=2)
    fail("pack", "-D", "--force", files / "a.fits", "-o", "/dev/null")
    assert (files / "a.fits").exists()


def test_delete_asks_for_yes_where_pixels_are_lost(files):
    assert "--yes" in fail("pack", "-D", files / "f.fits")
    assert (files / "f.fits").exists() and (files / "f.fits.fz").exists()
    succeed("pack", "-D", "-Y", "--force", files / "f.fits")
    assert not (files / "f.fits").exists()
    assert "--yes" in fail("pack", "-D", "-h", "-s", "2", files / "a.fits")
    assert (files / "a.fits").exists()


def test_two_files_never_have_one_output(files):
    (files / "out").mkdir()
    (files / "other").mkdir()
    fits.PrimaryHDU(star_image("i4")).writeto(files / "other" / "a.fits")
    message = fail("pack", "-D", "--force", files / "a.fits", files / "other" / "a.fits", "-o", files / "out", code=2)
    assert f"{files / 'a.fits'} and {files / 'other' / 'a.fits'} would both become {files / 'out' / 'a.fits.fz'}" in message
    assert list((files / "out").iterdir()) == []


def test_the_ending_of_a_file_that_is_compressed_as_a_whole_goes(files):
    (files / "z.fits.gz").write_bytes(gzip.compress((files / "a.fits").read_bytes()))
    succeed("pack", files / "z.fits.gz")
    succeed("unpack", files / "z.fits.fz")
    assert (files / "z.fits").read_bytes() == (files / "a.fits").read_bytes()


def test_verify(files, monkeypatch):
    succeed("pack", "--verify", files / "a.fits", files / "f.fits")
    from astropy_tilecomp.tasks import pack

    monkeypatch.setattr(pack, "_same", lambda *args: False)
    assert "did not come back" in fail("pack", "--verify", files / "b.fits")
    assert not (files / "b.fits.fz").exists()


def test_standard_output(files):
    done = process("pack", "-S", files / "a.fits")
    assert done.returncode == 0
    assert_array_equal(tc.read_image(done.stdout), star_image("i2", (60, 80)))
    named = process("pack", "-", "-o", files / "n.fz", input=(files / "a.fits").read_bytes())
    assert named.returncode == 0
    assert_array_equal(tc.read_image(files / "n.fz"), star_image("i2", (60, 80)))
    assert "hold one file" in fail("pack", "-S", files / "a.fits", files / "b.fits", code=2)
    assert "exclude one another" in fail("pack", "-S", files / "a.fits", "-o", files / "n.fz", code=2)


@pytest.mark.parametrize(
    ("words", "message"),
    [(["-t", "ten,ten"], "expected sizes such as"), (["-t", "0,5"], "expected sizes such as"),
     (["-q", "4", "-qz", "4"], "exclude one another"), (["-a", "ZIP"], "is not one of"),
     (["-j", "0"], "not in the range"), (["--seed", "20000"], "not in the range")],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_options(files, words, message):
    assert message in fail("pack", *words, files / "a.fits", code=2)
    assert not (files / "a.fits.fz").exists()


def test_a_tile_of_other_axes(files):
    """GZIP_2 would not help, so nothing is said of it."""
    message = fail("pack", "-t", "1,2,3", files / "a.fits")
    assert message == f"tilecomp: {files / 'a.fits'}: a tile shape of 3 axes does not fit an image of 2\n"


def test_what_is_packed_already(files):
    succeed("pack", files / "a.fits")
    assert "ends in .fz already; --output has to name the new file" in fail("pack", files / "a.fits.fz")
    assert not (files / "a.fits.fz.fz").exists()
    assert "(nothing to compress)" in succeed("pack", files / "a.fits.fz", "-o", files / "copy.fz")


def test_a_cut_file(files):
    content = (files / "a.fits").read_bytes()
    (files / "cut.fits").write_bytes(content[:5000])
    assert "cut.fits: HDU 0 reaches to byte" in fail("pack", files / "cut.fits")
    assert not (files / "cut.fits.fz").exists()
    assert leftovers(files) == []


def test_many_files_at_once(tmp_path):
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 99, (300, 300)).astype("i2") for _ in range(6)]
    for number, image in enumerate(images):
        fits.PrimaryHDU(image).writeto(tmp_path / f"{number}.fits")
    text = succeed("pack", "-j", "3", tmp_path / "*.fits")
    assert [line.split(" -> ")[0][-6:] for line in text.splitlines()] == [f"{n}.fits" for n in range(6)]
    for number, image in enumerate(images):
        assert_array_equal(tc.read_image(tmp_path / f"{number}.fits.fz"), image)
