"""
References to single tiles, or to runs of tiles that lie one after the other: a zarr chunk for each.

All of it is arrays, never an object for each tile, so that images of millions of tiles are no matter.  Plain references,
which fsspec reads alone, can hold lossless images of whole tiles; for all else `TileStore` puts a frame before the bytes.
Where one reference for a whole image is enough, `astropy_tilecomp.references` is simpler and reads any image.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from ...codecs.registry import codec_for
from ...errors import HeaderError, UnsupportedError
from ...threads import computed_once
from ...tiling.columns import COLUMN_NAMES
from ...tiling.params import CompressionParams
from ..extras import extra
from ..zarr.frames import FRAME_CODEC_NAME, FramedTiles, TileFrame, params_document, parse_params
from ..zarr.metadata import GROUP, GROUP_2, array_document, array_document_2
from ..zarr.tile_boxes import TileBox, box_of_n_tiles, rows_of_boxes
from .names import axis_names
from .parquet import read_parquet, write_parquet

__all__ = ["TileReferences"]

VERSION = 1
_SEPARATOR = {"name": "v2", "configuration": {"separator": "."}}
RECORD_SIZE = 100_000
"""References in one parquet file."""

TILE_COLUMNS = ("offset", "nbytes", "column", "zscale", "zzero", "zblank")


@dataclass(frozen=True, eq=False)
class TileReferences:
    """
    References to the tiles of one compressed image, as arrays.

    Parameters
    ----------
    url : str
        The file.
    name : str
        Name of the zarr array in its group.
    params : CompressionParams
        Of the image.
    box : tuple of int
        Number of tiles in a chunk along each axis.
    zarr_format : {3, 2}
        Format of the metadata.
    scaled : bool
        Whether BSCALE, BZERO and BLANK are applied.
    framed : bool
        Whether a chunk is a frame and then the bytes in the file.
    tiles : dict of str to (n_tiles,) ndarray
        For each tile, in table order: `offset` and `nbytes` in the file, `column`, `zscale`, `zzero`, `zblank` where the
        table has them, and any further columns.
    attributes : dict
        Of the array.
    """

    url: str
    name: str
    params: CompressionParams
    box: tuple[int, ...]
    zarr_format: int
    scaled: bool
    framed: bool
    tiles: dict[str, np.ndarray]
    attributes: dict = field(default_factory=dict)

    def __eq__(self, other):
        if not isinstance(other, TileReferences):
            return NotImplemented
        return (
            (self.url, self._about(), self.tiles.keys()) == (other.url, other._about(), other.tiles.keys())
            and all(_are_equal(values, other.tiles[name]) for name, values in self.tiles.items())
        )

    def __hash__(self):
        return hash((self.url, self.name, self.params, self.box))

    def __repr__(self):
        kind = "framed" if self.framed else "plain"
        return f"<TileReferences: {prod(self.chunk_grid)} {kind} chunks of shape {self.chunk_shape} in {self.url}>"

    @property
    def chunk_shape(self) -> tuple[int, ...]:
        """Shape of a chunk, C order."""
        return tuple(n * tile for n, tile in zip(self.box, self.params.tile_shape))

    @computed_once
    def chunk_grid(self) -> tuple[int, ...]:
        """Number of chunks along each axis."""
        return tuple(-(-length // chunk) for length, chunk in zip(self.params.image_shape, self.chunk_shape))

    @computed_once
    def runs(self) -> tuple[np.ndarray, np.ndarray]:
        """First table row of each chunk, and the row after its last; (n_chunks,) int64 each, in C order of the chunks."""
        return rows_of_boxes(self.params.grid_shape, self.box)

    @computed_once
    def chunk_offset(self) -> np.ndarray:
        """First byte of each chunk in the file, (n_chunks,) int64."""
        return self.tiles["offset"][self.runs[0]]

    @computed_once
    def chunk_nbytes(self) -> np.ndarray:
        """Bytes of each chunk in the file, (n_chunks,) int64."""
        last = self.runs[1] - 1
        return self.tiles["offset"][last] + self.tiles["nbytes"][last] - self.chunk_offset

    @property
    def dtype(self) -> np.dtype:
        """Type of the array, native byte order."""
        return self.params.result_dtype if self.scaled else self.params.dtype

    # What zarr asks for.

    def documents(self) -> dict[str, str]:
        """The metadata: key to JSON text."""
        return self._documents

    @computed_once
    def _documents(self) -> dict[str, str]:
        if self.zarr_format == 3:
            return {
                "zarr.json": json.dumps(GROUP),
                f"{self.name}/zarr.json": json.dumps(self._v3_document()),
            }
        return {
            ".zgroup": json.dumps(GROUP_2),
            f"{self.name}/.zarray": json.dumps(self._v2_document()),
            f"{self.name}/.zattrs": json.dumps(self.attributes | {"_ARRAY_DIMENSIONS": axis_names(self.params.ndim)}),
        }

    def _v3_document(self) -> dict:
        configuration = {"id": FRAME_CODEC_NAME, "version": VERSION} if self.framed else self._tile_codec().get_config()
        codec = {"name": configuration.pop("id"), "configuration": configuration}
        return array_document(
            self.params.image_shape, self.chunk_shape, self.dtype, separator=_SEPARATOR, codec=codec, attributes=self.attributes,
            names=axis_names(self.params.ndim),
        )

    def _v2_document(self) -> dict:
        codec: Any = FramedTiles(dtype=self.dtype) if self.framed else self._tile_codec()
        if not self.framed and prod(self.box) > 1:
            codec = TileBox(codec=codec, box=self.box)
        return array_document_2(self.params.image_shape, self.chunk_shape, self.dtype, codec.get_config())

    def _tile_codec(self):
        """The codec of all tiles, in plain references."""
        column = int(self.tiles["column"][0]) if len(self.tiles["column"]) else 1
        return codec_for(self.params, column=COLUMN_NAMES[column])

    def chunk_of(self, key: str) -> int | None:
        """
        Find the chunk of a key.

        Parameters
        ----------
        key : str
            Such as ``"SCI/3.0"``.

        Returns
        -------
        int or None
            Its number in C order; None if there is no such chunk.
        """
        name, _, place = key.rpartition("/")
        numbers = place.split(".")
        if name != self.name or len(numbers) != len(self.chunk_grid) or not all(n.isdecimal() for n in numbers):
            return None
        chunk = tuple(map(int, numbers))
        if not all(at < n for at, n in zip(chunk, self.chunk_grid)):
            return None
        return int(np.ravel_multi_index(chunk, self.chunk_grid))

    def chunk_keys(self) -> Iterator[str]:
        """The keys of all chunks, in C order."""
        for place in np.ndindex(*self.chunk_grid):
            yield f"{self.name}/{'.'.join(map(str, place))}"

    def frame(self, chunk: int) -> bytes:
        """
        Make the frame of a chunk.

        Parameters
        ----------
        chunk : int
            Its number, in C order of the chunks.

        Returns
        -------
        bytes
        """
        rows = slice(int(self.runs[0][chunk]), int(self.runs[1][chunk]))
        numbers = {name: self.tiles[name][rows].tolist() for name in TILE_COLUMNS[1:] if name in self.tiles}
        return TileFrame(
            self.params, self.chunk_shape, list(range(rows.start, rows.stop)), scaled=self.scaled, **numbers
        ).to_bytes()

    # Files of references.

    def to_dict(self) -> dict:
        """
        Make references in the JSON form of fsspec.

        Returns
        -------
        dict
            ``{"version": 1, "refs": {...}}``. Where chunks are framed, or tiles have further columns, the key
            ``<name>/.ztiles`` holds what `from_dict` needs besides.
        """
        refs: dict[str, str | list] = dict(self.documents())
        if self._needs_tiles:
            columns = {name: values.tolist() for name, values in self.tiles.items()}
            refs[f"{self.name}/.ztiles"] = json.dumps(self._about() | {"url": self.url, "tiles": columns})
        places = zip(self.chunk_keys(), self.chunk_offset.tolist(), self.chunk_nbytes.tolist())
        refs.update((key, [self.url, offset, nbytes]) for key, offset, nbytes in places)
        return {"version": 1, "refs": refs}

    @classmethod
    def from_dict(cls, references: dict) -> TileReferences:
        """Read what `to_dict` made; a HeaderError where it has no key ``<name>/.ztiles``, or that breaks the format."""
        refs = references.get("refs", references)
        key = next((key for key in refs if key.endswith("/.ztiles")), None)
        if key is None:
            raise HeaderError("the references have no <name>/.ztiles: plain ones are opened with fsspec alone")
        try:
            about = json.loads(refs[key])
            tiles = {name: np.array(values) for name, values in about.pop("tiles").items()}
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise HeaderError(f"{key}: no references to tiles: {error}") from error
        return cls._from_about(about, tiles)

    def to_parquet(self, path, *, record_size: int = RECORD_SIZE) -> None:
        """
        Write references in the parquet form of fsspec.

        Parameters
        ----------
        path : str or path-like
            Folder to make.
        record_size : int
            References in one file.

        Notes
        -----
        fsspec opens plain references as it does kerchunk's: ``fsspec.filesystem("reference", fo=path)``. Where chunks are
        framed, or tiles have further columns, these stand in ``<name>/tiles.parq``, one row for each tile.
        """
        with extra("kerchunk"):
            import pandas as pd

        folder = os.path.join(os.fspath(path), self.name)
        os.makedirs(folder)
        metadata = {key: json.loads(text) for key, text in self.documents().items()}
        if self.zarr_format == 3:  # fsspec counts chunks by documents of format 2, and takes zarr.json for an array
            metadata[f"{self.name}/.zarray"] = {"shape": list(self.params.image_shape), "chunks": list(self.chunk_shape)}
            metadata["zarr.json/.zarray"] = {"shape": [0], "chunks": [1]}
        if self._needs_tiles:
            metadata[f"{self.name}/.ztiles"] = self._about() | {"url": self.url}
            write_parquet(self.tiles, os.path.join(folder, "tiles.parq"))
        for number, first in enumerate(range(0, prod(self.chunk_grid), record_size)):
            record = slice(first, first + record_size)
            offset = self.chunk_offset[record]
            path_of_all = pd.Categorical.from_codes(np.zeros(len(offset), np.int8), [self.url])
            columns = {"path": path_of_all, "offset": offset, "size": self.chunk_nbytes[record]}
            write_parquet(columns, os.path.join(folder, f"refs.{number}.parq"))
        with open(os.path.join(os.fspath(path), ".zmetadata"), "w") as file:
            json.dump({"metadata": metadata, "record_size": record_size}, file)

    @classmethod
    def from_parquet(cls, path) -> TileReferences:
        """
        Read what `to_parquet` wrote.

        Parameters
        ----------
        path : str or path-like
            The folder, with a file ``<name>/tiles.parq`` in it.

        Returns
        -------
        TileReferences

        Raises
        ------
        HeaderError
            If there is no such file, or the metadata breaks the format.
        """
        with open(os.path.join(os.fspath(path), ".zmetadata")) as file:
            metadata = json.load(file)["metadata"]
        key = next((key for key in metadata if key.endswith("/.ztiles")), None)
        if key is None:
            raise HeaderError(f"{path}: no <name>/.ztiles: plain references are opened with fsspec alone")
        about = dict(metadata[key])
        tiles = read_parquet(os.path.join(os.fspath(path), about["name"], "tiles.parq"))
        return cls._from_about(about, tiles)

    @property
    def _needs_tiles(self) -> bool:
        return self.framed or not self.tiles.keys() <= {*TILE_COLUMNS}

    def _about(self) -> dict:
        """All but the file and the tiles."""
        return {
            "version": VERSION, "name": self.name, "params": params_document(self.params), "box": list(self.box),
            "zarr_format": self.zarr_format, "scaled": self.scaled, "framed": self.framed, "attributes": self.attributes,
        }

    @classmethod
    def _from_about(cls, about: dict, tiles: dict) -> TileReferences:
        settings = dict(about)
        if settings.pop("version", None) != VERSION:
            raise UnsupportedError(f"references to tiles of another version than {VERSION}, which this package reads")
        try:
            params, box = parse_params(settings.pop("params")), tuple(map(int, settings.pop("box")))
            found = cls(params=params, box=box, tiles=tiles, **settings)
            possible = box_of_n_tiles(params.grid_shape, prod(box))
        except (KeyError, TypeError, ValueError) as error:
            raise HeaderError(f"no references to tiles: {error}") from error
        if box != possible:
            raise HeaderError(f"references to boxes of {box} tiles, of which {prod(box)} can only be a box of {possible}")
        if not {*TILE_COLUMNS[:3]} <= tiles.keys() or any(values.shape != (params.n_tiles,) for values in tiles.values()):
            raise HeaderError(f"references to tiles of an image of {params.n_tiles} tiles: a column is missing or of another length")
        return found


def _are_equal(values: np.ndarray, others: np.ndarray) -> bool:
    return np.array_equal(values, others, equal_nan=values.dtype.kind == "f")
