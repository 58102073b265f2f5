"""The HDUs of a file: found one after the other by their headers alone, without astropy."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from . import errors
from .errors import HeaderError
from .keywords import DTYPE_OF_BITPIX
from .sources.base import ByteSource
from .sources.inflated import kind_of_packing
from .tiling.cards import BLOCK_SIZE
from .tiling.header_cards import HeaderCards, header_size, read_cards
from .tiling.values import HeaderValues

__all__ = [
    "FoundHDU",
    "begins_with_extension",
    "find_image",
    "find_images",
    "read_hdu",
    "require_complete",
    "walk",
    "warn_of_missing_primary",
]

FIRST_READ = 4 * BLOCK_SIZE
MAX_HEADER_NBYTES = 64 << 20
_EXTENSION = b"XTENSION="
N_NAMED = 8
"""HDUs that a message names at most, besides the last."""


@dataclass(frozen=True)
class FoundHDU:
    """
    One HDU of a file: its header, and where it lies.

    Attributes
    ----------
    number : int
        0 for the primary HDU.
    header : HeaderCards
        Keyword to value.
    header_offset, data_offset, data_end, end : int
        First byte of the header, of the data unit, of its padding, and of what follows the HDU; the last two may lie past
        the end of a cut file.
    """

    number: int
    header: HeaderCards
    header_offset: int
    data_offset: int
    data_end: int

    @property
    def end(self) -> int:
        """First byte of what follows the HDU."""
        return self.data_offset + -(-(self.data_end - self.data_offset) // BLOCK_SIZE) * BLOCK_SIZE

    @property
    def is_compressed_image(self) -> bool:
        """Whether this is a table that holds a compressed image."""
        xtension = self.header.get("XTENSION")
        return xtension in ("BINTABLE", "A3DTABLE") and self.header.get("ZIMAGE") in (True, "T")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the data array, C order; of a table, that of its bytes."""
        values = HeaderValues(self.header)
        return tuple(values.integer(f"NAXIS{axis}") for axis in range(values.integer("NAXIS"), 0, -1))

    @property
    def name(self) -> str:
        """EXTNAME, in upper case; empty if there is none."""
        return str(self.header.get("EXTNAME", "")).strip().upper()

    @property
    def version(self):
        """EXTVER, 1 if there is none."""
        return self.header.get("EXTVER", 1)


def walk(source: ByteSource) -> Iterator[FoundHDU]:
    """
    Go through the HDUs of a file, reading their headers alone.

    Parameters
    ----------
    source : ByteSource
        The whole file.

    Yields
    ------
    FoundHDU

    Raises
    ------
    HeaderError
        If the file does not begin with a FITS header, or a header has no end or impossible sizes.
    """
    if source.nbytes == 0:
        raise HeaderError(f"{source.name}: not a FITS file: it is empty")
    offset, number = 0, 0
    while offset < source.nbytes:
        head = source.read(offset, min(offset + FIRST_READ, source.nbytes))
        if number == 0 and bytes(head[:9]) == _EXTENSION:
            warn_of_missing_primary(source)
        elif bytes(head[:9]) not in (b"SIMPLE  =", _EXTENSION):
            if number == 0:
                raise HeaderError(_not_fits(source.name, bytes(head[:9])))
            return  # whatever follows the last HDU
        found = read_hdu(source, offset, number, head=head)
        yield found
        offset, number = found.end, number + 1


def read_hdu(source: ByteSource, offset: int = 0, number: int = 0, *, head: memoryview | None = None) -> FoundHDU:
    """
    Read the header of the HDU that begins at a byte of a file.

    Parameters
    ----------
    source : ByteSource
        The whole file.
    offset, number : int, optional
        First byte of the HDU, and its number.
    head : memoryview, optional
        What was read of it already.

    Returns
    -------
    FoundHDU

    Raises
    ------
    HeaderError
        If the header has no end, or impossible sizes.
    """
    if head is None:
        head = source.read(offset, min(offset + FIRST_READ, source.nbytes))
    header = _read_header(source, offset, head)
    data_offset = offset + header.nbytes
    return FoundHDU(number, header, offset, data_offset, data_offset + _data_nbytes(header, number))


def begins_with_extension(file) -> bool:
    """
    Whether a file begins with an extension instead of a primary HDU.

    Parameters
    ----------
    file : ByteSource or path
        The file.
    """
    if isinstance(file, ByteSource):
        return bytes(file.read(0, min(len(_EXTENSION), file.nbytes))) == _EXTENSION
    with open(os.path.expanduser(file), "rb") as opened_file:
        return opened_file.read(len(_EXTENSION)) == _EXTENSION


def warn_of_missing_primary(file) -> None:
    """
    Warn that a file has no primary HDU.

    Parameters
    ----------
    file : ByteSource or path
        The file.
    """
    name = getattr(file, "name", file)
    warnings.warn(f"{name}: begins with an extension, a primary HDU is missing", errors.TileCompWarning, stacklevel=3)


def require_complete(source: ByteSource, found: FoundHDU) -> None:
    """
    Make sure that a file has all bytes of an HDU.

    Parameters
    ----------
    source : ByteSource
        The whole file.
    found : FoundHDU
        The HDU.

    Raises
    ------
    HeaderError
        If the file ends before its data do.
    """
    if found.data_end > source.nbytes:
        raise errors.cut_file_error(source.name, found.number, found.data_end, source.nbytes)


def _not_fits(name: str, start: bytes) -> str:
    """Say what a file is that does not begin with a header."""
    kind = kind_of_packing(start)
    if kind:
        return f"{name}: compressed as a whole ({kind}), expected a plain FITS file: gunzip it first"
    return f"{name}: not a FITS file: it begins with {start!r}"


def _read_header(source: ByteSource, offset: int, head) -> HeaderCards:
    """The header at `offset`, read on in doubling steps if it is longer than `head`, its first bytes."""
    seen = 0
    while header_size(head, seen) is None:
        seen = head.nbytes // BLOCK_SIZE * BLOCK_SIZE
        stop = min(offset + 2 * head.nbytes, source.nbytes)
        if stop == offset + head.nbytes or head.nbytes > MAX_HEADER_NBYTES:
            raise HeaderError(f"{source.name}: no END card in the {head.nbytes} bytes of the header at {offset}")
        head = source.read(offset, stop)
    return read_cards(head)


def _data_nbytes(header: HeaderCards, number: int) -> int:
    """Size of the data unit without padding."""
    n_axes = _size(header, "NAXIS", number)
    if n_axes > 999:
        raise HeaderError(f"HDU {number}", keyword="NAXIS", found=n_axes, expected="0 to 999")
    axes = [_size(header, f"NAXIS{axis}", number) for axis in range(1, n_axes + 1)]
    groups = header.get("GROUPS") is True and axes[:1] == [0]
    n_values = prod(axes[1:] if groups else axes) if axes else 0
    bitpix = header.get("BITPIX")
    if bitpix not in DTYPE_OF_BITPIX:
        raise HeaderError(f"HDU {number}", keyword="BITPIX", found=bitpix, expected="8, 16, 32, 64, -32 or -64")
    pcount = _size(header, "PCOUNT", number, 0)
    return abs(int(bitpix)) // 8 * _size(header, "GCOUNT", number, 1) * (pcount + n_values)


def _size(header: HeaderCards, keyword: str, number: int, default: int | None = None) -> int:
    try:
        return HeaderValues(header).integer(keyword, default, low=0)
    except HeaderError as error:
        raise HeaderError(f"HDU {number}", keyword=keyword, found=error.found, expected="a number of 0 or more") from None


def find_image(source: ByteSource, hdu: int | str | tuple[str, int] | None = None) -> FoundHDU:
    """
    Find a compressed image in a file.

    Parameters
    ----------
    source : ByteSource
        The whole file.
    hdu : int, str or (str, int), optional
        Its number, its EXTNAME, or EXTNAME and EXTVER; by default the first compressed image.

    Raises
    ------
    HeaderError
        If there is no such HDU, or it is no compressed image.
    """
    names = []
    for found in walk(source):
        names.append(f"{found.number} {found.name}".rstrip())
        if hdu is None and found.is_compressed_image:
            return found
        if _matches(found, hdu):
            if not found.is_compressed_image:
                raise HeaderError(f"{source.name}: HDU {hdu!r} is no compressed image: it has no ZIMAGE = T")
            return found
    if hdu is None:
        raise HeaderError(f"{source.name}: no compressed image found")
    there = ", ".join(names[:N_NAMED]) + (f", ... {names[-1]}" if len(names) > N_NAMED else "")
    raise HeaderError(f"{source.name}: no HDU {hdu!r} found; there are {there}")


def find_images(source: ByteSource, hdu=None) -> list[FoundHDU]:
    """
    Find compressed images in a file.

    Parameters
    ----------
    source : ByteSource
        The whole file.
    hdu : int, str, (str, int) or list of them, optional
        As for `find_image`; by default all compressed images.

    Returns
    -------
    list of FoundHDU
        In the order of the file, or of `hdu`.

    Raises
    ------
    HeaderError
        If there is none, or one that is asked for is missing or no compressed image.
    """
    if hdu is not None:
        return [find_image(source, each) for each in (hdu if isinstance(hdu, list) else [hdu])]
    found = [each for each in walk(source) if each.is_compressed_image]
    if not found:
        raise HeaderError(f"{source.name}: no compressed image found")
    return found


def _matches(found: FoundHDU, hdu) -> bool:
    if isinstance(hdu, str):
        return found.name == hdu.strip().upper()
    if isinstance(hdu, tuple):
        return (found.name, found.version) == (hdu[0].strip().upper(), hdu[1])
    return found.number == hdu
