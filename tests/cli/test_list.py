"""tilecomp list: a line for each HDU."""

import os
import pty
import re
import subprocess
import sys

from support.command_line import check_help, check_missing, check_no_fits, process, succeed
from support.needs import REPOSITORY, SHIPPED


def test_help_and_bad_files(tmp_path):
    check_help("list")
    check_missing("list", tmp_path)
    check_no_fits("list", tmp_path)


def test_lines():
    lines = succeed("list", SHIPPED / "panoptes_solved.fits.fz", SHIPPED / "galsim_test_multiS.fits.fz").splitlines()
    images = [line for line in lines if "compressed image" in line]
    assert len(images) == 13
    assert images[0].split()[1:] == [
        "1", "COMPRESSED_IMAGE", "compressed", "image", "700", "x", "700", "uint16", "RICE_1", "1", "x", "700", "1.76", "589", "kB"]


def test_nothing_is_cut_off_in_a_pipe():
    done = process("list", SHIPPED / "legacypipe_ksb_staticmask_ood_v1.fits.fz")
    assert done.stdout.decode().count(str(SHIPPED / "legacypipe_ksb_staticmask_ood_v1.fits.fz")) == 5


def test_nothing_is_cut_off_in_a_narrow_terminal():
    leader, follower = pty.openpty()
    words = [sys.executable, "-m", "astropy_tilecomp", "list", SHIPPED / "panoptes_solved.fits.fz"]
    subprocess.run(words, stdout=follower, check=True, cwd=REPOSITORY, env={**os.environ, "COLUMNS": "40", "TERM": "xterm"})
    text = re.sub(r"\x1b\[[0-9;]*m", "", os.read(leader, 1 << 16).decode())
    os.close(follower)
    os.close(leader)
    assert "COMPRESSED_IMAGE   compressed image   700 x 700   uint16   RICE_1      1 x 700" in text


def test_a_cut_file(tmp_path):
    content = (SHIPPED / "panoptes_solved.fits.fz").read_bytes()
    done = process("list", "-", input=content[:100_000])
    assert done.returncode == 0
    assert b"compressed image" in done.stdout
    assert b"tilecomp: -: HDU 1: the file ends 492211 bytes before the data do" in done.stderr
    in_header = process("list", "-", input=content[:2880 * 3])
    assert b"no END card" in in_header.stderr
