"""Header of an image to that of its compressed table and back; every card is kept in its place, with its comment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .. import keywords as kw
from ..errors import HeaderError
from .cards import CARD_SIZE, compose_card, format_card, keyword_of, parse_value
from .checksum import renew_checksums, stated_data_sum
from .params import CompressionParams
from .shapes import STYLES
from .table import TableLayout

__all__ = [
    "image_data_sum", "image_to_table", "is_mandatory", "is_reserved", "null_primary", "primary_extras", "renew_image_checksums",
    "replace_image_cards", "table_to_image",
]

_TABLE_STRUCTURE = frozenset(("XTENSION", "BITPIX", "NAXIS", "PCOUNT", "GCOUNT", "TFIELDS", "THEAP", "CHECKSUM", "DATASUM"))
_NULL_PRIMARY_KEYWORDS = frozenset(
    ("SIMPLE", "BITPIX", "NAXIS", "PCOUNT", "GCOUNT", "EXTEND", "CHECKSUM", "DATASUM", "EXTNAME", "HISTORY", "COMMENT", "")
)
_TABLE_COMMENTS = {
    "cfitsio": {
        "BITPIX": "8-bit bytes", "NAXIS": "2-dimensional binary table", "PCOUNT": "size of special data area",
        "GCOUNT": "one data group (required keyword)",
    },
    "astropy": {
        "BITPIX": "array data type", "NAXIS": "number of array dimensions", "PCOUNT": "number of group parameters",
        "GCOUNT": "number of groups",
    },
}
_FORM_COMMENT = "data format of field: "
_VALUE_AND_COMMENT = re.compile(r"('(?:[^']|'')*'|[^/]*?)\s*(?:/ ?(.*))?$")


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
    stem = _stem(keyword)
    return stem != keyword and (stem in kw.INDEXED_COMPRESSION_KEYWORDS or stem in kw.INDEXED_TABLE_KEYWORDS)


def is_mandatory(keyword: str) -> bool:
    """Tell whether a keyword describes the structure of an HDU: its kind, size and sums."""
    return keyword in ("SIMPLE", "XTENSION", "BITPIX", "NAXIS", "PCOUNT", "GCOUNT", "CHECKSUM", "DATASUM") or (
        _stem(keyword) == "NAXIS")


def image_to_table(cards: Sequence[str], params: CompressionParams, layout: TableLayout, *, style: str = "cfitsio",
                   quantize_level: float | None = None) -> list[str]:
    """
    Make the header of the compressed table.

    Parameters
    ----------
    cards : sequence of str
        Card images of the image header, without END.
    params : CompressionParams
        Parameters of the compressed image.
    layout : TableLayout
        Layout of its table and heap.
    style : {"cfitsio", "astropy"}, optional
        Which layout: that of fpack, or that of astropy's CompImageHDU.
    quantize_level : float, optional
        The level that was asked for; astropy keeps it in NOISEBIT, cfitsio in HISTORY.

    Returns
    -------
    list of str
        Card images, without END. Cards of the image for which `is_reserved` is true are kept under another name.

    Raises
    ------
    HeaderError
        If BITPIX, NAXIS or NAXISn of the image are not those of `params`.
    """
    if style not in STYLES:
        raise ValueError(f"style is {style!r}, expected one of {', '.join(STYLES)}")
    cards = _kept(cards)
    _check_shape(cards, params)
    structure = _structure_cards(layout, style)
    write = _cfitsio_cards if style == "cfitsio" else _astropy_cards
    return structure + write(cards, params, quantize_level)


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
    done, has_masks = set(map(keyword_of, front)), _has_masks(cards)
    rest = []
    for card in cards:
        keyword = keyword_of(card)
        name = kw.IMAGE_NAME_OF.get(keyword)
        if name is not None:
            if name not in done and name not in ("SIMPLE", "XTENSION"):
                rest.append(name.ljust(8) + card[8:])
                done.add(name)
        elif not (_is_dropped(keyword, has_masks) or _is_default_extname(card)):
            rest.append(_restored(card))
    return front + rest + _blank_card(found, cards)


def replace_image_cards(table_cards: Sequence[str], image_cards: Sequence[str]) -> list[str]:
    """
    Give the header of a compressed table another image header, and leave what it says of table and compression.

    Parameters
    ----------
    table_cards : sequence of str
        Card images of the compressed table, without END.
    image_cards : sequence of str
        Card images of the image header, without END. Those for which `is_reserved` is true are kept under another name.

    Returns
    -------
    list of str
        Card images, without END: table and compression first, then the image, in the order that it has.
    """
    has_masks = _has_masks(table_cards)
    kept = [card for card in table_cards if _describes_table(keyword_of(card), has_masks)]
    image_cards = _kept(image_cards)
    has_name = any(keyword_of(card) == "EXTNAME" for card in image_cards)
    name = [] if has_name else [card for card in table_cards if _is_default_extname(card)][:1]
    return [*kept, *name, *_renamed(image_cards)]


def image_data_sum(table_cards: Sequence[str]) -> int | None:
    """
    Find the sum over the pixels of the image that ZDATASUM states, or ZHECKSUM implies.

    Parameters
    ----------
    table_cards : sequence of str
        Card images of the compressed table, without END.

    Returns
    -------
    int or None
        None if there is neither.
    """
    return stated_data_sum(table_to_image(table_cards))


def renew_image_checksums(table_cards: Sequence[str], data_sum: int) -> list[str]:
    """
    Renew ZHECKSUM and ZDATASUM, as far as a header has them.

    Parameters
    ----------
    table_cards : sequence of str
        Card images of the compressed table, without END.
    data_sum : int
        Sum over the pixels of the image, as they are stored uncompressed.

    Returns
    -------
    list of str
        As many card images.
    """
    renewed = {keyword_of(card): card for card in renew_checksums(table_to_image(table_cards), data_sum)}
    sums = {kw.TABLE_NAME_OF[name]: renewed[name] for name in ("CHECKSUM", "DATASUM") if name in renewed}
    return [keyword_of(card).ljust(8) + sums[keyword_of(card)][8:] if keyword_of(card) in sums else card for card in table_cards]


def _kept(image_cards: Iterable[str]) -> list[str]:
    """Cards of the image as the table can have them."""
    return [_card_under(card) if is_reserved(keyword_of(card)) else card for card in image_cards]


def _card_under(card: str) -> str:
    """A card under a name that means nothing to readers of the table."""
    keyword = keyword_of(card)
    kept = f"{kw.KEPT_UNDER}{keyword} = {card[10:].strip()}"
    if card[8:10] != "= " or len(kept) > CARD_SIZE:
        raise HeaderError(keyword=keyword, found=card.strip(), expected="a shorter card: the table can only keep it under another name")
    return kept.ljust(CARD_SIZE)


def _restored(card: str) -> str:
    """A card of the image, which the table may keep under another name."""
    keyword, equals, rest = card.removeprefix(kw.KEPT_UNDER).partition(" = ")
    if not card.startswith(kw.KEPT_UNDER) or not equals or not is_reserved(keyword):
        return card
    parts = _VALUE_AND_COMMENT.match(rest.strip())
    return card if parts is None else compose_card(keyword, parts[1], parts[2] or "")


def _has_masks(table_cards: Iterable[str]) -> bool:
    """Whether the table has a column of null masks, which ZMASKCMP describes."""
    names = (_value(card) for card in table_cards if _stem(keyword_of(card)) == "TTYPE")
    return any(isinstance(name, str) and name.strip().upper() in kw.MASK_COLUMNS for name in names)


def _describes_table(keyword: str, has_masks: bool) -> bool:
    """Whether a card of the table is about the table or its compression, not a card of the image."""
    if keyword == "ZMASKCMP":
        return has_masks
    if keyword in ("CHECKSUM", "DATASUM") or keyword in kw.IMAGE_NAME_OF or _stem(keyword) == "ZNAXIS":
        return False
    return keyword in _TABLE_STRUCTURE or _stem(keyword) == "NAXIS" or is_reserved(keyword)


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
    return [card for card in cards if _stem(keyword_of(card)) not in _NULL_PRIMARY_KEYWORDS]


def _stem(keyword: str) -> str:
    """Keyword without the number at its end."""
    return keyword.rstrip("0123456789")


def _value(card: str):
    """Value of a card, None where it has none."""
    return parse_value(card[10:]) if card[8:10] == "= " else None


def _check_shape(cards: Sequence[str], params: CompressionParams):
    """Hold the image header against what will be written."""
    found = {keyword_of(card): _value(card) for card in reversed(cards)}
    expected = {"BITPIX": params.zbitpix, "NAXIS": params.ndim}
    expected |= {f"NAXIS{axis}": size for axis, size in enumerate(reversed(params.image_shape), 1)}
    for keyword, value in expected.items():
        if found.get(keyword) != value:
            raise HeaderError(keyword=keyword, found=found.get(keyword), expected=f"{value}, as in the image to be written")


def _structure_cards(layout: TableLayout, style: str) -> list[str]:
    """Mandatory cards of the table, and its columns."""
    comments = _TABLE_COMMENTS[style]
    cards = [
        format_card("XTENSION", "BINTABLE", "binary table extension"),
        format_card("BITPIX", 8, comments["BITPIX"]),
        format_card("NAXIS", 2, comments["NAXIS"]),
        format_card("NAXIS1", layout.naxis1, "width of table in bytes"),
        format_card("NAXIS2", layout.naxis2, "number of rows in table"),
        format_card("PCOUNT", layout.pcount, comments["PCOUNT"]),
        format_card("GCOUNT", 1, comments["GCOUNT"]),
        format_card("TFIELDS", len(layout.columns), "number of fields in each row"),
    ]
    for column in layout.columns:
        label = f"label for field {column.number:3d}" if style == "cfitsio" else ""
        form = _FORM_COMMENT + _form_words(column) if style == "cfitsio" else ""
        cards.append(format_card(f"TTYPE{column.number}", column.name, label))
        cards.append(format_card(f"TFORM{column.number}", column.form, form))
    if layout.theap != layout.table_nbytes:
        cards.append(format_card("THEAP", layout.theap, "byte offset of the heap"))
    return [*cards, format_card("ZIMAGE", True, "extension contains compressed image")]


def _form_words(column) -> str:
    """What cfitsio calls the type of a column."""
    if column.descriptor:
        return "variable length array"
    return {"D": "8-byte DOUBLE", "E": "4-byte REAL", "J": "4-byte INTEGER"}.get(column.code, f"type {column.code}")


def _tile_cards(params: CompressionParams) -> list[str]:
    return [
        format_card(f"ZTILE{axis}", size, "size of tiles to be compressed")
        for axis, size in enumerate(reversed(params.tile_shape), 1)
    ]


def _algorithm_cards(params: CompressionParams) -> list[str]:
    return [format_card("ZCMPTYPE", params.zcmptype, "compression algorithm")]


def _setting_cards(params: CompressionParams, scale_text: str) -> list[str]:
    """ZNAMEi and ZVALi of the algorithm."""
    if params.zcmptype == "RICE_1":
        return [
            format_card("ZNAME1", "BLOCKSIZE", "compression block size"),
            format_card("ZVAL1", params.blocksize, "pixels per block"),
            format_card("ZNAME2", "BYTEPIX", "bytes per pixel (1, 2, 4, or 8)"),
            format_card("ZVAL2", params.bytepix, "bytes per pixel (1, 2, 4, or 8)"),
        ]
    if params.zcmptype == "HCOMPRESS_1":
        return [
            format_card("ZNAME1", "SCALE", "HCOMPRESS scale factor"),
            compose_card("ZVAL1", scale_text, "HCOMPRESS scale factor"),
            format_card("ZNAME2", "SMOOTH", "HCOMPRESS smooth option"),
            format_card("ZVAL2", int(params.smooth), "HCOMPRESS smooth option"),
        ]
    return []


def _quantization_card(params: CompressionParams) -> list[str]:
    return [format_card("ZQUANTIZ", params.zquantiz, "Pixel Quantization Algorithm")]


def _seed_cards(params: CompressionParams) -> list[str]:
    if not params.dither_method:
        return []
    return [format_card("ZDITHER0", params.zdither0, "dithering offset when quantizing floats")]


def _zblank_cards(params: CompressionParams, comment: str) -> list[str]:
    if params.zbitpix > 0 or params.zblank is None:
        return []
    return [format_card("ZBLANK", params.zblank, comment)]


def _renamed(cards: Iterable[str]) -> list[str]:
    """Cards of the image under the names that they have in the table."""
    return [_table_name(keyword_of(card)).ljust(8) + card[8:] for card in cards]


def _table_name(keyword: str) -> str:
    """Name in the table of a keyword of the image."""
    if keyword.startswith("NAXIS") and keyword[5:].isdecimal():
        return "Z" + keyword
    return kw.TABLE_NAME_OF.get(keyword, keyword)


def _cfitsio_cards(cards: Sequence[str], params: CompressionParams, quantize_level: float | None) -> list[str]:
    """What fpack writes after ZIMAGE."""
    has_name = any(keyword_of(card) == "EXTNAME" for card in cards)
    return [
        *_tile_cards(params),
        *_algorithm_cards(params),
        *_zblank_cards(params, "null value in the compressed integer array"),
        *_setting_cards(params, f"{params.hcomp_scale:.7E}"),
        *([] if has_name else [format_card("EXTNAME", kw.DEFAULT_EXTNAME)]),
        *_renamed(cards),
        *_cfitsio_quantization(params, quantize_level),
    ]


def _cfitsio_quantization(params: CompressionParams, quantize_level: float | None) -> list[str]:
    """The last cards that fpack writes: how floats were quantized."""
    if params.zbitpix > 0:
        return []
    if not params.quantized:
        return [format_card("ZQUANTIZ", kw.NOT_QUANTIZED, "Lossless compression without quantization")]
    method = _quantization_card(params)
    history = [] if quantize_level is None else [
        "Image was compressed by CFITSIO using scaled integer quantization:",
        f"  q = {quantize_level:f} / quantized level scaling parameter",
        method[0][10:],
    ]
    return [*method, *(f"HISTORY {line}"[:CARD_SIZE].ljust(CARD_SIZE) for line in history), *_seed_cards(params)]


def _astropy_cards(cards: Sequence[str], params: CompressionParams, quantize_level: float | None) -> list[str]:
    """What astropy writes after ZIMAGE: the structure of the image first, then the compression, then the other cards."""
    names = dict.fromkeys(("SIMPLE", "XTENSION", "BITPIX", "NAXIS"))
    names |= dict.fromkeys(f"NAXIS{axis}" for axis in range(1, params.ndim + 1))
    names |= dict.fromkeys(("PCOUNT", "GCOUNT"))
    found = {keyword_of(card): card for card in reversed(cards)}
    front = [found[name] for name in names if name in found]
    name = [found["EXTNAME"]] if "EXTNAME" in found else [
        format_card("EXTNAME", kw.DEFAULT_EXTNAME, "name of this binary table extension")
    ]
    rest = [card for card in cards if keyword_of(card) not in names and keyword_of(card) != "EXTNAME"]
    scale = abs(params.hcomp_scale)  # astropy writes a scale without a sign
    return [
        *_renamed(front),
        *_tile_cards(params),
        *_algorithm_cards(params),
        *_setting_cards(params, str(int(scale)) if scale == int(scale) else repr(scale)),
        *_noise_cards(params, quantize_level),
        *(_quantization_card(params) if params.dither_method else []),
        *_seed_cards(params),
        *name,
        *_renamed(rest),
        *_zblank_cards(params, ""),
    ]


def _noise_cards(params: CompressionParams, quantize_level: float | None) -> list[str]:
    """The quantization level, after the settings of the algorithm."""
    if params.zbitpix > 0 or quantize_level is None:
        return []
    number = len(_setting_cards(params, "0")) // 2 + 1
    comment = "floating point quantization level"
    return [format_card(f"ZNAME{number}", "NOISEBIT", comment), format_card(f"ZVAL{number}", quantize_level, comment)]


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
    n_axes = _value(found["ZNAXIS"]) if "ZNAXIS" in found else None
    if not isinstance(n_axes, int) or not 0 <= n_axes <= 999:
        raise HeaderError(keyword="ZNAXIS", found=n_axes, expected="0 to 999")
    names += [f"ZNAXIS{axis}" for axis in range(1, n_axes + 1)]
    for name in names:
        if _value(found.get(name, "")) is None:
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
    if _value(card) == value and isinstance(_value(card), type(value)):
        return name.ljust(8) + card[8:]
    return format_card(name, value)


def _is_dropped(keyword: str, has_masks: bool) -> bool:
    """Whether a card of the table has no place in the image."""
    return (keyword == "ZMASKCMP" and has_masks) or keyword in _TABLE_STRUCTURE or is_reserved(keyword) or (_stem(keyword) == "NAXIS")


def _is_default_extname(card: str) -> bool:
    """Whether the card is the name that a writer gave to an image without one."""
    return keyword_of(card) == "EXTNAME" and _value(card) == kw.DEFAULT_EXTNAME


def _blank_card(found: dict[str, str], cards: Sequence[str]) -> list[str]:
    """BLANK of an integer image whose header has only ZBLANK."""
    bitpix = _value(found["ZBITPIX"])
    if bitpix not in (8, 16, 32, 64) or "BLANK" in found:
        return []
    if "ZBLANK" in found:
        return ["BLANK".ljust(8) + found["ZBLANK"][8:]]
    columns = (_value(card) for card in cards if _stem(keyword_of(card)) == "TTYPE")
    if any(isinstance(name, str) and name.strip().upper() == "ZBLANK" for name in columns):
        return [format_card("BLANK", -(1 << (bitpix - 1)))]
    return []
