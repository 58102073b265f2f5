"""All tests of the installed astropy for io.fits pass while this package is enabled."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import astropy
import pytest
from support.enabled_plugin import deselected

TESTS = Path(__file__).parents[2]
MAX_DESELECTED = 3


def test_few_tests_are_deselected():
    assert len(deselected()) <= MAX_DESELECTED


@pytest.mark.parametrize("node", deselected())
def test_what_is_deselected_exists(node):
    path, *names = node.split("::")
    text = (Path(astropy.__file__).parent.parent / path).read_text()
    assert all(name in text for name in names)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("pytest_astropy") is None, reason="needs pytest-astropy, which astropy's own tests use")
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("package", ["astropy.io.fits.hdu.compressed", "astropy.io.fits.tests"])
def test_astropys_own_tests_pass_under_enable(package, tmp_path):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "support.enabled_plugin", "-p", "no:cacheprovider", "--pyargs", package]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent), os.environ.get("PYTHONPATH", "")])}
    environment.pop("ASTROPY_TILECOMP_REQUIRE", None)
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2000:]
    summary = done.stdout.splitlines()[-1]
    assert " passed" in summary and " failed" not in summary, summary
