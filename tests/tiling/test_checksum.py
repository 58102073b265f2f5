"""CHECKSUM and DATASUM against a plain sum, the standard's rule and astropy."""

import numpy as np
import pytest
from astropy.io import fits
from hypothesis import given
from hypothesis import strategies as st

from astropy_tilecomp.tiling.cards import format_card, join_cards, keyword_of
from astropy_tilecomp.tiling.checksum import (
    add_words,
    encode_checksum,
    exchange,
    renew_checksums,
    stated_data_sum,
    sum_of_pixels,
    verify_checksums,
    with_checksums,
)
from astropy_tilecomp.tiling.header_cards import read_cards

CARDS = [format_card("SIMPLE", True), format_card("BITPIX", 8), format_card("NAXIS", 1), format_card("NAXIS1", 2880)]


@given(data=st.binary(max_size=200), total=st.integers(0, 2**32 - 1))
def test_sum_is_ones_complement(data, total):
    expected = total
    padded = data + bytes(-len(data) % 4)
    for at in range(0, len(padded), 4):
        expected += int.from_bytes(padded[at:at + 4], "big")
        expected = (expected & 0xFFFFFFFF) + (expected >> 32)
    assert add_words(data, total) == expected


@given(pieces=st.lists(st.binary(max_size=40), max_size=5))
def test_sum_of_pieces(pieces):
    pieces = [piece[:len(piece) // 4 * 4] for piece in pieces]
    total = 0
    for piece in pieces:
        total = add_words(piece, total)
    assert total == add_words(b"".join(pieces))


def test_sum_of_many_large_words():
    assert add_words(np.full(10**6, 255, np.uint8)) == 2**32 - 1


@given(total=st.integers(0, 2**32 - 1))
def test_encoded_sum_is_alphanumeric_and_undoes_the_sum(total):
    text = encode_checksum(total)
    assert len(text) == 16
    assert text.isascii()
    assert text.isalnum()
    rotated = text[1:] + text[0]                            # the characters stand at 4 n + 3 in a card
    change = add_words(bytes(ord(character) - 48 for character in rotated))
    assert add_words(total.to_bytes(4, "big"), change) in (0, 2**32 - 1)


def test_known_value():
    assert encode_checksum(868229149) == "hcHjjc9ghcEghc9g"


@pytest.mark.parametrize("data", [bytes(2880), bytes(range(256)) * 11 + bytes(64)], ids=["zeros", "bytes"])
def test_hdu_with_checksums_is_right_for_astropy(data):
    cards = with_checksums(CARDS, add_words(data), ("of the HDU", "of the data"))
    header = join_cards(cards)
    assert verify_checksums(header, add_words(data)) == (True, True)
    assert read_cards(header)["DATASUM"] == str(add_words(data))
    with fits.HDUList.fromstring(header + data, checksum=True) as hdul:
        assert hdul[0].verify_checksum() == 1
        assert hdul[0].verify_datasum() == 1


def test_cards_are_replaced_where_they_stand():
    cards = [*CARDS[:2], format_card("DATASUM", "7"), format_card("CHECKSUM", "x"), *CARDS[2:]]
    assert list(map(keyword_of, with_checksums(cards, 5))) == list(map(keyword_of, cards))


def test_every_changed_byte_is_seen():
    data = bytes(range(256)) * 11 + bytes(64)
    header = join_cards(with_checksums(CARDS, add_words(data)))
    for at in (0, 100, 2879):
        wrong = bytearray(data)
        wrong[at] ^= 1
        assert verify_checksums(header, add_words(wrong)) == (False, False)
    edited = header.replace(b"BITPIX", b"BITPIY")
    assert verify_checksums(edited, add_words(data)) == (False, True)


def test_missing_checksums_are_not_wrong():
    assert verify_checksums(join_cards(CARDS), 5) == (None, None)


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "i4", "i8", "f4", "f8"])
@given(data=st.data())
def test_part_of_an_image_leaves_a_sum_and_another_one_enters_it(dtype, data):
    shape = data.draw(st.lists(st.integers(1, 7), min_size=1, max_size=3).map(tuple))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    old = rng.integers(-100, 100, shape).astype(dtype)
    box = tuple(slice(first, data.draw(st.integers(first + 1, size))) for size in shape
                for first in [data.draw(st.integers(0, size - 1))])
    new = old.copy()
    new[box] = rng.integers(-100, 100, new[box].shape).astype(dtype)
    first = [part.start for part in box]
    gone, came = (sum_of_pixels(image[box], first, shape) for image in (old, new))
    before, after = (add_words(image.astype(image.dtype.newbyteorder(">")).tobytes()) for image in (old, new))
    assert exchange(before, gone, came) % (2**32 - 1) == after % (2**32 - 1)


def test_stated_sums():
    cards = with_checksums([format_card("BITPIX", 8)], 1234)
    assert stated_data_sum(cards) == 1234
    assert stated_data_sum([card for card in cards if not card.startswith("CHECKSUM")]) == 1234
    without = renew_checksums([card for card in cards if not card.startswith("DATASUM")], 777)
    assert len(without) == 2 and stated_data_sum(without) == 777
    assert stated_data_sum(cards[:1]) is None


def test_renewed_sums_keep_their_place_and_comment():
    cards = [format_card("DATASUM", "1", "mine"), format_card("OBJECT", "x"), format_card("CHECKSUM", "0" * 16, "too")]
    renewed = renew_checksums(cards, 99)
    assert [card[:8].strip() for card in renewed] == ["DATASUM", "OBJECT", "CHECKSUM"]
    assert renewed[0].rstrip().endswith("/ mine") and renewed[2].rstrip().endswith("/ too")
    assert verify_checksums(join_cards(renewed), 99) == (True, True)
    assert renew_checksums(cards[1:2], 99) == cards[1:2]
