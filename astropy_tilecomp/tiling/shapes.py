"""Tile shapes: the default of each algorithm, and which ones it allows."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index

from ..errors import HeaderError

__all__ = ["STYLES", "default_tile_shape", "fit_tile_shape", "whole_tile_shape"]

STYLES = ("cfitsio", "astropy")
"""Whose habits a writer follows."""

HCOMPRESS_MIN_SIZE = 4
"""Pixels that a HCOMPRESS_1 tile has at least along both of its axes."""

_WHOLE_PLANE_ROWS = 30
_HCOMPRESS_ROWS = (16, 24, 20, 30, 28, 26, 22, 18, 14)
_HCOMPRESS_LAST_RESORT = 17


def default_tile_shape(image_shape: Sequence[int], zcmptype: str) -> tuple[int, ...]:
    """
    Tile shape that is used where none is asked for.

    Parameters
    ----------
    image_shape : sequence of int
        Shape of the image, C order.
    zcmptype : str
        Algorithm.

    Returns
    -------
    tuple of int
        One image row; with HCOMPRESS_1 some 16 of them, or all if there are 30 or less.

    Raises
    ------
    HeaderError
        If HCOMPRESS_1 cannot hold the image: it needs two axes of 4 pixels or more.

    Notes
    -----
    This is what cfitsio does. astropy does so too, but gives HCOMPRESS_1 images of up to 30 rows tiles of as many rows as
    the image has columns; where that is less than its rows, the last tile may be too small to be read.
    """
    shape = [1] * len(image_shape)
    shape[-1] = max(image_shape[-1], 1)
    if zcmptype == "HCOMPRESS_1":
        _check_hcompress_image(image_shape)
        shape[-2] = _hcompress_rows(image_shape[-2])
    return tuple(shape)


def whole_tile_shape(image_shape: Sequence[int], zcmptype: str) -> tuple[int, ...]:
    """
    Tile shape of an image that shall be one tile.

    Parameters
    ----------
    image_shape : sequence of int
        Shape of the image, C order.
    zcmptype : str
        Algorithm.

    Returns
    -------
    tuple of int
        The whole image; with HCOMPRESS_1 a plane.

    Raises
    ------
    HeaderError
        If HCOMPRESS_1 cannot hold the image.
    """
    shape = [max(size, 1) for size in image_shape]
    if zcmptype == "HCOMPRESS_1":
        _check_hcompress_image(image_shape)
        shape[:-2] = [1] * (len(shape) - 2)
    return tuple(shape)


def fit_tile_shape(image_shape: Sequence[int], tile_shape: Sequence[int] | None, zcmptype: str, *,
                   style: str = "cfitsio") -> tuple[int, ...]:
    """
    Turn a tile shape that was asked for into one that the algorithm allows.

    Parameters
    ----------
    image_shape : sequence of int
        Shape of the image, C order.
    tile_shape : sequence of int or None
        Shape asked for, C order. As in cfitsio -1 means the whole axis, and 0 the default: the whole of the last axis and
        1 along the others. None: the default of the algorithm.
    zcmptype : str
        Algorithm.
    style : {"cfitsio", "astropy"}, optional
        With HCOMPRESS_1 the last tile along an axis may come out with 1 to 3 pixels: cfitsio makes all tiles longer,
        astropy refuses.

    Returns
    -------
    tuple of int
        Tile shape, clipped to the image.

    Raises
    ------
    HeaderError
        If there is no such tile shape.
    TypeError
        If it is no sequence of integers.
    """
    if style not in STYLES:
        raise ValueError(f"style is {style!r}, expected one of {', '.join(STYLES)}")
    if tile_shape is None:
        shape = list(default_tile_shape(image_shape, zcmptype))
    else:
        shape = _resolve(image_shape, tile_shape)
    if zcmptype == "HCOMPRESS_1":
        _check_hcompress_image(image_shape)
        shape = _fit_hcompress(image_shape, shape, grow=style == "cfitsio")
    return tuple(shape)


def _resolve(image_shape: Sequence[int], tile_shape: Sequence[int]) -> list[int]:
    """Replace -1 and 0, and clip to the image."""
    try:
        tile_shape = [index(tile) for tile in tile_shape]
    except TypeError:
        raise TypeError(f"tile_shape is {tile_shape!r}, expected {len(image_shape)} integers") from None
    if len(tile_shape) != len(image_shape):
        raise HeaderError(f"a tile shape of {len(tile_shape)} axes does not fit an image of {len(image_shape)}")
    shape = []
    for axis, (size, tile) in enumerate(zip(image_shape, tile_shape)):
        number = len(image_shape) - axis
        if tile < -1:
            raise HeaderError(keyword=f"ZTILE{number}", found=tile, expected="1 or more, -1 or 0")
        if tile == 0:
            tile = size if number == 1 else 1
        shape.append(max(size if tile == -1 else min(tile, size), 1))
    return shape


def _hcompress_rows(n_rows: int) -> int:
    """Rows of a default tile: near 16, and so that the last tile has 4 or more."""
    if n_rows <= _WHOLE_PLANE_ROWS:
        return n_rows
    return next((rows for rows in _HCOMPRESS_ROWS if _fits(n_rows, rows)), _HCOMPRESS_LAST_RESORT)


def _fits(size: int, tile: int) -> bool:
    """Whether the last tile along an axis has enough pixels."""
    return size % tile == 0 or size % tile >= HCOMPRESS_MIN_SIZE


def _check_hcompress_image(image_shape: Sequence[int]):
    """HCOMPRESS_1 codes planes."""
    if sum(size >= HCOMPRESS_MIN_SIZE for size in image_shape) < 2:
        raise HeaderError(
            f"HCOMPRESS_1 needs two axes of {HCOMPRESS_MIN_SIZE} pixels or more, the image has shape {tuple(image_shape)}"
        )


def _fit_hcompress(image_shape: Sequence[int], shape: list[int], *, grow: bool) -> list[int]:
    """Exactly two axes longer than 1, each of 4 pixels or more up to the last tile."""
    long = [axis for axis, tile in enumerate(shape) if tile > 1]
    if len(long) != 2 or any(shape[axis] < HCOMPRESS_MIN_SIZE for axis in long):
        raise HeaderError(
            f"a HCOMPRESS_1 tile has two axes of {HCOMPRESS_MIN_SIZE} pixels or more and is 1 along the others,"
            f" found {tuple(shape)}"
        )
    shape = list(shape)
    for axis in long:
        size, tile = image_shape[axis], shape[axis]
        if grow and not _fits(size, tile):
            tile += -(-(size % tile) // (size // tile))
        if not _fits(size, tile):
            raise HeaderError(
                keyword=f"ZTILE{len(shape) - axis}", found=shape[axis],
                expected=f"a size that leaves no last tile of less than {HCOMPRESS_MIN_SIZE} of the {size} pixels",
            )
        shape[axis] = tile
    return shape
