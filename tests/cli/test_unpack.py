"""tilecomp unpack: files come back, damaged ones do not unless asked for."""

import numpy as np
import pytest
from astropy.io import fits
from support.command_line import check_help, check_missing, check_no_fits, fail, leftovers, process, run, succeed
from support.damaged_files import star_image, write_broken

import astropy_tilecomp as tc


@pytest.fixture
def packed(tmp_path):
    """Two files and their packed forms."""
    for name in "ab":
        fits.PrimaryHDU(star_image("i2", (60, 80))).writeto(tmp_path / f"{name}.fits")
        tc.pack(tmp_path / f"{name}.fits")
        (tmp_path / f"{name}.fits").rename(tmp_path / f"{name}.original")
    return tmp_path


def test_help_and_bad_files(tmp_path):
    check_help("unpack", "--fill", "--force", "--stdout")
    check_missing("unpack", tmp_path)
    check_no_fits("unpack", tmp_path, "-o", tmp_path / "x.fits")


def test_files_come_back(packed):
    text = succeed("unpack", "-j2", packed / "*.fz")
    assert text.count("1 of 1 HDUs unpacked") == 2
    for name in "ab":
        assert (packed / f"{name}.fits").read_bytes() == (packed / f"{name}.original").read_bytes()


def test_names(packed):
    assert "--output has to name the new file" in fail("unpack", packed / "a.original")
    succeed("unpack", packed / "a.fits.fz", "-o", packed / "x.fits", "--quiet")
    assert (packed / "x.fits").read_bytes() == (packed / "a.original").read_bytes()
    assert "--force replaces it" in fail("unpack", packed / "a.fits.fz", "-o", packed / "x.fits")
    succeed("unpack", "-D", "--force", packed / "a.fits.fz", "-o", packed / "x.fits")
    assert not (packed / "a.fits.fz").exists()


def test_a_file_of_another_name_does_not_keep_others_from_it(packed):
    result = run("unpack", *sorted(packed.iterdir()))
    assert result.exit_code == 1
    assert result.stderr.count("does not end in .fz; --output has to name the new file") == 2
    assert result.stdout.count("1 of 1 HDUs unpacked") == 2


def test_standard_output(packed):
    done = process("unpack", "-S", packed / "a.fits.fz")
    assert done.stdout == (packed / "a.original").read_bytes()


def test_damage(tmp_path):
    good = write_broken(tmp_path / "a.fits.fz", "f4")
    message = fail("unpack", tmp_path / "a.fits.fz")
    assert "tile (0, 3), row 3" in message
    assert not (tmp_path / "a.fits").exists()
    succeed("unpack", "--fill", tmp_path / "a.fits.fz")
    found = fits.getdata(tmp_path / "a.fits", 1 if len(fits.open(tmp_path / "a.fits")) > 1 else 0)
    lost = np.isnan(found)
    assert lost.sum() == 3 * 256
    assert np.array_equal(found[~lost], good[~lost])


def test_a_cut_file(packed):
    content = (packed / "a.fits.fz").read_bytes()
    (packed / "cut.fits.fz").write_bytes(content[:-2880])
    assert "cut.fits.fz" in fail("unpack", packed / "cut.fits.fz")
    assert not (packed / "cut.fits").exists()
    assert leftovers(packed) == []


@pytest.mark.parametrize("option", ["--stdout", "--fill"])
def test_delete_only_where_nothing_can_be_lost(option, packed):
    assert option in fail("unpack", "-D", option, packed / "a.fits.fz", code=2)
    assert (packed / "a.fits.fz").exists()
