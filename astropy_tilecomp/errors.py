"""The exceptions and the warning of this package; it imports nothing of the package, and astropy only for the warning."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = [
    "CorruptTileError",
    "HeaderError",
    "SourceError",
    "TileCompError",
    "TileCompWarning",
    "TrailingBytesError",
    "TruncatedTileError",
    "UnsupportedError",
    "cut_file_error",
    "header_errors_at",
]


class TileCompError(Exception):
    """Base of every error that this package raises on purpose."""

    def __repr__(self):
        return f"{type(self).__name__}({str(self)!r})"


class HeaderError(TileCompError, ValueError):
    """
    A header keyword, or the table it describes, breaks the format.

    Parameters
    ----------
    reason : str
        The whole message, unless `keyword` is given.
    keyword : str, optional
        Keyword at fault.
    found : object, optional
        Value that stands there; None where the keyword is missing.
    expected : str, optional
        What is allowed there.

    Attributes
    ----------
    reason, keyword, found, expected
        As given.
    place : str
        File and HDU, as far as they are known.
    """

    place = ""

    def __init__(self, reason="", *, keyword=None, found=None, expected=None):
        self.reason, self.keyword, self.found, self.expected = reason, keyword, found, expected
        super().__init__(str(self))

    def __str__(self):
        message = self._message()
        return f"{self.place}: {message}" if self.place and not message.startswith(self.place) else message

    def _message(self) -> str:
        if self.keyword is None:
            return self.reason
        found = f"is {self.found!r}" if self.found is not None else "is missing"
        expected = f", expected {self.expected}" if self.expected else ""
        return f"{self.keyword} {found}{expected}" + (f": {self.reason}" if self.reason else "")

    def __reduce__(self):
        return _restore, (type(self), self.__dict__.copy(), self.args)


@contextmanager
def header_errors_at(name: str, hdu) -> Iterator[None]:
    """
    Let a `HeaderError` that is raised in the block say where the header is.

    Parameters
    ----------
    name : str
        The file.
    hdu : int or str
        Number or name of the HDU.
    """
    try:
        yield
    except HeaderError as error:
        if not error.place and name not in str(error):
            error.place = f"{name}: HDU {hdu}"
            error.args = (str(error),)
        raise


def cut_file_error(name: str, number: int, end: int, nbytes: int) -> HeaderError:
    """
    Make the error of a file that ends before one of its HDUs does.

    Parameters
    ----------
    name : str
        The file.
    number : int
        Which HDU, 0 for the first.
    end : int
        Byte after the last of its data.
    nbytes : int
        Bytes that the file has.
    """
    return HeaderError(
        f"{name}: HDU {number} reaches to byte {end}, the file has {nbytes}; recover the file with astropy_tilecomp.salvage first"
    )


class UnsupportedError(TileCompError, NotImplementedError):
    """Lawful input, or a request with a meaning, that this package does not handle."""


class SourceError(TileCompError, OSError):
    """A source of bytes gave something else than it was asked for, or its file changed behind its reader."""


class CorruptTileError(TileCompError, OSError):
    """
    The bytes of one tile are not what the format allows.

    Parameters
    ----------
    reason : str
        What is wrong, without the place.
    tile : tuple of int, optional
        Grid coordinates of the tile, C order.
    row : int, optional
        Table row of the tile, counted from 0.
    column : str, optional
        Column that holds the stream.
    algorithm : str, optional
        ZCMPTYPE of the image.
    byte_range : (int, int), optional
        Start and stop of the stream in the file.

    Attributes
    ----------
    reason, tile, row, column, algorithm, byte_range
        As given; None where unknown.
    """

    def __init__(self, reason="", *, tile=None, row=None, column=None, algorithm=None, byte_range=None):
        self.reason, self.tile, self.row, self.column = reason, tile, row, column
        self.algorithm, self.byte_range = algorithm, byte_range
        super().__init__(reason)

    @property
    def where(self):
        """str: The place of the tile in words, empty where nothing is known of it."""
        stream = " in ".join(part for part in (self.algorithm, self.column) if part)
        tile = f"tile ({', '.join(str(int(t)) for t in self.tile)})" if self.tile is not None else ""
        row = f"row {self.row}" if self.row is not None else ""
        return ", ".join(part for part in (tile, row, stream) if part)

    def __str__(self):
        message = ": ".join(part for part in (self.where, self.reason) if part)
        if self.byte_range is None:
            return message
        start, stop = self.byte_range
        return f"{message} ({stop - start} bytes at file offset {start})"

    def __reduce__(self):
        return _restore, (type(self), self.__dict__.copy(), self.args)


class TruncatedTileError(CorruptTileError):
    """
    The stream of a tile, or the file that holds it, ends before the tile is complete.

    Parameters
    ----------
    reason, tile, row, column, algorithm, byte_range : object, optional
        As of `CorruptTileError`.
    """


class TrailingBytesError(CorruptTileError):
    """
    Bytes are left over after a complete tile.

    Parameters
    ----------
    reason : str, optional
        What is wrong; by default made of the two counts.
    used, nbytes : int, optional
        Bytes that the tile took, and bytes that were given.
    **place
        As of `CorruptTileError`.

    Attributes
    ----------
    used, nbytes
        As given.
    """

    def __init__(self, reason="", *, used=None, nbytes=None, **place):
        if not reason and used is not None:
            reason = f"the tile is complete after {used} bytes, {nbytes} were given"
        super().__init__(reason, **place)
        self.used, self.nbytes = used, nbytes


def _restore(cls, state, args):
    """Rebuild an error whose constructor takes more than `args` (pickle, copy)."""
    error = cls.__new__(cls, *args)
    error.__dict__.update(state)
    return error


def __getattr__(name):
    """
    Make `TileCompWarning` on first use.

    It is an `astropy.utils.exceptions.AstropyUserWarning`, and astropy is not imported before someone asks for it;
    without astropy it is a plain `UserWarning`, as it is after `warn_without_astropy`.
    """
    if name != "TileCompWarning":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from astropy.utils.exceptions import AstropyUserWarning as base
    except ImportError:
        base = UserWarning
    return _make_warning(base)


def warn_without_astropy():
    """Let `TileCompWarning` be a plain `UserWarning`, for a program that shows it in its own way and starts faster so."""
    _make_warning(UserWarning)


def _make_warning(base):
    """The class `TileCompWarning`, once for ever."""
    name, doc = "TileCompWarning", "Something in a file or a request that was handled, and that the user should know."
    return globals().setdefault(name, type(name, (base,), {"__doc__": doc, "__module__": __name__}))
