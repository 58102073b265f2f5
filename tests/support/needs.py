"""What a test needs and this machine may lack; a test that misses it is skipped with that reason (see conftest.py)."""

import shutil
from pathlib import Path

import pytest

import astropy_tilecomp

REPOSITORY = Path(__file__).resolve().parents[2]
SHIPPED = REPOSITORY / "tests" / "data"
SHARED = REPOSITORY.parent / "shared"


def shared(path):
    """
    Find a file or folder of the developers' shared folder, which lies beside the repository.

    Parameters
    ----------
    path : str
        Path below ``../shared``.

    Returns
    -------
    pathlib.Path
        The path; the test is skipped where it does not exist.
    """
    found = SHARED / path
    if not found.exists():
        pytest.skip(f"../shared/{path} is not there")
    return found


def tool(name):
    """
    Find a program.

    Parameters
    ----------
    name : str
        Its name on the search path.

    Returns
    -------
    str
        Its full path; the test is skipped where it is not installed.
    """
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"program {name} is not installed")
    return found


def module(name):
    """
    Import an optional module, such as a peer that results are compared with.

    Parameters
    ----------
    name : str
        Dotted name of the module.

    Returns
    -------
    module
        The module; the test is skipped where it cannot be imported.
    """
    return pytest.importorskip(name, reason=f"Python package {name} is not installed")


def face(name):
    """
    Find a name of the package that may not be built yet.

    Parameters
    ----------
    name : str
        A name of `astropy_tilecomp`.

    Returns
    -------
    object
        What it names; the test is skipped while there is no such name.
    """
    found = getattr(astropy_tilecomp, name, None)
    if found is None:
        pytest.skip(f"astropy_tilecomp.{name} is not there yet")
    return found
