"""C sources that a script writes are what it writes today."""

import subprocess
import sys

from support.needs import REPOSITORY


def test_dither_numbers():
    script = REPOSITORY / "tools" / "dither_numbers.py"
    written = subprocess.run([sys.executable, script], check=True, capture_output=True, text=True).stdout
    (source,) = (REPOSITORY / "cextern" / "tilecomp").rglob("tc_dither_numbers.c")
    assert source.read_text() == written
