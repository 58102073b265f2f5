"""Image header to table header and back: fpack's cards, astropy's keywords, every card of a round trip."""

import runpy
import subprocess
import warnings

import numpy as np
import pytest
from astropy.io import fits
from conftest import read_manifest
from support import needs

from astropy_tilecomp.errors import HeaderError
from astropy_tilecomp.tiling.cards import format_card, join_cards, keyword_of, parse_value
from astropy_tilecomp.tiling.header_cards import read_cards, split_cards
from astropy_tilecomp.tiling.heap import table_layout
from astropy_tilecomp.tiling.image_keywords import is_reserved
from astropy_tilecomp.tiling.layout import TableLayout
from astropy_tilecomp.tiling.params import CompressionParams
from astropy_tilecomp.tiling.to_image import null_primary, primary_extras, table_to_image
from astropy_tilecomp.tiling.to_table import image_to_table

PARAMS = CompressionParams("RICE_1", 16, (5, 7), (1, 7), blocksize=32, bytepix=2)
LAYOUT = table_layout(PARAMS, np.ones(5), np.full(5, 11))
IMAGE = [
    format_card("SIMPLE", True, "conforms"), format_card("BITPIX", 16, "bits"), format_card("NAXIS", 2),
    format_card("NAXIS1", 7), format_card("NAXIS2", 5), format_card("EXTEND", True),
    "COMMENT first".ljust(80), format_card("EXPTIME", 1.5, "[s] exposure"), "COMMENT second".ljust(80), " " * 80,
    "HIERARCH ESO DET NAME = 'abc'".ljust(80), format_card("LONGSTR", "x" * 60 + "&"), "CONTINUE  'xxx'".ljust(80),
    "HISTORY step".ljust(80), format_card("ZPOS", 3), format_card("ZERO", 4.5), "NOVALUE".ljust(80),
    format_card("CHECKSUM", "abc"), format_card("DATASUM", "5"), " " * 80, " " * 80,
]
EXTENSION = [
    format_card("XTENSION", "IMAGE", "Image extension"), *IMAGE[1:5], format_card("PCOUNT", 0), format_card("GCOUNT", 1),
    format_card("EXTNAME", "SCI", "name"), *IMAGE[6:],
]


def keywords(cards):
    return list(map(keyword_of, cards))


@pytest.mark.parametrize("image", [IMAGE, EXTENSION], ids=["primary", "extension"])
def test_round_trip_through_fpacks_layout_keeps_every_card(image):
    table = image_to_table(image, PARAMS, LAYOUT)
    assert table_to_image(table) == image
    header = read_cards(join_cards(table))
    assert CompressionParams.from_header(header) == PARAMS
    assert TableLayout.from_header(header) == LAYOUT


@pytest.mark.parametrize("image", [IMAGE, EXTENSION], ids=["primary", "extension"])
def test_round_trip_through_astropys_layout_keeps_every_card(image):
    table = image_to_table(image, PARAMS, LAYOUT, style="astropy")
    assert table_to_image(table) == image
    header = read_cards(join_cards(table))
    assert CompressionParams.from_header(header) == PARAMS
    assert TableLayout.from_header(header) == LAYOUT


def test_name_of_an_image_without_one():
    for style in ("cfitsio", "astropy"):
        assert "EXTNAME = 'COMPRESSED_IMAGE'" in "".join(image_to_table(IMAGE, PARAMS, LAYOUT, style=style))
        table = image_to_table(EXTENSION, PARAMS, LAYOUT, style=style)
        assert [parse_value(card[10:]) for card in table if keyword_of(card) == "EXTNAME"] == ["SCI"]


def test_reserved_cards_of_the_image_are_kept_under_another_name():
    extra = [format_card("ZTILE1", 99), format_card("TFORM1", "1J"), format_card("THEAP", 0), format_card("ZSCALE", 2.0),
             format_card("ZBITPIX", 8), format_card("ZNAXIS1", 1)]
    table = image_to_table([*IMAGE, *extra], PARAMS, LAYOUT)
    kept = [card for card in table if card.startswith("HIERARCH TILECOMP")]
    assert [card for card in table if card not in kept] == image_to_table(IMAGE, PARAMS, LAYOUT)
    assert kept[0].rstrip() == "HIERARCH TILECOMP ZTILE1 = 99" and len(kept) == len(extra)
    assert table_to_image(table)[-len(extra):] == extra


def test_a_reserved_card_that_is_too_long_is_refused_by_name():
    with pytest.raises(HeaderError, match="TTYPE1"):
        image_to_table([*IMAGE, format_card("TTYPE1", "x" * 60)], PARAMS, LAYOUT)


@pytest.mark.parametrize("value", ["it's", "a / b", 2.50, True, -7])
def test_reserved_cards_come_back_with_their_comments(value):
    card = format_card("TFORM1", value, "1 / what")
    assert table_to_image(image_to_table([*IMAGE, card], PARAMS, LAYOUT))[-1] == card


def test_cards_that_only_look_like_those_of_a_table_stay_where_they_are():
    extra = [format_card(f"{name}{n}", "x", "mine") for name in ("TUNIT", "TDISP", "TDIM", "TCTYP", "TCRVL") for n in (1, 2)]
    extra.append(format_card("ZMASKCMP", "RICE_1"))
    table = image_to_table([*IMAGE, *extra], PARAMS, LAYOUT)
    assert table[-len(extra):] == extra
    assert table_to_image(table)[-len(extra):] == extra


@pytest.mark.parametrize("is_primary", [True, False])
@pytest.mark.parametrize("image", [IMAGE, EXTENSION])
def test_only_the_first_hdu_begins_with_simple(image, is_primary):
    cards = table_to_image(image_to_table(image, PARAMS, LAYOUT), is_primary=is_primary)
    assert keyword_of(cards[0]) == ("SIMPLE" if is_primary else "XTENSION")
    names = [keyword_of(card) for card in cards]
    assert is_primary or names[5:7] == ["PCOUNT", "GCOUNT"]


@pytest.mark.parametrize(("keyword", "reserved"), [
    ("ZTILE1", True), ("ZVAL12", True), ("ZIMAGE", True), ("ZBLANK", True), ("TTYPE3", True), ("TZERO1", True),
    ("ZSIMPLE", True), ("ZHECKSUM", True), ("TFIELDS", True), ("ZPOS", False), ("ZERO", False), ("TELESCOP", False),
    ("TTYPE", False), ("ZTILE", False), ("NAXIS1", False), ("T1", False), ("", False),
])
def test_reserved_keywords(keyword, reserved):
    assert is_reserved(keyword) == reserved


@pytest.mark.parametrize(("at", "card", "keyword"), [
    (1, format_card("BITPIX", 32), "BITPIX"), (2, format_card("NAXIS", 3), "NAXIS"),
    (3, format_card("NAXIS1", 8), "NAXIS1"),
    (4, format_card("OTHER", 5), "NAXIS2"),
])
def test_a_header_of_another_image_is_refused(at, card, keyword):
    with pytest.raises(HeaderError) as caught:
        image_to_table([*IMAGE[:at], card, *IMAGE[at + 1:]], PARAMS, LAYOUT)
    assert caught.value.keyword == keyword


def test_a_gap_before_the_heap_is_stated():
    layout = TableLayout.from_header({
        "NAXIS1": 8, "NAXIS2": 5, "PCOUNT": 90, "THEAP": 60, "TFIELDS": 1, "TTYPE1": "COMPRESSED_DATA", "TFORM1": "1PB(11)",
    })
    for style in ("cfitsio", "astropy"):
        table = image_to_table(IMAGE, PARAMS, layout, style=style)
        assert TableLayout.from_header(read_cards(join_cards(table))) == layout
        assert table_to_image(table) == IMAGE


def test_unknown_style():
    with pytest.raises(ValueError, match="style is 'other'"):
        image_to_table(IMAGE, PARAMS, LAYOUT, style="other")


def table_cards(*changes, without=()):
    """A table header with cards left out and others added."""
    return [card for card in image_to_table(IMAGE, PARAMS, LAYOUT) if keyword_of(card) not in without] + list(changes)


def test_image_without_zsimple_and_ztension_is_an_extension():
    image = table_to_image(table_cards(without=("ZSIMPLE",)))
    assert keywords(image)[:7] == ["XTENSION", "BITPIX", "NAXIS", "NAXIS1", "NAXIS2", "PCOUNT", "GCOUNT"]
    assert parse_value(image[0][10:]) == "IMAGE"


def test_mandatory_cards_come_first_wherever_they_stood():
    cards = table_cards()
    moved = [card for card in cards if keyword_of(card) in ("ZBITPIX", "ZNAXIS", "ZSIMPLE")]
    image = table_to_image([card for card in cards if card not in moved] + moved)
    assert image == IMAGE


def test_zsimple_as_a_string_is_repaired():
    image = table_to_image(table_cards(format_card("ZSIMPLE", "T"), without=("ZSIMPLE",)))
    assert image[0] == format_card("SIMPLE", True)


def test_leftovers_of_the_table_are_dropped():
    extra = [format_card("ZNAXIS3", 0), format_card("ZQUANTIZ", "NO_DITHER"), format_card("ZQUANTIZ", "NO_DITHER"),
             format_card("ZSCALE", 1.0), format_card("THEAP", 9), format_card("EXTNAME", "COMPRESSED_IMAGE")]
    assert table_to_image(table_cards(*extra)) == IMAGE


def test_checksums_of_the_table_are_not_those_of_the_image():
    image = table_to_image(table_cards(format_card("CHECKSUM", "table"), format_card("DATASUM", "9")))
    assert image == IMAGE


@pytest.mark.parametrize(("extra", "blank"), [
    ([format_card("ZBLANK", -5, "null")], -5), ([format_card("TTYPE2", "zblank")], -32768),
    ([format_card("ZBLANK", -5), format_card("BLANK", 7)], 7), ([], None),
])
def test_blank_is_filled_in(extra, blank):
    values = [parse_value(card[10:]) for card in table_to_image(table_cards(*extra)) if keyword_of(card) == "BLANK"]
    assert values == ([] if blank is None else [blank])


@pytest.mark.parametrize("keyword", ["ZBITPIX", "ZNAXIS", "ZNAXIS2"])
def test_missing_cards_are_named(keyword):
    with pytest.raises(HeaderError) as caught:
        table_to_image(table_cards(without=(keyword,)))
    assert caught.value.keyword == keyword
    with pytest.raises(HeaderError) as caught:
        table_to_image(table_cards(f"{keyword:8}=5".ljust(80), without=(keyword,)))
    assert caught.value.keyword == keyword


def test_empty_primary_and_what_someone_added_to_it():
    cards = [*null_primary(), format_card("OBSERVER", "me"), "COMMENT x".ljust(80), format_card("NAXIS3", 1)]
    assert primary_extras(cards) == [format_card("OBSERVER", "me")]
    with fits.HDUList.fromstring(join_cards(null_primary())) as hdul:
        hdul.verify("exception")


LOSSLESS = CompressionParams("GZIP_2", -32, (5, 7), (1, 7))
DITHERED = CompressionParams(
    "RICE_1", -32, (5, 7), (1, 7), quantized=True, zquantiz="SUBTRACTIVE_DITHER_2", zdither0=7, zblank=-9,
)
SMOOTHED = CompressionParams(
    "HCOMPRESS_1", -32, (5, 7), (5, 7), quantized=True, zquantiz="NO_DITHER", hcomp_scale=2.5, smooth=True,
)


@pytest.mark.parametrize(("params", "level", "expected"), [
    (LOSSLESS, None, ["ZQUANTIZ= 'NONE    '"]),
    (DITHERED, 4.0, ["ZQUANTIZ= 'SUBTRACTIVE_DITHER_2'", "HISTORY   q = 4.000000 /", "ZDITHER0=                    7",
                     "ZBLANK  =                   -9"]),
    (SMOOTHED, 16, ["ZQUANTIZ= 'NO_DITHER'", "ZVAL1   =        2.5000000E+00", "ZVAL2   =                    1"]),
])
def test_settings_are_written_and_read(params, level, expected):
    image = [IMAGE[0], format_card("BITPIX", -32), *IMAGE[2:]]
    layout = table_layout(params, np.ones(params.n_tiles), np.full(params.n_tiles, 11))
    for style in ("cfitsio", "astropy"):
        cards = image_to_table(image, params, layout, style=style, quantize_level=level)
        assert CompressionParams.from_header(read_cards(join_cards(cards))) == params
    text = "".join(image_to_table(image, params, layout, quantize_level=level))
    assert [part for part in expected if part not in text] == []


def test_header_of_a_packed_primary_image(tmp_path):
    case = runpy.run_path(str(needs.shared("cases/header_of_packed_primary.py")))
    for entry in case["make"](tmp_path):
        (table,) = table_headers(tmp_path / entry["file"])
        image = fits.Header.fromstring(join_cards(table_to_image(split_cards(table))).decode("latin-1"))
        for keyword, value in entry["header"].items():
            found = image.get(keyword)
            assert (list(found) if isinstance(value, list) else found) == value, keyword


def image_headers(path):
    """(header bytes) of every image HDU with pixels of a plain file."""
    content = path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with fits.open(path) as hdul:
            places = [hdu.fileinfo() for hdu in hdul if hdu.is_image and hdu.header["NAXIS"] > 0]
    return [content[place["hdrLoc"]:place["datLoc"]] for place in places]


def table_headers(path):
    """(header bytes) of every compressed image of a file."""
    content = path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with fits.open(path, disable_image_compression=True) as hdul:
            places = [hdu.fileinfo() for hdu in hdul if hdu.header.get("ZIMAGE")]
    return [content[place["hdrLoc"]:place["datLoc"]] for place in places]


PLAIN = (
    "astropy_m13.fits", "astroquery_image.fits", "astroquery_test.fits", "astroscrappy_gmos.fits", "ccdproc_a8280271.fits",
    "nom-tam-fits_m13real.fits", "pocs_unsolved.fits", "pyregion_pspc_skyview.fits", "vast-pipeline_epoch-invalid.fits",
    "sharps_hmi.sharp_cea_720s.377.20110215_020000_TAI.bitmap.fits",
)


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("options", [("-r",), ("-q", "0", "-g")], ids=["quantized", "lossless"])
def test_cards_equal_fpacks(tmp_path, name, options):
    plain, packed = needs.shared(f"data/real/plain/{name}"), tmp_path / "packed.fits"
    subprocess.run([needs.tool("fpack"), *options, "-O", str(packed), str(plain)], check=True, capture_output=True)
    for image, table in zip(image_headers(plain), table_headers(packed), strict=True):
        header = read_cards(table)
        params, layout = CompressionParams.from_header(header), TableLayout.from_header(header)
        level = 4.0 if params.quantized else None
        ours = image_to_table(split_cards(image), params, layout, quantize_level=level)
        assert ours == [card for card in split_cards(table) if keyword_of(card) not in ("CHECKSUM", "DATASUM")]
        if not params.quantized:
            assert join_cards(table_to_image(ours)) == image


def plain_values(header):
    """Keywords and values, without BSCALE 1 and BZERO 0, which astropy drops; a card it cannot parse as it stands."""
    values = {}
    for card in header.cards:
        if card.keyword not in ("COMMENT", "HISTORY", ""):
            try:
                values[card.keyword] = card.value
            except fits.VerifyError:
                values[card.keyword] = card.rawkeyword
    return {keyword: value for keyword, value in values.items() if (keyword, value) not in (("BSCALE", 1), ("BZERO", 0))}


def test_restored_headers_equal_astropys(shipped):
    n_headers = 0
    for entry in read_manifest(shipped):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with fits.open(shipped / entry["name"]) as hdul:
                theirs = [hdu.header for hdu in hdul if isinstance(hdu, fits.CompImageHDU)]
        for table, expected in zip(table_headers(shipped / entry["name"]), theirs, strict=True):
            ours = fits.Header.fromstring(join_cards(table_to_image(split_cards(table))).decode("latin-1"))
            assert plain_values(ours) == plain_values(expected), entry["name"]
            for key in ("COMMENT", "HISTORY"):
                assert list(map(str, ours.get(key, []))) == list(map(str, expected.get(key, [])))
            n_headers += 1
    assert n_headers >= 40
