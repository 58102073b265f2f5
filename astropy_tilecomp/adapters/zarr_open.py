"""Open references as a zarr array or group, whatever the place of the files they point to."""

from __future__ import annotations

import json
import os

from ..errors import HeaderError
from .extras import extra

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
        If the references point to files in more than one kind of place, or a file does not hold references.
    """
    with extra("zarr"):
        import fsspec
        import zarr

    options = dict(storage_options or {})
    if isinstance(references, (str, os.PathLike)):
        if os.path.isdir(references):
            fs = fsspec.filesystem("reference", fo=os.fspath(references), asynchronous=True, remote_options=options)
            return zarr.open(zarr.storage.FsspecStore(fs, read_only=True), mode="r")
        references = read_references(references)
    refs = {
        key: content.decode() if isinstance(content, bytes) else content
        for key, content in resolve(references, base).items()
    }
    protocols = {fsspec.core.split_protocol(content[0])[0] or "file" for content in refs.values() if isinstance(content, list)}
    if len(protocols) > 1:
        raise HeaderError(f"the references point to places of {len(protocols)} kinds, {sorted(protocols)}: expected one")
    protocol = next(iter(protocols), "file")
    if fsspec.get_filesystem_class(protocol).async_impl:
        options["asynchronous"] = True
    fs = fsspec.filesystem(
        "reference", fo={"version": 1, "refs": refs}, asynchronous=True, remote_protocol=protocol, remote_options=options
    )
    return zarr.open(zarr.storage.FsspecStore(fs, read_only=True), mode="r")


def is_references(path) -> bool:
    """Tell whether a path is that of references: a JSON file, or a directory of parquet files."""
    path = os.fspath(path)
    return path.endswith(".json") or os.path.isfile(os.path.join(path, ".zmetadata"))


def read_references(path) -> dict:
    """
    Read a JSON file of references.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    dict
        As it was written.

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

    Parameters
    ----------
    references : dict
        ``{"version": 1, "templates": {"base": ...}, "refs": {...}}``, or what is under "refs" alone.
    base : str, optional
        By default the one in "templates".

    Returns
    -------
    dict
        Key to text, or to a list of URL, offset and size; plain dictionaries and lists, whatever came in.

    Raises
    ------
    HeaderError
        If a reference is relative to a base that is not known.
    """
    if base is None:
        base = (references.get("templates") or {}).get("base")
    found = {}
    for key, content in references.get("refs", references).items():
        if isinstance(content, (str, bytes)):
            found[key] = content
            continue
        url, *place = content
        if "{{base}}" in url and base is None:
            raise HeaderError(f"the reference {key} is relative to a base, which is not known: give base")
        found[key] = [url.replace("{{base}}", base.rstrip("/")) if base is not None else url, *map(int, place)]
    return found
