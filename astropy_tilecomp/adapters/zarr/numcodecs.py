"""
The codecs of this package for numcodecs and for zarr arrays of format 2.

They follow the protocol of numcodecs by themselves; imported from here they are also instances of `numcodecs.abc.Codec`,
which some libraries ask for. The entry points of the package name this module, so that `numcodecs.get_codec` and zarr
find the codecs without an import.
"""

from __future__ import annotations

from ...codecs import PLIO1, Gzip1, Gzip2, HCompress1, NoCompress, Quantize, Rice1
from ...codecs.registry import CODECS
from ..extras import extra
from .frames import FramedTiles
from .tile_boxes import TileBox
from .whole_hdu import WholeHDU

with extra("zarr"):
    import numcodecs.abc
    import numcodecs.registry

__all__ = [
    "PLIO1",
    "FramedTiles",
    "Gzip1",
    "Gzip2",
    "HCompress1",
    "NoCompress",
    "Quantize",
    "Rice1",
    "TileBox",
    "WholeHDU",
    "register",
]

OF_CHUNKS = (WholeHDU, TileBox, FramedTiles)
"""Codecs of more than a tile."""


def register() -> None:
    """
    Tell numcodecs of all codecs: what the entry points do where the package is installed.

    Ids are those of this package, ``astropy_tilecomp.rice1`` and so on; the ids of astropy's own codecs stay free.
    """
    for codec in (*CODECS, *OF_CHUNKS):
        numcodecs.registry.register_codec(codec)


for _codec in (*CODECS, *OF_CHUNKS):
    numcodecs.abc.Codec.register(_codec)
