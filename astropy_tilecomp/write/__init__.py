"""Pixels -> a file: settings, cards, tiles, table, all in one pass."""

from .cards import image_cards
from .params import DEFAULT_QUANTIZE_LEVEL, params_for, resolve_seed
from .writer import TileWriter, write_image

__all__ = ["DEFAULT_QUANTIZE_LEVEL", "TileWriter", "image_cards", "params_for", "resolve_seed", "write_image"]
