"""The header of an image -> that of the table that stores it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .. import keywords as kw
from ..errors import HeaderError
from .cards import CARD_SIZE, compose_card, format_card, keyword_of
from .image_keywords import describes_table, has_mask_column, is_default_extname, is_reserved, value_of
from .layout import TableLayout
from .params import CompressionParams
from .shapes import STYLES

__all__ = ["image_to_table", "replace_image_cards"]

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
    has_masks = has_mask_column(table_cards)
    kept = [card for card in table_cards if describes_table(keyword_of(card), has_masks)]
    image_cards = _kept(image_cards)
    has_name = any(keyword_of(card) == "EXTNAME" for card in image_cards)
    name = [] if has_name else [card for card in table_cards if is_default_extname(card)][:1]
    return [*kept, *name, *_renamed(image_cards)]


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


def _check_shape(cards: Sequence[str], params: CompressionParams):
    """Hold the image header against what will be written."""
    found = {keyword_of(card): value_of(card) for card in reversed(cards)}
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
