"""The cards of an image, from any kind of header."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

from ..errors import HeaderError
from ..tiling.cards import CARD_SIZE, cards_of, cut_cards, format_card, format_cards, keyword_of
from ..tiling.params import CompressionParams

__all__ = ["image_cards"]

_KEYWORD = re.compile(r"[A-Z0-9_-]{1,8}")
_WITHOUT_VALUE = ("COMMENT", "HISTORY", "CONTINUE", "HIERARCH", "END")
_TAKES_ALL = "an astropy Header takes comments and long keywords too"
_STRUCTURE = frozenset(
    ("SIMPLE", "XTENSION", "BITPIX", "NAXIS", "EXTEND", "PCOUNT", "GCOUNT", "BSCALE", "BZERO", "CHECKSUM", "DATASUM", "END")
)


def image_cards(header, params: CompressionParams, name: str | None = None) -> list[str]:
    """
    Make the header of an image extension.

    Parameters
    ----------
    header : astropy Header, mapping, sequence of card images, or None
        Cards to keep, with their comments; those of the structure and of scaling are made anew.
    params : CompressionParams
        Parameters of the image.
    name : str, optional
        EXTNAME.

    Returns
    -------
    list of str
        Card images, without END.
    """
    kept = [card for card in _cards_of(header) if not _is_structure(keyword_of(card))]
    if name is not None:
        if not isinstance(name, str):
            raise TypeError(f"name is {name!r}, expected a string")
        kept = [*_images_for("EXTNAME", name), *(card for card in kept if keyword_of(card) != "EXTNAME")]
    if params.zbitpix < 0:
        kept = [card for card in kept if keyword_of(card) != "BLANK"]
    shape = [format_card(f"NAXIS{axis}", length) for axis, length in enumerate(reversed(params.image_shape), 1)]
    cards = [
        format_card("XTENSION", "IMAGE", "Image extension"), format_card("BITPIX", params.zbitpix, "array data type"),
        format_card("NAXIS", params.ndim, "number of array dimensions"), *shape,
        format_card("PCOUNT", 0, "number of parameters"), format_card("GCOUNT", 1, "number of groups"), *kept,
    ]
    if params.bzero:
        cards += [format_card("BSCALE", 1), format_card("BZERO", params.bzero)]
    return cards


def _cards_of(header) -> list[str]:
    """The card images of whatever a user calls a header."""
    if header is None:
        return []
    if hasattr(header, "tostring"):  # an astropy Header
        return cards_of(header)
    if isinstance(header, Mapping):
        return [image for keyword, value in header.items() for image in _images_for(keyword, value)]
    if isinstance(header, Iterable) and not isinstance(header, str):
        cards = list(header)
        if all(isinstance(card, str) or hasattr(card, "image") for card in cards):
            return [image for card in cards for image in _images_of(card)]
    raise TypeError(f"header is {header!r}, expected an astropy Header, a mapping or a sequence of card images")


def _images_of(card) -> list[str]:
    """A card image as it is, or those of an astropy Card, of which a long string has several."""
    return [card.ljust(CARD_SIZE)] if isinstance(card, str) else cut_cards(str(card))


def _images_for(keyword: str, value) -> list[str]:
    """The card images of one keyword of a mapping; a long string has several."""
    name = str(keyword).upper()
    if not _KEYWORD.fullmatch(name) or name in _WITHOUT_VALUE:
        raise HeaderError(f"header: {keyword!r} is no keyword of a value, which has 1 to 8 of A-Z, 0-9, - and _; {_TAKES_ALL}")
    if not isinstance(value, (str, bool, int, float, np.bool_, np.integer, np.floating)):
        raise TypeError(f"header: {keyword} is {value!r}, expected a string, a bool, an integer or a float; {_TAKES_ALL}")
    if isinstance(value, str) and not (value.isascii() and value.isprintable()):
        raise HeaderError(f"header: {keyword} is {value!r}, expected printable ASCII characters")
    return format_cards(name, value)


def _is_structure(keyword: str) -> bool:
    return keyword in _STRUCTURE or (keyword.startswith("NAXIS") and keyword[5:].isdecimal())
