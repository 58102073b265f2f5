"""The header of a table -> that of the image in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .. import keywords as kw
from ..errors import HeaderError
from .cards import compose_card, format_card, keyword_of
from .image_keywords import TABLE_STRUCTURE, VALUE_AND_COMMENT, has_mask_column, is_default_extname, is_reserved, stem_of, value_of

__all__ = ["null_primary", "primary_extras", "table_to_image"]

_NULL_PRIMARY_KEYWORDS = frozenset(
    ("SIMPLE", "BITPIX", "NAXIS", "PCOUNT", "GCOUNT", "EXTEND", "CHECKSUM", "DATASUM", "EXTNAME", "HISTORY", "COMMENT", "")
)


def table_to_image(cards: Sequence[str], *, is_primary: bool | None = None) -> list[str]:
    """
    Restore the header of the image.

    Parameters
    ----------
    cards : sequence of str
        Card images of the compressed table, without END.
    is_primary : bool, optional
        Whether the image is to be the first HDU of a file, or one behind it; by default as the header has it, which is not
        always where it stands: fpack has been given files whose HDUs all say SIMPLE.

    Returns
    -------
    list of str
        Card images of the image, without END: the cards of table and compression are dropped, those that were renamed get
        their names back, and BLANK is filled in where an integer image has only ZBLANK. A header that says neither
        ZSIMPLE nor ZTENSION gives an image extension.

    Raises
    ------
    HeaderError
        If ZBITPIX, ZNAXIS or a ZNAXISn is missing.

    Notes
    -----
    This is what funpack does; besides, ZSCALE, ZZERO and keywords that describe table columns are dropped, and the mandatory
    cards are put in front wherever they stood.
    """
    found = {keyword_of(card): card for card in reversed(cards)}
    front = _mandatory_cards(found, is_primary)
    done, has_masks = set(map(keyword_of, front)), has_mask_column(cards)
    rest = []
    for card in cards:
        keyword = keyword_of(card)
        name = kw.IMAGE_NAME_OF.get(keyword)
        if name is not None:
            if name not in done and name not in ("SIMPLE", "XTENSION"):
                rest.append(name.ljust(8) + card[8:])
                done.add(name)
        elif not (_is_dropped(keyword, has_masks) or is_default_extname(card)):
            rest.append(_restored(card))
    return front + rest + _blank_card(found, cards)


def _restored(card: str) -> str:
    """A card of the image, which the table may keep under another name."""
    keyword, equals, rest = card.removeprefix(kw.KEPT_UNDER).partition(" = ")
    if not card.startswith(kw.KEPT_UNDER) or not equals or not is_reserved(keyword):
        return card
    parts = VALUE_AND_COMMENT.match(rest.strip())
    return card if parts is None else compose_card(keyword, parts[1], parts[2] or "")


def null_primary() -> list[str]:
    """
    Make the header of the empty primary HDU before a compressed image.

    Returns
    -------
    list of str
        Card images, without END.
    """
    return [
        format_card("SIMPLE", True, "file does conform to FITS standard"),
        format_card("BITPIX", 16, "number of bits per data pixel"),
        format_card("NAXIS", 0, "number of data axes"),
        format_card("EXTEND", True, "FITS dataset may contain extensions"),
    ]


def primary_extras(cards: Iterable[str]) -> list[str]:
    """
    Find what someone added to the empty primary HDU before a compressed image.

    Parameters
    ----------
    cards : iterable of str
        Card images of that HDU, without END.

    Returns
    -------
    list of str
        The cards that belong at the end of the image's header once it is the primary HDU again.
    """
    return [card for card in cards if stem_of(keyword_of(card)) not in _NULL_PRIMARY_KEYWORDS]


def _mandatory_cards(found: dict[str, str], is_primary: bool | None) -> list[str]:
    """The cards with which the image header begins."""
    primary = "ZSIMPLE" in found if is_primary is None else is_primary
    if primary and "ZSIMPLE" not in found:
        front = [format_card("SIMPLE", True, "file does conform to FITS standard")]
    elif primary:
        front = [_as_given(found["ZSIMPLE"], "SIMPLE", True)]
    elif "ZTENSION" in found:
        front = [_as_given(found["ZTENSION"], "XTENSION", "IMAGE")]
    else:
        front = [format_card("XTENSION", "IMAGE", "Image extension")]
    names = ["ZBITPIX", "ZNAXIS"]
    n_axes = value_of(found["ZNAXIS"]) if "ZNAXIS" in found else None
    if not isinstance(n_axes, int) or not 0 <= n_axes <= 999:
        raise HeaderError(keyword="ZNAXIS", found=n_axes, expected="0 to 999")
    names += [f"ZNAXIS{axis}" for axis in range(1, n_axes + 1)]
    for name in names:
        if value_of(found.get(name, "")) is None:
            raise HeaderError(keyword=name, expected="a card of the image")
        front.append(name[1:].ljust(8) + found[name][8:])
    for name, value in (("ZPCOUNT", 0), ("ZGCOUNT", 1)):
        if name in found:
            front.append(name[1:].ljust(8) + found[name][8:])
        elif not primary:
            front.append(format_card(name[1:], value))
    return front


def _as_given(card: str, name: str, value) -> str:
    """A card under its name in the image; its value is repaired if it is not the one that the standard asks for."""
    if value_of(card) == value and isinstance(value_of(card), type(value)):
        return name.ljust(8) + card[8:]
    return format_card(name, value)


def _is_dropped(keyword: str, has_masks: bool) -> bool:
    """Whether a card of the table has no place in the image."""
    return (keyword == "ZMASKCMP" and has_masks) or keyword in TABLE_STRUCTURE or is_reserved(keyword) or (stem_of(keyword) == "NAXIS")


def _blank_card(found: dict[str, str], cards: Sequence[str]) -> list[str]:
    """BLANK of an integer image whose header has only ZBLANK."""
    bitpix = value_of(found["ZBITPIX"])
    if bitpix not in (8, 16, 32, 64) or "BLANK" in found:
        return []
    if "ZBLANK" in found:
        return ["BLANK".ljust(8) + found["ZBLANK"][8:]]
    columns = (value_of(card) for card in cards if stem_of(keyword_of(card)) == "TTYPE")
    if any(isinstance(name, str) and name.strip().upper() == "ZBLANK" for name in columns):
        return [format_card("BLANK", -(1 << (bitpix - 1)))]
    return []
