"""Cutouts as they come back: pixels, cards, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..decode.report import DamagedTile
from ..read.reader import ReadStats
from ..sources.urls import has_secret, public_url
from ..write.atomic import replacing_fits
from ..write.writer import write_image

__all__ = ["Cutout", "Cutouts"]


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
    damaged_tiles : tuple of DamagedTile
        Tiles that were filled, with ``on_error="fill"``.
    """

    file: object
    pixels: Any = None
    cards: tuple[str, ...] = ()
    origin: tuple[int, ...] = ()
    path: str | None = None
    error: Exception | None = None
    stats: ReadStats = field(default_factory=ReadStats)
    damaged_tiles: tuple[DamagedTile, ...] = ()

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
        """The results as a table."""
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
