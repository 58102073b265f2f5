"""Compressed images as dask arrays whose chunks are whole tiles."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from ..hdus import find_image
from ..keywords import DEFAULT_QUANTIZE_LEVEL
from ..read.reader import TileReader, reader_for
from ..sources.local import opened_for_each_read
from ..sources.opening import as_source
from ..tiling.grid import CHUNK_NBYTES, tile_chunks
from ..write.writer import TileWriter
from .extras import extra

__all__ = ["TileArray", "to_dask", "write_dask"]


class TileArray:
    """
    What dask slices: a `TileReader` or a section, with the attributes of an array of its pixels.

    Parameters
    ----------
    reader : TileReader or TileSection
        It pickles to other processes wherever its file does.
    """

    def __init__(self, reader):
        self.reader = reader
        self.shape, self.ndim, self.dtype = tuple(reader.shape), len(reader.shape), np.dtype(reader.result_dtype)

    def __getitem__(self, index) -> np.ndarray:
        return self.reader.read(index)


def to_dask(file, hdu=None, *, chunks=None, chunk_nbytes: int = CHUNK_NBYTES, storage_options: dict | None = None,
            engine: str | None = None, on_error: str = "raise", fill_value=0, max_nbytes: int | None = None, scaled: bool = True):
    """
    Make a dask array of a compressed image.

    Parameters
    ----------
    file : path, URL, bytes or anything else that `as_source` takes
        The FITS file, or a section of an open one (``hdu.section``).
    hdu : int, str or (str, int), optional
        By default the first compressed image.
    chunks : optional
        As dask takes it; by default whole tiles of `chunk_nbytes` together.
    chunk_nbytes : int
        Bytes of a chunk, about.
    storage_options : dict, optional
        What fsspec needs to open a URL.
    engine, on_error, fill_value, max_nbytes
        How the image is read: see `read_section`.
    scaled : bool
        Apply BSCALE, BZERO and BLANK; False gives the stored pixels.

    Returns
    -------
    dask.array.Array
        It pickles to other processes and machines wherever `file` does.

    Raises
    ------
    HeaderError
        If there is no such image, or its header breaks the format.
    """
    with extra("dask"):
        import dask.array as da

    options = {"engine": engine, "on_error": on_error, "fill_value": fill_value, "max_nbytes": max_nbytes, "scaled": scaled}
    reader = file if hasattr(file, "result_dtype") else _open(file, hdu, storage_options, options)
    array = TileArray(reader)
    if chunks is None:
        chunks = tile_chunks(array.shape, reader.chunks, array.dtype.itemsize, chunk_nbytes)
    return da.from_array(array, chunks=chunks, meta=np.empty((0,) * array.ndim, array.dtype), name=False, asarray=False)


def _open(file, hdu, storage_options, options) -> TileReader:
    source = opened_for_each_read(as_source(file, storage_options))
    found = find_image(source, hdu)
    return reader_for(found, source, cache_bytes=0, **options)


def write_dask(path, array, header=None, *, chunk_nbytes: int = CHUNK_NBYTES, blocks_ahead: int = 2, on_progress=None,
               algorithm: str | None = None, tile_shape: Sequence[int] | None = None, lossless: bool = False,
               quantize_level: float = DEFAULT_QUANTIZE_LEVEL, quantize_method: int | str = "SUBTRACTIVE_DITHER_1",
               dither_seed: int = -1, hcomp_scale: float = 0, hcomp_smooth: bool = False, blank: int | None = None,
               zblank: int | None = None, style: str = "cfitsio", name: str | None = None, append: bool = False,
               overwrite: bool = False, checksum: bool = False, threads: int | None = None, engine: str | None = None) -> None:
    """
    Write a dask array as a compressed image, some blocks at a time.

    Parameters
    ----------
    path : str or path-like
        The file; it appears only when it is complete.
    array : dask.array.Array
        The pixels; of any size, no more than `blocks_ahead` blocks of them are in memory.
    header : astropy Header, mapping or sequence of card images, optional
        Header of the image.
    chunk_nbytes : int
        Bytes of a block, about: the array is cut into blocks of whole tiles. Where its own chunks are such, they are kept.
    blocks_ahead : int
        Blocks that are computed together.
    on_progress : callable, optional
        Called with the blocks that are done and all blocks.
    algorithm, tile_shape, lossless, quantize_level, quantize_method, dither_seed, hcomp_scale, hcomp_smooth, blank, zblank, style
        How to compress: see `write_image`.
    name, append, overwrite, checksum, threads, engine
        See `TileWriter`.

    Raises
    ------
    FileExistsError, HeaderError, NotEncodableError, TypeError, ValueError
        As `TileWriter`.
    """
    with extra("dask"):
        import dask

    if not dask.is_dask_collection(array):
        raise TypeError(f"a dask array expected, found {type(array).__name__}; write_image writes others")
    if any(np.isnan(size) for size in array.shape):
        raise ValueError(f"a dask array of shape {array.shape}: its compute_chunk_sizes() finds out how large it is")
    writer = TileWriter(
        path, array.shape, array.dtype, header, name=name, append=append, overwrite=overwrite, checksum=checksum,
        quantize_level=quantize_level, dither_seed=dither_seed, threads=threads, engine=engine, algorithm=algorithm,
        tile_shape=tile_shape, lossless=lossless, quantize_method=quantize_method, hcomp_scale=hcomp_scale,
        hcomp_smooth=hcomp_smooth, blank=blank, zblank=zblank, style=style,
    )
    with writer:
        tile_shape = writer.params.tile_shape
        if not _is_aligned(array.chunks, tile_shape) or _largest_block(array) > 2 * chunk_nbytes:
            array = array.rechunk(tile_chunks(array.shape, tile_shape, array.dtype.itemsize, chunk_nbytes))
        starts = [np.cumsum([0, *sizes[:-1]]) // tile for sizes, tile in zip(array.chunks, tile_shape)]
        has_pixels = [np.flatnonzero(sizes).tolist() for sizes in array.chunks]  # blocks of a selection may be empty
        numbers = list(product(*has_pixels))
        for first in range(0, len(numbers), blocks_ahead):
            group = numbers[first:first + blocks_ahead]
            for number, block in zip(group, dask.compute(*(array.blocks[number] for number in group))):
                writer.write_tiles(tuple(int(start[at]) for start, at in zip(starts, number)), block)
            if on_progress is not None:
                on_progress(first + len(group), len(numbers))


def _is_aligned(chunks, tile_shape) -> bool:
    """Whether every chunk but the last along an axis holds whole tiles."""
    return all(size % tile == 0 for sizes, tile in zip(chunks, tile_shape) for size in sizes[:-1])


def _largest_block(array) -> int:
    return prod(max(sizes) for sizes in array.chunks) * array.dtype.itemsize
