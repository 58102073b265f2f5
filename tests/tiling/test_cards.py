"""read_cards(): values equal astropy's, without astropy."""

import warnings

import pytest
from astropy.io import fits
from hypothesis import given
from hypothesis import strategies as st

from astropy_tilecomp.errors import HeaderError
from astropy_tilecomp.tiling.cards import compose_card, format_card, format_cards, join_cards, keyword_of, parse_value
from astropy_tilecomp.tiling.header_cards import HeaderCards, header_size, read_all_values, read_cards, split_cards


def header_of(*cards):
    """Header bytes of cards that are given as text."""
    return join_cards(card.ljust(80) for card in cards)


@pytest.mark.parametrize(("text", "value"), [
    ("                   T / yes", True),
    ("                   F", False),
    ("                 300 / length", 300),
    ("-12", -12),
    ("+7", 7),
    ("123456789012345678901234567890", 123456789012345678901234567890),
    ("  2.5", 2.5),
    (".5", 0.5),
    ("5.", 5.0),
    ("9.223372036854775808E18", 9.223372036854775808e18),
    ("1.5D-3", 1.5e-3),
    ("1d2", 100.0),
    ("'RICE_1  '           / algorithm", "RICE_1"),
    ("'it''s / a string'", "it's / a string"),
    ("''''", "'"),
    ("''", ""),
    ("'   '", ""),
    ("  ' lead'", " lead"),
    ("'no end", "no end"),
    ("  / only a comment", None),
    ("", None),
    ("(1.0, 2.0)", "(1.0, 2.0)"),
    ("NaN", "NaN"),
    ("1_000", "1_000"),
    ("1 2", "1 2"),
    ("\xb2", "\xb2"),
])
def test_values(text, value):
    found = parse_value(text)
    assert found == value
    assert type(found) is type(value)


def test_mapping():
    cards = read_cards(header_of(
        "SIMPLE  =                    T / conforms",
        "NAXIS   =                    2",
        "ZQUANTIZ= 'NO_DITHER'",
        "ZQUANTIZ= 'SECOND'",
        "COMMENT = 5",
        "COMMENT text",
        "HISTORY text",
        "HIERARCH ESO DET NAME = 'abc'",
        "LONGSTR = 'first &'",
        "CONTINUE  'second'",
        "UNDEF   =                      / nothing",
        "NOVALUE",
        "",
    ))
    assert dict(cards) == {"SIMPLE": True, "NAXIS": 2, "ZQUANTIZ": "NO_DITHER", "COMMENT": 5, "LONGSTR": "first &"}
    assert len(cards) == 5
    assert "NAXIS" in cards
    assert "UNDEF" not in cards
    assert 5 not in cards
    assert cards.get("UNDEF", 7) == 7
    assert cards.get("MISSING") is None
    with pytest.raises(KeyError, match="NOVALUE"):
        cards["NOVALUE"]


@pytest.mark.parametrize("card", ["BSCALE  =2.5", "BSCALE = 2.5", "BSCALE=2.5 / so", "bscale  = 2.5", "Bscale=   2.5", "BSCALE  =   2.5"])
def test_cards_out_of_place_are_taken_as_other_readers_take_them(card):
    cards = read_cards(header_of("OBJECT  = 'a=b'", card, "BSCALE  =                  3.0", "BZERO     4.0"))
    assert dict(cards) == {"OBJECT": "a=b", "BSCALE": 2.5}
    assert "bscale" not in cards


def test_the_first_card_of_a_keyword_counts_however_it_is_written():
    cards = ["BSCALE  = 1", "bscale  = 2", "BSCALE  = 3"]
    assert read_cards(header_of(*cards))["BSCALE"] == 1
    assert read_cards(header_of(*cards[1:]))["BSCALE"] == 2


def test_keywords_are_told_in_capitals():
    assert [keyword_of(card.ljust(80)) for card in ("NAXIS1  = 5", "naxis1  = 5", "")] == ["NAXIS1", "NAXIS1", ""]


def test_repr_does_not_print_the_header():
    assert repr(read_cards(header_of("NAXIS   =                    2"))) == "<HeaderCards of 1 keywords, 2880 bytes>"


def test_end_is_a_whole_card_at_its_place():
    text = "COMMENT " + "END".ljust(72)
    data = header_of(text, text[3:].ljust(80), "AFTER   =                    1")
    assert read_cards(data)["AFTER"] == 1
    assert header_size(data) == 2880
    assert read_cards(data + b"END".ljust(80) * 40).nbytes == 2880


@pytest.mark.parametrize("n_cards", [0, 1, 35, 36, 71, 72])
def test_size_is_in_whole_blocks(n_cards):
    data = header_of(*(f"KEY{n:<5}= {n}" for n in range(n_cards)))
    assert len(data) == header_size(data) == read_cards(data).nbytes == (n_cards // 36 + 1) * 2880
    assert len(split_cards(data)) == n_cards


def test_every_cut_of_a_header_is_an_error_or_complete():
    data = header_of(*(f"KEY{n:<5}= {n}" for n in range(40)))
    end = 40 * 80 + 80
    for size in range(0, len(data), 7):
        if size < end:
            assert header_size(data[:size]) is None
            with pytest.raises(HeaderError, match=f"no END card in the first {size} bytes"):
                read_cards(data[:size])
            with pytest.raises(HeaderError, match="no END card"):
                split_cards(data[:size])
        else:
            assert read_cards(data[:size])["KEY39"] == 39


@given(data=st.binary(max_size=800))
def test_any_bytes_are_an_error_or_a_mapping(data):
    cards = read_cards(data + join_cards([])) if len(data) % 80 == 0 else read_cards(data.ljust(800) + join_cards([]))
    assert isinstance(cards, HeaderCards)
    assert all(cards[keyword] is not None for keyword in cards)


def test_any_buffer_is_taken():
    data = header_of("NAXIS   =                    2")
    for kind in (bytes, bytearray, memoryview):
        assert read_cards(kind(data))["NAXIS"] == 2
        assert header_size(kind(data)) == 2880


def test_values_equal_astropys_on_real_headers(shipped):
    n_values = 0
    for path in sorted(shipped.glob("*.f*")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with fits.open(path, disable_image_compression=True) as hdul:
                headers = [hdu.header for hdu in hdul]
                for header in headers:
                    cards = read_cards(header.tostring().encode("latin-1"))
                    for keyword, value in cards.items():
                        expected = header.get(keyword)
                        if isinstance(expected, (str, bool, int, float)) and keyword not in ("COMMENT", "HISTORY"):
                            if isinstance(expected, str) and value.endswith("&"):
                                assert expected.startswith(value[:-1]), keyword
                            else:
                                assert value == expected, keyword
                            n_values += 1
    assert n_values > 1000


@pytest.mark.parametrize(("value", "text"), [
    (True, "KEY     =                    T / why"),
    (-5, "KEY     =                   -5 / why"),
    (2.5, "KEY     =                  2.5 / why"),
    (1e-300, "KEY     =               1E-300 / why"),
    ("it's", "KEY     = 'it''s   '           / why"),
])
def test_format_card(value, text):
    card = format_card("KEY", value, "why")
    assert card == text.ljust(80)
    assert fits.Card.fromstring(card).value == value
    assert parse_value(card[10:]) == value
    assert keyword_of(card) == "KEY"


def test_cards_that_do_not_fit():
    assert len(format_card("KEY", 1, "long " * 30)) == 80
    with pytest.raises(ValueError, match="does not fit"):
        format_card("KEY", "x" * 70)
    with pytest.raises(ValueError, match="does not fit"):
        compose_card("TOOLONGKEY", "1")
    with pytest.raises(ValueError, match="cannot hold nan"):
        format_card("KEY", float("nan"))
    with pytest.raises(ValueError, match="a card has 80 characters, found 3"):
        join_cards(["abc"])


def test_split_and_join_are_inverse():
    cards = [format_card("NAXIS", 2), " " * 80, "COMMENT text".ljust(80), "HISTORY \xe9".ljust(80)]
    assert split_cards(join_cards(cards)) == cards


@pytest.mark.parametrize("text", [
    "x" * 67, "x" * 68, "x" * 69, "x" * 100, "x" * 134, "x" * 135, "ab cd " * 80 + "z", "'" * 34, "'" * 35, "it's " * 40 + "z",
    "&" * 150 + "z",
], ids=lambda text: f"{len(text)} {text[:3]}")
def test_long_strings_are_continued(text):
    cards = format_cards("LONGSTR", text, "a comment")
    assert all(len(card) == 80 for card in cards)
    assert [card[:8] for card in cards] == ["LONGSTR "] + ["CONTINUE"] * (len(cards) - 1)
    assert fits.Header.fromstring("".join(cards))["LONGSTR"] == text


def test_all_values_as_astropy_has_them():
    header = fits.Header()
    header["LONGSTR"] = "https://archive.example.org/" + "x" * 200
    header["HIERARCH ESO DET CHIP1 ID"] = "CCD44-82"
    header["HIERARCH ESO INS LONG"] = "a long string " + "y" * 100
    header["EXPTIME"], header["FLAG"], header["EMPTY"] = 30.5, True, fits.card.Undefined()
    for line in ("flat fielded", "bias taken off"):
        header.add_history(line)
    header.add_comment("seeing 0.8")
    text = header.tostring(endcard=False, padding=False)
    values = read_all_values([text[at:at + 80] for at in range(0, len(text), 80)])
    assert values.pop("HISTORY") == ["flat fielded", "bias taken off"] and values.pop("COMMENT") == ["seeing 0.8"]
    assert values == {key: value for key, value in header.items() if key not in ("HISTORY", "COMMENT", "EMPTY")}
