"""Check the docstrings of all public objects of the package against the numpydoc rules listed in pyproject.toml."""

import enum
import importlib
import inspect
import pkgutil
import sys
import tomllib
from pathlib import Path

from numpydoc.validate import validate

SETTINGS = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["numpydoc_validation"]


def public_objects(package):
    """Yield the dotted name of every public class, function and public method defined in a package."""
    for module_info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if module_info.name.endswith(("setup_package", "__main__")) or "._" in module_info.name:
            continue
        module = importlib.import_module(module_info.name)
        for name, value in vars(module).items():
            if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
                continue
            if inspect.isfunction(value) or (inspect.isclass(value) and not issubclass(value, enum.Enum)):
                yield f"{module.__name__}.{name}"
            if inspect.isclass(value):
                for method, member in vars(value).items():
                    documented_above = any(getattr(base, method, None) for base in value.__bases__)
                    if inspect.isfunction(member) and not method.startswith("_") and not documented_above:
                        yield f"{module.__name__}.{name}.{method}"


def main():
    """Print every finding; exit with 1 if there is one."""
    import astropy_tilecomp

    findings = 0
    for name in public_objects(astropy_tilecomp):
        for code, message in validate(name)["errors"]:
            if code in SETTINGS["checks"]:
                print(f"{name}: {code} {message}")
                findings += 1
    sys.exit(findings > 0)


if __name__ == "__main__":
    main()
