"""Kerchunk references: one chunk for each compressed HDU."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import numpy as np

from ...errors import HeaderError
from ..zarr.hdu_chunk import codec_document
from ..zarr.metadata import GROUP, array_document
from .names import axis_names, name_images
from .scan import ImageReference, is_in_store, scan_all

__all__ = ["document_of", "references"]

_SEPARATOR = {"name": "default", "configuration": {"separator": "/"}}


def references(urls, hdu=None, storage_options: dict | None = None, *, scaled: bool = True, stack_dimension: str = "file",
               client=None, on_progress: Callable[[int, int], None] | None = None) -> dict:
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
    on_progress : callable, optional
        Called with the number of files that are scanned, and of all.

    Returns
    -------
    dict
        ``{"version": 1, "refs": {...}}``, ready for `json.dump` and for fsspec's file system ``reference://``.

    Raises
    ------
    HeaderError
        If there is no such image, its header breaks the format, it was cut, or the images of a stack differ in shape or name.
    UnsupportedError
        For a file that is compressed as a whole.

    Notes
    -----
    Reading needs zarr and this package installed, and no import of it: zarr finds the codec ``astropy_tilecomp.hdu``.  In a stack,
    numpy's common type of all files is used, and attributes are those that all files share.

    Examples
    --------
    >>> import astropy_tilecomp as tc
    >>> references = tc.references("panoptes_solved.fits.fz", hdu=1)
    >>> list(references["refs"])
    ['zarr.json', 'c/0/0']
    """
    single = isinstance(urls, (str, os.PathLike)) or is_in_store(urls)
    files = [urls] if single else list(urls)
    if not files:
        raise ValueError("no files to refer to")
    scanned = scan_all(files, hdu, storage_options, scaled, client, on_progress)
    stacks = _stacks(scanned, files)
    dimension = None if single else stack_dimension
    if hdu is not None and not isinstance(hdu, list):
        return {"version": 1, "refs": dict(_array("", stacks[0], scaled, dimension))}
    refs: dict[str, str | list] = {"zarr.json": json.dumps(GROUP)}
    for (name, _, axis_prefix), stack in zip(name_images([stack[0] for stack in stacks]), stacks):
        refs.update(_array(f"{name}/", stack, scaled, dimension, axis_prefix))
    return {"version": 1, "refs": refs}


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
    """The zarr v3 metadata of an array whose chunks are whole HDUs."""
    image = stack[0]
    dtype = np.result_type(*(each.dtype for each in stack))
    tile_shape = image.tile_shape if all(each.tile_shape == image.tile_shape for each in stack) else None
    chunk_shape = [max(length, 1) for length in image.shape]
    shape, names = list(image.shape), [axis_prefix + axis for axis in axis_names(len(image.shape))]
    if stack_dimension is not None:
        chunk_shape, shape, names = [1, *chunk_shape], [len(stack), *shape], [stack_dimension, *names]
    return array_document(
        shape, chunk_shape, dtype, separator=_SEPARATOR, codec=codec_document(tile_shape, image.hint, scaled),
        attributes=_shared_attributes(stack), names=names,
    )


def _shared_attributes(stack: tuple[ImageReference, ...]) -> dict:
    first = stack[0].attributes
    return {
        keyword: value
        for keyword, value in first.items()
        if all(each.attributes.get(keyword) == value and type(each.attributes.get(keyword)) is type(value) for each in stack)
    }
