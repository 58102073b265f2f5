"""The sum over the pixels of an image that was just written."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from ..hdus import walk
from ..read.slabs import slabs_of
from ..read.table_rows import read_table
from ..sources.opening import opened
from ..tiling.checksum import DataSum

__all__ = ["sum_of_last_image"]


def sum_of_last_image(file: BinaryIO, threads: int | None) -> int:
    """Sum over the pixels of the compressed image that was written last."""
    file.flush()
    sums = DataSum()
    with opened(file) as written:
        *_, found = walk(written)
        for slab in slabs_of(written, found, *read_table(written, found), threads=threads):
            pixels, _ = slab.decoded()
            sums.add(pixels.astype(pixels.dtype.newbyteorder(">"), copy=False).reshape(-1).view(np.uint8))
    return sums.total
