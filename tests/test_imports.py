"""The order of the modules: who may import whom, what is optional, and that everything public is described."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from needs import REPOSITORY

import astropy_tilecomp

PACKAGE = Path(astropy_tilecomp.__file__).parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.name not in ("_version.py", "setup_package.py"))
each_module = pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(PACKAGE)) for path in MODULES])

# Every module belongs to a layer and imports only from layers before it, or from itself.
LAYERS = {
    "errors": set(),
    "keywords": {"errors"},
    "computed": set(),
    "tiling": {"errors", "keywords", "computed"},
    "codecs": {"errors", "keywords"},
    "sources": {"errors", "keywords", "threads"},
    "threads": {"errors", "keywords"},
    "decode": {"errors", "keywords", "tiling", "codecs", "sources", "threads"},
    "encode": {"errors", "keywords", "tiling", "codecs", "sources", "threads"},
    "atomic": {"errors", "keywords"},
    "spool": {"errors", "keywords", "tiling", "codecs", "encode"},
    "large_arrays": {"codecs"},
    "read": {"errors", "keywords", "tiling", "codecs", "sources", "threads", "decode", "large_arrays"},
    "files": {"errors", "keywords", "tiling", "codecs", "sources", "threads", "decode", "read"},
    "write": {"errors", "keywords", "tiling", "codecs", "sources", "files", "encode", "atomic", "spool"},
    "inplace": {"errors", "keywords", "tiling", "codecs", "sources", "files", "read", "encode", "atomic"},
    "whole_files": {"errors", "keywords", "tiling", "sources", "files", "read", "encode", "atomic", "spool", "write"},
    "cutout": {"errors", "keywords", "tiling", "codecs", "sources", "threads", "decode", "read", "files", "write", "atomic"},
    "contents": {"errors", "keywords", "tiling", "sources", "files"},
    "slabs": {"errors", "tiling", "sources", "files", "read", "decode"},
    "verification": {"errors", "tiling", "codecs", "sources", "files", "read", "decode", "contents", "slabs"},
    "rescue": {"errors", "keywords", "tiling", "sources", "files", "decode", "encode", "atomic", "contents", "verification"},
    "tile_maps": {"errors", "tiling", "sources", "files", "contents", "slabs"},
    "advice": {"errors", "keywords", "tiling", "sources", "files", "read", "encode", "spool", "write", "contents", "tile_maps"},
}
SAME_LAYER = {"remote": "sources", "transports": "sources"}  # the sources behind a network
NO_LAYER = {"adapters", "__init__", "__main__"}  # these may import everything
ALWAYS_THERE = {"numpy", "astropy"}
OPTIONAL_ALLOWED_IN = {"adapters", "sources", "__main__"}
NOT_FOR_FILES = {"utils", "common", "misc", "core", "helpers"}


def layer_of(path):
    """The layer of a module: its folder inside the package, or its own name."""
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return SAME_LAYER.get(first, first)


def imports_of(tree):
    """Yield (statement, dotted absolute or relative name, level) for every import below a syntax tree."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name, 0
        elif isinstance(node, ast.ImportFrom):
            if node.module is None or (node.level == 0 and node.module == "astropy_tilecomp"):
                for alias in node.names:
                    yield node, f"{node.module + '.' if node.module else ''}{alias.name}", node.level
            else:
                yield node, node.module, node.level


def own_layer_imported(path, name, level):
    """The layer of this package that an import names, or None when it names something else."""
    if level == 0:
        parts = name.split(".")
        own = parts[1] if parts[0] == "astropy_tilecomp" and len(parts) > 1 else None
        return SAME_LAYER.get(own, own)
    folder = list(path.relative_to(PACKAGE).parts[:-1])
    first = [*folder[: len(folder) - level + 1], *name.split(".")][0]
    return SAME_LAYER.get(first, first)


def is_for_type_checkers(node, tree):
    """Whether an import stands under ``if TYPE_CHECKING``."""
    return any(
        isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test) and node in ast.walk(block)
        for block in ast.walk(tree)
    )


def runs_at_import(node, tree):
    """Whether a statement is outside every function."""
    return not any(
        isinstance(block, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and node in ast.walk(block)
        for block in ast.walk(tree)
    )


@pytest.mark.parametrize(
    "path", [path for path in MODULES if layer_of(path) not in NO_LAYER], ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_imports_go_one_way(path):
    layer, tree = layer_of(path), ast.parse(path.read_text())
    assert layer in LAYERS, "a new module: give it a place in LAYERS"
    for node, name, level in imports_of(tree):
        imported = own_layer_imported(path, name, level)
        if imported in (None, layer, "_version") or is_for_type_checkers(node, tree):
            continue
        assert imported in LAYERS[layer], f"line {node.lineno}: {layer} imports {imported}"


@each_module
def test_optional_packages_are_imported_inside_functions(path):
    layer, tree = layer_of(path), ast.parse(path.read_text())
    for node, name, level in imports_of(tree):
        package = name.split(".")[0]
        if level or package in sys.stdlib_module_names | {"astropy_tilecomp"} or is_for_type_checkers(node, tree):
            continue
        if package == "numpy" or (package == "astropy" and layer in ("adapters", "cutout")):
            continue
        where = f"line {node.lineno}: {package}"
        assert layer in OPTIONAL_ALLOWED_IN or package in ALWAYS_THERE, f"{where} is not for {layer}"
        belongs_to_adapter = layer == "adapters" and path.stem != "__init__"
        assert not runs_at_import(node, tree) or belongs_to_adapter, f"{where} is imported with the module"


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
    names = {target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets
             if isinstance(target, ast.Name)}
    if public and layer_of(path) != "adapters" and path.stem not in ("__init__", "__main__"):
        assert "__all__" in names, "the module has no __all__"


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
    import tomllib

    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    required = [*project["dependencies"], *(r for extra, names in project["optional-dependencies"].items()
                                            if extra != "test" for r in names)]
    assert not any("imagecodecs" in requirement for requirement in required)
