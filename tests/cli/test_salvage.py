"""tilecomp salvage: the new file, its name, and what is said of the loss."""

import json

import pytest
from support.command_line import check_help, check_missing, check_no_fits, fail, leftovers, process, succeed
from support.damaged_files import star_image, write_broken

import astropy_tilecomp as tc


@pytest.fixture
def broken(tmp_path):
    """A file with three bad tiles."""
    write_broken(tmp_path / "a.fits.fz")
    return tmp_path / "a.fits.fz"


def test_help_and_bad_files(tmp_path):
    check_help("salvage", "--fill-value", "--force")
    check_missing("salvage", tmp_path)
    check_no_fits("salvage", tmp_path)
    assert leftovers(tmp_path) == []


def test_a_broken_file(broken):
    text = succeed("salvage", broken)
    out = broken.parent / "a.salvaged.fits.fz"
    assert f"{broken} -> {out}: 3 of 256 tiles lost" in text
    assert "HDU 1, tile (4, 13), row 77: " in text
    succeed("verify", out)
    assert "--force replaces it" in fail("salvage", broken)
    succeed("salvage", "--force", "--quiet", "--fill-value", "5", broken)
    assert (tc.read_image(out)[:16, 48:64] == 5).all()


def test_a_sound_file(tmp_path):
    tc.write_image(tmp_path / "a.fits.fz", star_image())
    assert "nothing was lost" in succeed("salvage", tmp_path / "a.fits.fz", "-o", tmp_path / "b.fits.fz")
    assert (tmp_path / "b.fits.fz").read_bytes() == (tmp_path / "a.fits.fz").read_bytes()


def test_json(broken):
    (report,) = json.loads(succeed("salvage", "--json", broken))
    assert [fault["row"] for fault in report["hdus"][1]["lost"]] == [3, 77, 200]


def test_pipes(broken):
    done = process("salvage", "-", input=broken.read_bytes())
    assert done.returncode == 0
    assert b"3 of 256 tiles lost" in done.stderr
    assert tc.verify(done.stdout).good


def test_a_cut_file(broken):
    broken.write_bytes(broken.read_bytes()[:30_000])
    assert "HDU 1 repaired: the file ends" in succeed("salvage", broken)
    broken.write_bytes(broken.read_bytes()[:4000])
    assert "what could not be read was left out\n  no END card" in succeed("salvage", "--force", broken)


def test_bad_options(broken):
    assert "is not a valid integer" in fail("salvage", "--fill-value", "nan", broken, code=2)
