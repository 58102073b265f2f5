"""
Where bytes come from: one small protocol over memory, files and object stores.

Every reader asks a `ByteSource` for byte ranges and gets one buffer for each, checked for type and length. Many threads
may read from one source at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import SourceError

__all__ = ["ByteSource", "SourcePart", "bytes_view"]

Range = tuple[int, int]
IN_FLIGHT_NBYTES = 32 << 20
"""Bytes that were asked for and not taken yet by the reader, at most, unless a single range has more."""


class ByteSource:
    """
    A fixed number of bytes that can be read in ranges.

    Attributes
    ----------
    nbytes : int
        How many bytes there are.
    name : str
        What to call the source in a message: a path, a URL without its query, or ``<memory>``.
    offset : int
        Where byte 0 of this source lies in the whole file; not 0 for a part.
    gap : int
        The longest gap between two ranges that is cheaper to read through than to leave out.
    max_range : int
        Bytes to ask for at once at most, where the reader has the choice.
    table_cache : int
        A table of no more bytes than this is better read whole than row by row.
    is_local : bool
        Whether a read costs about a copy: then ranges are read one by one as they are needed.

    Notes
    -----
    A subclass has `_read`, which gives one buffer for each range; the ranges it gets lie inside the source.
    """

    nbytes: int
    name: str
    offset: int = 0
    gap: int = 0
    max_range: int = 16 << 20
    table_cache: int = 0
    is_local: bool = True

    def read_ranges(self, ranges: list[Range]) -> list[memoryview]:
        """
        Read byte ranges.

        Parameters
        ----------
        ranges : list of (int, int)
            First byte and the byte after the last of each range, ``0 <= start <= stop <= nbytes``.

        Returns
        -------
        list of memoryview
            The bytes of each range, in the order asked for; some may share memory with the source.

        Raises
        ------
        ValueError
            If a range lies outside the source, or the source is closed.
        SourceError
            If the source gave another type or number of bytes than it was asked for.
        """
        self._check_bounds(ranges)
        return [self._checked(part, wanted) for part, wanted in zip(self._read(ranges), ranges, strict=True)]

    def iter_ranges(self, ranges: list[Range]) -> Iterator[tuple[int, memoryview]]:
        """
        Read byte ranges and give each as soon as it is there.

        Parameters
        ----------
        ranges : list of (int, int)
            As of `read_ranges`.

        Yields
        ------
        int, memoryview
            Place of a range in `ranges`, and its bytes; the order is that in which they arrive.

        Raises
        ------
        ValueError, SourceError
            As `read_ranges`.
        """
        start = 0
        while start < len(ranges):
            stop = _batch_end(ranges, start)
            yield from enumerate(self.read_ranges(ranges[start:stop]), start)
            start = stop

    def read(self, start: int, stop: int) -> memoryview:
        """Read one range, as `read_ranges` does."""
        return self.read_ranges([(start, stop)])[0]

    def readinto(self, wanted: Range, buffer) -> None:
        """
        Read one range into memory of the caller.

        Parameters
        ----------
        wanted : (int, int)
            First byte and the byte after the last.
        buffer : writable contiguous buffer of ``stop - start`` bytes
            Where the bytes go.

        Raises
        ------
        ValueError
            If the range lies outside the source, the buffer has another length, or the source is closed.
        SourceError
            If the source gave another number of bytes than it was asked for.
        """
        view = bytes_view(buffer)
        self._check_bounds([wanted])
        if view.nbytes != wanted[1] - wanted[0]:
            raise ValueError(f"{self.name}: a buffer of {view.nbytes} bytes for the {wanted[1] - wanted[0]} of {wanted}")
        self._readinto(wanted, view)

    def part(self, start: int, stop: int) -> SourcePart:
        """
        A window on this source, such as the data unit of one HDU.

        Parameters
        ----------
        start, stop : int
            Its first byte and the byte after its last; what lies past the end of the source is left out, so that the
            `nbytes` of a part are bytes that exist.
        """
        return SourcePart(self, start, stop)

    @property
    def is_replaced(self) -> bool:
        """Whether a pickle of this source would lead to other bytes than it reads."""
        return False

    def close(self) -> None:
        """Give up what the source holds; reading then raises ValueError.  Closing twice is allowed."""

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()

    def __repr__(self):
        return f"<{type(self).__name__} {self.name}, {self.nbytes} bytes>"

    def __reduce__(self):
        raise TypeError(f"{self!r} cannot be pickled: open the file by its path or URL instead")

    def _read(self, ranges: list[Range]) -> list:
        raise NotImplementedError

    def _readinto(self, wanted: Range, view: memoryview) -> None:
        view[:] = self._checked(self._read([wanted])[0], wanted)

    def _check_bounds(self, ranges: list[Range]) -> None:
        for start, stop in ranges:
            if not 0 <= start <= stop <= self.nbytes:
                raise ValueError(f"{self.name}: bytes {start} to {stop} asked for, the source has {self.nbytes}")

    def _checked(self, part, wanted: Range) -> memoryview:
        try:
            view = bytes_view(part)
        except TypeError:
            raise SourceError(
                f"{self.name}: bytes {wanted[0]} to {wanted[1]}: got {type(part).__name__} instead of bytes"
            ) from None
        if view.nbytes != wanted[1] - wanted[0]:
            raise SourceError(
                f"{self.name}: bytes {wanted[0]} to {wanted[1]}: got {view.nbytes} bytes instead of {wanted[1] - wanted[0]}"
            )
        return view


def _batch_end(ranges: list[Range], start: int) -> int:
    """The range after those, from `start` on, that are read together."""
    nbytes = 0
    for number in range(start, len(ranges)):
        nbytes += ranges[number][1] - ranges[number][0]
        if nbytes > IN_FLIGHT_NBYTES and number > start:
            return number
    return len(ranges)


def bytes_view(buffer) -> memoryview:
    """The bytes of any contiguous buffer, as a memoryview of format B."""
    view = memoryview(buffer)
    if view.format == "B" and view.ndim == 1 and view.contiguous:
        return view
    if not view.c_contiguous:
        raise ValueError("the buffer is not contiguous in C order")
    if view.nbytes == 0:
        return memoryview(b"")
    return np.frombuffer(buffer, np.uint8).data  # any item type, also big-endian ones that cast() refuses


class SourcePart(ByteSource):
    """
    A window on another source.

    Parameters
    ----------
    source : ByteSource
        The source it is part of; of a part, the whole behind it is taken.
    start, stop : int
        The window in `source`; what lies past its end is left out.
    """

    def __init__(self, source: ByteSource, start: int, stop: int):
        start = min(max(start, 0), source.nbytes)
        self.nbytes = min(max(stop, start), source.nbytes) - start
        self._start: int
        self._whole: ByteSource
        if isinstance(source, SourcePart):
            start += source._start
            source = source._whole
        self._whole = source
        self._start = start
        self.name = source.name
        self.offset = source.offset + start
        self.gap, self.max_range, self.table_cache = source.gap, source.max_range, source.table_cache
        self.is_local = source.is_local

    def read_ranges(self, ranges):
        return self._whole.read_ranges(self._in_whole(ranges))

    def iter_ranges(self, ranges):
        return self._whole.iter_ranges(self._in_whole(ranges))

    def _in_whole(self, ranges):
        self._check_bounds(ranges)
        start = self._start
        return [(first + start, last + start) for first, last in ranges]

    def _readinto(self, wanted, view):
        self._whole._readinto((wanted[0] + self._start, wanted[1] + self._start), view)

    def __repr__(self):
        return f"<SourcePart of {self._whole!r}, bytes {self._start} to {self._start + self.nbytes}>"

    def __reduce__(self):
        return SourcePart, (self._whole, self._start, self._start + self.nbytes)
