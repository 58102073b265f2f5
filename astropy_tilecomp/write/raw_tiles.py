"""Tiles that could not be quantized, in the column in which the table of their image keeps such."""

from __future__ import annotations

import gzip
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from ..encode import EncodedTiles
from ..keywords import GZIP_COMPRESSED_DATA, UNCOMPRESSED_DATA
from ..tiling.columns import COLUMN_NAMES

__all__ = ["as_columns_allow", "keeps_raw"]

_GZIPPED, _RAW = COLUMN_NAMES.index(GZIP_COMPRESSED_DATA), COLUMN_NAMES.index(UNCOMPRESSED_DATA)


def keeps_raw(columns: Collection[str]) -> bool:
    """Whether a table keeps tiles that could not be quantized as they are: cfitsio reads only one of the two columns."""
    return UNCOMPRESSED_DATA in columns and GZIP_COMPRESSED_DATA not in columns


def as_columns_allow(tiles: EncodedTiles, columns: Collection[str]) -> EncodedTiles:
    """Inflate the tiles of GZIP_COMPRESSED_DATA where the table has UNCOMPRESSED_DATA instead."""
    gzipped = tiles.column == _GZIPPED
    if not keeps_raw(columns) or not gzipped.any():
        return tiles
    stops = np.cumsum(tiles.nbytes)
    streams = [bytes(tiles.heap[stop - nbytes : stop]) for stop, nbytes in zip(stops.tolist(), tiles.nbytes.tolist())]
    parts = [gzip.decompress(stream) if inflate else stream for stream, inflate in zip(streams, gzipped)]
    nbytes = np.array([len(part) for part in parts], np.int64)
    return replace(tiles, column=np.where(gzipped, _RAW, tiles.column).astype(np.uint8), nbytes=nbytes, heap=memoryview(b"".join(parts)))
