"""The same cutout from many files, on one machine or on a cluster; what goes wrong with one file is told, not raised."""

from __future__ import annotations

import os
import pickle
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import PurePath
from typing import Any

import numpy as np

from ..errors import TileCompError
from ..hdus import find_image
from ..read.reader import reader_for
from ..sources.opening import as_source
from ..threads import N_WAITING, counted, waiting_pool
from ..tiling.to_image import table_to_image
from .cutout_header import moved_header
from .cutout_place import MODES, BoxPlace, CentrePlace, place_of
from .cutout_results import Cutout, Cutouts

__all__ = ["cutouts"]


def cutouts(files: Iterable, position, size=None, *, hdu=None, mode: str = "trim", fill_value=None, folder=None,
            compress: bool = True, overwrite: bool = False, client=None, concurrency: int = 16,
            on_progress: Callable[[int, int], None] | None = None, storage_options: dict | None = None,
            remote: Mapping | None = None, engine: str | None = None, on_error: str = "raise",
            max_nbytes: int | None = None) -> Cutouts:
    """
    Cut the same part out of many compressed images.

    Parameters
    ----------
    files : iterable of paths, URLs, or anything else that `as_source` takes
        The FITS files; with `client`, what its machines can open.
    position : (x, y), SkyCoord or tuple of slices
        Centre of the cutout in pixels, counted from 0, or on the sky, by the WCS of each file, as
        `astropy.nddata.Cutout2D` takes it; or slices of step 1, as numpy takes them.
    size : int, Quantity, or a pair of them, optional
        Height and width, in pixels or as an angle; not for slices. Axes before the last two are kept whole.
    hdu : int, str or (str, int), optional
        Number, EXTNAME, or EXTNAME and EXTVER; by default the first compressed image of each file.
    mode : {"trim", "partial", "strict"}
        Of a cutout that reaches over the edge of the image: keep what is inside; fill the rest; make it an error.
    fill_value : scalar, optional
        What fills with ``mode="partial"``; by default NaN, and for integers there is none.
    folder : str or path-like, optional
        Write each cutout to a FITS file there instead of giving its pixels; with `client` its machines write.
    compress, overwrite
        Of these files: see `Cutout.write`.
    client : dask.distributed.Client or concurrent.futures.Executor, optional
        Where to work; by default in threads of this process.
    concurrency : int
        Files that are read at once, by each task of `client`; 32 at most.
    on_progress : callable, optional
        Called with the number of files that are done, and of all.
    storage_options : dict, optional
        What fsspec needs to open the files.
    remote : RemoteSettings or mapping, optional
        How to read remote files.
    engine, on_error, max_nbytes
        How each image is read: see `read_section`.

    Returns
    -------
    Cutouts
        One result for each file, in their order; errors are in it.

    Raises
    ------
    TypeError, ValueError
        For a position, size or mode that makes no sense for any file.

    Examples
    --------
    >>> import numpy as np
    >>> from astropy_tilecomp import cutouts, write_image
    >>> for night in (1, 2):
    ...     write_image(f"night{night}.fits", np.full((100, 100), night, "int16"))
    >>> found = cutouts(["night1.fits", "night2.fits", "night3.fits"], (50, 20), (4, 5))
    >>> found
    <Cutouts of 3 files, 1 with errors>
    >>> found[1].pixels.shape, found[1].origin
    ((4, 5), (18, 48))
    """
    if isinstance(files, str | bytes | os.PathLike):
        raise TypeError(f"a list of files expected, found one: {files!r}")
    files = list(files)
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}, expected one of {', '.join(MODES)}")
    if not 1 <= concurrency <= N_WAITING:
        raise ValueError(f"concurrency is {concurrency}, expected 1 to {N_WAITING}")
    options = {"engine": engine, "on_error": on_error, "max_nbytes": max_nbytes}
    recipe = _Recipe(place_of(position, size), hdu, mode, fill_value, compress, overwrite, storage_options, remote, options)
    jobs = list(zip(files, _paths_in(folder, files, compress)))
    if client is None:
        results = _side_by_side(recipe, jobs, concurrency)
    else:
        results = _on_cluster(recipe, jobs, concurrency, client)
    return Cutouts(counted(results, len(jobs), on_progress))


@dataclass(frozen=True)
class _Recipe:
    """What is the same for all files; it is sent to other machines."""

    place: BoxPlace | CentrePlace
    hdu: int | str | tuple[str, int] | None
    mode: str
    fill_value: object
    compress: bool
    overwrite: bool
    storage_options: dict | None = field(repr=False)  # may hold credentials, and a scheduler may log its tasks
    remote: Mapping | None
    options: dict

    def cut(self, job: tuple[object, str | None]) -> Cutout:
        """The cutout of one file, whatever happens."""
        file, path = job
        try:
            found = self._cut(file)
            if path is None:
                return found
            found.write(path, compress=self.compress, overwrite=self.overwrite)
            return replace(found, pixels=None, path=path)
        except Exception as error:
            return Cutout(file, error=_that_travels(error))

    def _cut(self, file) -> Cutout:
        source = as_source(file, self.storage_options, self.remote)
        try:
            found = find_image(source, self.hdu)
            reader = reader_for(found, source, cache_bytes=0, **self.options)
            cards = table_to_image(found.header.cards)
            inside, outside, shape = self.place.overlap(reader.shape, cards, self.mode)
            pixels = reader.read(inside)
            if pixels.shape != shape:
                pixels = self._padded(pixels, outside, shape)
            origin = tuple(part.start - place.start for part, place in zip(inside, outside))
            return Cutout(file, pixels, tuple(moved_header(cards, origin, shape)), origin, stats=reader.stats,
                          damaged_tiles=tuple(reader.damaged_tiles))
        finally:
            if source is not file:
                source.close()

    def _padded(self, pixels: np.ndarray, place: tuple[slice, ...], shape: tuple[int, ...]) -> np.ndarray:
        fill_value = self.fill_value
        if fill_value is None:
            if pixels.dtype.kind != "f":
                raise ValueError("a cutout of integers reaches over the edge of the image: give a fill_value")
            fill_value = np.nan
        padded = np.full(shape, fill_value, pixels.dtype)
        padded[place] = pixels
        return padded


def _that_travels(error: Exception) -> Exception:
    """An error without the frames it came through; in our words, if it cannot be sent to another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return TileCompError(f"{type(error).__name__}: {error}")
    return error.with_traceback(None)


def _paths_in(folder, files: list, compress: bool) -> list[str | None]:
    """A path for the cutout of each file, all different."""
    if folder is None:
        return [None] * len(files)
    os.makedirs(folder, exist_ok=True)
    stems = [_stem(file) for file in files]
    width = len(str(len(files)))
    numbered = [f"{stem}_{number:0{width}}" for number, stem in enumerate(stems)]
    count = Counter(stems + numbered)
    suffix = ".fits.fz" if compress else ".fits"
    names = [other if count[stem] > 1 or not stem else stem for stem, other in zip(stems, numbered)]
    return [os.path.join(os.fspath(folder), name + suffix) for name in names]


def _stem(file) -> str:
    """Name of a file without folders, query and suffixes; empty if it has none."""
    last = file[-1] if isinstance(file, tuple) else file
    if not isinstance(last, str | os.PathLike):
        return ""
    return re.sub(r"(\.(fits?|fts|fz|gz|bz2))+$", "", PurePath(os.fspath(last).partition("?")[0]).name, flags=re.IGNORECASE)


def _side_by_side(recipe: _Recipe, jobs: list, concurrency: int) -> Iterator[Cutout]:
    """Results of all jobs, in their order, `concurrency` of them at once."""
    yield from _in_order(lambda job: waiting_pool().submit(recipe.cut, job), jobs, concurrency)


def _in_order(submit: Callable[[Any], Future], jobs: Iterable, ahead: int) -> Iterator:
    """Results in the order of the jobs; so many jobs are begun before the first result is taken."""
    left = iter(jobs)
    begun = [submit(job) for job in islice(left, ahead)]
    while begun:
        result = begun.pop(0).result()
        begun += [submit(job) for job in islice(left, 1)]
        yield result


def _on_cluster(recipe: _Recipe, jobs: list, concurrency: int, client) -> Iterator[Cutout]:
    """Results of all jobs, in their order; each task reads some files at once."""
    batches = [jobs[start:start + concurrency] for start in range(0, len(jobs), concurrency)]
    options = {"pure": False} if hasattr(client, "scheduler_info") else {}  # dask would keep results by their arguments
    tasks = [client.submit(_cut_batch, recipe, batch, concurrency, **options) for batch in batches]
    for batch, task in zip(batches, tasks):
        try:
            results = task.result()
        except Exception as error:  # the task as a whole is lost, such as with its machine
            results = [Cutout(file, error=_that_travels(error)) for file, _ in batch]
        yield from results


def _cut_batch(recipe: _Recipe, jobs: list, concurrency: int) -> list[Cutout]:
    with ThreadPoolExecutor(concurrency) as pool:
        return list(pool.map(recipe.cut, jobs))
