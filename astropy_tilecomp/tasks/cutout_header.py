"""The header of a cutout."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..tiling.cards import format_card, keyword_of, parse_value

__all__ = ["moved_header"]

_STALE = frozenset(("BSCALE", "BZERO", "BLANK", "CHECKSUM", "DATASUM"))


def moved_header(cards: Sequence[str], origin: tuple[int, ...], shape: tuple[int, ...]) -> Iterator[str]:
    """The header of an image as that of its part: sizes, and reference pixels of all its coordinate systems."""
    shift = dict(enumerate(reversed(origin), 1))
    length = {f"NAXIS{number}": size for number, size in enumerate(reversed(shape), 1)}
    present = {keyword_of(card) for card in cards}
    for card in cards:
        keyword = keyword_of(card)
        if keyword in length:
            yield format_card(keyword, length[keyword], "length of the axis")
        elif match := re.fullmatch(r"(?:CRPIX|LTV)([1-9]\d*)[A-Z]?", keyword):
            yield _less(card, keyword, shift.get(int(match[1]), 0))
        elif keyword not in _STALE:
            yield card
            if match := re.fullmatch(r"(?:CTYPE|CRVAL|CDELT)([1-9]\d*)([A-Z]?)", keyword):
                absent = f"CRPIX{match[1]}{match[2]}"  # and then 0
                if absent not in present and shift.get(int(match[1])):
                    present.add(absent)
                    yield format_card(absent, float(-shift[int(match[1])]), "reference pixel")


def _less(card: str, keyword: str, shift: int) -> str:
    value = parse_value(card[10:])
    if not shift or not isinstance(value, int | float):
        return card
    return format_card(keyword, float(value) - shift, card[10:].partition("/")[2].strip())
