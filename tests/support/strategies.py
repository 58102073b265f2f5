"""Hypothesis strategies for images, tilings and indices."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from astropy_tilecomp.tiling.grid import TileGrid

basic_indices = hnp.basic_indices


@st.composite
def tile_grids(draw, *, min_axes=1, max_axes=4, min_size=0, max_size=12):
    """
    Tilings of small images: edge tiles, tiles larger than the image, axes without pixels.

    Parameters
    ----------
    min_axes, max_axes : int
        Number of axes.
    min_size, max_size : int
        Pixels along an axis.

    Returns
    -------
    strategy of TileGrid
        The tilings.
    """
    image_shape = draw(hnp.array_shapes(min_dims=min_axes, max_dims=max_axes, min_side=max(min_size, 1), max_side=max_size))
    if min_size == 0:
        image_shape = tuple(draw(st.sampled_from((size, size, size, size, 0))) for size in image_shape)
    tile_shape = tuple(draw(st.integers(1, max_size + 2)) for _ in image_shape)
    return TileGrid(image_shape, tile_shape)


@st.composite
def array_indices(draw, shape):
    """
    Indices with an integer array or a boolean mask for one axis, and integers or slices for the others.

    Parameters
    ----------
    shape : tuple of int
        Shape of the image.

    Returns
    -------
    strategy of tuple
        The indices.
    """
    chosen = draw(st.integers(0, len(shape) - 1))
    index = []
    for axis, size in enumerate(shape):
        if axis != chosen:
            kinds = [st.slices(size)] + ([st.integers(-size, size - 1)] if size else [])
            index.append(draw(st.one_of(kinds)))
        elif draw(st.booleans()):
            index.append(draw(hnp.arrays(bool, size)))
        else:
            length = draw(st.integers(0, 6)) if size else 0
            kind = draw(st.sampled_from(("i1", "<i8", ">i4")))
            index.append(np.array(draw(st.lists(st.integers(-size, size - 1), min_size=length, max_size=length)), kind)
                         if size else np.zeros(0, kind))
    if draw(st.booleans()):
        index.insert(draw(st.integers(0, len(index))), ...)  # which is no axis here, and separates an array from an integer
    return tuple(index)


@st.composite
def byte_pieces(draw, *, max_pieces=30, max_offset=500, max_nbytes=60):
    """
    Places of tiles in a heap, in any order, with gaps, overlapping and shared.

    Parameters
    ----------
    max_pieces, max_offset, max_nbytes : int
        Limits.

    Returns
    -------
    strategy of (ndarray, ndarray)
        Offsets and numbers of bytes, int64.
    """
    pieces = draw(st.lists(st.tuples(st.integers(0, max_offset), st.integers(1, max_nbytes)), max_size=max_pieces))
    pairs = np.array(pieces, np.int64).reshape(-1, 2)
    return pairs[:, 0].copy(), pairs[:, 1].copy()
