"""
Print what the package and some of its extras require, one a line, without a space: `requirements.py all,test`.

pip finds versions that fit together in seconds if it is given this list, and in minutes if it has to follow extras of the
package that name other extras.
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
    return list(dict.fromkeys(found))


if __name__ == "__main__":
    pyproject = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
    print(*(requirement.replace(" ", "") for requirement in requirements_of(pyproject["project"], sys.argv[1].split(","))), sep="\n")
