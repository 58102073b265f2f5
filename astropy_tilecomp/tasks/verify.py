"""Whether a file is sound: every tile decoded by every engine, the pixels compared, the checksums added up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..codecs import engines as engines_here
from ..decode.report import DamagedTile
from ..errors import CorruptTileError, HeaderError, TileCompError
from ..hdus import FoundHDU, walk
from ..read.limits import max_nbytes_allowed
from ..read.slabs import Slab, slabs_of
from ..read.table_rows import read_table
from ..sources.base import ByteSource
from ..sources.opening import opened
from ..tiling.checksum import DataSum, verify_checksums
from ..tiling.params import CompressionParams
from ..tiling.table import TileTable

__all__ = ["HDUVerdict", "TileFault", "VerifyReport", "damaged_tiles_of", "fault_of", "verify"]

_PIECE_NBYTES = 16 << 20


@dataclass(frozen=True)
class TileFault:
    """
    A tile that cannot be trusted.

    Attributes
    ----------
    hdu : int
        Number of the HDU.
    tile : tuple of int
        Grid coordinates, C order.
    row : int
        Table row, counted from 0.
    box : tuple of (int, int)
        First pixel and the one after the last, along each axis.
    column : str
        Column that holds the tile, empty if none does.
    byte_range : (int, int) or None
        Its bytes in the file; None where the table names none.
    reason : str
        What is wrong.
    """

    hdu: int
    tile: tuple[int, ...]
    row: int
    box: tuple[tuple[int, int], ...]
    column: str
    byte_range: tuple[int, int] | None
    reason: str

    def __str__(self):
        where = f"HDU {self.hdu}, tile ({', '.join(map(str, self.tile))}), row {self.row}"
        if self.byte_range is None:
            return f"{where}: {self.reason}"
        start, stop = self.byte_range
        return f"{where}: {self.reason} ({stop - start} bytes at file offset {start})"


@dataclass(frozen=True)
class HDUVerdict:
    """
    What was found in one HDU.

    Attributes
    ----------
    number : int
        0 for the primary HDU.
    name : str
        EXTNAME.
    checksum, datasum : bool or None
        Whether CHECKSUM and DATASUM are right; None where they are missing.
    n_tiles : int
        Tiles that were decoded, 0 where there is no compressed image.
    faults : tuple of TileFault
        Bad tiles, in row order.
    n_trailing : int
        Tiles with bytes left over, which are lawful.
    problem : str
        What else is wrong: a header that breaks the format, or data that are cut off; else empty.
    """

    number: int
    name: str
    checksum: bool | None
    datasum: bool | None
    n_tiles: int = 0
    faults: tuple[TileFault, ...] = ()
    n_trailing: int = 0
    problem: str = ""

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.faults or self.problem or self.checksum is False or self.datasum is False)


@dataclass(frozen=True)
class VerifyReport:
    """
    What was found in a file.

    Attributes
    ----------
    path : str
        What the source is called.
    engines : tuple of str
        What decoded every tile.
    hdus : tuple of HDUVerdict
        In the order of the file.
    problem : str
        Why the file could not be followed to its end; else empty.
    """

    path: str
    engines: tuple[str, ...]
    hdus: tuple[HDUVerdict, ...]
    problem: str = ""

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problem and all(hdu.good for hdu in self.hdus)

    @property
    def faults(self) -> tuple[TileFault, ...]:
        """The bad tiles of all HDUs."""
        return tuple(fault for hdu in self.hdus for fault in hdu.faults)

    @property
    def n_tiles(self) -> int:
        """Tiles that were decoded."""
        return sum(hdu.n_tiles for hdu in self.hdus)


def verify(path, *, engines: Sequence[str] | None = None, threads: int | None = None, max_nbytes: int | None = None,
           storage_options: dict | None = None, on_progress: Callable[[int, int], None] | None = None) -> VerifyReport:
    """
    Decode every tile of a file and check all that can be checked.

    Parameters
    ----------
    path : path, URL, file object, bytes or anything else that `as_source` takes
        The FITS file.
    engines : sequence of {"kernel", "cfitsio"}, optional
        What decodes; by default both where this build has both. Their pixels must be equal to the bit.
    threads : int, optional
        Threads to use at most.
    max_nbytes : int, optional
        Largest array to allocate; by default ASTROPY_TILECOMP_MAX_NBYTES, else half of the memory.
    storage_options : dict, optional
        What fsspec needs to open a URL.
    on_progress : callable, optional
        Called with the bytes that are done and all bytes.

    Returns
    -------
    VerifyReport
        Nothing that is wrong inside of the file raises.

    Raises
    ------
    HeaderError
        If the file does not begin with a FITS header.

    Examples
    --------
    >>> import astropy_tilecomp as tc
    >>> report = tc.verify("panoptes_solved.fits.fz")
    >>> report.good, report.n_tiles, report.hdus[1].checksum
    (True, 700, True)
    """
    chosen = tuple(engines_here() if engines is None else engines)
    limit = max_nbytes_allowed(max_nbytes)
    verdicts: list[HDUVerdict] = []
    with opened(path, storage_options) as source:
        end = 0
        try:
            for found in walk(source):
                verdicts.append(_verify_hdu(source, found, chosen, threads, limit, on_progress))
                end = found.end
            problem = _what_follows(source, end)
        except HeaderError as error:
            if not verdicts:
                raise
            problem = str(error).removeprefix(f"{source.name}: ")
        return VerifyReport(source.name, chosen, tuple(verdicts), problem)


def _what_follows(source: ByteSource, end: int) -> str:
    """What is wrong with the bytes behind the last HDU: a damaged header ends the list of HDUs too."""
    for at in range(end, source.nbytes, _PIECE_NBYTES):
        if np.frombuffer(source.read(at, min(at + _PIECE_NBYTES, source.nbytes)), np.uint8).any():
            return f"the {source.nbytes - end} bytes from offset {end} on are no HDU"
    return ""


def _verify_hdu(source: ByteSource, found: FoundHDU, engines, threads, limit: int, on_progress) -> HDUVerdict:
    """One HDU: its size, its checksums, its tiles."""
    checksum, datasum = _checksums(source, found)
    verdict = HDUVerdict(found.number, found.name, checksum, datasum)
    missing = found.data_end - source.nbytes
    if found.number and bytes(source.read(found.header_offset, found.header_offset + 8)) == b"SIMPLE  ":
        verdict = replace(verdict, problem="the header begins with SIMPLE, which only that of the first HDU may; expected XTENSION")
    if missing > 0:
        verdict = replace(verdict, problem=f"the file ends {missing} bytes before the data of the HDU do")
    if found.is_compressed_image:
        try:
            verdict = _verify_image(source, found, verdict, engines, threads, limit, on_progress)
        except TileCompError as error:
            verdict = replace(verdict, problem=str(error))
    if on_progress is not None:
        on_progress(min(found.end, source.nbytes), source.nbytes)
    return verdict


def _checksums(source: ByteSource, found: FoundHDU) -> tuple[bool | None, bool | None]:
    """Whether CHECKSUM and DATASUM are right; an HDU that is cut off has neither right."""
    if "CHECKSUM" not in found.header and "DATASUM" not in found.header:
        return None, None
    sums, stop = DataSum(), min(found.end, source.nbytes)
    for at in range(found.data_offset, stop, _PIECE_NBYTES):
        sums.add(source.read(at, min(at + _PIECE_NBYTES, stop)))
    return verify_checksums(source.read(found.header_offset, found.data_offset), sums.total)


def _verify_image(source, found: FoundHDU, verdict: HDUVerdict, engines, threads, limit: int, on_progress) -> HDUVerdict:
    """Every tile by every engine."""
    faults: dict[int, TileFault] = {}
    n_trailing, n_rows = 0, 0
    params, table = read_table(source, found)
    for slab in slabs_of(source, found, params, table, threads=threads, max_nbytes=limit):
        results = [slab.decoded(engine) for engine in engines]
        refused = [{bad.row: bad for bad in report.damaged} for _, report in results]
        for engine, rows in zip(engines, refused):
            for row, bad in rows.items():
                by_all = all(row in others for others in refused)
                faults.setdefault(row, fault_of(found.number, bad, "" if by_all else engine))
        for (pixels, _), engine in zip(results[1:], engines[1:]):
            for bad in _differing(slab, results[0][0], pixels, f"{engines[0]} and {engine} decode it to different pixels"):
                faults.setdefault(bad.row, fault_of(found.number, bad))
        n_trailing += len(results[0][1].trailing)
        n_rows += len(slab.table)
        if on_progress is not None:
            span = min(found.end, source.nbytes) - found.data_offset
            on_progress(found.data_offset + span * n_rows // len(table), source.nbytes)
    return replace(verdict, n_tiles=params.n_tiles, faults=tuple(faults[row] for row in sorted(faults)), n_trailing=n_trailing)


def fault_of(hdu: int, bad: DamagedTile, engine: str = "") -> TileFault:
    """Describe a bad tile as data."""
    error = bad.error
    reason = getattr(error, "reason", "") or str(error)
    return TileFault(
        hdu, bad.tile, bad.row, tuple((box.start, box.stop) for box in bad.box), getattr(error, "column", "") or "",
        getattr(error, "byte_range", None), f"{reason} (by engine {engine} alone)" if engine else reason,
    )


def _differing(slab: Slab, one: np.ndarray, other: np.ndarray, reason: str) -> Iterator[DamagedTile]:
    """Tiles that two arrays of a slab's pixels do not share, to the bit."""
    code = f"u{one.dtype.itemsize}"
    one, other = one.view(code), other.view(code)
    if np.array_equal(one, other):
        return
    for where, row, byte_range in slab:
        if not np.array_equal(one[where.out_box], other[where.out_box]):
            error = CorruptTileError(reason, tile=where.tile, row=row, byte_range=byte_range)
            yield DamagedTile(where.tile, row, slab.selection.grid.box(where.tile), error)


def damaged_tiles_of(source: ByteSource, found: FoundHDU, params: CompressionParams, table: TileTable, *,
              threads: int | None = None, max_nbytes: int | None = None) -> Iterator[DamagedTile]:
    """
    Decode every tile of one image, and give those that cannot be.

    Raises
    ------
    UnsupportedError
        If some tiles, decoded, take more than `max_nbytes`.
    """
    for slab in slabs_of(source, found, params, table, threads=threads, max_nbytes=max_nbytes):
        yield from slab.decoded()[1].damaged
