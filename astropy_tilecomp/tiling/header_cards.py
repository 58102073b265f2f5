"""A header as its 80-character cards, read when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..errors import HeaderError
from .cards import BLOCK_SIZE, CARD_SIZE, cut_cards, keyword_of, parse_value

__all__ = ["HeaderCards", "header_size", "read_all_values", "read_cards", "split_cards"]

_END = b"END".ljust(CARD_SIZE)


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


def _find_end(data: bytes, start: int) -> int | None:
    """Place of the END card, which is one at a multiple of 80 bytes."""
    at = data.find(_END, start)
    while at >= 0 and at % CARD_SIZE:
        at = data.find(_END, at + 1)
    return None if at < 0 else at
