"""Imports run one way: the rule of levels, no circle, optional packages only where they belong."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from support.needs import REPOSITORY

import astropy_tilecomp

PACKAGE = Path(astropy_tilecomp.__file__).parent
NOT_MODULES = ("_version.py", "setup_package.py")

# A room imports from rooms of lower levels only, and from itself.
LEVELS = (
    {"errors", "keywords"},
    {"threads"},
    {"tiling", "codecs", "sources"},
    {"hdus", "decode", "encode"},
    {"read", "write"},
    {"tasks"},
    {"adapters.extras"},
    {"adapters.zarr"},
    {"adapters.references"},
    {"adapters.fits", "adapters.dask", "adapters.xarray", "adapters.plotting"},
    {"cli"},
)
LEVEL_OF = {room: number for number, rooms in enumerate(LEVELS) for room in rooms}
EXEMPT = {"", "__main__", "adapters"}

# Which rooms or modules may import which optional package, inside functions or under `extra`.
OPTIONAL = {
    "fsspec": {"sources.transport", "sources.transport_fsspec", "sources.transport_http", "sources.transport_s3", "sources.opening",
               "adapters.references"},
    "aiohttp": {"sources.transport_http"},
    "botocore": {"sources.transport_s3"},
    "obstore": {"sources.transport_obstore", "adapters.references"},
    "zarr": {"adapters.zarr", "adapters.references", "adapters.xarray"},
    "numcodecs": {"adapters.zarr", "adapters.references"},
    "pandas": {"adapters.references"},
    "pyarrow": {"adapters.references"},
    "fastparquet": {"adapters.references"},
    "kerchunk": {"adapters.references"},
    "virtualizarr": {"adapters.references"},
    "icechunk": {"adapters.references"},
    "obspec_utils": {"adapters.references"},
    "asdf": {"adapters.references"},
    "dask": {"adapters.dask"},
    "xarray": {"adapters.xarray", "adapters.references"},
    "matplotlib": {"adapters.plotting"},
    "click": {"cli"},
    "rich": {"cli"},
    "astropy": {"adapters.fits", "tasks", "errors"},
}
AT_MODULE_LEVEL = {"astropy": "adapters.fits", "click": "cli"}


class Import(NamedTuple):
    """An import statement, wherever it stands in a module."""

    target: str
    line: int
    in_function: bool


def modules_of(package: Path) -> dict[str, Path]:
    """Dotted name below the package, "" for itself, to file."""
    files = [path for path in package.rglob("*.py*") if path.suffix in (".py", ".pyx") and path.name not in NOT_MODULES]
    return {".".join(path.relative_to(package).with_suffix("").parts).removesuffix("__init__").rstrip("."): path for path in files}


def imports_of(name: str, path: Path, modules: dict[str, Path]) -> Iterator[Import]:
    """What a module imports: a dotted name of this package with a dot in front, or another package."""
    tree = ast.parse(path.read_text() if path.suffix == ".py" else "")
    typed = {node for block in ast.walk(tree) if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
             for node in ast.walk(block)}
    inner = {node for block in ast.walk(tree) if isinstance(block, ast.FunctionDef | ast.AsyncFunctionDef) for node in ast.walk(block)}
    folder = name.split(".") if path.name == "__init__.py" and name else name.split(".")[:-1]
    for node in ast.walk(tree):
        if node in typed or not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if isinstance(node, ast.Import):
            targets = [alias.name.replace("astropy_tilecomp", ".", 1).replace("..", ".") for alias in node.names]
        elif node.level or (node.module or "").split(".")[0] == "astropy_tilecomp":
            start = folder[: len(folder) - node.level + 1] if node.level else []
            module = node.module or ""
            base = ".".join([*start, *(module if node.level else module.partition(".")[2]).split(".")]).strip(".")
            inside = [f"{base}.{alias.name}".strip(".") for alias in node.names]
            targets = ["." + (each if each in modules else base) for each in inside]
        else:
            targets = [node.module]
        for target in targets:
            yield Import(target, node.lineno, node in inner)


def arrows_in(package: Path) -> dict[str, set[str]]:
    """Each module, and the other modules of the package that it imports."""
    modules = modules_of(package)
    return {name: {found.target[1:] for found in imports_of(name, path, modules) if found.target.startswith(".")} & set(modules) - {name}
            for name, path in modules.items()}


def circles_in(arrows: dict[str, set[str]]) -> list[set[str]]:
    """The strongly connected components of more than one module."""
    reached = {}
    for start in arrows:
        seen, left = set(), [start]
        while left:
            new = arrows.get(left.pop(), set()) - seen
            seen |= new
            left.extend(new)
        reached[start] = seen
    groups = {frozenset(other for other in reached[name] if name in reached.get(other, ())) for name in arrows if name in reached[name]}
    return [set(group) for group in groups]


def room_of(module: str) -> str:
    """The room that a module stands in."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "adapters" else parts[0]


MODULES = modules_of(PACKAGE)
each_module = pytest.mark.parametrize("name", MODULES, ids=[name or "astropy_tilecomp" for name in MODULES])


def test_no_circle():
    assert circles_in(arrows_in(PACKAGE)) == []


def test_a_circle_is_found(tmp_path):
    for name, text in {"__init__": "", "one": "from .two import b\na = 1", "two": "b = 1\ndef f():\n    from .three import c",
                       "three": "from . import one", "four": "from .one import a"}.items():
        (tmp_path / f"{name}.py").write_text(text)
    assert circles_in(arrows_in(tmp_path)) == [{"one", "two", "three"}]


@each_module
def test_imports_go_one_way(name):
    room = room_of(name)
    if room in EXEMPT:
        return
    assert room in LEVEL_OF, "a new room: give it a level"
    for found in imports_of(name, MODULES[name], MODULES):
        other = room_of(found.target[1:]) if found.target.startswith(".") else room
        if other in (room, "_version", ""):
            continue
        assert LEVEL_OF[other] < LEVEL_OF[room], f"line {found.line}: {room} imports {other}"


@each_module
def test_optional_packages_are_imported_where_they_belong(name):
    room, ours = room_of(name), name
    for found in imports_of(name, MODULES[name], MODULES):
        package = found.target.split(".")[0]
        if found.target.startswith(".") or package in sys.stdlib_module_names or package == "numpy":
            continue
        where = f"line {found.line}: {package}"
        assert {room, ours} & OPTIONAL.get(package, set()), f"{where} is not for {name}"
        if not found.in_function and not room.startswith("adapters"):
            assert AT_MODULE_LEVEL.get(package) == room, f"{where} is imported with the module"


def modules_after(statement):
    """Names of all modules that are loaded after a statement, run in a new interpreter."""
    code = f"import sys\n{statement}\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_codecs_need_numpy_alone():  # S13, S40
    loaded = {name.split(".")[0] for name in modules_after("import astropy_tilecomp.codecs")}
    not_builtin = loaded - set(sys.stdlib_module_names)
    brought_by_the_interpreter = {name.split(".")[0] for name in modules_after("import numpy")}
    assert not_builtin - brought_by_the_interpreter <= {"astropy_tilecomp", "numpy", "_kernels", "cython_runtime"} | {
        name for name in not_builtin if name.startswith("_cython")}


def test_the_package_loads_no_optional_package():
    loaded = {name.split(".")[0] for name in modules_after("import astropy_tilecomp")}
    assert not loaded & {"zarr", "numcodecs", "dask", "kerchunk", "fsspec", "xarray", "matplotlib", "click", "rich"}


def test_imagecodecs_is_not_required():  # S40
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    required = [*project["dependencies"], *(r for extra, names in project["optional-dependencies"].items()
                                            if extra != "test" for r in names)]
    assert not any("imagecodecs" in requirement for requirement in required)
