"""The small files of ../shared/cases."""

import tempfile
import types
import warnings
from pathlib import Path

import pytest

import astropy_tilecomp as tc
from support import needs

CASES = needs.SHARED / "cases"
REFUSALS = (tc.TileCompError, IndexError, TypeError, ValueError, OSError)


def load_script(path):
    """Run one of the scripts as a module."""
    script = types.ModuleType(f"case_{path.stem}")
    exec(compile(path.read_text(), str(path), "exec"), vars(script))  # an import would leave a __pycache__ beside it
    return script


def make_all(folder):
    """Run every script in a folder of its own below `folder`; the result is a list of (id, folder, entry)."""
    cases = []
    for path in sorted(CASES.glob("*.py")):
        own = folder / path.stem
        own.mkdir()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            entries = load_script(path).make(own)
        cases += [(f"{path.stem}-{n}", own, entry) for n, entry in enumerate(entries)]
    return cases


FOLDER = Path(tempfile.mkdtemp(prefix="tilecomp-cases-"))
ALL_CASES = make_all(FOLDER)


def each_case(wanted=lambda entry: True):
    """Parametrize a test with the folder and the entry of every case that is wanted."""
    found = [pytest.param(folder, case, id=name) for name, folder, case in ALL_CASES if wanted(case)]
    return pytest.mark.parametrize(("folder", "case"), found or [pytest.param(None, None, id="no-cases")])
