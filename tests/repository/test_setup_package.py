"""What the build says where it cannot go on."""

import importlib.util
import os
import sys

import pytest
from support import needs

pytest.importorskip("extension_helpers")


WHEEL_SETTINGS = ("DIST_EXTRA_CONFIG", "EXTENSION_HELPERS_PY_LIMITED_API")


@pytest.fixture
def setup_package(monkeypatch):
    """The module that describes the extension, as the build imports it: from the top of the source tree."""
    path = needs.REPOSITORY / "astropy_tilecomp" / "codecs" / "setup_package.py"
    spec = importlib.util.spec_from_file_location("setup_package_under_test", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.chdir(needs.REPOSITORY)
    monkeypatch.delenv(module.LEAVE_CFITSIO_OUT, raising=False)
    for name in WHEEL_SETTINGS:
        monkeypatch.setenv(name, "")  # so that it is put back
        monkeypatch.delenv(name)
    return module


@pytest.fixture
def without_library(setup_package, monkeypatch):
    """Make a library unknown to pkg-config."""

    def forget(missing):
        run = setup_package.subprocess.run

        def answer(command, **options):
            return run(["false"], check=False) if command[-1] == missing else run(command, **options)

        monkeypatch.setattr(setup_package.subprocess, "run", answer)

    return forget


def test_every_source_is_built(setup_package):
    (extension,) = setup_package.get_extensions()
    found = (needs.REPOSITORY / "cextern" / "tilecomp").rglob("*.c")
    sources = {path.name for path in found if "tests" not in path.relative_to(needs.REPOSITORY).parts}
    assert sources | {"_kernels.pyx"} == {source.rpartition("/")[2] for source in extension.sources}
    assert {"deflate", "cfitsio"} <= set(extension.libraries)
    assert "-ffp-contract=off" in extension.extra_compile_args
    free_threaded = setup_package.sysconfig.get_config_var("Py_GIL_DISABLED")
    assert extension.py_limited_api == (not free_threaded)
    assert (("Py_LIMITED_API", "0x030B0000") in extension.define_macros) == (not free_threaded)
    assert (os.environ.get("EXTENSION_HELPERS_PY_LIMITED_API") == "cp311") == (not free_threaded)


def test_a_configuration_of_the_builder_names_the_wheel(setup_package, monkeypatch):
    monkeypatch.setenv("DIST_EXTRA_CONFIG", "mine.cfg")
    setup_package.get_extensions()
    assert "EXTENSION_HELPERS_PY_LIMITED_API" not in os.environ


@pytest.mark.parametrize(("library", "debian"), [("cfitsio", "libcfitsio-dev"), ("libdeflate", "libdeflate-dev")])
def test_missing_library(setup_package, without_library, library, debian):
    without_library(library)
    with pytest.raises(SystemExit) as caught:
        setup_package.get_extensions()
    message = str(caught.value)
    for words in (f"apt install {debian}", f"conda-forge {library}", f"brew install {library}"):
        assert words in message
    assert ("ASTROPY_TILECOMP_WITHOUT_CFITSIO=1" in message) == (library == "cfitsio")


def test_build_without_cfitsio(setup_package, without_library, monkeypatch):
    without_library("cfitsio")
    monkeypatch.setenv(setup_package.LEAVE_CFITSIO_OUT, "1")
    (extension,) = setup_package.get_extensions()
    assert "cfitsio" not in extension.libraries
    assert ("TC_WITHOUT_CFITSIO", "1") in extension.define_macros
    monkeypatch.setenv(setup_package.LEAVE_CFITSIO_OUT, "yes")
    with pytest.raises(SystemExit, match="is 'yes'; 0 or 1 was expected"):
        setup_package.get_extensions()


@pytest.mark.parametrize(("name", "value", "word"), [("platform", "win32", "Windows"), ("byteorder", "big", "big-endian")])
def test_hosts_that_were_never_tried(setup_package, monkeypatch, name, value, word):
    monkeypatch.setattr(sys, name, value)
    with pytest.raises(SystemExit, match=word):
        setup_package.get_extensions()
