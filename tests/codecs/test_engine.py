"""Which engine runs, and which exception a C status becomes."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from astropy_tilecomp.codecs import Rice1, _kernels, engine
from astropy_tilecomp.errors import CorruptTileError, TruncatedTileError, UnsupportedError


def test_choice(monkeypatch):
    monkeypatch.delenv(engine.VARIABLE, raising=False)
    assert engine.choose() == "kernel"
    for name in engine.engines():
        monkeypatch.setenv(engine.VARIABLE, name)
        assert engine.choose() == name
        assert engine.choose("kernel") == "kernel"
    monkeypatch.setenv(engine.VARIABLE, "zlib")
    with pytest.raises(ValueError, match="ASTROPY_TILECOMP_ENGINE is 'zlib', expected one of kernel, cfitsio"):
        engine.choose()
    with pytest.raises(ValueError, match="engine is 'C'"):
        engine.choose("C")


def test_build_without_cfitsio(monkeypatch):
    monkeypatch.setattr(_kernels, "cfitsio_version", lambda: 0)
    assert engine.engines() == ("kernel",)
    with pytest.raises(UnsupportedError, match="built without libcfitsio"):
        engine.choose("cfitsio")
    with pytest.raises(UnsupportedError):
        Rice1(engine="cfitsio")


def test_engine_is_no_part_of_a_config():
    codec = Rice1(tilesize=3, engine="kernel")
    assert "engine" not in codec.get_config()
    assert codec == Rice1(tilesize=3)


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        ("TRUNCATED", TruncatedTileError, "row 3, RICE_1: stream ends at pixel 7 of 9"),
        ("CORRUPT", CorruptTileError, "row 3, RICE_1: the stream contradicts itself at pixel 7 of 9"),
        ("BAD_CHECKSUM", CorruptTileError, "checksum"),
        ("OUT_OF_RANGE", CorruptTileError, "cannot have"),
        ("MISSING", CorruptTileError, "no column holds data"),
        ("UNSUPPORTED", UnsupportedError, "RICE_1"),
        ("NO_MEMORY", MemoryError, "RICE_1"),
        ("BAD_PARAM", ValueError, "RICE_1"),
        ("NO_SPACE", CorruptTileError, "unexpected result NO_SPACE"),
    ],
)
def test_exceptions(status, kind, message):
    number = _kernels.STATUS[status]
    error = engine.to_error(number, done=7, n_pixels=9, row=3, algorithm="RICE_1")
    assert type(error) is kind
    assert message in str(error)
    with pytest.raises(kind):
        engine.check(number)
    engine.check(_kernels.STATUS["OK"])


def test_truncation_without_a_place():
    assert str(engine.to_error(_kernels.STATUS["TRUNCATED"])) == "stream ends before the tile is complete"


def test_every_status_has_its_exception():
    for name, number in _kernels.STATUS.items():
        if name != "OK":
            assert isinstance(engine.to_error(number, algorithm="RICE_1"), Exception)


@pytest.mark.parametrize("level", engine.CPU_LEVELS)
def test_cpu_levels(level):
    """ASTROPY_TILECOMP_CPU forces a code path, never above what the machine has."""
    code = "from astropy_tilecomp.codecs import _kernels; print(_kernels.cpu_level())"
    free = {name: value for name, value in os.environ.items() if name != "ASTROPY_TILECOMP_CPU"}
    best = int(subprocess.check_output([sys.executable, "-c", code], env=free))
    forced = subprocess.check_output([sys.executable, "-c", code], env={**os.environ, "ASTROPY_TILECOMP_CPU": level})
    assert int(forced) == min(best, engine.CPU_LEVELS.index(level))


def test_an_unknown_cpu_level_is_not_passed_over(monkeypatch):
    monkeypatch.setenv("ASTROPY_TILECOMP_CPU", "AVX-512")
    with pytest.raises(ValueError, match="ASTROPY_TILECOMP_CPU is 'AVX-512', expected one of portable, avx2, avx512"):
        engine.choose("kernel")
    monkeypatch.setenv("ASTROPY_TILECOMP_CPU", "")
    assert engine.choose("kernel") == "kernel"


def test_the_stub_of_the_kernels_names_what_they_have():
    tree = ast.parse((Path(_kernels.__file__).parent / "_kernels.pyi").read_text())
    stated = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    stated |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign) and not node.target.id.startswith("_")}
    stated |= {target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets}
    assert stated == {name for name in vars(_kernels) if not name.startswith("_")}
