"""The one compiled module of the package: every C source, library and compiler flag."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from extension_helpers import pkg_config
from setuptools import Extension

C_FOLDER = Path("cextern/tilecomp")
MODULE_SOURCE = Path("astropy_tilecomp/codecs/_kernels.pyx")
MODULE_PARTS = Path("astropy_tilecomp/codecs/kernels")  # which it includes
COMPILE_ARGS = ["-std=c11", "-O3", "-ffp-contract=off", "-fvisibility=hidden"]
LIMITED_API = "0x030B0000"  # Python 3.11
LEAVE_CFITSIO_OUT = "ASTROPY_TILECOMP_WITHOUT_CFITSIO"

HOW_TO_INSTALL = """
{library} was not found by pkg-config; astropy_tilecomp is built against it. Install it with
    Debian, Ubuntu   apt install {debian} pkg-config
    conda-forge      conda install -c conda-forge {library} pkg-config
    Homebrew         brew install {library} pkg-config
and, where it lies outside the usual folders, name the folder of its .pc file in PKG_CONFIG_PATH."""
HOW_TO_LEAVE_OUT = f"""
Or set {LEAVE_CFITSIO_OUT}=1 to build without the "cfitsio" engine."""


def get_extensions():
    """
    Describe the extension module ``astropy_tilecomp.codecs._kernels`` (called by extension-helpers).

    Returns
    -------
    list of setuptools.Extension
        One extension: the Cython module and all C sources of ``cextern/tilecomp``.
    """
    refuse_untested_hosts()
    require_library("libdeflate", debian="libdeflate-dev")
    libraries = ["libdeflate"]
    macros = [("_POSIX_C_SOURCE", "200809L")]
    if leave_cfitsio_out():
        macros.append(("TC_WITHOUT_CFITSIO", "1"))
    else:
        require_library("cfitsio", debian="libcfitsio-dev", advice=HOW_TO_LEAVE_OUT)
        libraries.append("cfitsio")
    # A free-threaded interpreter has no stable ABI.
    limited_api = not sysconfig.get_config_var("Py_GIL_DISABLED")
    if limited_api:
        macros.append(("Py_LIMITED_API", LIMITED_API))
        name_wheel_after_stable_abi()

    found = pkg_config(libraries, default_libraries=[])
    return [
        Extension(
            "astropy_tilecomp.codecs._kernels",
            sources=[str(MODULE_SOURCE), *c_files("*.c")],
            depends=[*c_files("*.h"), *map(str, sorted(MODULE_PARTS.glob("*.pxi")))],
            include_dirs=[*map(str, c_folders()), *found["include_dirs"]],
            library_dirs=found["library_dirs"],
            libraries=[*found["libraries"], "pthread", "m"],
            define_macros=[*macros, *found["define_macros"]],
            extra_compile_args=[*COMPILE_ARGS, *found["extra_compile_args"]],
            py_limited_api=limited_api,
        )
    ]


def c_folders():
    """``cextern/tilecomp`` and its folders, but for the tests."""
    return [C_FOLDER, *sorted(path for path in C_FOLDER.iterdir() if path.is_dir() and path.name != "tests")]


def c_files(pattern):
    """The files of these folders."""
    return [str(path) for folder in c_folders() for path in sorted(folder.glob(pattern))]


def name_wheel_after_stable_abi():
    """Let one wheel serve this Python and all after it; whoever brings a configuration of setuptools says it there."""
    if "DIST_EXTRA_CONFIG" not in os.environ:
        os.environ.setdefault("EXTENSION_HELPERS_PY_LIMITED_API", "cp311")


def refuse_untested_hosts():
    """Stop the build on Windows and on big-endian machines, where nothing was ever tried."""
    if sys.platform == "win32":
        sys.exit("astropy_tilecomp is not tested on Windows yet, so it does not build there; use WSL.")
    if sys.byteorder == "big":
        sys.exit("astropy_tilecomp is not tested on big-endian machines yet, so it does not build there.")


def leave_cfitsio_out():
    """Whether the builder asked for a build without the cfitsio engine."""
    wish = os.environ.get(LEAVE_CFITSIO_OUT, "0")
    if wish not in ("", "0", "1"):
        sys.exit(f"{LEAVE_CFITSIO_OUT} is {wish!r}; 0 or 1 was expected")
    return wish == "1"


def require_library(library, *, debian, advice=""):
    """Stop the build with the commands that install `library`, unless pkg-config knows it."""
    try:
        found = subprocess.run(["pkg-config", "--exists", library], check=False).returncode == 0
    except FileNotFoundError:
        found = False
    if not found:
        sys.exit(HOW_TO_INSTALL.format(library=library, debian=debian) + advice)
