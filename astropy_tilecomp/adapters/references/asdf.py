"""
References in an ASDF tree, and back to a zarr array: how data sets such as DKIST's point to their FITS files.

The tree needs no ASDF extension: it holds the references as fsspec has them, metadata as JSON text, and URLs relative to a base
that may change when the files move.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from ...errors import HeaderError, UnsupportedError
from .open import open_references, resolve

__all__ = ["from_asdf", "references_from_asdf", "to_asdf"]

VERSION = 1
MAX_IN_A_TREE = 1000
"""References that are kept as YAML; more of them become one JSON text, which is read in a fraction of the time."""


def to_asdf(references: dict, base: str | os.PathLike | None = None) -> dict:
    """
    Make the part of an ASDF tree that holds references.

    Parameters
    ----------
    references : dict
        As `astropy_tilecomp.references` or `TileReferences.to_dict` make them.
    base : str or path-like, optional
        Folder or URL that the files lie under; by default the longest that is common to all.

    Returns
    -------
    dict
        Of text, numbers, lists and dictionaries; put it anywhere in a tree.

    Raises
    ------
    ValueError
        If a file does not lie under `base`.
    """
    refs = resolve(references)
    urls = sorted({content[0] for content in refs.values() if isinstance(content, list)})
    base = _common_base(urls) if base is None else _without_slash(base)
    outside = next((url for url in urls if not url.startswith(base + "/")), None)
    if outside is not None:
        raise ValueError(f"{outside} does not lie under the base {base}")
    moved = {
        key: ["{{base}}" + content[0][len(base):], *content[1:]] if isinstance(content, list) else content
        for key, content in refs.items()
    }
    return {
        "version": VERSION,
        "templates": {"base": base},
        "refs": moved if len(moved) <= MAX_IN_A_TREE else json.dumps(moved),
    }


def references_from_asdf(node: Mapping, base: str | os.PathLike | None = None) -> dict:
    """
    Read references out of an ASDF tree.

    Raises
    ------
    HeaderError
        If the node holds no references.
    UnsupportedError
        If it is of a newer version.
    """
    if not isinstance(node, Mapping) or "refs" not in node or "templates" not in node:
        raise HeaderError("the node of the ASDF tree holds no references, expected version, templates and refs")
    if node.get("version") != VERSION:
        raise UnsupportedError(f"references of version {node.get('version')!r}, this package reads {VERSION}")
    refs = node["refs"]
    refs = json.loads(refs) if isinstance(refs, str) else dict(refs)
    stored = {"templates": dict(node["templates"]), "refs": refs}
    return {"version": 1, "refs": resolve(stored, None if base is None else _without_slash(base))}


def from_asdf(node: Mapping, base: str | os.PathLike | None = None, storage_options: dict | None = None):
    """
    Open the references in an ASDF tree with zarr.

    Parameters
    ----------
    node, base
        As of `references_from_asdf`.
    storage_options : dict, optional
        What fsspec needs to open the files.

    Returns
    -------
    zarr.Array or zarr.Group
        Read-only; the ASDF file may be closed.

    Raises
    ------
    HeaderError, UnsupportedError
        As `references_from_asdf`.
    """
    return open_references(references_from_asdf(node, base), storage_options)


def _common_base(urls: list[str]) -> str:
    """The longest folder that all files lie under."""
    if not urls:
        return ""
    first, last = urls[0], urls[-1]  # of sorted ones: what these two share, all share
    shared = next((n for n, (a, b) in enumerate(zip(first, last)) if a != b), len(first))
    return _without_slash(first[:shared].rpartition("/")[0])  # of two buckets they share "s3://", of which "s3:" stays


def _without_slash(base) -> str:
    return os.fspath(base).rstrip("/")
