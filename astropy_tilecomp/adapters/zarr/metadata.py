"""Metadata of zarr arrays and groups, format 2 and 3, as it stands in references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["GROUP", "GROUP_2", "array_document", "array_document_2"]

GROUP: dict[str, Any] = {"zarr_format": 3, "node_type": "group", "attributes": {}}
GROUP_2: dict[str, Any] = {"zarr_format": 2}


def array_document(shape: Sequence[int], chunk_shape: Sequence[int], dtype: np.dtype, *, separator: dict, codec: dict,
                   attributes: dict, names: Sequence[str]) -> dict:
    """The metadata of an array in format 3."""
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk_shape)}},
        "chunk_key_encoding": separator,
        "codecs": [codec],
        "fill_value": "NaN" if dtype.kind == "f" else 0,
        "attributes": attributes,
        "dimension_names": list(names),
    }


def array_document_2(shape: Sequence[int], chunk_shape: Sequence[int], dtype: np.dtype, compressor: dict) -> dict:
    """The metadata of an array in format 2, whose attributes stand in a document of their own."""
    return {
        "zarr_format": 2,
        "shape": list(shape),
        "chunks": list(chunk_shape),
        "dtype": dtype.str,
        "order": "C",
        "compressor": compressor,
        "filters": None,
        "fill_value": None,
    }
