"""The keywords that astropy multiplies to find where an HDU ends, looked at before it does so."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable

from astropy.io import fits

from ..tiling.cards import CARD_SIZE

__all__ = ["text_among_sizes"]

BLOCK_SIZE = 2880

_NAMES = re.compile(b"NAXIS"), re.compile(b"BITPIX"), re.compile(b"COUNT")
_NUMBER = re.compile(rb"[A-Z\d_ -]{8}= +[-+.\dTF]")
_SIZE = re.compile(r"NAXIS\d*|BITPIX|[GP]COUNT")
_END = re.compile(rb"END[^A-Z0-9_-]")


def text_among_sizes(read: Callable[[int], bytes]) -> str | None:
    """
    Find a size of an HDU that is text: multiplied by the others it is repeated, and may fill all memory.

    Parameters
    ----------
    read : callable
        Gives that many of the next bytes, from the first of the header; fewer where there are no more.

    Returns
    -------
    str or None
        The card.
    """
    while block := read(BLOCK_SIZE):
        upper = block.upper()  # as astropy takes the names
        for name in _NAMES:  # one after the other: strings are found much faster than patterns
            for found in name.finditer(upper):
                start = found.start() // CARD_SIZE * CARD_SIZE
                if not _NUMBER.match(upper, start) and _is_text(card := block[start:start + CARD_SIZE]):
                    return card.decode("latin-1").rstrip()
        if any(end.start() % CARD_SIZE == 0 for end in _END.finditer(block)):
            return None
    return None


def _is_text(card: bytes) -> bool:
    """Whether astropy finds a text in a card of a size."""
    try:
        with warnings.catch_warnings(action="ignore"):
            parsed = fits.Card.fromstring(card)
            return _SIZE.fullmatch(parsed.keyword.strip().upper()) is not None and isinstance(parsed.value, str)
    except (ValueError, fits.VerifyError):
        return False  # it stops there
