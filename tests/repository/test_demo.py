"""The demonstration that ``make demo`` runs says how little a section takes."""

import re
import subprocess
import sys

from support.needs import REPOSITORY


def test_demo_reads_a_part_of_the_tiles_and_bytes(panoptes):
    done = subprocess.run([sys.executable, REPOSITORY / "tools" / "demo.py"], cwd=REPOSITORY, capture_output=True, text=True,
                          env={"PYTHONPATH": str(REPOSITORY), "PATH": ""}, check=True)
    assert "KIC 8462852" in done.stdout
    tiles, of_tiles, n_bytes, of_bytes = map(int, re.search(
        r"That took (\d+) of (\d+) tiles and (\d+) of (\d+) bytes", done.stdout).groups())
    assert (tiles, of_tiles, of_bytes) == (100, 700, panoptes.stat().st_size)
    assert n_bytes < of_bytes / 7 + 700 * 8
