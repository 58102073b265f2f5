"""Every so many pixels of a cutout, with the world coordinates of those."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ..errors import UnsupportedError
from ..tasks.cutout_results import Cutout
from ..tiling.cards import cards_of

__all__ = ["stepped"]

_DISTORTION = re.compile(r"(A|B|AP|BP)_ORDER|(CPDIS|DQ|CQDIS)[12].*|D2IM.*|PV\d+_\d+[A-Z]?")


def stepped(cutout: Cutout, steps: Sequence[int]) -> Cutout:
    """
    Take every so many pixels of a cutout.

    Raises
    ------
    UnsupportedError
        If the header describes a distortion, whose terms count in pixels.
    """
    if all(step == 1 for step in steps):
        return cutout
    header = cutout.header
    distorted = next((keyword for keyword in header if _DISTORTION.fullmatch(keyword)), None)
    if distorted:
        raise UnsupportedError(f"{cutout.name}: steps in an image with a distortion of its coordinates ({distorted})")
    pixels = cutout.pixels[tuple(slice(None, None, step) for step in steps)]
    for axis, step in zip(range(cutout.pixels.ndim, 0, -1), steps):
        _scale_axis(header, axis, step)
    return replace(cutout, pixels=pixels, cards=tuple(cards_of(header)))


def _scale_axis(header, axis: int, step: int) -> None:
    """Make the cards of a pixel axis those of every so many of its pixels."""
    scaled = re.compile(rf"CDELT{axis}[A-Z]?|CD\d+_{axis}[A-Z]?")
    if any(keyword.startswith("CTYPE") for keyword in header) and not any(map(scaled.fullmatch, header)):
        header[f"CDELT{axis}"] = 1.0
    for keyword in list(header):
        if re.fullmatch(rf"CRPIX{axis}[A-Z]?", keyword):
            header[keyword] = (header[keyword] - 1) / step + 1
        elif scaled.fullmatch(keyword):
            header[keyword] *= step
        elif re.fullmatch(rf"LT[VM]{axis}(_\d+)?", keyword):
            del header[keyword]
