"""The header that astropy reads next, looked at before it multiplies the keywords that say where the HDU ends."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

from astropy.io import fits

from ...tiling.cards import BLOCK_SIZE, CARD_SIZE

__all__ = ["MAX_BLOCKS", "NextHeader", "impossible_size", "next_header"]

MAX_AXES = 999
MAX_BLOCKS = 20_000
"""Blocks that a header may have, without END so far; astropy would read on to the end of the file."""

_END = re.compile(rb"END {77}")
_ANY_END = re.compile(rb"END(?:[^A-Z0-9_-]|$)")
_NUMBER = re.compile(rb"[A-Z\d_ -]{8}= +[-+.\dTF]")
_MANY_AXES = re.compile(rb"NAXIS   = +[+-]?\d{4}")


class NextHeader(NamedTuple):
    """
    A header as astropy is going to read it.

    Attributes
    ----------
    blocks : bytes
        All of it, in whole blocks.
    cards : bytes
        The cards before END.
    is_plain : bool
        Whether its fast way of reading does: of equal keywords the last counts, and none of HIERARCH.  Its careful way, which
        takes more for END, takes the first.
    is_endless : bool
        Whether no END was found in `MAX_BLOCKS`; nothing else is then known.
    """

    blocks: bytes
    cards: bytes
    is_plain: bool
    is_endless: bool = False


def next_header(read: Callable[[int], bytes], is_plain: bool = True) -> NextHeader:
    """Read a header as far as astropy does."""
    blocks: list[bytes] = []
    while len(blocks) < MAX_BLOCKS:
        blocks.append(block := read(BLOCK_SIZE))
        is_last = len(block) < BLOCK_SIZE
        if is_plain and (is_last or not block.isascii()):  # astropy begins again, and may find an END before this block
            is_plain = False
            blocks = [block := b"".join(blocks)]
        end = _place(_END if is_plain else _ANY_END, block)
        if end is not None or is_last:
            header = b"".join(blocks)
            return NextHeader(header, header if end is None else header[:len(header) - len(block) + end], is_plain)
    return NextHeader(b"", b"", is_plain, is_endless=True)


def _place(end: re.Pattern, data: bytes) -> int | None:
    """Where the first card is that matches; None where none does."""
    return next((found.start() for found in end.finditer(data) if found.start() % CARD_SIZE == 0), None)


def impossible_size(header: NextHeader) -> str | None:
    """Say what of a header would fill all memory: a size that is text, more axes than FITS knows, or no END; else None."""
    if header.is_endless:
        return f"no END card in {MAX_BLOCKS} blocks"
    sizes: dict[str, bytes] = {}
    for keyword, card in _sizes(header.cards.upper(), header):
        if header.is_plain or keyword not in sizes:
            sizes[keyword] = card
    if all(_NUMBER.match(card) and not _MANY_AXES.match(card) for card in sizes.values()):
        return None
    values = {keyword: _value(card) for keyword, card in sizes.items()}
    naxis = values.get("NAXIS")
    if not isinstance(naxis, int) or naxis < 1:
        return None
    multiplied = ["GCOUNT", *(f"NAXIS{axis}" for axis in range(1, min(naxis, MAX_AXES) + 1))]
    culprits = ["NAXIS"] if naxis > MAX_AXES else [keyword for keyword in multiplied if isinstance(values.get(keyword), str)]
    return sizes[culprits[0]].decode("latin-1").rstrip() if culprits else None


def _sizes(upper: bytes, header: NextHeader) -> Iterator[tuple[str, bytes]]:
    """Keyword and card of all that astropy may take for a size, in the order of the header for each keyword."""
    for name in (b"NAXIS", b"GCOUNT"):  # one after the other: strings are found much faster than a pattern for both
        at = upper.find(name)
        while at >= 0:
            start = at // CARD_SIZE * CARD_SIZE
            keyword = _keyword(upper[start:start + CARD_SIZE], header.is_plain)
            if keyword.startswith(name.decode()):
                yield keyword, header.cards[start:start + CARD_SIZE]
            at = upper.find(name, start + CARD_SIZE)


def _keyword(card: bytes, is_plain: bool) -> str:
    """The keyword that astropy finds in a card, in capitals; empty where it looks at no value."""
    if card[8:10] == b"= " or not is_plain:
        found = card[:8].strip()
        if found != b"HIERARCH":
            return found.decode("latin-1")
        return "" if is_plain else card[8:].partition(b"=")[0].strip().decode("latin-1")
    return card[:max(card.find(b"= ", 0, 8), 0)].decode("latin-1")


def _value(card: bytes):
    """What astropy finds in a card; None where it finds nothing or stops."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return fits.Card.fromstring(card).value
    except (ValueError, fits.VerifyError):
        return None
