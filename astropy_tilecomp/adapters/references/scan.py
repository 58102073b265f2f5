"""What references have to say of each image of a file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from ...errors import HeaderError, TileCompWarning, UnsupportedError, cut_file_error, header_errors_at
from ...hdus import FoundHDU, find_images, require_complete
from ...keywords import TABLE_NAME_OF
from ...sources.base import ByteSource
from ...sources.inflated import InflatedSource
from ...sources.opening import as_source
from ...sources.urls import has_secret
from ...threads import counted
from ...tiling.header_cards import read_all_values
from ...tiling.layout import TableLayout
from ...tiling.params import CompressionParams
from ...tiling.to_image import table_to_image

__all__ = ["ImageReference", "checked_reference", "checked_url", "describe", "describe_all", "is_in_store", "scan", "scan_all"]

HINT_TABLE_NBYTES = 16_000
"""A table of fewer bytes is read together with the header."""

SCAN_THREADS = 32


@dataclass(frozen=True)
class ImageReference:
    """
    One compressed image of a file: where its HDU lies, and what a zarr array needs to know of it.

    Attributes
    ----------
    url : str
        The file.
    start, nbytes : int
        First byte of the header, and bytes up to the end of the HDU.
    hint : int
        Bytes that are worth reading first: the header, and a small table.
    number : int
        HDU, 0 for the primary one.
    name : str
        EXTNAME, empty if there is none.
    version : int
        EXTVER.
    shape, tile_shape : tuple of int
        C order.
    dtype : numpy.dtype
        Type of the pixels, native byte order.
    attributes : dict
        The keywords of the image's header.
    """

    url: str
    start: int
    nbytes: int
    hint: int
    number: int
    name: str
    version: int
    shape: tuple[int, ...]
    tile_shape: tuple[int, ...]
    dtype: np.dtype
    attributes: dict


def scan(file, hdu=None, *, storage_options: dict | None = None, scaled: bool = True,
         stored_url: str | None = None) -> list[ImageReference]:
    """
    Find the compressed images of one file.

    Raises
    ------
    HeaderError
        If there is no such image, its header breaks the format, or the file ends before the HDU does.
    UnsupportedError
        If the file is compressed as a whole: no range of its bytes holds an HDU.
    ValueError
        If the URL holds a credential, which would enter the references.
    """
    url = checked_url(file if stored_url is None else stored_url)
    with as_source(url if stored_url is None else file, storage_options) as source:
        if isinstance(source, InflatedSource):
            raise UnsupportedError(
                f"{source.name} is compressed as a whole, so no byte range of it is an HDU; read it with astropy_tilecomp.open"
            )
        return describe_all(url, source, find_images(source, hdu), scaled, skip=hdu is None)


def checked_reference(key: str, place) -> list:
    """
    Check a reference to a part of a file.

    Raises
    ------
    HeaderError
        If it is something else.
    """
    parts = list(place) if isinstance(place, Sequence) and not isinstance(place, str) else []
    numbers = parts[1:]
    good = len(parts) in (1, 3) and isinstance(parts[0], str) and all(
        isinstance(number, Integral) and not isinstance(number, bool) and int(number) >= 0 for number in numbers
    )
    if not good:
        raise HeaderError(f"the reference {key} is {place!r}, expected [URL] or [URL, offset, size]")
    return parts


def checked_url(url) -> str:
    """The URL as references keep it; a local path becomes absolute, also one in a local file system or store."""
    if isinstance(url, tuple):
        url = _local_path(*url)
    url = os.fspath(url)
    if "::" in url:
        raise UnsupportedError(
            f"{url}: references name a file by a plain URL or path, and this is a chained URL; refer to a copy of the file,"
            " or read it with read_section"
        )
    if "://" not in url:
        return os.path.abspath(os.path.expanduser(url))
    if has_secret(url):
        raise ValueError("the URL holds a credential, which would stand in the references; give it in storage_options")
    return url


def _local_path(store, path: str) -> str:
    """The path of a file in a local file system of fsspec or a local store of obstore; others have no name in references."""
    if getattr(store, "protocol", None) in ("file", "local") or "file" in (getattr(store, "protocol", None) or ()):
        return path
    if type(store).__name__ == "LocalStore" and store.prefix is not None:
        return os.path.join(store.prefix, path)
    raise UnsupportedError(
        f"{path} in a {type(store).__name__}: references name a file by its URL; give the URL, and what opens it in storage_options"
    )


def describe_all(url: str, source: ByteSource, found: Iterable[FoundHDU], scaled: bool = True, *, skip: bool) -> list[ImageReference]:
    """
    Describe images of a file.

    Raises
    ------
    HeaderError
        As `describe`.
    """
    images: list[ImageReference] = []
    faults: list[HeaderError] = []
    for each in found:
        require_complete(source, each)
        try:
            images.append(describe(url, source, each, scaled))
        except HeaderError as error:
            faults.append(error)
            if not skip:
                raise
    if faults and not images:
        raise faults[0]
    for fault in faults:
        warnings.warn(f"{fault}: the image is left out", TileCompWarning, stacklevel=3)
    return images


def describe(url: str, source: ByteSource, found: FoundHDU, scaled: bool = True) -> ImageReference:
    """
    Tell what an array of one compressed image needs to know.

    Raises
    ------
    HeaderError
        If the header breaks the format, or the file ends before the HDU does.
    """
    with header_errors_at(source.name, found.number):
        params = CompressionParams.from_header(found.header)
        layout = TableLayout.from_header(found.header)
    stop = found.data_offset + layout.data_nbytes
    if stop > source.nbytes:
        raise cut_file_error(source.name, found.number, stop, source.nbytes)
    hint = found.header.nbytes + (layout.table_nbytes if layout.table_nbytes < HINT_TABLE_NBYTES else 0)
    return ImageReference(
        url=url, start=found.header_offset, nbytes=min(found.end, source.nbytes) - found.header_offset, hint=hint,
        number=found.number, name=str(found.header.get("EXTNAME", "")).strip(), version=found.version,
        shape=params.image_shape, tile_shape=params.tile_shape,
        dtype=params.result_dtype if scaled else params.dtype,
        attributes=_attributes(found.header, scaled),
    )


def _attributes(header, scaled: bool) -> dict:
    """The keywords that describe the image; those of the table and of the compression are left out."""
    values = read_all_values(table_to_image(header.cards))
    dropped = {*TABLE_NAME_OF, *(("BSCALE", "BZERO", "BLANK") if scaled else ())}
    if "EXTNAME" in header:  # a default one too: arrays are called by it
        values.setdefault("EXTNAME", header["EXTNAME"])
    return {
        keyword: value for keyword, value in values.items()
        if keyword not in dropped and not (keyword.startswith("NAXIS") and keyword[5:].isdecimal())
    }


def is_in_store(place) -> bool:
    """Whether something is (store, path), and not two paths."""
    return isinstance(place, tuple) and len(place) == 2 and not isinstance(place[0], (str, os.PathLike, tuple))


def scan_all(files, hdu, storage_options, scaled, client, on_progress) -> list[list[ImageReference]]:
    """Scan files side by side; results in the order of the files."""

    def one(url):
        return scan(url, hdu, storage_options=storage_options, scaled=scaled)

    if client is not None:
        futures = client.map(_scan_remotely, files, hdu=hdu, storage_options=storage_options, scaled=scaled)
        return [future.result() for future in counted(futures, len(files), on_progress)]
    if len(files) == 1:
        return [one(files[0])]
    with ThreadPoolExecutor(min(SCAN_THREADS, len(files))) as pool:
        return list(counted(pool.map(one, files), len(files), on_progress))


def _scan_remotely(url, hdu, storage_options, scaled):
    return scan(url, hdu, storage_options=storage_options, scaled=scaled)
