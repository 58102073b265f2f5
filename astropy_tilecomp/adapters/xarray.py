"""An xarray backend: `xarray.open_dataset("image.fits.fz")` gives the compressed images of a file, lazily."""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np

from ..hdus import find_images
from ..read.reader import TileReader, reader_for
from ..sources.local import opened_for_each_read
from ..sources.opening import as_source
from ..tiling.grid import CHUNK_NBYTES, tile_chunks
from ..tiling.selection import select_outer
from .extras import extra
from .references.names import axis_names, name_images
from .references.open import is_references, open_references
from .references.scan import describe_all

with extra("xarray"):
    from xarray import Dataset, Variable
    from xarray.backends import BackendArray, BackendEntrypoint
    from xarray.core import indexing

__all__ = ["TileBackend", "TileBackendArray"]


class TileBackendArray(BackendArray):
    """
    A compressed image as xarray indexes it.

    Parameters
    ----------
    reader : TileReader
        The image.
    """

    def __init__(self, reader: TileReader):
        self.reader, self.shape, self.dtype = reader, reader.shape, reader.result_dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> np.ndarray:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read_outer)

    def _read_outer(self, key: tuple) -> np.ndarray:
        """Read an outer product of integers, slices and 1-D arrays."""
        if not any(np.ndim(which) for which in key):
            return self.reader.read(key)
        whole = [np.arange(length)[which] for which, length in zip(key, self.shape)]
        pixels = self.reader.read(select_outer(self.reader.grid, [np.atleast_1d(positions) for positions in whole]))
        return pixels[tuple(0 if positions.ndim == 0 else slice(None) for positions in whole)]


class _ZarrArray(BackendArray):
    """An array of zarr as xarray indexes it."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> np.ndarray:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read_outer)

    def _read_outer(self, key: tuple) -> np.ndarray:
        return np.asarray(self.array.oindex[key])


class TileBackend(BackendEntrypoint):
    """
    Engine ``astropy_tilecomp`` of `xarray.open_dataset`: every compressed image of a FITS file is a variable.

    Notes
    -----
    Variables are called by EXTNAME, else ``hdu<N>``; their axes are x, y, z from the fastest on.  Header keywords, WCS with
    them, are attributes.  ``chunks={}`` gives chunks of whole tiles.
    """

    description = "Open tile-compressed FITS images (.fits.fz)"
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "hdu", "scaled", "storage_options", "chunk_nbytes")

    def open_dataset(self, filename_or_obj, *, drop_variables: str | Iterable[str] | None = None, hdu=None, scaled: bool = True,
                     storage_options: dict | None = None, chunk_nbytes: int = CHUNK_NBYTES) -> Dataset:
        """
        Open a file.

        Raises
        ------
        HeaderError
            If there is no compressed image, or a header breaks the format.
        """
        dropped = {drop_variables} if isinstance(drop_variables, str) else set(drop_variables or ())
        if isinstance(filename_or_obj, (str, os.PathLike)) and is_references(filename_or_obj):
            return _open_references(filename_or_obj, storage_options, dropped)
        source = opened_for_each_read(as_source(filename_or_obj, storage_options))
        try:
            found = {each.number: each for each in find_images(source, hdu)}
            images = describe_all(source.name, source, found.values(), scaled, skip=hdu is None)
            variables = {
                name: _variable(source, found[image.number], image, axis_prefix, scaled, chunk_nbytes)
                for name, image, axis_prefix in name_images(images)
                if name not in dropped
            }
        except Exception:
            source.close()
            raise
        dataset = Dataset(variables)
        dataset.set_close(source.close)
        return dataset

    def guess_can_open(self, filename_or_obj) -> bool:
        """Whether the name is that of a compressed FITS file; other names need ``engine="astropy_tilecomp"``."""
        if not isinstance(filename_or_obj, (str, os.PathLike)):
            return False
        return os.fspath(filename_or_obj).partition("?")[0].lower().endswith((".fits.fz", ".fit.fz", ".fts.fz"))


def _open_references(path, storage_options, dropped: set[str]) -> Dataset:
    """The arrays that references give, as zarr opens them."""
    import zarr
    from xarray import open_dataset

    opened = open_references(path, storage_options)
    if isinstance(opened, zarr.Array):  # the references are those of one image
        name = opened.attrs.get("EXTNAME", "image")
        names = opened.metadata.dimension_names if opened.metadata.zarr_format == 3 else opened.attrs["_ARRAY_DIMENSIONS"]
        variable = Variable(names, indexing.LazilyIndexedArray(_ZarrArray(opened)), dict(opened.attrs))
        return Dataset({name: variable} if name not in dropped else {})
    return open_dataset(opened.store, engine="zarr", consolidated=False, drop_variables=dropped)


def _variable(source, found, image, axis_prefix: str, scaled: bool, chunk_nbytes: int) -> Variable:
    array = TileBackendArray(reader_for(found, source, scaled=scaled))
    names = [axis_prefix + axis for axis in axis_names(len(image.shape))]
    chunks = tile_chunks(image.shape, image.tile_shape, array.dtype.itemsize, chunk_nbytes)
    encoding = {"preferred_chunks": dict(zip(names, chunks))}
    attributes = {keyword: int(value) if isinstance(value, bool) else value for keyword, value in image.attributes.items()}
    return Variable(names, indexing.LazilyIndexedArray(array), attributes, encoding)
