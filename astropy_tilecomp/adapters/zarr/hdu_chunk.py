"""
One whole HDU as one chunk: the codec's configuration, and the header at the start of a chunk of unknown size.

Shared by the zarr v3 codec, the numcodecs codec and the references that name them; needs none of those packages.
"""

from __future__ import annotations

from typing import Any

from ...errors import HeaderError, SourceError, TileCompError
from ...tiling.cards import BLOCK_SIZE, CARD_SIZE
from ...tiling.header_cards import HeaderCards, header_size, read_cards
from ...tiling.layout import TableLayout

__all__ = ["CONFIG_VERSION", "HDU_CODEC_NAME", "codec_document", "read_header"]

HDU_CODEC_NAME = "astropy_tilecomp.hdu"
CONFIG_VERSION = 1

MAX_HEADER_NBYTES = 64 << 20


def codec_document(tile_shape, header_nbytes: int, scaled: bool = True) -> dict:
    """The codec as it stands in zarr metadata."""
    configuration: dict[str, Any] = {"version": CONFIG_VERSION, "header_size": int(header_nbytes), "scaled": bool(scaled)}
    if tile_shape is not None:
        configuration["tile_shape"] = [int(length) for length in tile_shape]
    return {"name": HDU_CODEC_NAME, "configuration": configuration}


def read_header(fetch, hint: int, name: str) -> tuple[HeaderCards, bytes] | None:
    """
    Read the header at the start of a chunk without asking for bytes past the end of the chunk.

    Raises
    ------
    HeaderError
        If no header is found.
    SourceError
        If the store gave fewer bytes than it was asked for.
    """
    head = _first_read(fetch, hint)
    if head is None:
        return None
    seen = 0
    while header_size(head, seen) is None:
        seen = len(head) // BLOCK_SIZE * BLOCK_SIZE
        if seen == 0 or not head.startswith((b"XTENSION=", b"SIMPLE  =")) or seen > MAX_HEADER_NBYTES:
            raise HeaderError(f"{name}: no header of an HDU in the first {len(head)} bytes of the chunk")
        head = head[:seen] + _read_exactly(fetch, seen, min(2 * seen, _least_end(head, seen)), name)
    return read_cards(head), head


def _first_read(fetch, hint: int) -> bytes | None:
    if hint > BLOCK_SIZE:
        try:
            (head,) = fetch([(0, hint)])
        except Exception:  # every store refuses a range past the end in a way of its own; the next read tells all else
            head = b""
        if head is not None and len(head) == hint:
            return bytes(head)
    (head,) = fetch([(0, BLOCK_SIZE)])
    return None if head is None else bytes(head)


def _least_end(head: bytes, seen: int) -> int:
    """A size that the chunk surely has: the header so far, a block with END, and the data unit if its size is known."""
    cards = read_cards(head[:seen] + b"END".ljust(CARD_SIZE))
    try:
        return seen + BLOCK_SIZE + TableLayout.from_header(cards).data_nbytes
    except TileCompError:
        return seen + BLOCK_SIZE


def _read_exactly(fetch, start: int, stop: int, name: str) -> bytes:
    (part,) = fetch([(start, stop)])
    if part is None or len(part) != stop - start:
        raise SourceError(f"{name}: bytes {start} to {stop} of the header: got {0 if part is None else len(part)} bytes")
    return bytes(part)
