"""What editors and type checkers see of the package."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

from support import needs

import astropy_tilecomp as tc

SCRIPT = """
import astropy_tilecomp as tc
tc.opne("a.fits")
tc.open("a.fits", on_errors="fill")
reveal_type(tc.open)
reveal_type(tc.read_section)
reveal_type(tc.write_image)
reveal_type(tc.open("a.fits")[1])
"""
OPTIONAL = ("zarr numcodecs fsspec kerchunk fastparquet pandas virtualizarr icechunk obstore dask distributed xarray asdf s3fs aiohttp"
            " rich matplotlib")
WITHOUT_THEM = """
import sys
for name in sys.argv[1].split():
    sys.modules[name] = None
from astropy_tilecomp import *
try:
    to_dask("a.fits.fz")
except ImportError as error:
    print(open.__name__, read_section.__name__, error)
"""


def test_the_stub_names_what_the_package_has():
    tree = ast.parse((Path(tc.__file__).parent / "__init__.pyi").read_text())
    stated = {alias.asname: node.module for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert stated == tc._HOME


def test_a_type_checker_sees_signatures_and_misspelt_names(tmp_path):
    needs.module("pyright")
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, str(tmp_path / "script.py")]
    done = subprocess.run(command, cwd=needs.REPOSITORY, capture_output=True, text=True)
    found = [(each["severity"], each["range"]["start"]["line"], each["message"]) for each in json.loads(done.stdout)["generalDiagnostics"]]
    errors = [(line, message) for severity, line, message in found if severity == "error"]
    assert [line for line, _ in errors] == [2, 3]
    assert "opne" in errors[0][1]
    assert "on_errors" in errors[1][1]
    told = {line: message for severity, line, message in found if severity == "information"}
    assert "on_error: str" in told[4]
    assert "-> HDUList" in told[4]
    assert "engine: str | None = None" in told[5]
    assert "-> ndarray" in told[5]
    assert "algorithm: str | None = None" in told[6]
    assert "CompImageHDU | ImageHDU" in told[7]


def test_all_names_can_be_imported_without_optional_packages():
    done = subprocess.run([sys.executable, "-c", WITHOUT_THEM, OPTIONAL], capture_output=True, text=True, cwd=needs.REPOSITORY,
                          env={**os.environ, "PYTHONWARNINGS": "error"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("open read_section ")
    assert "astropy_tilecomp[dask]" in done.stdout
