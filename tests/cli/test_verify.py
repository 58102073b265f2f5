"""tilecomp verify: exit codes, names of bad tiles, JSON."""

import json

import pytest
from support.command_line import check_help, check_no_fits, fail, process, run, succeed
from support.damaged_files import star_image, write_broken

import astropy_tilecomp as tc


@pytest.fixture
def files(tmp_path):
    """A good file and a bad one."""
    tc.write_image(tmp_path / "good.fits.fz", star_image(), tile_shape=(16, 16), checksum=True)
    write_broken(tmp_path / "bad.fits.fz")
    return tmp_path


def test_help_and_bad_files(tmp_path):
    check_help("verify", "--engine", "--json")
    check_no_fits("verify", tmp_path)
    assert "No such file" in fail("verify", tmp_path / "nowhere.fits")


def test_a_good_file(files):
    text = succeed("verify", files / "good.fits.fz")
    assert text.startswith(f"{files / 'good.fits.fz'}: good (256 tiles decoded by kernel")
    assert succeed("verify", "--quiet", files / "good.fits.fz") == ""


def test_a_bad_file(files):
    result = run("verify", files / "good.fits.fz", files / "bad.fits.fz")
    assert result.exit_code == 1
    assert "good.fits.fz: good" in result.stdout
    assert "bad.fits.fz: BAD" in result.stdout
    assert "3 bad tiles" in result.stdout
    for tile, row in (("0, 3", 3), ("4, 13", 77), ("12, 8", 200)):
        assert f"  HDU 1, tile ({tile}), row {row}: " in result.stdout
    assert "HDU 1: CHECKSUM is wrong" in result.stdout
    assert run("verify", "--quiet", files / "bad.fits.fz").exit_code == 1


def test_json(files):
    reports = json.loads(run("verify", "--json", files / "good.fits.fz", files / "bad.fits.fz").stdout)
    assert [report["good"] for report in reports] == [True, False]
    assert [fault["row"] for fault in reports[1]["hdus"][1]["faults"]] == [3, 77, 200]


def test_one_engine(files):
    assert "decoded by kernel," in succeed("verify", "--engine", "kernel", files / "good.fits.fz")
    assert "is not one of" in fail("verify", "--engine", "steam", files / "good.fits.fz", code=2)


def test_a_missing_file_among_others(files):
    result = run("verify", files / "nowhere.fits", files / "good.fits.fz")
    assert result.exit_code == 1
    assert "good.fits.fz: good" in result.stdout


def test_a_cut_file_and_standard_input(files):
    content = (files / "good.fits.fz").read_bytes()
    assert process("verify", "-", input=content).returncode == 0
    cut = process("verify", "-", input=content[:30_000])
    assert cut.returncode == 1
    assert b"bytes before the data of the HDU do" in cut.stdout
