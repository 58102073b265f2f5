"""tilecomp advise: the table, the command that it recommends, JSON."""

import json
import shlex
import subprocess
import sys

import pytest
from astropy.io import fits
from support.command_line import check_help, check_missing, check_no_fits, fail, process, succeed
from support.damaged_files import star_image
from support.needs import REPOSITORY

import astropy_tilecomp as tc


@pytest.fixture
def path(tmp_path):
    """An image of floats."""
    fits.PrimaryHDU(star_image("f4", (300, 400))).writeto(tmp_path / "a.fits")
    return tmp_path / "a.fits"


def test_help_and_bad_files(tmp_path):
    check_help("advise", "--algorithm", "--max-loss")
    check_missing("advise", tmp_path)
    check_no_fits("advise", tmp_path)


def test_the_table_and_the_recommendation(path):
    text = succeed("advise", "-a", "RICE_1", "-a", "gzip_2", "-t", "row", "-t", "64,32", "-q", "4", path)
    lines = text.splitlines()
    assert "300 x 400 float32, tried on 300 x 400 pixels" in lines[0]
    rows = [line.split() for line in lines if line.startswith(("RICE_1", "GZIP_2"))]
    assert [row[0] for row in rows] == ["RICE_1", "RICE_1", "GZIP_2", "GZIP_2"]
    assert [row[1:4] for row in rows[:2]] == [["1", "x", "400"], ["32", "x", "64"]]
    assert any(line.startswith("why: ") for line in lines)
    assert any(line.startswith("what it loses: pixels change by") for line in lines)
    (command,) = (line.strip() for line in lines if line.startswith("  tilecomp pack"))
    succeed(*shlex.split(command)[1:])
    image = tc.info(f"{path}.fz").images[0].image
    assert (image.algorithm, image.tile_shape) == ("RICE_1", (32, 64))


@pytest.mark.parametrize("name", ["a b.fits", "a b.fits.fz"])
def test_the_command_runs_in_a_shell(path, name):
    """With blanks in a name, and for a file that is compressed already, whose pixels are those that were tried."""
    file = path.with_name(name)
    if name.endswith(".fz"):
        tc.pack(path, file)
    else:
        path.rename(file)
    lines = succeed("advise", "-a", "RICE_1", "-t", "64,32", "-q", "4", file).splitlines()
    (command,) = (line.strip() for line in lines if line.startswith("  tilecomp "))
    command = command.replace("tilecomp ", f"{sys.executable} -m astropy_tilecomp ")
    subprocess.run(["bash", "-c", command], check=True, cwd=REPOSITORY)
    made = file.with_name("a b.repacked.fits.fz" if name.endswith(".fz") else "a b.fits.fz")
    assert tc.info(made).images[0].image.tile_shape == (32, 64)


def test_json(path):
    advice = json.loads(succeed("advise", "--json", "-a", "RICE_1", "-t", "row", path))
    assert [each["quantize_level"] for each in advice["candidates"]] == [2.0, 4.0, 16.0]
    assert advice["best"] in advice["candidates"]


def test_no_loss(path):
    assert "what it loses: nothing" in succeed("advise", "--max-loss", "0", "-t", "row", path)


def test_pipes_and_cut_files(path):
    content = path.read_bytes()
    done = process("advise", "-a", "RICE_1", "-t", "row", "-", input=content)
    assert done.returncode == 0
    cut = process("advise", "-", input=content[:9000])
    assert cut.returncode == 1
    assert b"reaches to byte" in cut.stderr


def test_bad_options(path):
    assert "is not one of" in fail("advise", "-a", "ZIP", path, code=2)
    assert "expected sizes" in fail("advise", "-t", "big", path, code=2)
    assert "no HDU 'NOWHERE' found" in fail("advise", "--hdu", "NOWHERE", path)
