"""tilecomp plot: files of several formats, and what cannot be drawn."""

import pytest
from support import needs
from support.command_line import check_help, check_missing, check_no_fits, fail, leftovers, process, succeed
from support.damaged_files import write_broken

needs.module("matplotlib")
STARTS = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml", "jpg": b"\xff\xd8"}


@pytest.fixture
def broken(tmp_path):
    """A file with three bad tiles."""
    write_broken(tmp_path / "a.fits.fz")
    return tmp_path / "a.fits.fz"


def test_help_and_bad_files(tmp_path):
    check_help("plot", "--map", "--plane", "--window")
    check_missing("plot", tmp_path)
    check_no_fits("plot", tmp_path)


def test_the_usual_name(broken):
    assert succeed("plot", broken) == f"{broken} -> {broken}.png\n"
    assert (broken.parent / "a.fits.fz.png").read_bytes()[:4] == STARTS["png"]
    assert "--force replaces it" in fail("plot", broken)


@pytest.mark.parametrize("form", sorted(STARTS))
def test_formats(broken, form):
    out = broken.parent / f"x.{form}"
    assert succeed("plot", "--quiet", "--map", "damaged", "--dpi", "40", broken, "-o", out) == ""
    assert out.read_bytes()[: len(STARTS[form])] == STARTS[form]


def test_standard_input(broken):
    out = broken.parent / "x.png"
    done = process("plot", "-", "--map", "damaged", "-o", out, input=broken.read_bytes())
    assert (done.returncode, out.read_bytes()[:4]) == (0, STARTS["png"][:4])


def test_bad_options(broken):
    assert "is not one of" in fail("plot", "--map", "beauty", broken, code=2)
    assert "expected a name that ends in" in fail("plot", broken, "-o", broken.parent / "x.doc", code=2)
    assert "expected whole numbers" in fail("plot", "--plane", "first", broken, code=2)
    assert "plane is (3,)" in fail("plot", "--plane", "3", broken)
    assert leftovers(broken.parent) == []


def test_a_cut_file(broken):
    broken.write_bytes(broken.read_bytes()[:30_000])
    succeed("plot", "--map", "damaged", broken)
