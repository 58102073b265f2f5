"""The house: modules and functions of a size that is read at once, names that say what is inside, public paths that stay."""

import ast
import importlib
import inspect
import statistics
import types
from pathlib import Path

import pytest

import astropy_tilecomp as tc

PACKAGE = Path(tc.__file__).parent
TESTS = Path(__file__).parent.parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.name not in ("_version.py", "setup_package.py"))
each_module = pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(PACKAGE)) for path in MODULES])

MAX_LINES, MAX_FUNCTION_LINES, MEDIAN_LINES = 350, 60, 130
LONG = {
    "adapters/fits/open.py:open": "every keyword of astropy's fits.open, and those of our own",
    "tasks/pack.py:pack": "a summary of 20 lines under a page of documentation",
    "tasks/cutouts.py:cutouts": "a summary of 20 lines under a page of documentation",
    "write/params.py:params_for": "all settings of a compressed image, in one place",
    "read/sections.py:read_section": "a summary of 14 lines under a page of documentation",
}
NOT_FOR_FILES = {"utils", "common", "misc", "core", "helpers"}
PACKAGES = ("tiling", "codecs", "sources", "decode", "read", "write")


def lines_of(path: Path) -> int:
    return path.read_text().count("\n")


@each_module
def test_modules_are_short(path):
    assert lines_of(path) <= MAX_LINES


@each_module
def test_functions_are_short(path):
    name = path.relative_to(PACKAGE).as_posix()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and f"{name}:{node.name}" not in LONG:
            assert node.end_lineno - node.lineno < MAX_FUNCTION_LINES, node.name


def test_the_list_of_long_functions_is_short_and_true():
    assert len(LONG) <= 5
    for place in LONG:
        path, name = place.split(":")
        found = next(node for node in ast.walk(ast.parse((PACKAGE / path).read_text())) if getattr(node, "name", None) == name)
        assert found.end_lineno - found.lineno >= MAX_FUNCTION_LINES, place


def test_half_of_the_modules_fit_on_two_screens():
    assert statistics.median(map(lines_of, MODULES)) < MEDIAN_LINES


@each_module
def test_file_names_say_what_is_inside(path):
    assert path.stem not in NOT_FOR_FILES


@each_module
def test_docstrings_and_all(path):
    tree = ast.parse(path.read_text())
    if path.stem != "__main__":
        assert ast.get_docstring(tree), "the module has no docstring"
    public = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name[0] != "_"]
    for node in public:
        assert ast.get_docstring(node), f"{node.name} has no docstring"
    names = {target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets if isinstance(target, ast.Name)}
    if public and path.stem not in ("__init__", "__main__") and path.parent.name != "cli":
        assert "__all__" in names, "the module has no __all__"


@pytest.mark.parametrize("package", PACKAGES)
def test_no_package_exports_a_function_under_the_name_of_a_module(package):
    module = importlib.import_module(f"astropy_tilecomp.{package}")
    modules = {path.stem for path in (PACKAGE / package).glob("*.py")}
    assert not modules & {name for name in module.__all__ if not isinstance(getattr(module, name), types.ModuleType)}


@pytest.mark.parametrize("path", (TESTS / "public_paths.txt").read_text().split())
def test_public_paths_import(path):
    module, _, name = path.partition(":")
    assert hasattr(importlib.import_module(module), name)


@pytest.mark.parametrize("package", ["", *(f".{package}" for package in (*PACKAGES, "encode", "hdus"))])
def test_every_public_name_is_a_public_path(package):
    listed = (TESTS / "public_paths.txt").read_text().split()
    module = importlib.import_module(f"astropy_tilecomp{package}")
    assert {f"{module.__name__}:{name}" for name in module.__all__} <= set(listed)


def test_public_functions_have_explicit_signatures():
    for name in tc.__all__:
        found = getattr(tc, name)
        if inspect.isfunction(found):
            assert not any(p.kind is p.VAR_KEYWORD for p in inspect.signature(found).parameters.values()), name
