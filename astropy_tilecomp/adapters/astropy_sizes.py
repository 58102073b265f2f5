"""The header that astropy reads next, looked at before it multiplies the keywords that say where the HDU ends."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable

from astropy.io import fits

from ..tiling.cards import BLOCK_SIZE, CARD_SIZE, header_size

__all__ = ["MOST_BLOCKS", "impossible_size", "next_header"]

MOST_AXES = 999
MOST_BLOCKS = 20_000
"""Blocks that a header may have, without END so far; astropy would read on to the end of the file."""

_NAMES = re.compile(b"NAXIS"), re.compile(b"BITPIX"), re.compile(b"COUNT")
_NUMBER = re.compile(rb"[A-Z\d_ -]{8}= +[-+.\dTF]")
_MANY_AXES = re.compile(rb"NAXIS   = +[+-]?\d{4}")
_SIZE = re.compile(r"NAXIS\d*|BITPIX|[GP]COUNT")
_END = re.compile(rb"END(?:[^A-Z0-9_-]|$)")


def next_header(read: Callable[[int], bytes]) -> bytes | None:
    """
    Read a header as far as astropy does.

    Parameters
    ----------
    read : callable
        Gives that many of the next bytes, from the first of the header; fewer where there are no more.

    Returns
    -------
    bytes or None
        Whole blocks; where its fast way of reading stops, the cards that its careful one finds; None if there is no end to it.
    """
    blocks: list[bytes] = []
    while len(blocks) < MOST_BLOCKS:
        blocks.append(block := read(BLOCK_SIZE))
        if len(block) < BLOCK_SIZE or not block.isascii():
            return _up_to_any_end(b"".join(blocks))
        if header_size(block) is not None:
            return b"".join(blocks)
    return None


def _up_to_any_end(header: bytes) -> bytes:
    """The cards before one that can be taken for END."""
    ends = (end.start() for end in _END.finditer(header) if end.start() % CARD_SIZE == 0)
    return header[:next(ends, None)]


def impossible_size(header: bytes) -> str | None:
    """
    Find what would fill all memory: a size that is text, which is repeated as often as the others say, or a NAXIS of more axes
    than FITS knows, which are listed before any of them is looked for.

    Parameters
    ----------
    header : bytes
        Of an HDU.

    Returns
    -------
    str or None
        The card.
    """
    upper = header.upper()  # as astropy takes the names
    for name in _NAMES:  # one after the other: strings are found much faster than patterns
        for found in name.finditer(upper):
            start = found.start() // CARD_SIZE * CARD_SIZE
            is_plain = _NUMBER.match(upper, start) and not _MANY_AXES.match(upper, start)
            if not is_plain and _is_impossible(card := header[start:start + CARD_SIZE]):
                return card.decode("latin-1").rstrip()
    return None


def _is_impossible(card: bytes) -> bool:
    """Whether astropy finds a text in the card of a size, or a number of axes that cannot be."""
    try:
        with warnings.catch_warnings(action="ignore"):
            parsed = fits.Card.fromstring(card)
            keyword, value = parsed.keyword.strip().upper(), parsed.value
    except (ValueError, fits.VerifyError):
        return False  # it stops there
    if isinstance(value, str):
        return _SIZE.fullmatch(keyword) is not None
    return keyword == "NAXIS" and isinstance(value, int) and value > MOST_AXES
