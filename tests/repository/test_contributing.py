"""CONTRIBUTING.rst names files that exist, and every part of the package."""

import re

import pytest
from support.needs import REPOSITORY

TEXT = (REPOSITORY / "CONTRIBUTING.rst").read_text()
PACKAGE = REPOSITORY / "astropy_tilecomp"
LITERALS = sorted(set(re.findall(r"``([^`\s]+)``", TEXT)))
PATHS = [name for name in LITERALS if re.fullmatch(r"[\w.*/-]+", name) and ("/" in name or re.search(r"\.(py|rst|toml|txt|csv)$", name))]
FOLDERS = [REPOSITORY, PACKAGE, PACKAGE / "adapters" / "fits", REPOSITORY / "tests" / "data", REPOSITORY / "cextern" / "tilecomp"]


@pytest.mark.parametrize("path", PATHS)
def test_paths_exist(path):
    assert any(list(folder.glob(path)) for folder in FOLDERS)


def test_the_map_has_every_part_of_the_package():
    parts = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists() or path.suffix == ".py"}
    picture = TEXT[TEXT.index("Flow of data") : TEXT.index("Where a change goes")]
    assert {part for part in parts - {"__init__.py", "__main__.py", "_version.py"} if part not in picture.replace("/", "")} == set()
