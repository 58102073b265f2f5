"""A pytest plugin under which every test runs with `astropy_tilecomp.enable()`, less those of astropy_deselected.txt."""

from pathlib import Path

import astropy_tilecomp


def deselected():
    """The node ids of astropy_deselected.txt, from the folder ``astropy`` on; their reasons stand there as comments."""
    lines = (Path(__file__).parent.parent / "astropy_deselected.txt").read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def pytest_configure():
    astropy_tilecomp.enable()


def pytest_collection_modifyitems(config, items):
    left_out = [item for item in items if any(is_named(item, node) for node in deselected())]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def is_named(item, node):
    """Whether an item has a node id, wherever pytest counts paths from."""
    path, _, rest = node.partition("::")
    return item.path.as_posix().endswith("/" + path) and item.nodeid.partition("::")[2] == rest
