"""Header bytes to cards, and cards to keywords and values; without astropy, and parsing only what is asked for."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from ..errors import HeaderError

__all__ = [
    "BLOCK_SIZE",
    "CARD_SIZE",
    "HeaderCards",
    "cards_of",
    "compose_card",
    "cut_cards",
    "format_card",
    "format_cards",
    "header_size",
    "join_cards",
    "keyword_of",
    "parse_value",
    "read_all_values",
    "read_cards",
    "split_cards",
]

CARD_SIZE = 80
BLOCK_SIZE = 2880

MAX_TEXT = CARD_SIZE - 12
"""Characters between the quotes of a card; a quote in the text takes two."""

_END = b"END".ljust(CARD_SIZE)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([EDed][+-]?\d+)?", re.ASCII)


class HeaderCards(Mapping):
    """
    Keyword to value, read-only; a value is parsed when it is asked for.

    Of a repeated keyword the first card counts. COMMENT, HISTORY, CONTINUE, HIERARCH and blank cards are left out, and a
    keyword without a value is absent, as are long strings beyond their first card. Keywords in small letters, an "=" before
    column 9, and values right behind it break the standard; they are taken as other readers take them.

    Parameters
    ----------
    text : str
        Cards of 80 characters, without END.
    nbytes : int
        Size of the header up to the end of its last block, which is where the data unit begins.

    Attributes
    ----------
    nbytes : int
        As given.
    """

    def __init__(self, text: str, nbytes: int):
        self._text, self.nbytes = text, nbytes
        backwards = range(len(text) - CARD_SIZE, -1, -CARD_SIZE)
        self._at = {text[at:at + 8]: at for at in backwards}
        keywords = "".join(self._at)
        if "=" in keywords or keywords != keywords.upper():
            self._at = {text[at:at + 8].partition("=")[0].upper().ljust(8): at for at in backwards}

    @property
    def cards(self) -> list[str]:
        """All card images, 80 characters each, without END."""
        return cut_cards(self._text)

    def get(self, keyword, default=None):
        """
        Look a value up.

        Parameters
        ----------
        keyword : str
            Keyword, without blanks.
        default : object, optional
            What to return where there is no such keyword, or no value.

        Returns
        -------
        str, bool, int, float or object
            The value.
        """
        at = self._at.get(keyword.ljust(8))
        start = 0 if at is None else self._text.find("=", at, at + 9) + 1
        value = parse_value(self._text[start:at + CARD_SIZE]) if at is not None and start else None
        return default if value is None else value

    def __getitem__(self, keyword):
        value = self.get(keyword)
        if value is None:
            raise KeyError(keyword)
        return value

    def __contains__(self, keyword) -> bool:
        return isinstance(keyword, str) and self.get(keyword) is not None

    def __iter__(self) -> Iterator[str]:
        keywords = (keyword.rstrip() for keyword in reversed(self._at))
        return (keyword for keyword in keywords if keyword in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<HeaderCards of {len(self)} keywords, {self.nbytes} bytes>"


def header_size(data, start: int = 0) -> int | None:
    """
    Find the end of a header.

    Parameters
    ----------
    data : bytes-like
        Bytes that begin with the header; they may stop before its end.
    start : int, optional
        Byte to begin at, a multiple of 80, for bytes before it are known to hold no END.

    Returns
    -------
    int or None
        Size of the header with the padding to whole blocks of 2880 bytes; None if there is no END card yet.
    """
    end = _find_end(bytes(data), start)
    return None if end is None else -(-(end + CARD_SIZE) // BLOCK_SIZE) * BLOCK_SIZE


def read_cards(data) -> HeaderCards:
    """
    Read a header.

    Parameters
    ----------
    data : bytes-like
        Bytes that begin with the header; what follows it is not looked at.

    Returns
    -------
    HeaderCards
        A read-only mapping of keyword to value: str, bool, int or float.

    Raises
    ------
    HeaderError
        If there is no END card.
    """
    data = bytes(data)
    end = _find_end(data, 0)
    if end is None:
        raise HeaderError(f"no END card in the first {len(data)} bytes of the header")
    nbytes = -(-(end + CARD_SIZE) // BLOCK_SIZE) * BLOCK_SIZE
    return HeaderCards(data[:end].decode("latin-1"), nbytes)


def read_all_values(cards: Iterable[str]) -> dict:
    """
    Read everything that a header says, for those who show it.

    Parameters
    ----------
    cards : iterable of str
        Card images, without END.

    Returns
    -------
    dict
        Keyword to value: HIERARCH keywords by their words, strings of CONTINUE cards whole, COMMENT and HISTORY as lists of
        their lines. Of a repeated keyword the first card counts; cards without a value that can be read are left out.
    """
    values: dict = {}
    unfinished = None  # keyword of a string that goes on
    for card in cards:
        keyword, text = _keyword_and_text(card)
        if keyword in ("COMMENT", "HISTORY"):
            values.setdefault(keyword, []).append(text.rstrip())
        elif keyword == "CONTINUE" and unfinished is not None:
            values[unfinished] = values[unfinished].removesuffix("&") + str(parse_value(text) or "")
            continue
        unfinished = None
        value = None if keyword in ("", "COMMENT", "HISTORY", "CONTINUE") or keyword in values else parse_value(text)
        if value is not None:
            values[keyword] = value
            unfinished = keyword if isinstance(value, str) and value.endswith("&") else None
    return values


def _keyword_and_text(card: str) -> tuple[str, str]:
    """The keyword of a card, and what follows: the text of a comment, or the value with its comment; empty where there is none."""
    keyword = keyword_of(card)
    if keyword == "HIERARCH":
        words, equals, text = card[8:].partition("=")
        return (words.strip(), text) if equals else ("", "")
    if keyword in ("COMMENT", "HISTORY", "CONTINUE"):
        return keyword, card[8:]
    return (keyword, card[10:]) if card[8:10] == "= " else ("", "")


def split_cards(data) -> list[str]:
    """
    Split a header into card images.

    Parameters
    ----------
    data : bytes-like
        Bytes that begin with the header; what follows it is not looked at.

    Returns
    -------
    list of str
        The cards before END, 80 characters each, blank ones too.

    Raises
    ------
    HeaderError
        If there is no END card.
    """
    data = bytes(data)
    end = _find_end(data, 0)
    if end is None:
        raise HeaderError(f"no END card in the first {len(data)} bytes of the header")
    return cut_cards(data[:end].decode("latin-1"))


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


def _find_end(data: bytes, start: int) -> int | None:
    """Place of the END card, which is one at a multiple of 80 bytes."""
    at = data.find(_END, start)
    while at >= 0 and at % CARD_SIZE:
        at = data.find(_END, at + 1)
    return None if at < 0 else at
