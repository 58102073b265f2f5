"""Tables of compressed images of which astropy need not know more than their place in the file, until somebody asks."""

from __future__ import annotations

import io
from contextlib import suppress

from astropy.io import fits
from astropy.io.fits.file import _File

from ...errors import HeaderError
from ...threads import ForkSafeLock
from ...tiling.cards import BLOCK_SIZE, CARD_SIZE
from ...tiling.header_cards import header_size, read_cards
from ...tiling.values import HeaderValues

__all__ = ["unread_image"]

_SIZES = ("BITPIX", "NAXIS", "NAXIS1", "NAXIS2", "PCOUNT", "GCOUNT")
_KNOWN = frozenset((
    "__dict__", "_header_str", "_file", "_buffer", "_header_offset", "_data_offset", "_data_size",
    "_new", "_load_variable_length_data", "_manages_own_heap", "_close",
))
MAX_NBYTES = 1 << 62  # of a data unit whose end is a place in a file

_lock = ForkSafeLock()


class _UnreadTable:
    """
    What stands for a table HDU, and becomes one when anything is asked for that is not known.

    Parameters
    ----------
    keywords : dict
        What astropy shall read it with.
    **known
        Attributes of the HDU, as astropy sets them.

    Notes
    -----
    ``isinstance`` takes it for the table that it is going to be.
    """

    def __init__(self, keywords: dict, **known):
        self.__dict__.update(known, keywords=keywords)

    def __getattribute__(self, name):
        if name == "__class__":
            return fits.BinTableHDU
        if name in _KNOWN:
            with suppress(AttributeError):
                return object.__getattribute__(self, name)
        return getattr(_read(self), name)

    def __setattr__(self, name, value):
        if name in _KNOWN:
            object.__setattr__(self, name, value)
        else:
            setattr(_read(self), name, value)

    def __delattr__(self, name):
        object.__delattr__(_read(self), name)

    def _close(self, closed=True):
        """Nothing was opened."""

    def __repr__(self):
        return repr(_read(self))

    def __reduce_ex__(self, protocol):
        return _read(self).__reduce_ex__(protocol)


def _read(table) -> fits.BinTableHDU:
    """Let astropy read the header of a table, which is then of its class, with what is known of it."""
    with _lock:
        if type(table) is _UnreadTable:
            known = dict(table.__dict__)
            header = _File(io.BytesIO(known["_header_str"].encode("ascii")))
            read = fits.BinTableHDU._readfrom_internal(header, **known.pop("keywords"))
            table.__dict__.clear()
            table.__dict__.update(read.__dict__, **known)
            object.__setattr__(table, "__class__", type(read))
    return table


def unread_image(header: bytes, header_offset: int, file, keywords: dict):
    """The table of a compressed image, if that is what a header tells beyond doubt."""
    if not header.isascii() or b"\0" in header or header_size(header) != len(header):
        return None
    names = [header[at:at + 9] for at in range(0, len(header), CARD_SIZE)]
    if any(names.count(f"{keyword:<8}=".encode()) != 1 for keyword in _SIZES):
        return None
    nbytes = _data_nbytes(header)
    if nbytes is None:
        return None
    return _UnreadTable(
        keywords, _header_str=header.decode("ascii"), _file=file, _buffer=None, _header_offset=header_offset,
        _data_offset=header_offset + len(header), _data_size=-(-nbytes // BLOCK_SIZE) * BLOCK_SIZE,
    )


def _data_nbytes(header: bytes) -> int | None:
    """Size of the data unit of a compressed image; None where the header is that of something else, or odd."""
    values = HeaderValues(read_cards(header))
    try:
        if not header.startswith(b"XTENSION= 'BINTABLE'") or not values.flag("ZIMAGE") or values.flag("ZTABLE"):
            return None
        bitpix, naxis, naxis1, naxis2, pcount, gcount = (values.integer(keyword) for keyword in _SIZES)
    except HeaderError:
        return None
    nbytes = naxis1 * naxis2 + pcount
    is_table = (bitpix, naxis, gcount) == (8, 2, 1) and min(naxis1, naxis2, pcount) >= 0
    return nbytes if is_table and nbytes < MAX_NBYTES else None
