"""Errors of damaged tiles as users of astropy know them: ours and astropy's at once, with cfitsio's words at the end."""

from __future__ import annotations

from astropy.io.fits.hdu.compressed._compression import CfitsioException

from ...encode import NotEncodableError
from ...errors import CorruptTileError, TrailingBytesError, TruncatedTileError

__all__ = ["CfitsioTileError", "CfitsioTrailingBytesError", "CfitsioTruncatedTileError", "as_cfitsio_error", "with_cfitsio_words"]

_WORDS = {
    ("RICE_1", TruncatedTileError): "decompression error: hit end of compressed byte stream",
    ("HCOMPRESS_1", CorruptTileError): "bad file format",
}
_OTHER_WORDS = "unable to uncompress image"
_ENCODER_WORDS = {"PLIO_1": "data out of range for PLIO compression"}
_OTHER_ENCODER_WORDS = "unable to compress image"


class CfitsioTileError(CorruptTileError, CfitsioException):
    """A damaged tile, as `CorruptTileError` and as astropy's CfitsioException."""

    def __str__(self):
        kind = TruncatedTileError if isinstance(self, TruncatedTileError) else CorruptTileError
        return f"{super().__str__()}; cfitsio: {_WORDS.get((self.algorithm, kind), _OTHER_WORDS)}"


class CfitsioTruncatedTileError(CfitsioTileError, TruncatedTileError):
    """A tile that ends too early, as `TruncatedTileError` and as astropy's CfitsioException."""


class CfitsioTrailingBytesError(CfitsioTileError, TrailingBytesError):
    """Bytes left over after a tile, as `TrailingBytesError` and as astropy's CfitsioException."""


def as_cfitsio_error(error: CorruptTileError) -> CfitsioTileError:
    """The same error as one that is also astropy's."""
    if isinstance(error, CfitsioTileError):
        return error
    if isinstance(error, TruncatedTileError):
        cls = CfitsioTruncatedTileError
    elif isinstance(error, TrailingBytesError):
        cls = CfitsioTrailingBytesError
    else:
        cls = CfitsioTileError
    twin = cls.__new__(cls, *error.args)
    twin.__dict__.update(error.__dict__)
    return twin


def with_cfitsio_words(error: NotEncodableError, algorithm: str) -> NotEncodableError:
    """The same error with cfitsio's words at the end."""
    return NotEncodableError(f"{error}; cfitsio: {_ENCODER_WORDS.get(algorithm, _OTHER_ENCODER_WORDS)}", error.tile, error.row)
