"""zarr's own arrays of pixels, in memory that may have served before."""

from __future__ import annotations

import numpy as np

from .. import large_arrays
from .extras import extra

with extra("zarr"):
    from zarr.core.buffer import cpu
    from zarr.registry import register_ndbuffer

__all__ = ["PixelBuffer"]


class PixelBuffer(cpu.NDBuffer):
    """
    What zarr reads into, for those who set it as zarr's "ndbuffer": see `large_arrays.empty`.

    Notes
    -----
    Each of the system's fresh pages is written with zeros first, which takes longer than to decode the pixels in them.
    """

    @classmethod
    def empty(cls, shape, dtype, order="C"):
        """An uninitialised buffer; what is no plain memory in C order, as zarr makes it."""
        dtype = np.dtype(dtype)
        if order != "C" or dtype.hasobject:
            return super().empty(shape, dtype, order)
        return cls(large_arrays.empty(tuple(shape), dtype))


register_ndbuffer(PixelBuffer)
