"""
References to compressed images in place: one for each HDU, in the form that fsspec, zarr, kerchunk and others read.

A file is only looked at, its headers alone; nothing is copied or rewritten.
"""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from ..errors import HeaderError, TileCompWarning, UnsupportedError, cut_file_error, header_errors_at
from ..files import FoundHDU, find_images, require_complete
from ..keywords import TABLE_NAME_OF
from ..remote import has_secret
from ..sources import ByteSource, InflatedSource, as_source
from ..tiling.cards import read_all_values
from ..tiling.header import table_to_image
from ..tiling.params import CompressionParams
from ..tiling.table import TableLayout
from .extras import extra
from .hdu_chunk import codec_document

__all__ = [
    "ImageReference", "axis_names", "checked_reference", "checked_url", "describe", "describe_all", "document_of", "name_images",
    "references", "scan",
]

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

    Parameters
    ----------
    file : str, path-like, or (store, path)
        A local path, a URL that fsspec opens, without a credential in it, or a file in a store.
    hdu : int, str, (str, int) or list of them, optional
        The images to take; by default all of them.
    storage_options : dict, optional
        What fsspec needs to open the URL.
    scaled : bool
        Whether the type is that of the pixels after BSCALE, BZERO and BLANK.
    stored_url : str, optional
        What references call the file; by default `file`, made absolute.

    Returns
    -------
    list of ImageReference
        In the order of the file, or of `hdu`.

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

    Parameters
    ----------
    key : str
        What refers to it.
    place : object
        The reference.

    Returns
    -------
    list
        URL alone, or URL, offset and size.

    Raises
    ------
    HeaderError
        If it is something else.
    """
    parts = list(place) if isinstance(place, Sequence) and not isinstance(place, str) else []
    numbers = parts[1:]
    good = len(parts) in (1, 3) and isinstance(parts[0], str) and all(
        isinstance(number, Integral) and not isinstance(number, bool) and number >= 0 for number in numbers
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

    Parameters
    ----------
    url, source, scaled
        As of `describe`.
    found : iterable of FoundHDU
        Compressed images.
    skip : bool
        Leave out, with a warning, images whose headers break the format, if there are others.

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
    for error in faults:
        warnings.warn(f"{error}: the image is left out", TileCompWarning, stacklevel=3)
    return images


def describe(url: str, source: ByteSource, found: FoundHDU, scaled: bool = True) -> ImageReference:
    """
    Tell what an array of one compressed image needs to know.

    Parameters
    ----------
    url : str
        What references call the file.
    source : ByteSource
        The whole file.
    found : FoundHDU
        The HDU in it.
    scaled : bool
        Whether the type is that of the pixels after BSCALE, BZERO and BLANK.

    Returns
    -------
    ImageReference

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


def references(urls, hdu=None, storage_options: dict | None = None, *, scaled: bool = True, stack_dimension: str = "file",
               client=None, progress: bool = False) -> dict:
    """
    Make zarr v3 references to compressed images, one for each HDU.

    Parameters
    ----------
    urls : str, path-like, or iterable of them
        One file, or many that become one array with a first axis of their number.
    hdu : int, str or (str, int), optional
        One image, which becomes an array at the root; by default all images of a file, which become the arrays of a
        group, called by their EXTNAME.
    storage_options : dict, optional
        What fsspec needs to open the files; it does not enter the references.
    scaled : bool
        Whether BSCALE, BZERO and BLANK are applied when the arrays are read.
    stack_dimension : str
        Name of the axis along which files are stacked.
    client : dask.distributed.Client, optional
        Scan the files on a cluster; by default in threads.
    progress : bool
        Show a progress bar while files are scanned.

    Returns
    -------
    dict
        ``{"version": 1, "refs": {...}}``, ready for `json.dump` and for fsspec's file system ``reference://``.

    Raises
    ------
    HeaderError
        If there is no such image, its header breaks the format, the file ends before the HDU does, or the images of a
        stack differ in shape or name.
    UnsupportedError
        For a file that is compressed as a whole.

    Notes
    -----
    Reading needs zarr and this package installed, and no import of it: the codec ``astropy_tilecomp.hdu`` is found by its
    entry point.  In a stack, numpy's common type of all files is used, and attributes are those that all files share.

    Examples
    --------
    >>> import astropy_tilecomp as tc
    >>> references = tc.references("panoptes_solved.fits.fz", hdu=1)
    >>> list(references["refs"])
    ['zarr.json', 'c/0/0']
    """
    single = isinstance(urls, (str, os.PathLike)) or _is_in_store(urls)
    files = [urls] if single else list(urls)
    if not files:
        raise ValueError("no files to refer to")
    scanned = _scan_all(files, hdu, storage_options, scaled, client, progress)
    stacks = _stacks(scanned, files)
    stack_dimension = None if single else stack_dimension
    if hdu is not None and not isinstance(hdu, list):
        return {"version": 1, "refs": dict(_array("", stacks[0], scaled, stack_dimension))}
    refs: dict[str, str | list] = {"zarr.json": json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}})}
    for (name, _, axis_prefix), stack in zip(name_images([stack[0] for stack in stacks]), stacks):
        refs.update(_array(f"{name}/", stack, scaled, stack_dimension, axis_prefix))
    return {"version": 1, "refs": refs}


def _is_in_store(place) -> bool:
    """Whether something is (store, path), and not two paths."""
    return isinstance(place, tuple) and len(place) == 2 and not isinstance(place[0], (str, os.PathLike, tuple))


def _scan_all(files, hdu, storage_options, scaled, client, progress) -> list[list[ImageReference]]:
    """Scan files side by side; results in the order of the files."""

    def one(url):
        return scan(url, hdu, storage_options=storage_options, scaled=scaled)

    if client is not None:
        futures = client.map(_scan_remotely, files, hdu=hdu, storage_options=storage_options, scaled=scaled)
        return [future.result() for future in _shown(futures, len(files), progress)]
    if len(files) == 1:
        return [one(files[0])]
    with ThreadPoolExecutor(min(SCAN_THREADS, len(files))) as pool:
        return list(_shown(pool.map(one, files), len(files), progress))


def _scan_remotely(url, hdu, storage_options, scaled):
    return scan(url, hdu, storage_options=storage_options, scaled=scaled)


def _shown(results: Iterable, total: int, progress: bool) -> Iterable:
    """The results one by one, with a bar on standard error if wanted."""
    if not progress:
        yield from results
        return
    with extra("cli"):
        from rich.console import Console
        from rich.progress import track
    yield from track(results, "scanning", total=total, console=Console(stderr=True))


def _stacks(scanned: list[list[ImageReference]], files) -> list[tuple[ImageReference, ...]]:
    """The images of all files, image by image; those that become one array have one shape."""
    for images, url in zip(scanned, files):
        if len(images) != len(scanned[0]):
            raise HeaderError(f"{url} has {len(images)} compressed images, {files[0]} has {len(scanned[0])}; name one by hdu=")
    stacks = list(zip(*scanned))
    for stack in stacks:
        for image in stack:
            if image.shape != stack[0].shape:
                raise HeaderError(
                    f"{image.url}: HDU {image.number} has shape {image.shape}, which does not stack with the"
                    f" {stack[0].shape} of {stack[0].url}"
                )
    return stacks


def name_images(images: list[ImageReference]) -> list[tuple[str, ImageReference, str]]:
    """
    Names of the arrays of a group.

    EXTNAME, else ``hdu<N>``; where that is repeated ``_<EXTVER>`` follows, and where that is repeated too ``_hdu<N>``.

    Parameters
    ----------
    images : list of ImageReference
        The images of one file.

    Returns
    -------
    list of (str, ImageReference, str)
        Name, image, and what its axis names begin with: nothing if all images have one shape.
    """
    names = [_as_key(image.name) or f"hdu{image.number}" for image in images]
    for suffix in (lambda image: f"_{image.version}", lambda image: f"_hdu{image.number}"):
        count = Counter(names)
        names = [name + suffix(image) if count[name] > 1 else name for name, image in zip(names, images)]
    same_shape = len({image.shape for image in images}) == 1
    return [(name, image, "" if same_shape else f"{name}_") for name, image in zip(names, images)]


def _as_key(name: str) -> str:
    """A name without what means something in the path of a zarr array."""
    name = name.replace("/", "_").replace("\\", "_")
    return "_" + name[1:] if name.startswith(".") else name


def _array(prefix: str, stack: tuple[ImageReference, ...], scaled: bool, stack_dimension: str | None, axis_prefix: str = ""):
    """Metadata and references of one array."""
    document = document_of(stack, scaled=scaled, stack_dimension=stack_dimension, axis_prefix=axis_prefix)
    yield f"{prefix}zarr.json", json.dumps(document)
    shape = stack[0].shape
    for number, image in enumerate(stack if all(shape) else ()):
        place = [0] * len(shape) if stack_dimension is None else [number] + [0] * len(shape)
        yield prefix + "/".join(["c", *map(str, place)]), [image.url, image.start, image.nbytes]


def document_of(stack: tuple[ImageReference, ...], *, scaled: bool = True, stack_dimension: str | None = None,
                axis_prefix: str = "") -> dict:
    """
    The zarr v3 metadata of an array whose chunks are whole HDUs.

    Parameters
    ----------
    stack : tuple of ImageReference
        Images of one shape.
    scaled : bool
        Whether BSCALE, BZERO and BLANK are applied when the array is read.
    stack_dimension : str, optional
        Name of the first axis, along which the images lie; by default there is one image and no such axis.
    axis_prefix : str
        What the names of the other axes begin with.
    """
    image = stack[0]
    dtype = np.result_type(*(each.dtype for each in stack))
    tile_shape = image.tile_shape if all(each.tile_shape == image.tile_shape for each in stack) else None
    chunk_shape = [max(length, 1) for length in image.shape]
    shape, names = list(image.shape), [axis_prefix + axis for axis in axis_names(len(image.shape))]
    if stack_dimension is not None:
        chunk_shape, shape, names = [1, *chunk_shape], [len(stack), *shape], [stack_dimension, *names]
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk_shape}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [codec_document(tile_shape, image.hint, scaled)],
        "fill_value": "NaN" if dtype.kind == "f" else 0,
        "attributes": _shared_attributes(stack),
        "dimension_names": names,
    }


def axis_names(ndim: int) -> list[str]:
    """Names of the axes, C order: x is the fastest, then y and z, then axis4 and so on as FITS counts."""
    names = ["x", "y", "z", *(f"axis{axis}" for axis in range(4, ndim + 1))][:ndim]
    return names[::-1]


def _shared_attributes(stack: tuple[ImageReference, ...]) -> dict:
    first = stack[0].attributes
    return {
        keyword: value
        for keyword, value in first.items()
        if all(each.attributes.get(keyword) == value and type(each.attributes.get(keyword)) is type(value) for each in stack)
    }
