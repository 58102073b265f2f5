"""CHECKSUM and DATASUM of an HDU (FITS 4.0, section 4.4.2.7 and appendix J)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .cards import format_card, join_cards, keyword_of
from .header_cards import read_cards

__all__ = [
    "DataSum", "add_words", "encode_checksum", "exchange", "renew_checksums", "stated_data_sum", "sum_of_pixels",
    "verify_checksums", "with_checksums",
]

_ALL_ONES = 0xFFFFFFFF
_EMPTY = "0" * 16
_PUNCTUATION = frozenset((*range(0x3A, 0x41), *range(0x5B, 0x61)))


def add_words(data, total: int = 0) -> int:
    """
    Add big-endian 32-bit words in ones' complement.

    Parameters
    ----------
    data : bytes-like
        The bytes; a last incomplete word counts as padded with zeros, so only the last piece of a sum may have one.
    total : int, optional
        Sum of what came before.

    Returns
    -------
    int
        The sum, below 2**32; that of a padded data unit is its DATASUM.
    """
    flat = np.frombuffer(data, np.uint8)
    whole = len(flat) // 4 * 4
    total += int(flat[:whole].view(">u4").sum(dtype=np.uint64))
    total += int.from_bytes(flat[whole:].tobytes().ljust(4, b"\0"), "big")
    while total > _ALL_ONES:
        total = (total & _ALL_ONES) + (total >> 32)
    return total


class DataSum:
    """The DATASUM of bytes that come in pieces of any length."""

    def __init__(self):
        self._sum, self._rest = 0, b""

    def add(self, piece) -> None:
        """Take the next bytes."""
        data = np.frombuffer(piece, np.uint8)
        if self._rest:
            data = np.frombuffer(self._rest + data.tobytes(), np.uint8)
        whole = data.size // 4 * 4
        self._sum, self._rest = add_words(data[:whole], self._sum), data[whole:].tobytes()

    @property
    def total(self) -> int:
        """The sum so far, below 2**32."""
        return add_words(self._rest, self._sum)


def exchange(total: int, gone: int, came: int) -> int:
    """
    Update a sum by the sums of what was taken out of the data, and of what took its place.

    Parameters
    ----------
    total : int
        Sum over the data as they were.
    gone, came : int
        Sums over the old and new bytes, each where it is in a 32-bit word.

    Returns
    -------
    int
        Sum over the data as they are; 2**32 - 1 stands for both values that mean 0.
    """
    return (total - gone + came) % _ALL_ONES or _ALL_ONES


def sum_of_pixels(pixels: np.ndarray, first: Sequence[int], image_shape: Sequence[int]) -> int:
    """
    Add up what part of an image contributes to the DATASUM of the whole.

    Parameters
    ----------
    pixels : ndarray
        Stored pixels of a box of the image.
    first : sequence of int
        Index of its first pixel.
    image_shape : sequence of int
        Shape of the image, C order.

    Returns
    -------
    int
        Below 2**32.
    """
    nbytes = pixels.dtype.itemsize
    if nbytes >= 4:
        return add_words(np.ascontiguousarray(pixels, pixels.dtype.newbyteorder(">")))
    per_word, place, stride = 4 // nbytes, np.zeros(pixels.shape, np.int64), 1
    for axis in reversed(range(pixels.ndim)):
        along = (np.arange(pixels.shape[axis]) + first[axis]) % per_word * (stride % per_word)
        place += along.reshape(-1, *[1] * (pixels.ndim - axis - 1))
        stride *= image_shape[axis]
    values, total = pixels.astype(pixels.dtype.newbyteorder("=")).view(f"u{nbytes}"), 0
    for number in range(per_word):
        total += int(values[place % per_word == number].sum(dtype=np.uint64)) << (8 * nbytes * (per_word - 1 - number))
    return total % _ALL_ONES


def encode_checksum(total: int) -> str:
    """
    Write the complement of a sum as 16 characters.

    Parameters
    ----------
    total : int
        Sum over the HDU with the 16 characters set to 0.

    Returns
    -------
    str
        Value of CHECKSUM that makes the HDU sum to 2**32 - 1.
    """
    columns = [_spread(byte) for byte in (~total & _ALL_ONES).to_bytes(4, "big")]
    text = "".join(chr(columns[byte][place]) for place in range(4) for byte in range(4))
    return text[-1] + text[:-1]


def with_checksums(cards: Sequence[str], data_sum: int, comments: tuple[str, str] = ("", "")) -> list[str]:
    """
    Set CHECKSUM and DATASUM.

    Parameters
    ----------
    cards : sequence of str
        Card images of the header, without END; cards of these two keywords are replaced where they stand.
    data_sum : int
        Sum over the data unit, 0 for an empty one.
    comments : (str, str), optional
        Comments of the two cards.

    Returns
    -------
    list of str
        Card images with the two keywords.
    """
    new = {
        "CHECKSUM": format_card("CHECKSUM", _EMPTY, comments[0]),
        "DATASUM": format_card("DATASUM", str(data_sum), comments[1]),
    }
    cards = [new.get(keyword_of(card), card) for card in cards]
    cards += [card for keyword, card in new.items() if keyword not in map(keyword_of, cards)]
    checksum = format_card("CHECKSUM", encode_checksum(add_words(join_cards(cards), data_sum)), comments[0])
    return [checksum if keyword_of(card) == "CHECKSUM" else card for card in cards]


def stated_data_sum(cards: Sequence[str]) -> int | None:
    """
    Find the sum over the data that a header states.

    Parameters
    ----------
    cards : sequence of str
        Card images of the header, without END.

    Returns
    -------
    int or None
        DATASUM, or what CHECKSUM implies; None if there is neither, or no number.
    """
    header = join_cards(cards)
    found = read_cards(header)
    if "DATASUM" in found:
        text = str(found["DATASUM"]).strip()
        return int(text) % 2**32 if text.isdecimal() else None
    return (_ALL_ONES - add_words(header)) % _ALL_ONES if "CHECKSUM" in found else None


def renew_checksums(cards: Sequence[str], data_sum: int) -> list[str]:
    """
    Renew CHECKSUM and DATASUM, as far as a header has them.

    Parameters
    ----------
    cards : sequence of str
        Card images of the header, without END.
    data_sum : int
        Sum over the data unit.

    Returns
    -------
    list of str
        As many card images; comments stay.
    """
    def renewed(value: str, name: str, card: str) -> str:
        return format_card(name, value, card[10:].partition("/")[2].strip()) if keyword_of(card) == name else card

    cards = [renewed(_EMPTY, "CHECKSUM", renewed(str(data_sum), "DATASUM", card)) for card in cards]
    checksum = encode_checksum(add_words(join_cards(cards), data_sum))
    return [renewed(checksum, "CHECKSUM", card) for card in cards]


def verify_checksums(header, data_sum: int) -> tuple[bool | None, bool | None]:
    """
    Hold an HDU against its checksums.

    Parameters
    ----------
    header : bytes-like
        The whole header, with its padding.
    data_sum : int
        Sum over the data unit.

    Returns
    -------
    checksum, datasum : bool or None
        Whether each is right; None where it is missing.
    """
    cards = read_cards(header)
    stated = cards.get("DATASUM")
    checksum = add_words(header, data_sum) in (0, _ALL_ONES) if "CHECKSUM" in cards else None
    return checksum, None if stated is None else str(stated).strip() == str(data_sum)


def _spread(byte: int) -> list[int]:
    """Four alphanumeric characters that add up to a byte and 4 times the character 0."""
    quarter, rest = divmod(byte, 4)
    four = [quarter + rest + 48, quarter + 48, quarter + 48, quarter + 48]
    while any(character in _PUNCTUATION for character in four):
        for first in (0, 2):
            if four[first] in _PUNCTUATION or four[first + 1] in _PUNCTUATION:
                four[first] += 1
                four[first + 1] -= 1
    return four
