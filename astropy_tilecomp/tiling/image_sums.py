"""ZHECKSUM and ZDATASUM: the checksums of the image that a table stores."""

from __future__ import annotations

from collections.abc import Sequence

from .. import keywords as kw
from .cards import keyword_of
from .checksum import renew_checksums, stated_data_sum
from .to_image import table_to_image

__all__ = ["image_data_sum", "renew_image_checksums"]


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
