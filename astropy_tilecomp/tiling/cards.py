"""Header bytes to cards, and cards to keywords and values; without astropy, and parsing only what is asked for."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import numpy as np

__all__ = [
    "BLOCK_SIZE",
    "CARD_SIZE",
    "cards_of",
    "compose_card",
    "cut_cards",
    "format_card",
    "format_cards",
    "join_cards",
    "keyword_of",
    "parse_value",
]

CARD_SIZE = 80
BLOCK_SIZE = 2880
MAX_TEXT = CARD_SIZE - 12
"""Characters between the quotes of a card; a quote in the text takes two."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([EDed][+-]?\d+)?", re.ASCII)


def cards_of(header) -> list[str]:
    """
    List the card images of an astropy header.

    Parameters
    ----------
    header : astropy Header
        Any header.

    Returns
    -------
    list of str
        Without END.
    """
    return cut_cards(header.tostring(sep="", endcard=False, padding=False))


def cut_cards(text: str) -> list[str]:
    """
    Cut text into card images.

    Parameters
    ----------
    text : str
        Card images that follow one another.

    Returns
    -------
    list of str
        80 characters each.
    """
    return [text[at:at + CARD_SIZE] for at in range(0, len(text), CARD_SIZE)]


def join_cards(cards: Iterable[str]) -> bytes:
    """
    Join card images to a header.

    Parameters
    ----------
    cards : iterable of str
        Cards of 80 characters, without END.

    Returns
    -------
    bytes
        The header with END, padded with blanks to whole blocks of 2880 bytes.

    Raises
    ------
    ValueError
        If a card has another length.
    """
    cards = [*cards, "END".ljust(CARD_SIZE)]
    wrong = next((card for card in cards if len(card) != CARD_SIZE), None)
    if wrong is not None:
        raise ValueError(f"a card has {CARD_SIZE} characters, found {len(wrong)}: {wrong!r}")
    text = "".join(cards)
    return text.ljust(-(-len(text) // BLOCK_SIZE) * BLOCK_SIZE).encode("latin-1")


def keyword_of(card: str) -> str:
    """
    Tell the keyword of a card image.

    Parameters
    ----------
    card : str
        80 characters.

    Returns
    -------
    str
        The keyword without blanks, in capitals, empty for a blank card.
    """
    return card[:8].rstrip(" ").upper()


def format_card(keyword: str, value, comment: str = "") -> str:
    """
    Make a card image in fixed format.

    Parameters
    ----------
    keyword : str
        Keyword of 8 characters at most.
    value : str, bool, int or float
        The value; a float is written with all its digits.
    comment : str, optional
        Comment, cut where the card ends.

    Returns
    -------
    str
        80 characters.

    Raises
    ------
    ValueError
        If a string is longer than the card, or a float is not finite.
    """
    if isinstance(value, str):
        return compose_card(keyword, "'" + value.replace("'", "''").ljust(8) + "'", comment)
    if isinstance(value, (bool, np.bool_)):
        return compose_card(keyword, "T" if value else "F", comment)
    if isinstance(value, (int, np.integer)):
        return compose_card(keyword, str(int(value)), comment)
    if not math.isfinite(value):
        raise ValueError(f"{keyword}: a header cannot hold {value}")
    return compose_card(keyword, repr(float(value)).upper(), comment)


def format_cards(keyword: str, value, comment: str = "") -> list[str]:
    """
    Make the card images of a keyword: one, or as many as a long string needs, with CONTINUE.

    Parameters
    ----------
    keyword, value, comment
        See `format_card`; a string may be of any length.

    Returns
    -------
    list of str
        Card images of 80 characters.

    Raises
    ------
    ValueError
        If a float is not finite.
    """
    if not isinstance(value, str) or len(value) + value.count("'") <= MAX_TEXT:
        return [format_card(keyword, value, comment)]
    pieces, start = [], 0
    while start < len(value):
        stop = start + MAX_TEXT - 1  # one place is for the ampersand
        while stop - start + value.count("'", start, stop) > MAX_TEXT - 1:
            stop -= 1
        pieces.append(value[start:stop].replace("'", "''"))
        start = stop
    first, *others = [f"'{piece}&'" for piece in pieces[:-1]] + [f"'{pieces[-1]}'" + (f" / {comment}" if comment else "")]
    return [compose_card(keyword, first), *(f"CONTINUE  {text}"[:CARD_SIZE].ljust(CARD_SIZE) for text in others)]


def compose_card(keyword: str, text: str, comment: str = "") -> str:
    """
    Make a card image out of a value that is text already.

    Parameters
    ----------
    keyword : str
        Keyword of 8 characters at most.
    text : str
        The value as it shall stand there: flush right to column 30, a quoted string flush left.
    comment : str, optional
        Comment, cut where the card ends.

    Returns
    -------
    str
        80 characters.

    Raises
    ------
    ValueError
        If the value is longer than the card.
    """
    text = text.ljust(20) if text.startswith("'") else text.rjust(20)
    if len(keyword) > 8 or len(text) > CARD_SIZE - 10:
        raise ValueError(f"{keyword}: a value of {len(text)} characters does not fit a card")
    card = f"{keyword:8}= {text}" + (f" / {comment}" if comment else "")
    return card[:CARD_SIZE].ljust(CARD_SIZE)


def parse_value(text: str):
    """
    Parse what follows ``= `` in a card.

    Parameters
    ----------
    text : str
        Value and comment.

    Returns
    -------
    str, bool, int, float or None
        The value; None where there is none, and the text itself where it is no value of FITS.
    """
    text = text.lstrip(" ")
    if text.startswith("'"):
        return _parse_string(text)
    text = text.partition("/")[0].rstrip(" ")
    if text.isdecimal():
        return int(text)
    if text in ("T", "F"):
        return text == "T"
    if not text:
        return None
    number = _NUMBER.fullmatch(text)
    if number is None:
        return text
    if "." in text or number[2]:
        return float(text.replace("D", "E").replace("d", "e"))
    return int(text)


def _parse_string(text: str) -> str:
    """A quoted string, in which a quote is doubled; trailing blanks do not count."""
    stop = text.find("'", 1)
    while stop >= 0 and text[stop + 1:stop + 2] == "'":
        stop = text.find("'", stop + 2)
    return text[1:stop if stop >= 0 else None].replace("''", "'").rstrip(" ")
