"""The tiling of an image: grid coordinates of a tile, its table row, and the box of pixels it covers."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from math import prod

from ..threads import computed_once

__all__ = ["CHUNK_NBYTES", "TileGrid", "tile_chunks"]


@dataclass(frozen=True)
class TileGrid:
    """
    How an image is cut into tiles.

    Parameters
    ----------
    image_shape : tuple of int
        Shape of the image, C order; axes of length 0 are lawful.
    tile_shape : tuple of int
        Shape of a whole tile, C order, each at least 1; clipped to the image. Edge tiles are smaller, never padded.

    Attributes
    ----------
    grid_shape : tuple of int
        Number of tiles along each axis, C order.
    n_tiles : int
        Number of tiles, which is the number of rows of the table.

    Raises
    ------
    ValueError
        If the two shapes do not fit together or hold negative numbers.
    """

    image_shape: tuple[int, ...]
    tile_shape: tuple[int, ...]
    grid_shape: tuple[int, ...] = field(init=False, compare=False)
    n_tiles: int = field(init=False, compare=False)

    def __post_init__(self):
        image = tuple(operator.index(n) for n in self.image_shape)
        tile = tuple(operator.index(n) for n in self.tile_shape)
        if len(image) != len(tile):
            raise ValueError(f"a tile of {len(tile)} axes does not fit an image of {len(image)}")
        if any(n < 0 for n in image) or any(t < 1 for t in tile):
            raise ValueError(f"image shape {image} needs sizes of 0 or more, tile shape {tile} of 1 or more")
        tile = tuple(min(t, max(n, 1)) for n, t in zip(image, tile))
        grid = tuple(-(-n // t) for n, t in zip(image, tile))
        for name, value in (("image_shape", image), ("tile_shape", tile), ("grid_shape", grid), ("n_tiles", prod(grid))):
            object.__setattr__(self, name, value)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.image_shape)

    @computed_once
    def row_strides(self) -> tuple[int, ...]:
        """Table rows from one tile to the next along each axis."""
        return tuple(prod(self.grid_shape[axis + 1:]) for axis in range(self.ndim))

    def row(self, tile) -> int:
        """
        Table row of a tile.

        Parameters
        ----------
        tile : tuple of int
            Grid coordinates, C order, counted from 0.

        Returns
        -------
        int
            Row, counted from 0; the last axis runs fastest.

        Raises
        ------
        IndexError
            If the grid has no such tile.
        """
        tile = tuple(tile)
        if len(tile) != self.ndim or not all(0 <= t < n for t, n in zip(tile, self.grid_shape)):
            raise IndexError(f"tile {tile} is outside the grid of {self.grid_shape} tiles")
        return int(sum(t * stride for t, stride in zip(tile, self.row_strides)))

    def tile(self, row: int) -> tuple[int, ...]:
        """
        Grid coordinates of a table row.

        Parameters
        ----------
        row : int
            Row, counted from 0.

        Returns
        -------
        tuple of int
            Grid coordinates, C order.

        Raises
        ------
        IndexError
            If the table has no such row.
        """
        row = operator.index(row)
        if not 0 <= row < self.n_tiles:
            raise IndexError(f"row {row} is outside the table of {self.n_tiles} rows")
        return tuple(row // stride % n for stride, n in zip(self.row_strides, self.grid_shape))

    def box(self, tile) -> tuple[slice, ...]:
        """
        Pixels that a tile covers.

        Parameters
        ----------
        tile : tuple of int
            Grid coordinates, C order.

        Returns
        -------
        tuple of slice
            The box, with start and stop inside the image.

        Raises
        ------
        IndexError
            If the grid has no such tile.
        """
        self.row(tile)
        return tuple(
            slice(int(t) * size, min((int(t) + 1) * size, n))
            for t, size, n in zip(tile, self.tile_shape, self.image_shape)
        )

    def shape_of(self, tile) -> tuple[int, ...]:
        """
        Shape of a tile: that of a whole one, or less at the edges.

        Parameters
        ----------
        tile : tuple of int
            Grid coordinates, C order.

        Returns
        -------
        tuple of int
            Shape, C order.

        Raises
        ------
        IndexError
            If the grid has no such tile.
        """
        return tuple(box.stop - box.start for box in self.box(tile))


CHUNK_NBYTES = 32 << 20
"""Bytes of a chunk, about, where the caller does not say."""


def tile_chunks(shape, tile_shape, itemsize: int, chunk_nbytes: int = CHUNK_NBYTES) -> tuple[int, ...]:
    """
    Choose a chunk shape that is a multiple of the tile shape.

    The tile is repeated along the last axis first, which keeps a chunk in one piece of the heap, until it has about as
    many bytes as are wanted.

    Parameters
    ----------
    shape, tile_shape : tuple of int
        Of the image and of a tile, C order.
    itemsize : int
        Bytes of a pixel.
    chunk_nbytes : int
        Bytes of a chunk at most, unless a single tile has more.

    Returns
    -------
    tuple of int
        At least the tile, at most the image.
    """
    chunk = [max(1, min(tile, length)) for tile, length in zip(tile_shape, shape)]
    for axis in reversed(range(len(chunk))):
        fit = chunk_nbytes // max(1, prod(chunk) * itemsize)
        chunk[axis] = max(chunk[axis], min(chunk[axis] * fit, max(1, shape[axis])))
        if chunk[axis] < shape[axis]:
            break
    return tuple(chunk)
