"""A plan and the bytes it asks for -> pixels in an array."""

from .batch import decode, decode_tiles
from .report import DamagedTile, DecodeReport
from .settings import fill_item

__all__ = ["DamagedTile", "DecodeReport", "decode", "decode_tiles", "fill_item"]
