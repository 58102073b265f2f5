"""tilecomp info: words and JSON."""

import json

from support.command_line import check_help, check_missing, check_no_fits, fail, process, succeed
from support.damaged_files import write_broken
from support.needs import SHIPPED

import astropy_tilecomp as tc


def test_help_and_bad_files(tmp_path):
    check_help("info", "--json")
    check_missing("info", tmp_path)
    check_no_fits("info", tmp_path)
    assert "expected KEY=VALUE" in fail("info", "--storage-option", "anon", SHIPPED / "galsim_testD.fits.fz", code=2)


def test_words():
    text = succeed("info", SHIPPED / "panoptes_solved.fits.fz")
    for words in ("RICE_1 (blocksize 32, bytepix 2)", "uint16", "700 x 1 of 1 x 700 pixels", "contiguous, in row order",
                  "200 x 200 pixels cost 164 kB in 2 requests (200 tiles)"):
        assert words in text
    assert "SUBTRACTIVE_DITHER_1, seed" in succeed("info", SHIPPED / "fitslib_rice_f32_dither1.fz")
    assert "8 tiles gzipped without loss" in succeed("info", SHIPPED / "fitslib_rice_f32_nan_gzipfallback.fz")


def test_json_is_the_report(tmp_path):
    paths = [SHIPPED / "panoptes_solved.fits.fz", SHIPPED / "galsim_test_multiS.fits.fz"]
    reports = json.loads(succeed("info", "--json", *paths))
    assert [report["path"] for report in reports] == [str(path) for path in paths]
    image = tc.info(paths[0]).images[0].image
    assert reports[0]["hdus"][1]["image"]["ratio"] == image.ratio
    assert reports[0]["hdus"][1]["image"]["cutout"]["nbytes"] == image.cutout.nbytes


def test_a_cut_file(tmp_path):
    write_broken(tmp_path / "a.fits.fz")
    content = (tmp_path / "a.fits.fz").read_bytes()
    done = process("info", "-", input=content[:30_000])
    assert done.returncode == 0
    assert b"bytes before the data do" in done.stdout
    assert b"WITHOUT USABLE BYTES" in done.stdout
