"""What `pack` and `unpack` share: their reports, names of files, HDUs that are copied."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from .. import errors
from ..errors import TruncatedTileError
from ..hdus import FoundHDU
from ..sources.base import ByteSource
from ..tiling.params import CompressionParams

__all__ = ["WHOLE_FILE_ENDINGS", "FileReport", "HDUReport", "copy_hdu", "is_lossless", "named_after", "telling", "warn"]

SLAB_NBYTES = 4 << 20
"""Bytes of an image that are read or written at a time, about; memory for more would be given back and taken anew each time."""

WHOLE_FILE_ENDINGS = (".gz", ".bz2", ".xz", ".zip")


@dataclass(frozen=True)
class HDUReport:
    """
    What became of one HDU.

    Attributes
    ----------
    number : int
        In the file that was read, 0 for the primary one.
    name : str
        EXTNAME.
    action : {"packed", "unpacked", "copied"}
        What was done.
    algorithm : str
        ZCMPTYPE of what was packed or unpacked.
    nbytes_before, nbytes_after : int
        Size of the HDU.
    n_tiles, n_fallback : int
        Tiles, and those that were kept without loss because they could not be quantized.
    lossless : bool
        Whether the pixels are kept to the bit.
    """

    number: int
    name: str
    action: str
    algorithm: str = ""
    nbytes_before: int = 0
    nbytes_after: int = 0
    n_tiles: int = 0
    n_fallback: int = 0
    lossless: bool = True


@dataclass(frozen=True)
class FileReport:
    """
    What became of one file.

    Attributes
    ----------
    path, output : str
        The file that was read, and the one that was written.
    hdus : tuple of HDUReport
        In the order of the file.
    """

    path: str
    output: str
    hdus: tuple[HDUReport, ...]

    @property
    def nbytes_before(self) -> int:
        """Bytes of all HDUs that were read."""
        return sum(hdu.nbytes_before for hdu in self.hdus)

    @property
    def nbytes_after(self) -> int:
        """Bytes of all HDUs that were written."""
        return sum(hdu.nbytes_after for hdu in self.hdus)

    @property
    def ratio(self) -> float:
        """How many times the larger file is as large as the smaller one, over 1 if it shrank by packing."""
        return self.nbytes_before / self.nbytes_after


def telling(on_progress: Callable[[int, int], None] | None, source: ByteSource, found: FoundHDU) -> Callable[[float], None]:
    """What turns the part of an HDU that is done into the bytes of the file that are."""

    def tell(part: float) -> None:
        if on_progress is not None:
            on_progress(found.header_offset + round(part * (found.end - found.header_offset)), source.nbytes)

    return tell


def named_after(source: ByteSource, output, rename: Callable[[str], str]):
    """The name of the output, made from that of a local file if none is given."""
    if output is not None:
        return output
    if not source.is_local or source.name.startswith("<"):
        raise ValueError(f"{source.name}: output= has to name the new file")
    return rename(source.name)


def warn(message: str) -> None:
    """Warn of something that the output does not have."""
    warnings.warn(message, errors.TileCompWarning, stacklevel=4)


def copy_hdu(source, found: FoundHDU, file: BinaryIO) -> int:
    """Copy an HDU with its padding; what of that the file lacks is filled in, but no data."""
    start = file.tell()
    stop = min(found.end, source.nbytes)
    if stop < found.data_end:
        raise TruncatedTileError(f"{source.name}: HDU {found.number} ends at byte {found.data_end}, the file at {stop}")
    for at in range(found.header_offset, stop, SLAB_NBYTES):
        file.write(source.read(at, min(at + SLAB_NBYTES, stop)))
    file.write(bytes(found.end - stop))
    return file.tell() - start


def is_lossless(params: CompressionParams) -> bool:
    """Whether the pixels are those of the original, as far as the header tells."""
    return not params.quantized and not (params.zcmptype == "HCOMPRESS_1" and params.hcomp_scale not in (0, 1))
