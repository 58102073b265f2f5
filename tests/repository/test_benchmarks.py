"""The speed of reading as plain tests (pytest-benchmark), and the benchmark program itself on small images."""

import json
import subprocess
import sys

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal
from support.needs import REPOSITORY

import astropy_tilecomp as tc
from benchmarks.fields import star_field
from benchmarks.measure import compare, measure
from benchmarks.rows import ROWS, Row, Workspace

SIZE = 1024


@pytest.fixture(scope="module")
def star_file(tmp_path_factory):
    """Path and pixels of a star field compressed by astropy in 256 x 256 tiles."""
    image = star_field("i2", SIZE)
    path = tmp_path_factory.mktemp("speed") / "stars.fits.fz"
    hdu = fits.CompImageHDU(image, compression_type="RICE_1", tile_shape=(256, 256))
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(path)
    return path, image


@pytest.mark.parametrize("index", [np.s_[7, 9], np.s_[:300, :300], np.s_[::64, ::64], np.s_[...]], ids=str)
@pytest.mark.parametrize("engine", ["kernel", "cfitsio"])
def test_speed_of_a_section(benchmark, star_file, index, engine):
    path, image = star_file
    got = benchmark(tc.read_section, path, index, hdu=1, engine=engine)
    assert_array_equal(got, image[index])


@pytest.mark.parametrize("threads", [1, 2])
def test_speed_of_a_whole_read(benchmark, star_file, threads):
    path, image = star_file
    assert_array_equal(benchmark(tc.read_image, path, hdu=1, threads=threads), image)


def test_fields_are_the_same_at_every_run():
    assert_array_equal(star_field("i2", 128), star_field("i2", 128))
    assert star_field("f4", 128).dtype == np.float32


def test_keys_of_the_rows_are_unique():
    assert len({row.key for row in ROWS}) == len(ROWS)


def test_a_wrong_result_has_no_speed(tmp_path):
    wrong = Row("wrong", "one contender is wrong", lambda workspace: {"tilecomp": lambda: 1, "astropy": lambda: 2},
                lambda workspace, results: pytest.fail("differs") if len(set(results.values())) > 1 else None)
    with pytest.raises(pytest.fail.Exception):
        measure(wrong, Workspace(tmp_path, 64), rounds=1, seconds=0)


def test_ratios_are_of_the_peer_over_ours():
    row = Row("ratio", "", None, None, {"astropy": 3}, {"astropy": 2.5})
    all_threads, alone = compare(row, {"tilecomp": [1.0, 2.0, 3.0], "tilecomp, 1 thread": [4.0], "astropy": [8.0]})
    assert (all_threads.ratio, all_threads.ratio_of_minima, all_threads.is_met) == (4, 8, True)
    assert (alone.ratio, alone.is_met) == (2, False)


@pytest.mark.parametrize("by_least", [False, True])
def test_least_times_may_count(by_least):
    row = Row("threads", "", None, None, {"tilecomp, 1 thread": 1.6}, by_least=by_least)
    (comparison,) = compare(row, {"tilecomp": [1.0, 2.0, 3.0], "tilecomp, 1 thread": [1.7, 2.0, 2.0]})
    assert comparison.is_met is by_least
    assert comparison.standing(1) == ("1.7x" if by_least else "1.0x")


@pytest.mark.parametrize(("ours", "is_met"), [(0.016, True), (0.018, False)])
def test_an_aim_may_be_a_difference(ours, is_met):
    row = Row("difference", "", None, None, at_most_ms_more={"direct": 7})
    (comparison,) = compare(row, {"tilecomp": [ours], "direct": [0.010]})
    assert comparison.is_met is is_met
    assert (comparison.standing(1), comparison.aim) == (f"{1e3 * ours - 10:.1f} ms more", "at most 7 ms more")


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_the_program_writes_what_it_measured(tmp_path):
    target = tmp_path / "result.json"
    command = [sys.executable, "-m", "benchmarks", "--rows", "read-rice-i16-rows", "--size", "256", "--rounds", "1",
               "--seconds", "0", "--json", str(target), "--csv", str(tmp_path / "table.csv")]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert "read RICE_1 int16" in done.stdout
    (row,) = json.loads(target.read_text())["rows"]
    assert {"tilecomp", "astropy"} <= set(row["seconds"])
    heading, first, *_ = (tmp_path / "table.csv").read_text().splitlines()
    assert heading.startswith("work,who,median ms")
    assert first.startswith('"read RICE_1 int16, row tiles",tilecomp,')
