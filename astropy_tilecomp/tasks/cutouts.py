"""The same cutout from many files, on one machine or on a cluster; what goes wrong with one file is told, not raised."""

from __future__ import annotations

import os
import pickle
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import PurePath
from typing import Any

import numpy as np

from ..decode.report import BadTile
from ..errors import TileCompError
from ..hdus import find_image
from ..read.reader import ReadStats, reader_for
from ..sources.opening import as_source
from ..sources.urls import has_secret, public_url
from ..threads import N_WAITING, waiting_pool
from ..tiling.to_image import table_to_image
from ..write.atomic import replacing_fits
from ..write.writer import write_image
from .cutout_header import moved_header
from .cutout_place import MODES, BoxPlace, CentrePlace, place_of

__all__ = ["Cutout", "Cutouts", "cutouts"]


@dataclass(frozen=True, eq=False, repr=False)
class Cutout:
    """
    What became of one file.

    Attributes
    ----------
    file : object
        The file, as it was given.
    pixels : ndarray or None
        The cutout; None if there was an error, or if it was written to `path` alone.
    cards : tuple of str
        Card images of its header, with the WCS of the cutout.
    origin : tuple of int
        Pixel of the image that is the first of the cutout, C order; it may be negative with ``mode="partial"``.
    path : str or None
        The file that was written.
    error : Exception or None
        What went wrong.
    stats : ReadStats
        Requests, bytes and tiles that the pixels took, without the opening of the file.
    damaged_tiles : tuple of BadTile
        Tiles that were filled, with ``on_error="fill"``.
    """

    file: object
    pixels: np.ndarray | None = None
    cards: tuple[str, ...] = ()
    origin: tuple[int, ...] = ()
    path: str | None = None
    error: Exception | None = None
    stats: ReadStats = field(default_factory=ReadStats)
    damaged_tiles: tuple[BadTile, ...] = ()

    def __repr__(self):
        shape = () if self.pixels is None else self.pixels.shape
        what = type(self.error).__name__ if self.error else self.path or f"shape {shape}"
        return f"<Cutout of {self.name}: {what}>"

    @property
    def name(self) -> str:
        """The file as it may be shown: a URL that may hold a credential is cut short."""
        return public_url(self.file) if isinstance(self.file, str) and has_secret(self.file) else str(self.file)

    @property
    def header(self):
        """The header, as `astropy.io.fits.Header`."""
        from astropy.io import fits

        return fits.Header.fromstring("".join(self.cards))

    @property
    def wcs(self):
        """The world coordinates, as `astropy.wcs.WCS`."""
        from astropy.wcs import WCS

        return WCS(self.header)

    def write(self, path, *, compress: bool = True, overwrite: bool = False) -> None:
        """
        Write the cutout to a FITS file of its own.

        Parameters
        ----------
        path : str or path-like
            The file; it appears only when it is complete.
        compress : bool
            Tile-compress it, without loss; False writes a plain primary HDU.
        overwrite : bool
            Whether an existing file may be replaced.

        Raises
        ------
        ValueError
            If there are no pixels.
        FileExistsError
            If the file exists, unless it may be replaced.
        """
        if self.pixels is None:
            raise ValueError(f"{self.name}: there is no cutout to write") from self.error
        if compress:
            write_image(path, self.pixels, self.cards, lossless=True, overwrite=overwrite)
            return
        from astropy.io import fits

        with replacing_fits(path, overwrite=overwrite) as target:
            fits.PrimaryHDU(self.pixels, self.header).writeto(target)


class Cutouts(Sequence):
    """
    The cutouts of many files, one `Cutout` for each, in the order of the files.

    Parameters
    ----------
    cutouts : sequence of Cutout
        The results.
    """

    def __init__(self, cutouts: Iterable[Cutout]):
        self._cutouts = tuple(cutouts)

    def __len__(self):
        return len(self._cutouts)

    def __getitem__(self, index):
        found = self._cutouts[index]
        return Cutouts(found) if isinstance(index, slice) else found

    def __repr__(self):
        return f"<Cutouts of {len(self)} files, {len(self.errors)} with errors>"

    @property
    def arrays(self) -> list[np.ndarray | None]:
        """The pixels of each file; None where there was an error."""
        return [each.pixels for each in self]

    @property
    def errors(self) -> list[tuple[object, Exception]]:
        """The files with errors, and the errors."""
        return [(each.file, each.error) for each in self if each.error is not None]

    def raise_errors(self) -> None:
        """
        Raise the errors, if there are any.

        Raises
        ------
        ExceptionGroup
            All of them.
        """
        if self.errors:
            raise ExceptionGroup(f"{len(self.errors)} of {len(self)} cutouts failed", [error for _, error in self.errors])

    def table(self):
        """
        The results as a table.

        Returns
        -------
        astropy.table.Table
            A row for each file: ``file``, ``shape`` and ``origin`` as text, ``path``, ``n_requests``, ``nbytes`` and
            ``error``, which is empty where all went well; and ``pixels``, if there are any and all have one shape.
        """
        from astropy.table import Table

        columns: dict[str, list | np.ndarray] = {
            "file": [each.name for each in self],
            "shape": [_as_text(each.pixels.shape) if each.pixels is not None else "" for each in self],
            "origin": [_as_text(each.origin) for each in self],
            "path": [each.path or "" for each in self],
            "n_requests": [each.stats.n_requests for each in self],
            "nbytes": [each.stats.nbytes for each in self],
            "error": [f"{type(each.error).__name__}: {each.error}" if each.error else "" for each in self],
        }
        arrays = [pixels for pixels in self.arrays if pixels is not None]
        if arrays and len(arrays) == len(self) and len({pixels.shape for pixels in arrays}) == 1:
            columns["pixels"] = np.stack(arrays)
        return Table(columns)


def _as_text(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def cutouts(files: Iterable, position, size=None, *, hdu=None, mode: str = "trim", fill_value=None, folder=None,
            compress: bool = True, overwrite: bool = False, client=None, concurrency: int = 16,
            progress: bool | Callable[[int, int], None] = False, storage_options: dict | None = None,
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
    progress : bool or callable
        True shows on standard error how far it is; a callable is called with the number of files done and of all.
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
    return Cutouts(_shown(results, len(jobs), progress))


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


def _shown(results: Iterator[Cutout], total: int, progress) -> Iterator[Cutout]:
    """The results as they pass, telling how many did."""
    tell = progress if callable(progress) else _Counter() if progress else None
    for done, result in enumerate(results, 1):
        if tell is not None:
            tell(done, total)
        yield result


class _Counter:
    """Writes on standard error how far it is, at most once for each hundredth."""

    def __call__(self, done: int, total: int) -> None:
        if done == total or done % max(1, total // 100) == 0:
            end = "\n" if done == total else ""
            sys.stderr.write(f"\r{done} of {total} files{end}")
            sys.stderr.flush()
