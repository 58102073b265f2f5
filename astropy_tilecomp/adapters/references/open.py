"""Open references as a zarr array or group, whatever the place of the files they point to."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from ...errors import HeaderError
from ..extras import extra
from .scan import checked_reference

__all__ = ["is_references", "open_references", "read_references", "resolve"]


def open_references(references, storage_options: dict | None = None, *, base: str | None = None):
    """
    Open references with zarr.

    Parameters
    ----------
    references : dict, str or path-like
        As `astropy_tilecomp.references`, `TileReferences.to_dict` or kerchunk make them; or the path of a JSON file of them, or of
        a directory of parquet files.
    storage_options : dict, optional
        What fsspec needs to open the files that the references point to.
    base : str, optional
        What ``{{base}}`` in the references stands for, if not what they say themselves.

    Returns
    -------
    zarr.Array or zarr.Group
        Read-only.

    Raises
    ------
    HeaderError
        If a file does not hold references.
    """
    with extra("zarr"):
        import zarr

        from .store import ReferenceStore
    if isinstance(references, (str, os.PathLike)) and os.path.isdir(references):
        return zarr.open(ReferenceStore(_parquet_references(references), storage_options), mode="r")
    found = read_references(references) if isinstance(references, (str, os.PathLike)) else references
    return zarr.open(ReferenceStore(resolve(found, base), storage_options), mode="r")


def _parquet_references(path):
    """The references in a directory of parquet files, which are read when they are asked for."""
    import fsspec
    from fsspec.implementations.reference import LazyReferenceMapper

    return LazyReferenceMapper(os.fspath(path), fs=fsspec.filesystem("file"))


def is_references(path) -> bool:
    """Tell whether a path is that of references: a JSON file, or a directory of parquet files."""
    path = os.fspath(path)
    return path.endswith(".json") or os.path.isfile(os.path.join(path, ".zmetadata"))


def read_references(path) -> dict:
    """
    Read a JSON file of references.

    Raises
    ------
    HeaderError
        If the file does not hold references.
    """
    with open(path, "rb") as file:
        try:
            found = json.load(file)
        except ValueError as error:
            raise HeaderError(f"{os.fspath(path)}: not JSON references: {error}") from None
    if not isinstance(found, dict):
        raise HeaderError(f"{os.fspath(path)}: found a {type(found).__name__}, expected references: an object with keys of zarr")
    return found


def resolve(references: dict, base: str | None = None) -> dict:
    """
    Put what ``{{base}}`` stands for into references.

    Raises
    ------
    HeaderError
        If a reference is relative to a base that is not known, or is not [URL] or [URL, offset, size].
    """
    if base is None:
        base = (references.get("templates") or {}).get("base")
    found: dict[str, str | bytes | list] = {}
    entries = references.get("refs", references)
    if not isinstance(entries, Mapping):
        raise HeaderError(f"refs is {entries!r}, expected an object of keys and references")
    for key, content in entries.items():
        if isinstance(content, (str, bytes)):
            found[key] = content
            continue
        url, *place = checked_reference(key, content)
        if "{{base}}" in url and base is None:
            raise HeaderError(f"the reference {key} is relative to a base, which is not known: give base")
        found[key] = [url.replace("{{base}}", base.rstrip("/")) if base is not None else url, *map(int, place)]
    return found
