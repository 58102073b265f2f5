"""The C sources: what a script writes is what it writes today, and the rules of CONTRIBUTING, "C code", hold."""

import re
import subprocess
import sys

import pytest
from support.needs import REPOSITORY

FOLDER = REPOSITORY / "cextern" / "tilecomp"
SOURCES = sorted(path for path in FOLDER.rglob("tc_*.[ch]") if not path.is_relative_to(FOLDER / "tests"))
MAX_MACRO_LINES = 12
LEVELS = ("portable", "avx2", "avx512")


def test_dither_numbers():
    script = REPOSITORY / "tools" / "dither_numbers.py"
    written = subprocess.run([sys.executable, script], check=True, capture_output=True, text=True).stdout
    assert (FOLDER / "quantize" / "tc_dither_numbers.c").read_text() == written


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_macros_are_short(path):
    for macro in re.findall(r"#define (?:.*\\\n)+.*\n", path.read_text()):
        assert macro.count("\n") <= MAX_MACRO_LINES, macro.split("\n")[0]


def test_the_level_is_asked_for_in_one_place():
    asking = {path.name for path in SOURCES if re.search(r"\btc_cpu_level\(\)", path.read_text())}
    assert asking <= {"tc_cpu.h", "tc_gzip.c"}  # the encoder of deflate is told its level


def test_code_of_levels_is_compiled_for_each():
    compiled = {}
    for path in SOURCES:
        found = re.search(r'#define TC_CODE "(\w+)_code\.h"\n#include "tc_level_(\w+)\.h"', path.read_text())
        if found:
            assert path.name == f"{found[1]}_{found[2]}.c"
            compiled.setdefault(found[1], set()).add(found[2])
    assert {"tc_rice", "tc_hcompress", "tc_deflate", "tc_noise", "tc_quantize", "tc_shuffle"} <= set(compiled)
    assert all(levels == set(LEVELS) for levels in compiled.values())
