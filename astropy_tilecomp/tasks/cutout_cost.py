"""What reading a small box of an image takes, counted without reading it."""

from __future__ import annotations

from dataclasses import dataclass

from ..sources.remote_settings import RemoteSettings
from ..tiling.params import CompressionParams
from ..tiling.selection import select
from ..tiling.table import TileTable
from ..tiling.tile_plan import plan

__all__ = ["CutoutCost", "cutout_cost"]

CUTOUT_SHAPE = (200, 200)


@dataclass(frozen=True)
class CutoutCost:
    """
    What reading a small box of an image takes when the file lies behind a network.

    Attributes
    ----------
    shape : tuple of int
        Shape of the box, C order.
    n_tiles : int
        Tiles to decode.
    nbytes : int
        Bytes to fetch: table rows and tiles.
    n_requests : int
        Ranges to ask for, without the one that finds the header.
    """

    shape: tuple[int, ...]
    n_tiles: int
    nbytes: int
    n_requests: int


def cutout_cost(params: CompressionParams, table: TileTable, shape: tuple[int, int] = CUTOUT_SHAPE,
                place: tuple[float, float] = (0.5, 0.5)) -> CutoutCost:
    """Count what a small box of an image costs to fetch."""
    wanted = tuple(min(size, n) for size, n in zip((*[1] * (params.ndim - 2), *shape), params.image_shape))
    places = (*[0.5] * (params.ndim - 2), *place)
    starts = [int((n - size) * part) for size, n, part in zip(wanted, params.image_shape, places)]
    index = tuple(slice(start, start + size) for start, size in zip(starts, wanted))
    selection = select(params.grid, index)
    settings, layout = RemoteSettings.of(), table.layout
    whole_table = layout.table_nbytes <= settings.table_cache
    rows = [(0, layout.table_nbytes)] if whole_table else layout.row_ranges(selection.rows, settings.gap)
    cost = plan(params, selection, table.take(selection.rows), gap=settings.gap, max_range=settings.max_range)
    n_masks = len(cost.masks) if cost.masks is not None else 0
    nbytes = sum(stop - start for start, stop in rows) + cost.nbytes
    return CutoutCost(wanted, selection.n_tiles, nbytes, len(rows) + len(cost.tiles) + n_masks)
