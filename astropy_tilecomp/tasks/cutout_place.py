"""Where a cutout lies: in pixels, or on the sky."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import HeaderError

__all__ = ["BoxPlace", "CentrePlace", "length", "place_of", "sky_position"]

MODES = ("trim", "partial", "strict")
Overlap = tuple[tuple[slice, ...], tuple[slice, ...], tuple[int, ...]]


@dataclass(frozen=True)
class BoxPlace:
    """A cutout by slices."""

    slices: tuple

    def overlap(self, shape: tuple[int, ...], cards: Sequence[str], mode: str) -> Overlap:
        """The part of the image, where it lies in the cutout, and the shape of that."""
        index = self.slices
        if Ellipsis in index:
            at = index.index(Ellipsis)
            index = index[:at] + (slice(None),) * (len(shape) - len(index) + 1) + index[at + 1:]
        if len(index) > len(shape):
            raise IndexError(f"{len(index)} slices for an image of {len(shape)} axes")
        index += (slice(None),) * (len(shape) - len(index))
        inside = tuple(slice(*part.indices(length)[:2]) for part, length in zip(index, shape))
        found = tuple(max(0, part.stop - part.start) for part in inside)
        if 0 in found:
            raise IndexError(f"the cutout does not overlap the image of shape {shape}")
        if mode != "trim":
            self._check_inside(index, shape)
        return inside, tuple(slice(0, length) for length in found), found

    @staticmethod
    def _check_inside(index, shape):
        for part, length in zip(index, shape):
            if part.stop is not None and part.stop > length:
                raise IndexError(f"slices reach to {part.stop}, over the edge of the image of shape {shape}")


@dataclass(frozen=True)
class CentrePlace:
    """A cutout by its centre, (x, y) or a SkyCoord, and its size."""

    position: Any
    size: tuple

    def overlap(self, shape: tuple[int, ...], cards: Sequence[str], mode: str) -> Overlap:
        """The part of the image, where it lies in the cutout, and the shape of that."""
        from astropy.nddata.utils import NoOverlapError, PartialOverlapError, overlap_slices

        if len(shape) < 2:
            raise ValueError(f"an image of shape {shape} has no two axes to cut")
        size, centre = self.size, self.position
        if _is_sky(centre) or any(hasattr(length, "unit") for length in size):
            wcs = _celestial(cards)
            size = tuple(_in_pixels(length, wcs, axis) for length, axis in zip(size, (1, 0)))
            if _is_sky(centre):
                centre = _pixel_at(centre, wcs)
        try:
            inside, outside = overlap_slices(shape[-2:], size, centre[::-1], mode=mode)
        except (NoOverlapError, PartialOverlapError) as error:
            at = ", ".join(f"{each:.6g}" for each in centre)
            what = "does not overlap" if isinstance(error, NoOverlapError) else "reaches over the edge of"
            raise type(error)(f"the cutout at x, y = {at} {what} the image of shape {shape}") from None
        found = size if mode == "partial" else tuple(part.stop - part.start for part in inside)
        before = tuple(slice(0, length) for length in shape[:-2])
        if mode != "partial":
            outside = tuple(slice(0, length) for length in found)
        return before + inside, before + outside, shape[:-2] + found


def place_of(position, size) -> BoxPlace | CentrePlace:
    """What the caller means by position and size."""
    if isinstance(position, slice) or position is Ellipsis:
        position = (position,)
    if isinstance(position, tuple) and any(isinstance(part, slice) or part is Ellipsis for part in position):
        if size is not None:
            raise ValueError("slices say the size themselves: leave size out")
        if position.count(Ellipsis) > 1 or not all(part is Ellipsis or _is_contiguous(part) for part in position):
            raise ValueError(f"slices of step 1 and one Ellipsis at most expected, found {position}")
        return BoxPlace(position)
    if size is None:
        raise ValueError("a position needs a size")
    if not _is_sky(position):
        if np.shape(position) != (2,):
            raise TypeError(f"(x, y), a SkyCoord or slices expected, found {position!r}")
        position = tuple(float(part) for part in position)
    try:
        pair = tuple(size)
    except TypeError:  # one number or Quantity
        pair = (size, size)
    if len(pair) != 2:
        raise ValueError(f"a size is one number or two, height and width, found {size!r}")
    if not all(length.value > 0 if hasattr(length, "unit") else length >= 1 and float(length).is_integer() for length in pair):
        raise ValueError(f"size is {size!r}, expected whole numbers of pixels from 1 on, or angles over 0")
    return CentrePlace(position, tuple(length if hasattr(length, "unit") else int(length) for length in pair))


def _is_contiguous(part) -> bool:
    return isinstance(part, slice) and part.step in (None, 1)


def _is_sky(position) -> bool:
    return hasattr(position, "to_pixel")


def _celestial(cards: Sequence[str]):
    from astropy.io import fits
    from astropy.wcs import WCS

    wcs = WCS(fits.Header.fromstring("".join(cards)), naxis=2)
    if not wcs.has_celestial:
        raise HeaderError("the first two axes of the image have no celestial coordinates")
    return wcs


def _pixel_at(position, wcs) -> tuple[float, float]:
    """The pixel under a position on the sky, distortions included."""
    from astropy.nddata.utils import NoOverlapError
    from astropy.wcs import NoConvergence

    try:
        x, y = map(float, position.to_pixel(wcs, mode="all"))
    except NoConvergence:  # distortions are polynomials, which run away outside of the image
        x = y = np.nan
    if not np.isfinite((x, y)).all():
        raise NoOverlapError(f"the position {position.to_string()} does not lie on the image: its WCS has no pixel there")
    return x, y


def _in_pixels(length, wcs, axis: int) -> int:
    """An angle as a number of pixels along a FITS axis, counted from 0."""
    from astropy import units
    from astropy.wcs.utils import proj_plane_pixel_scales

    if not hasattr(length, "unit"):
        return length
    if length.unit == units.pixel:
        return round(float(length.value))
    scale = proj_plane_pixel_scales(wcs)[axis] * units.Unit(wcs.wcs.cunit[axis])
    return max(1, round(float((length / scale).to_value(units.dimensionless_unscaled))))


def sky_position(text: str):
    """A position as people write it, in degrees or sexagesimal, as a SkyCoord."""
    from astropy.coordinates import SkyCoord

    sexagesimal = ":" in text or "h" in text
    return SkyCoord(text, unit=("hourangle", "deg") if sexagesimal else "deg")


def length(text: str):
    """A length as people write it: pixels, or an angle in degrees."""
    from astropy.units import Quantity

    found = Quantity(text)
    return found.value if found.unit.is_equivalent("") else found.to("deg")
