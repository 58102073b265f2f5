"""Which keywords belong to the table and which to the image."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .. import keywords as kw
from .cards import keyword_of, parse_value

__all__ = [
    "TABLE_STRUCTURE",
    "VALUE_AND_COMMENT",
    "describes_table",
    "has_mask_column",
    "is_default_extname",
    "is_mandatory",
    "is_reserved",
    "stem_of",
    "value_of",
]

TABLE_STRUCTURE = frozenset(("XTENSION", "BITPIX", "NAXIS", "PCOUNT", "GCOUNT", "TFIELDS", "THEAP", "CHECKSUM", "DATASUM"))
VALUE_AND_COMMENT = re.compile(r"('(?:[^']|'')*'|[^/]*?)\s*(?:/ ?(.*))?$")


def is_reserved(keyword: str) -> bool:
    """
    Tell whether a keyword belongs to the table or the compression.

    Parameters
    ----------
    keyword : str
        Keyword, without blanks.

    Returns
    -------
    bool
        Whether the table cannot have it as a card of the image, since it would change the meaning of the table.
    """
    if keyword in kw.COMPRESSION_KEYWORDS or keyword in kw.IMAGE_NAME_OF or keyword in ("TFIELDS", "THEAP"):
        return True
    stem = stem_of(keyword)
    return stem != keyword and (stem in kw.INDEXED_COMPRESSION_KEYWORDS or stem in kw.INDEXED_TABLE_KEYWORDS)


def is_mandatory(keyword: str) -> bool:
    """Tell whether a keyword describes the structure of an HDU: its kind, size and sums."""
    return keyword in ("SIMPLE", "XTENSION", "BITPIX", "NAXIS", "PCOUNT", "GCOUNT", "CHECKSUM", "DATASUM") or (
        stem_of(keyword) == "NAXIS")


def has_mask_column(table_cards: Iterable[str]) -> bool:
    """Whether the table has a column of null masks, which ZMASKCMP describes."""
    names = (value_of(card) for card in table_cards if stem_of(keyword_of(card)) == "TTYPE")
    return any(isinstance(name, str) and name.strip().upper() in kw.MASK_COLUMNS for name in names)


def describes_table(keyword: str, has_masks: bool) -> bool:
    """Whether a card of the table is about the table or its compression, not a card of the image."""
    if keyword == "ZMASKCMP":
        return has_masks
    if keyword in ("CHECKSUM", "DATASUM") or keyword in kw.IMAGE_NAME_OF or stem_of(keyword) == "ZNAXIS":
        return False
    return keyword in TABLE_STRUCTURE or stem_of(keyword) == "NAXIS" or is_reserved(keyword)


def stem_of(keyword: str) -> str:
    """Keyword without the number at its end."""
    return keyword.rstrip("0123456789")


def value_of(card: str):
    """Value of a card, None where it has none."""
    return parse_value(card[10:]) if card[8:10] == "= " else None


def is_default_extname(card: str) -> bool:
    """Whether the card is the name that a writer gave to an image without one."""
    return keyword_of(card) == "EXTNAME" and value_of(card) == kw.DEFAULT_EXTNAME
