"""The numcodecs codec that turns the bytes of a whole HDU into its image: for tools of zarr format 2, without partial reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...codecs.buffers import as_bytes, destination
from ...codecs.config import Configurable
from ...errors import UnsupportedError
from ...read.reader import TileReader
from ...sources.local import BufferSource
from ...tiling.header_cards import read_cards
from .dtypes import as_type, check_type
from .hdu_chunk import HDU_CODEC_NAME

__all__ = ["WholeHDU"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class WholeHDU(Configurable):
    """
    Read-only codec: the bytes of an HDU that holds a tile-compressed image, header and all, to its pixels.

    Parameters
    ----------
    dtype : dtype_like, optional
        Type of the pixels, byte order included, if not the image's own; it must hold every value of that.
    scaled : bool
        Apply BSCALE, BZERO and BLANK; False gives the stored pixels.

    Notes
    -----
    With zarr format 3 the codec of the same name reads parts of the HDU; this one always decodes it whole.
    """

    codec_id: ClassVar[str] = HDU_CODEC_NAME

    dtype: np.dtype | None = None
    scaled: bool = True

    def __post_init__(self):
        if self.dtype is not None:
            object.__setattr__(self, "dtype", np.dtype(self.dtype))
        if not isinstance(self.scaled, bool):
            raise ValueError(f"scaled is {self.scaled!r}, expected a boolean")

    def decode(self, buf, out=None):
        """
        Decode an HDU.

        Parameters
        ----------
        buf : buffer
            Its bytes.
        out : ndarray or writable buffer, optional
            To be filled.

        Returns
        -------
        ndarray or buffer
            `out`, or a new array of the image's shape.

        Raises
        ------
        HeaderError
            If the header breaks the format, or the pixels do not fit `dtype`.
        CorruptTileError
            If a tile is damaged.
        """
        source = BufferSource(as_bytes(buf), "<HDU>")
        header = read_cards(source.read(0, source.nbytes))
        reader = TileReader(source.part(header.nbytes, source.nbytes), header, cache_bytes=0, scaled=self.scaled)
        dtype = reader.result_dtype if self.dtype is None else self.dtype
        check_type(reader.result_dtype, dtype)
        result = destination(out, reader.shape, dtype)
        if dtype.newbyteorder("=") == reader.result_dtype:
            reader.read(out=result)
        else:
            result[...] = as_type(reader.read(), dtype)
        return result if out is None else out

    def encode(self, buf):
        """Refuse: references are made to files, which are written by other means."""
        raise UnsupportedError(f"{self.codec_id} only reads; write FITS files with astropy_tilecomp and refer to them")
