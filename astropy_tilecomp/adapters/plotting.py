"""Pictures of a compressed image: its pixels under the tile grid, and a map of each number that tiles have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..hdus import find_image
from ..read.reader import TileReader
from ..sources.opening import opened
from ..tasks.tile_maps import TileMaps, map_tiles
from ..write.atomic import replacing
from .extras import extra

__all__ = ["MAPS", "plot", "plot_maps", "save_picture", "show"]

MAPS = {
    "bits_per_pixel": "bits per pixel", "ratio": "compression ratio", "noise": "noise (stored units)", "zscale": "ZSCALE",
    "column": "column", "damaged": "damage",
}
"""Maps by name, with their titles."""

MAX_SHOWN = 1024
"""Pixels of the image that are shown along each axis, about."""

MAX_GRID_LINES = 64

_CLASSES = {
    "column": (("none", "COMPRESSED", "GZIP", "UNCOMPRESSED"), ("#d62728", "#c6dbef", "#fdae6b", "#74c476")),
    "damaged": (("good", "bad"), ("#d9ead3", "#d62728")),
}
"""Maps of a few values, with the labels and colours of these."""


def plot(path, *, hdu=None, maps: Sequence[str] | None = None, plane: Sequence[int] = (), output=None, dpi: int = 110,
         format: str | None = None, threads: int | None = None, storage_options: dict | None = None):
    """
    Draw a compressed image with its tile grid, and maps of its tiles.

    Parameters
    ----------
    path : path, URL, file object, bytes or anything else that `as_source` takes
        The FITS file.
    hdu : int, str or (str, int), optional
        By default the first compressed image.
    maps : sequence of {"bits_per_pixel", "ratio", "noise", "zscale", "column", "damaged"}, optional
        By default all that the image has.
    plane : sequence of int, optional
        Which plane of an image of more than two axes: an index along each of the others, by default 0.
    output : str, path-like or binary file, optional
        File to write.
    dpi : int
        Dots per inch of that file.
    format : str, optional
        Its format, such as "png" or "pdf"; by default what its name says.
    threads : int, optional
        Threads to use at most.
    storage_options : dict, optional
        What fsspec needs to open a URL.

    Returns
    -------
    matplotlib.figure.Figure
        A figure of pyplot if there is no `output`: a notebook shows it, and so does ``matplotlib.pyplot.show()``.

    Raises
    ------
    HeaderError
        If there is no such image, or its header breaks the format.
    ValueError
        If there is no map of a name, or `plane` has not as many indices as it takes.
    IndexError
        If there is no such plane.
    ImportError
        If matplotlib is missing.
    """
    with opened(path, storage_options) as source:
        measured = map_tiles(source, hdu=hdu, threads=threads)
        found = find_image(source, hdu)
        reader = TileReader(source.part(found.data_offset, min(found.end, source.nbytes)), found.header, on_error="fill",
                            cache_bytes=0, threads=threads)
        pixels = _thumbnail(reader, plane)
        return plot_maps(measured, pixels, maps=maps, plane=plane, output=output, dpi=dpi, format=format)


def save_picture(pixels: np.ndarray, path: str, *, overwrite: bool = False) -> None:
    """A picture of the last two axes, in grey from the 1st to the 99.5th percentile, the first row at the bottom."""
    with extra("plot"):
        from matplotlib.image import imsave
    plane = np.atleast_2d(pixels)[(0,) * (np.ndim(pixels) - 2)]
    finite = plane[np.isfinite(plane)]
    low, high = np.percentile(finite, (1, 99.5)) if finite.size else (0, 1)
    with replacing(path, overwrite=overwrite) as file:
        imsave(file, plane, vmin=low, vmax=high if high > low else low + 1, cmap="gray", origin="lower", format="png")


def show() -> None:
    """Show what was drawn in windows, and wait until they are closed."""
    with extra("plot"):
        import matplotlib.pyplot as plt

    plt.show()


def _thumbnail(reader: TileReader, plane: Sequence[int]) -> np.ndarray:
    """The image, or a plane of it, thinned out to what a figure can show."""
    shape = reader.shape[-2:]
    step = tuple(slice(None, None, max(1, size // MAX_SHOWN)) for size in shape)
    pixels = reader.read((*_plane_index(plane, reader.shape), *step))
    return np.atleast_2d(pixels)


def _plane_index(plane: Sequence[int], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The index of a plane along all axes but the last two."""
    lengths = shape[:-2]
    wanted = tuple(plane) or (0,) * len(lengths)
    if len(wanted) != len(lengths):
        raise ValueError(f"plane is {wanted}, expected {len(lengths)} indices for an image of {len(shape)} axes")
    if not all(0 <= number < length for number, length in zip(wanted, lengths)):
        raise IndexError(f"plane is {wanted}, expected indices from 0 and below {lengths} for an image of shape {shape}")
    return wanted


def plot_maps(measured: TileMaps, pixels: np.ndarray | None = None, *, maps: Sequence[str] | None = None,
              plane: Sequence[int] = (), output=None, dpi: int = 110, format: str | None = None):
    """
    Draw what `map_tiles` measured.

    Raises
    ------
    ValueError, ImportError
        As `plot`.
    """
    with extra("plot"):
        import matplotlib.pyplot as plt
        from matplotlib.figure import Figure
    names = _names(measured, maps)
    n_panels = len(names) + (pixels is not None)
    n_columns = min(n_panels, 4) if n_panels != 6 else 3
    n_rows = -(-n_panels // n_columns)
    size: dict[str, Any] = {"figsize": (3.9 * n_columns, 3.7 * n_rows + 0.4), "layout": "compressed"}
    figure = Figure(**size) if output is not None else plt.figure(**size)
    axes = list(np.ravel(figure.subplots(n_rows, n_columns, squeeze=False)))
    damaged = _plane_of(measured.damaged, measured, plane)
    if pixels is not None:
        _draw_image(axes[0], pixels, measured, damaged)
    for axis, name in zip(axes[n_panels - len(names):], names):
        _draw_map(axis, name, _plane_of(getattr(measured, name), measured, plane), measured)
    for axis in axes[n_panels:]:
        axis.set_visible(False)
    tiles = " × ".join(map(str, measured.tile_shape))
    figure.suptitle(f"{measured.path.rsplit('/', 1)[-1]} [{measured.hdu}]  {measured.algorithm}, {measured.damaged.size} tiles of {tiles}")
    if output is not None:
        figure.draw_without_rendering()  # so that the layout knows how wide the numbers of the colour bars are
        figure.savefig(output, dpi=dpi, format=format, bbox_inches="tight")
    return figure


def _names(measured: TileMaps, maps: Sequence[str] | None) -> list[str]:
    """The maps to draw."""
    for name in maps or ():
        if name not in MAPS:
            raise ValueError(f"no map is called {name!r}, expected some of {', '.join(MAPS)}")
    names = list(MAPS if maps is None else maps)
    return [name for name in names if getattr(measured, name) is not None]


def _plane_of(values: np.ndarray, measured: TileMaps, plane: Sequence[int]) -> np.ndarray:
    """The tiles of one plane, in two axes."""
    index = _plane_index(plane, measured.image_shape)
    at = tuple(number // tile for number, tile in zip(index, measured.tile_shape))
    return np.atleast_2d(values[at])


def _extent(measured: TileMaps) -> tuple[float, float, float, float]:
    """Where the image lies in pixels, centres at whole numbers."""
    height, width = (1, *measured.image_shape)[-2:]
    return -0.5, width - 0.5, -0.5, height - 0.5


def _draw_image(axis, pixels: np.ndarray, measured: TileMaps, damaged: np.ndarray) -> None:
    low, high = _limits(pixels, measured, damaged)
    axis.imshow(pixels, cmap="gray_r", vmin=low, vmax=high if high > low else low + 1, origin="lower", extent=_extent(measured),
                interpolation="nearest", aspect=_aspect(measured))
    axis.set_title("image and tiles")
    left, right, bottom, top = _extent(measured)
    height, width = (1, *measured.tile_shape)[-2:]
    for edges, draw in ((np.arange(left, right, width), axis.axvline), (np.arange(bottom, top, height), axis.axhline)):
        if len(edges) <= MAX_GRID_LINES:
            for edge in edges[1:]:
                draw(edge, color="#1f77b4", linewidth=0.5, alpha=0.7)
    for row, column in np.argwhere(damaged):
        axis.axvspan(left + column * width, min(left + (column + 1) * width, right), color="#d62728", alpha=0.6, linewidth=0.8,
                     ymin=row * height / (top - bottom), ymax=min(1, (row + 1) * height / (top - bottom)))


def _limits(pixels: np.ndarray, measured: TileMaps, damaged: np.ndarray) -> tuple[float, float]:
    """Values of white and black, found without what stands in the place of damaged tiles."""
    in_tile = [
        np.minimum(np.arange(n) * length // n // tile, n_tiles - 1)
        for n, length, tile, n_tiles in zip(pixels.shape, (1, *measured.image_shape)[-2:], (1, *measured.tile_shape)[-2:], damaged.shape)
    ]
    good = pixels[np.isfinite(pixels) & ~damaged[np.ix_(*in_tile)]]
    return tuple(np.percentile(good, (1, 99.5))) if good.size else (0, 1)


def _draw_map(axis, name: str, values: np.ndarray, measured: TileMaps) -> None:
    """One map with its colour bar or legend."""
    look = {"origin": "lower", "extent": _extent(measured), "interpolation": "nearest", "aspect": _aspect(measured)}
    axis.set_title(MAPS[name])
    drawn = values[_whole(values, measured)]
    if name in _CLASSES:
        _draw_classes(axis, drawn, np.bincount(values.astype(np.int64).ravel()), look, *_CLASSES[name])
    else:
        _draw_numbers(axis, np.ma.masked_invalid(drawn), look)


def _draw_numbers(axis, values: np.ma.MaskedArray, look: dict) -> None:
    """A map of numbers; the colour bar leaves out the most unusual tiles at both ends."""
    found = values.compressed()
    low, high = np.percentile(found, (1, 99)) if found.size else (0, 1)
    shown = axis.imshow(values, cmap="viridis", vmin=low, vmax=high, **look)
    ends = {(True, True): "both", (True, False): "min", (False, True): "max", (False, False): "neither"}
    beyond = bool((found < low).any()), bool((found > high).any())
    axis.figure.colorbar(shown, ax=axis, extend=ends[beyond])


def _draw_classes(axis, values: np.ndarray, counts: np.ndarray, look: dict, labels: Sequence[str], colours: Sequence[str]) -> None:
    """A map of few values, with a legend of those that occur."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    axis.imshow(values, cmap=ListedColormap(colours), vmin=-0.5, vmax=len(colours) - 0.5, **look)
    patches = [Patch(color=colour, label=f"{label}: {n}") for label, colour, n in zip(labels, colours, counts) if n]
    axis.legend(handles=patches, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2, fontsize="small", frameon=False)


def _whole(values: np.ndarray, measured: TileMaps) -> tuple[np.ndarray, ...]:
    """Indices that repeat tiles so that cut ones at the edges are drawn as small as they are."""
    repeated = []
    for n_tiles, size, tile in zip(values.shape, (1, *measured.image_shape)[-2:], (1, *measured.tile_shape)[-2:]):
        cut = size % tile and n_tiles <= MAX_SHOWN
        step = max(1, size // MAX_SHOWN)
        repeated.append(np.arange(0, size, step) // tile if cut else np.arange(n_tiles))
    return np.ix_(*repeated)


def _aspect(measured: TileMaps) -> str:
    """Square pixels, unless the image would be a thin line."""
    height, width = (1, *measured.image_shape)[-2:]
    return "equal" if max(height, width) <= 8 * min(height, width) else "auto"
