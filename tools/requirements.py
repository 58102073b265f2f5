"""
Print what the package and some of its extras require, one a line, without a space: `requirements.py all,test`.

pip finds versions that fit together in seconds if it is given this list, and in minutes if it has to follow extras of the
package that name other extras. `requirements.py cli,zarr,test_minimal --oldest cli,zarr` pins what the package and those
extras require to the oldest versions that they allow.
"""

import re
import sys
import tomllib
from pathlib import Path


def requirements_of(project, extras):
    """The requirements of a project and of some of its extras, those that name other extras followed."""
    found = list(project["dependencies"])
    for extra in extras:
        for requirement in project["optional-dependencies"][extra]:
            inner = re.fullmatch(rf"{project['name']}\[(.*)\]", requirement)
            found += requirements_of(project, inner[1].split(",")) if inner else [requirement]
    return list(dict.fromkeys(requirement.replace(" ", "") for requirement in found))


def pinned(requirement):
    """A requirement with its lowest version as the only one."""
    return re.sub(r">=([\w.]+).*", r"==\1", requirement)


def main(extras, option=None, oldest=""):
    """Print the requirements of comma-separated extras."""
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    to_pin = requirements_of(project, oldest.split(",")) if option == "--oldest" else []
    for requirement in requirements_of(project, extras.split(",")):
        print(pinned(requirement) if requirement in to_pin else requirement)


if __name__ == "__main__":
    main(*sys.argv[1:])
