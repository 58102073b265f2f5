"""Pixels -> a file: settings, cards, tiles, table, all in one pass."""

from ..keywords import DEFAULT_QUANTIZE_LEVEL
from .cards import image_cards
from .params import params_for, resolve_seed
from .writer import TileWriter, write_image

__all__ = ["DEFAULT_QUANTIZE_LEVEL", "TileWriter", "image_cards", "params_for", "resolve_seed", "write_image"]
