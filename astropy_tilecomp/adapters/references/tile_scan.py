"""The table of an image -> references to its tiles."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from math import prod

import numpy as np

from ...errors import CorruptTileError, HeaderError, UnsupportedError
from ...hdus import find_image
from ...sources.inflated import InflatedSource
from ...sources.opening import as_source
from ...tiling.layout import TableLayout
from ...tiling.params import CompressionParams
from ...tiling.table import TileTable
from ..zarr.tile_boxes import box_of_n_tiles
from .names import name_images
from .scan import ImageReference, checked_url, describe
from .tiles import TILE_COLUMNS, TileReferences

__all__ = ["tile_references"]

HDU_WAY = "; astropy_tilecomp.references makes one reference to the whole HDU, which reads every image"
_CODES = {"L": "i1", "B": "u1", "I": ">i2", "J": ">i4", "K": ">i8", "E": ">f4", "D": ">f8"}


def tile_references(url, hdu=None, storage_options: dict | None = None, *, tiles_per_chunk: int = 1, zarr_format: int = 3,
                    framed: bool = False, scaled: bool = True, columns: Iterable[str] = ()) -> TileReferences:
    """
    Make references to the tiles of a compressed image.

    Parameters
    ----------
    url : str or path-like
        The file.
    hdu : int, str or (str, int), optional
        By default the first compressed image.
    storage_options : dict, optional
        What fsspec needs to open a URL; it does not enter the references.
    tiles_per_chunk : int
        Tiles in one chunk: any number along the last axis of the grid of tiles, or whole lines of it.
    zarr_format : {3, 2}
        Format of the metadata.
    framed : bool
        Put a frame with the tiles' parameters before each chunk: references to any image, which `TileStore` opens.
    scaled : bool
        Apply BSCALE, BZERO and BLANK.
    columns : iterable of str
        Further columns of the table, one number for each tile, to be kept with the references.

    Returns
    -------
    TileReferences

    Raises
    ------
    HeaderError
        If there is no such image or column, or its header breaks the format.
    UnsupportedError
        If such references cannot hold the image: the message says why, and which can.
    CorruptTileError
        If the table names no bytes for a tile.
    ValueError
        If tiles cannot be grouped so, or the URL holds a credential.
    """
    if zarr_format not in (2, 3):
        raise ValueError(f"zarr_format is {zarr_format!r}, expected 2 or 3")
    url = checked_url(url)
    with as_source(url, storage_options) as source:
        if isinstance(source, InflatedSource):
            raise UnsupportedError(f"{source.name} is compressed as a whole, so no byte range of it is a tile")
        found = find_image(source, hdu)
        image = describe(url, source, found, scaled)
        params, layout = CompressionParams.from_header(found.header), TableLayout.from_header(found.header)
        data = source.read(found.data_offset, found.data_offset + layout.table_nbytes)
    box = box_of_n_tiles(params.grid_shape, operator.index(tiles_per_chunk))
    table = TileTable.from_bytes(layout, data)
    _check_present(params, table)
    tiles = {"offset": table.offset + found.data_offset, "nbytes": table.nbytes, "column": table.column}
    tiles |= {name: getattr(table, name) for name in TILE_COLUMNS[3:] if getattr(table, name) is not None}
    tiles |= _further(layout, data, columns)
    references = TileReferences(
        url, _name(image), params, box, zarr_format, scaled, framed, tiles, image.attributes
    )
    _check_possible(references)
    return references


def _name(image: ImageReference) -> str:
    return name_images([image])[0][0]


def _check_present(params: CompressionParams, table: TileTable) -> None:
    bad = np.flatnonzero(table.fault)
    if len(bad):
        row = int(bad[0])
        raise CorruptTileError(table.reason(row), tile=params.grid.tile(row), row=row)


def _check_possible(references: TileReferences) -> None:
    """Refuse images that references to tiles cannot hold."""
    if references.params.zmaskcmp is not None:
        raise UnsupportedError(f"{references.url}: the image has null masks beside its tiles{HDU_WAY}")
    if not references.framed:
        _check_plain(references)
    _check_contiguous(references)


def _check_plain(references: TileReferences) -> None:
    """Refuse what a codec that is the same for all chunks cannot decode."""
    params, tiles = references.params, references.tiles
    why = None
    if params.quantized:
        why = "floats are quantized with a scale and a zero point for each tile"
    elif references.scaled and (params.scaled or params.result_dtype != params.dtype):
        why = "pixels have to be scaled (scaled=False gives the stored ones)"
    elif params.zblank is not None or "zblank" in tiles:
        why = "blank pixels have a value of their own among the coded integers"
    elif len(tiles["column"]) and (tiles["column"] != tiles["column"][0]).any():
        why = "tiles stand in different columns"
    elif any(length % chunk for length, chunk in zip(params.image_shape, references.chunk_shape)):
        why = f"chunks of shape {references.chunk_shape} do not divide the image of shape {params.image_shape}"
    if why:
        raise UnsupportedError(f"{references.url}: plain references cannot tell that {why}; framed=True can{HDU_WAY}")


def _check_contiguous(references: TileReferences) -> None:
    """Refuse chunks whose tiles do not follow one another in the file."""
    if prod(references.box) == 1:
        return
    offset, nbytes = references.tiles["offset"], references.tiles["nbytes"]
    follows = np.ones(len(offset), bool)
    follows[1:] = offset[1:] == offset[:-1] + nbytes[:-1]
    follows[references.runs[0]] = True
    bad = np.flatnonzero(~follows)
    if len(bad):
        row = int(bad[0])
        raise UnsupportedError(
            f"{references.url}: the tile in row {row} starts at byte {offset[row]}, the one before it ends at"
            f" {offset[row - 1] + nbytes[row - 1]}: they cannot share a chunk; tiles_per_chunk=1 can refer to them{HDU_WAY}"
        )


def _further(layout: TableLayout, data, columns: Iterable[str]) -> dict[str, np.ndarray]:
    """Columns of the table that say nothing about the compression."""
    found = {}
    for name in columns:
        column = next((each for each in layout.columns if each.name == name.upper()), None)
        if column is None or column.descriptor or column.repeat != 1 or column.code not in _CODES:
            raise HeaderError(f"the table has no column {name} of one number for each tile")
        place = {"names": [name], "formats": [_CODES[column.code]], "offsets": [column.offset], "itemsize": layout.naxis1}
        values = np.frombuffer(data, np.dtype(place), layout.naxis2)[name]  # type: ignore[call-overload]
        found[name] = values.astype(values.dtype.newbyteorder("="))
    return found
