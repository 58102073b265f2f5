"""Header and source -> pixels: sections of one image, any number of them, with what was learnt kept for the next."""

from .limits import checked_on_error, checked_out, max_nbytes_allowed
from .reader import ReadStats, TileReader, reader_for
from .sections import read_image, read_section, section

__all__ = [
    "ReadStats",
    "TileReader",
    "checked_on_error",
    "checked_out",
    "max_nbytes_allowed",
    "read_image",
    "read_section",
    "reader_for",
    "section",
]
