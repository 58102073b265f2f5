"""What can be saved of a damaged file: good tiles byte for byte, bad ones blanked so that every reader reads the rest."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import BinaryIO

from ..errors import HeaderError, TileCompError, TruncatedTileError
from ..hdus import FoundHDU, walk
from ..read.table_rows import read_table
from ..sources.base import ByteSource
from ..sources.opening import opened
from ..tiling.layout import TableLayout
from ..tiling.params import CompressionParams
from ..tiling.table import TileTable
from ..write.atomic import replacing_fits
from .repair import PIECE_NBYTES, write_repaired, write_zeros
from .verify import TileFault, damaged_tiles_of, fault_of

__all__ = ["HDURescue", "SalvageReport", "salvage"]


@dataclass(frozen=True)
class HDURescue:
    """
    What became of one HDU.

    Attributes
    ----------
    number : int
        0 for the primary HDU.
    name : str
        EXTNAME.
    action : {"kept", "repaired", "padded", "dropped"}
        Kept to the byte; tiles were blanked; missing bytes were filled with zeros; left out.
    n_tiles : int
        Tiles of a compressed image.
    lost : tuple of TileFault
        Tiles that were blanked, in row order.
    problem : str
        What was wrong besides the tiles; else empty.
    """

    number: int
    name: str
    action: str
    n_tiles: int = 0
    lost: tuple[TileFault, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class SalvageReport:
    """
    What was saved of a file, and what was lost.

    Attributes
    ----------
    path, output : str
        The file that was read, and the one that was written.
    hdus : tuple of HDURescue
        In the order of the file.
    problem : str
        Why the file could not be followed to its end; else empty.
    """

    path: str
    output: str
    hdus: tuple[HDURescue, ...]
    problem: str = ""

    @property
    def lost(self) -> tuple[TileFault, ...]:
        """The tiles of all HDUs that were blanked."""
        return tuple(fault for hdu in self.hdus for fault in hdu.lost)

    @property
    def n_tiles(self) -> int:
        """Tiles of all compressed images."""
        return sum(hdu.n_tiles for hdu in self.hdus)

    @property
    def intact(self) -> bool:
        """Whether nothing was lost."""
        return not self.problem and all(hdu.action == "kept" for hdu in self.hdus)


def salvage(path, output=None, *, overwrite: bool = False, fill_value: int = 0, threads: int | None = None,
            max_nbytes: int | None = None) -> SalvageReport:
    """
    Write a sound file with all that is good in a damaged one.

    Parameters
    ----------
    path : str, path-like, URL or anything else that `as_source` takes
        The file.
    output : str or path-like, optional
        The new file; by default ``a.salvaged.fits.fz`` for ``a.fits.fz``.
    overwrite : bool
        Whether `output` may replace a file.
    fill_value : int
        What fills the bad tiles of integer images without BLANK; elsewhere it is BLANK, or NaN.
    threads, max_nbytes : int, optional
        As of `verify`.

    Returns
    -------
    SalvageReport
        Every tile that was lost, with its place and the reason.

    Raises
    ------
    FileExistsError
        If `output` exists and may not be replaced.
    HeaderError
        If the file does not begin with a FITS header.

    Notes
    -----
    The bytes of good tiles stay as they are, and where they are in the heap; new tiles follow behind the old heap. HDUs
    without damage are copied. Where a file was cut, what is missing of a table becomes zeros, and a compressed image whose
    header breaks the format is left out. The sums that a repaired HDU has are made anew: CHECKSUM, DATASUM, and where tiles
    were blanked ZHECKSUM, ZDATASUM of the pixels that are left. The file appears only when it is complete.

    Examples
    --------
    >>> import astropy_tilecomp as tc
    >>> content = open("panoptes_solved.fits.fz", "rb").read()
    >>> _ = open("broken.fits.fz", "wb").write(content[:400_000] + bytes(10) + content[400_010:])
    >>> report = tc.salvage("broken.fits.fz", "sound.fits.fz")
    >>> [fault.row for fault in report.lost], tc.verify("sound.fits.fz").good
    ([456], True)
    """
    options = {"threads": threads, "max_nbytes": max_nbytes}
    rescued: list[HDURescue] = []
    problem = ""
    with opened(path) as source:
        output = salvaged_name(source.name) if output is None else output
        with replacing_fits(output, overwrite=overwrite) as file:
            try:
                for found in walk(source):
                    rescued.append(_rescue_hdu(source, found, file, fill_value, options))
            except HeaderError as error:
                if not rescued:
                    raise
                problem = str(error).removeprefix(f"{source.name}: ")
        return SalvageReport(source.name, os.fspath(output), tuple(rescued), problem)


def salvaged_name(name: str) -> str:
    """Name of the salvaged file beside a damaged one."""
    folder, base = os.path.split(name)
    stem, dot, rest = base.partition(".fits") if ".fits" in base else base.partition(".")
    return os.path.join(folder, f"{stem}.salvaged{dot}{rest}")


def _rescue_hdu(source: ByteSource, found: FoundHDU, file: BinaryIO, fill_value: int, options: dict) -> HDURescue:
    """Write what is left of one HDU."""
    missing = max(0, found.data_end - source.nbytes)
    problem = f"the file ends {missing} bytes before the data of the HDU do" if missing else ""
    if not found.is_compressed_image:
        _copy(source, found, file)
        return HDURescue(found.number, found.name, "padded" if missing else "kept", problem=problem)
    try:
        params, table = _read_table(source, found)
        lost = list(damaged_tiles_of(source, found, params, table, **options))
    except TileCompError as error:
        return HDURescue(found.number, found.name, "dropped", problem=str(error))
    if lost or missing:
        write_repaired(source, found, file, params, table, lost, fill_value, options["threads"])
    else:
        _copy(source, found, file)
    faults = tuple(fault_of(found.number, bad) for bad in lost)
    return HDURescue(found.number, found.name, "repaired" if lost or missing else "kept", params.n_tiles, faults, problem)


def _read_table(source: ByteSource, found: FoundHDU) -> tuple[CompressionParams, TileTable]:
    """Parameters and table; rows that the file does not hold any more have no bytes for their tiles."""
    try:
        return read_table(source, found)
    except TruncatedTileError:
        layout = TableLayout.from_header(found.header)
        if layout.table_nbytes > 1000 * source.nbytes:
            raise
    present = bytes(source.read(found.data_offset, source.nbytes))
    table = TileTable.from_bytes(layout, present.ljust(layout.table_nbytes, b"\0"), available=len(present))
    return CompressionParams.from_header(found.header), table


def _copy(source: ByteSource, found: FoundHDU, file: BinaryIO) -> None:
    """Copy an HDU with its padding; what the file lacks is filled with zeros."""
    stop = min(found.end, source.nbytes)
    for at in range(found.header_offset, stop, PIECE_NBYTES):
        file.write(source.read(at, min(at + PIECE_NBYTES, stop)))
    write_zeros(file, found.end - stop)
