"""An image decoded step by step, as the fast path is compared with it."""

import numpy as np

from astropy_tilecomp.codecs import codec_for, finalize
from astropy_tilecomp.tiling.columns import COLUMN_NAMES
from astropy_tilecomp.tiling.grid import TileGrid
from astropy_tilecomp.tiling.layout import TableLayout
from astropy_tilecomp.tiling.selection import select
from astropy_tilecomp.tiling.table import TileTable
from astropy_tilecomp.tiling.tile_plan import plan


def plan_of(image, index=..., **options):
    """The plan of a selection of an encoded image."""
    layout = TableLayout.from_header(image.header)
    selection = select(TileGrid(image.params.image_shape, image.params.tile_shape), index)
    record = np.frombuffer(image.data, np.uint8)[:layout.table_nbytes].reshape(-1, layout.naxis1)
    table = TileTable.from_bytes(layout, record[selection.rows].tobytes(), selection.rows)
    return plan(image.params, selection, table, **options)


def step_by_step(image, index, scaled=True):
    """What each tile's codec and finalize give, put together by numpy."""
    params = image.params
    grid = TileGrid(params.image_shape, params.tile_shape)
    whole = plan_of(image)
    dtype = params.result_dtype if scaled else params.dtype
    expected = np.empty(params.image_shape, dtype)
    for row in range(grid.n_tiles):
        shape = grid.shape_of(grid.tile(row))
        column = COLUMN_NAMES[whole.table.column[row]]
        scalars = {
            name: None if getattr(whole.table, name) is None else getattr(whole.table, name)[row]
            for name in ("zscale", "zzero", "zblank")
        }
        pixels = codec_for(params, row=row, column=column).decode(image.streams[row])
        expected[grid.box(grid.tile(row))] = finalize(
            pixels, params, row=row, column=column, tile_shape=shape, scaled=scaled, **scalars)
    return expected[index]


def cut(image, row, nbytes):
    """The same image with a shorter stream in one row."""
    layout = TableLayout.from_header(image.header)
    data = bytearray(image.data)
    data[row * layout.naxis1:row * layout.naxis1 + 4] = nbytes.to_bytes(4, "big")
    image.data = bytes(data)
    return image
