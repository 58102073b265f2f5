"""The codec of a config, and of a tile."""

from __future__ import annotations

from typing import Any

from ..keywords import COMPRESSED_DATA, GZIP_COMPRESSED_DATA, UNCOMPRESSED_DATA
from .config import register
from .gzip import Gzip1, Gzip2
from .hcompress import HCompress1
from .plio import PLIO1
from .protocol import TileCodec
from .quantization import Quantize
from .raw import NoCompress
from .rice import Rice1

__all__ = ["CODECS", "codec_for"]

CODECS = (Rice1, Gzip1, Gzip2, PLIO1, HCompress1, NoCompress, Quantize)
"""All codecs of this package."""

register(*CODECS)
PLIO_OFFSET = 32768


def codec_for(params, *, row: int | None = None, column: str = COMPRESSED_DATA,
              tile_shape: tuple[int, ...] | None = None, engine: str | None = None) -> TileCodec:
    """
    Make the codec of one tile, or of all tiles of an image.

    Parameters
    ----------
    params : CompressionParams
        Parameters of the image (or anything with its attributes).
    row : int, optional
        Table row of the tile, from 0: the codec then has the true shape of that tile, also at the edge of the image.
    column : {"COMPRESSED_DATA", "GZIP_COMPRESSED_DATA", "UNCOMPRESSED_DATA"}
        Column that holds the tile.
    tile_shape : tuple of int, optional
        Shape of the tile, C order; by default found from `row`, else the shape of a whole tile.
    engine : {"kernel", "cfitsio"}, optional
        By default ASTROPY_TILECOMP_ENGINE, else "kernel".

    Returns
    -------
    TileCodec
        Its `decode` gives stored pixels (integers where the image is quantized and the column COMPRESSED_DATA) of the
        tile's shape; `finalize` does the rest.

    Raises
    ------
    ValueError
        If there is no such row or column.
    """
    if tile_shape is None:
        tile_shape = params.tile_shape if row is None else _shape_of_row(params, row)
    quantized = params.quantized and column == COMPRESSED_DATA
    common: dict[str, Any] = {"tile_shape": tile_shape, "dtype": "i4" if quantized else params.dtype, "engine": engine}
    if column == GZIP_COMPRESSED_DATA:
        return Gzip1(**common)
    if column == UNCOMPRESSED_DATA:
        return NoCompress(**common)
    if column != COMPRESSED_DATA:
        raise ValueError(
            f"column is {column!r}, expected {COMPRESSED_DATA}, {GZIP_COMPRESSED_DATA} or {UNCOMPRESSED_DATA}"
        )
    match params.zcmptype:
        case "RICE_1":
            return Rice1(blocksize=params.blocksize, bytepix=params.bytepix, **common)
        case "GZIP_1":
            return Gzip1(**common)
        case "GZIP_2":
            return Gzip2(**common)
        case "PLIO_1":
            offset = PLIO_OFFSET if params.zbitpix == 16 and params.bzero == PLIO_OFFSET else 0
            return PLIO1(offset=offset, **common)
        case "HCOMPRESS_1":
            return HCompress1(smooth=params.smooth, **common)
        case "NOCOMPRESS":
            return NoCompress(**common)
    raise ValueError(f"ZCMPTYPE is {params.zcmptype!r}, which no codec has")


def _shape_of_row(params, row):
    """Shape of the tile in a table row: tiles at the far edges of the image are cut."""
    shape = []
    left = row
    for size, tile in zip(reversed(params.image_shape), reversed(params.tile_shape), strict=True):
        left, at = divmod(left, -(-size // tile))
        shape.append(min(tile, size - at * tile))
    if row < 0 or left:
        raise ValueError(f"row is {row}, expected 0 to {params.n_tiles - 1}")
    return tuple(reversed(shape))
