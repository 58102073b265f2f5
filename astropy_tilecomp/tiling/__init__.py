"""
Tile indexing: what the table says and where pixels lie; integers and bytes, no I/O, no codec.

Header -> `CompressionParams` -> `TileGrid` -> `select`; table bytes -> `TileTable`; both -> `plan`, which says what to
fetch and where in it each tile is. `heap` and `header` are the way back, for writers.
"""

from .cards import HeaderCards, header_size, join_cards, read_cards, split_cards
from .grid import TileGrid
from .header import image_to_table, table_to_image
from .heap import lay_out
from .params import CompressionParams
from .plan import ReadPlan, TileRanges, coalesce, plan
from .selection import AxisSelection, Selection, TileSelection, select
from .shapes import default_tile_shape, fit_tile_shape, whole_tile_shape
from .table import Fault, TableColumn, TableLayout, TileTable

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
