"""What the user of an HDU chooses: how it reads, and how it compresses."""

from __future__ import annotations

import functools
import operator
import warnings
from dataclasses import dataclass

import numpy as np

from ...codecs import engine as engines
from ...errors import HeaderError, TileCompWarning
from ...keywords import DEFAULT_QUANTIZE_LEVEL
from ...read.cache import DEFAULT_CACHE_BYTES
from ...read.limits import checked_on_error
from ...threads import thread_count
from ...tiling.shapes import default_tile_shape, fit_tile_shape

__all__ = [
    "LOSSY_SETTINGS", "ReadOptions", "checked_tile_shape", "fitting_tile_shape", "given_settings", "is_float", "lossless_level",
    "tile_shape_for", "warn_of_absolute_scale",
]


LOSSY_SETTINGS = {
    "quantize_level": DEFAULT_QUANTIZE_LEVEL, "quantize_method": -1, "dither_seed": 0, "hcomp_scale": 0, "hcomp_noise_scale": None,
}
"""What allows that pixels are changed by compression, with the defaults."""


@dataclass(frozen=True)
class ReadOptions:
    """How an HDU reads: see `CompImageHDU`."""

    threads: int | None = None
    engine: str | None = None
    on_error: str = "raise"
    fill_value: float = 0
    cache_bytes: int = DEFAULT_CACHE_BYTES
    max_nbytes: int | None = None

    def __post_init__(self):
        checked_on_error(self.on_error)
        thread_count(self.threads, 0)
        if self.engine is not None:
            engines.choose(self.engine)


def checked_tile_shape(tile_shape) -> tuple[int, ...] | None:
    """The tile shape that was asked for, as integers."""
    return None if tile_shape is None else tuple(operator.index(size) for size in tile_shape)


def tile_shape_for(data, tile_shape, algorithm: str):
    """The tile shape to hand to astropy, whose own defaults fail for axes of no pixels and for some of HCOMPRESS_1."""
    if data is None:
        return None  # it would hold the one that was asked for against no axes
    shape = np.shape(data)
    if tile_shape is not None or not shape or not (0 in shape or algorithm == "HCOMPRESS_1"):
        return tile_shape
    return default_tile_shape(shape, algorithm)


def given_settings(compression_type, **settings) -> set[str]:
    """The names of the settings that differ from their defaults."""
    given = {name for name, value in settings.items() if value != LOSSY_SETTINGS[name]}
    return given if compression_type is None else given | {"compression_type"}


def fitting_tile_shape(shape, asked, known, algorithm: str) -> tuple[int, ...]:
    """The tile shape of pixels that replace others."""
    if asked is not None and len(asked) == len(shape):
        return asked
    if known is not None and len(known) == len(shape) and algorithm != "HCOMPRESS_1":
        return tuple(known)
    for candidate in (known, None):
        try:
            return fit_tile_shape(shape, candidate, algorithm)
        except HeaderError:
            pass
    return default_tile_shape(shape, "GZIP_2")  # HCOMPRESS_1 has no tile shape for such an image


def is_float(data) -> bool:
    """Whether data are floats; what is not an array yet counts as such."""
    return data is not None and getattr(data, "dtype", np.dtype("f8")).kind == "f"


@functools.cache  # once is enough
def warn_of_absolute_scale() -> None:
    """Warn that `hcomp_scale` is not a multiple of the noise."""
    message = (
        "hcomp_scale is the scale itself, as astropy has always taken it, though its documentation says times the noise; "
        "for that there is hcomp_noise_scale"
    )
    warnings.warn(message, TileCompWarning, stacklevel=4)


def lossless_level(hcomp_scale, hcomp_noise_scale) -> float:
    """The quantize_level that means lossless."""
    if hcomp_scale > 0 or hcomp_noise_scale:
        raise ValueError("lossless, and an HCOMPRESS scale, which is lossy: choose one")
    return 0.0
