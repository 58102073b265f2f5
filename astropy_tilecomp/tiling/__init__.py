"""
Tile indexing: what the table says and where pixels lie; integers and bytes, no I/O, no codec.

Header -> `CompressionParams` -> `TileGrid` -> `select`; table bytes -> `TileTable`; both -> `plan`, which says what to
fetch and where in it each tile is. `heap` and `header` are the way back, for writers.
"""

from .axis_selection import AxisSelection, TileSelection
from .cards import join_cards
from .columns import TableColumn
from .descriptors import Fault
from .grid import TileGrid
from .header_cards import HeaderCards, header_size, read_cards, split_cards
from .heap import lay_out
from .layout import TableLayout
from .params import CompressionParams
from .selection import Selection, select
from .shapes import default_tile_shape, fit_tile_shape, whole_tile_shape
from .table import TileTable
from .tile_plan import ReadPlan, TileRanges, coalesce, plan
from .to_image import table_to_image
from .to_table import image_to_table

__all__ = [
    "AxisSelection",
    "CompressionParams",
    "Fault",
    "HeaderCards",
    "ReadPlan",
    "Selection",
    "TableColumn",
    "TableLayout",
    "TileGrid",
    "TileRanges",
    "TileSelection",
    "TileTable",
    "coalesce",
    "default_tile_shape",
    "fit_tile_shape",
    "header_size",
    "image_to_table",
    "join_cards",
    "lay_out",
    "plan",
    "read_cards",
    "select",
    "split_cards",
    "table_to_image",
    "whole_tile_shape",
]
