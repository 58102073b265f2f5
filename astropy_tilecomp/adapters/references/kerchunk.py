"""References in kerchunk's form (zarr format 2): our own for compressed images, kerchunk's for every other HDU."""

from __future__ import annotations

import json

from ...errors import UnsupportedError
from ...hdus import FoundHDU, walk
from ...sources.inflated import InflatedSource
from ...sources.opening import as_source
from ..extras import extra
from ..zarr.hdu_chunk import CONFIG_VERSION, HDU_CODEC_NAME
from ..zarr.metadata import GROUP_2, array_document_2
from .names import axis_names
from .scan import ImageReference, checked_url, describe

__all__ = ["array_document", "process_file"]


def process_file(url, storage_options=None, extension=None, inline_threshold=100, primary_attr_to_group=False, out=None):
    """
    Make references to a FITS file as `kerchunk.fits.process_file` does, right for compressed images too.

    Parameters
    ----------
    url : str
        Where the file is.
    storage_options : dict, optional
        What fsspec needs to open it.
    extension : int, str, list of them, optional
        The HDUs to include; by default the first that holds data.
    inline_threshold, primary_attr_to_group : int, bool
        As kerchunk's: the first is not used yet, the second gives the group the header of the primary HDU as attributes.
    out : LazyReferenceMapper or dict, optional
        Where the references go.

    Returns
    -------
    dict
        Reference key to content; with `out` it is `out`.

    Raises
    ------
    HeaderError, UnsupportedError
        If the header of a compressed image breaks the format, or the whole file around it is compressed.
    KeyError
        If there is no such extension.

    Notes
    -----
    A compressed image is one chunk, its whole HDU, decoded by the codec ``astropy_tilecomp.hdu`` of numcodecs; readers need
    this package installed, and no import of it.  To read parts of an image, use `astropy_tilecomp.references`.
    """
    with extra("kerchunk"):
        import kerchunk.fits
        from fsspec.implementations.reference import LazyReferenceMapper

    result = {} if out is None else out
    with as_source(url, storage_options) as source:
        hdus = list(walk(source))
        wanted = _wanted(hdus, extension)
        compressed = [found for found in wanted if found.is_compressed_image]
        if compressed and isinstance(source, InflatedSource):
            raise UnsupportedError(f"{source.name} is compressed as a whole, so no byte range of it is an HDU")
        images = [describe(checked_url(url), source, found) for found in compressed]
    others = [found.number for found in wanted if not found.is_compressed_image]
    result[".zgroup"] = _json(GROUP_2)
    if primary_attr_to_group:
        result[".zattrs"] = _json(dict(hdus[0].header))
    if others:
        refs = kerchunk.fits.process_file(
            url, storage_options=storage_options, extension=others, inline_threshold=inline_threshold
        )
        result.update((key, content) for key, content in refs.items() if key not in (".zgroup", ".zattrs"))
    for image in images:
        result.update(_array(image))
    if isinstance(out, LazyReferenceMapper):
        out.flush()
    return result


def _wanted(hdus: list[FoundHDU], extension) -> list[FoundHDU]:
    """The HDUs that are asked for: by number, by EXTNAME, or the first that holds data."""
    if extension is None:
        extension = next((found.number for found in hdus if found.header.get("NAXIS", 0) > 0), None)
        if extension is None:
            raise ValueError("no HDU of the file holds data")
    by_name = {found.name: found for found in reversed(hdus)}
    wanted = []
    for which in extension if isinstance(extension, list) else [extension]:
        found = by_name.get(which.strip().upper()) if isinstance(which, str) else dict(enumerate(hdus)).get(which)
        if found is None:
            raise KeyError(f"no extension {which!r}: the file has {len(hdus)} HDUs, {sorted(by_name)}")
        wanted.append(found)
    return wanted


def _array(image: ImageReference):
    """Metadata and reference of one compressed image."""
    name = image.name or str(image.number)
    yield f"{name}/.zarray", _json(array_document(image))
    yield f"{name}/.zattrs", _json(image.attributes | {"_ARRAY_DIMENSIONS": axis_names(len(image.shape))})
    if all(image.shape):
        yield f"{name}/{'.'.join('0' for _ in image.shape)}", [image.url, image.start, image.nbytes]


def array_document(image: ImageReference) -> dict:
    """The zarr v2 metadata of an array whose one chunk is a whole HDU."""
    codec = {"id": HDU_CODEC_NAME, "version": CONFIG_VERSION, "dtype": image.dtype.str, "scaled": True}
    return array_document_2(image.shape, [max(length, 1) for length in image.shape], image.dtype, codec)


def _json(document) -> bytes:
    return json.dumps(document).encode()
