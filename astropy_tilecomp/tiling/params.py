"""What the header of a compressed image says about its tiles; the only place that reverses axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from .. import keywords as kw
from ..errors import HeaderError, UnsupportedError
from ..threads import computed_once
from .grid import TileGrid
from .values import HeaderValues, require

__all__ = ["CompressionParams"]

_SETTINGS_OF = {"RICE_1": ("BLOCKSIZE", "BYTEPIX"), "HCOMPRESS_1": ("SCALE", "SMOOTH")}
_MAX_INT64 = 2**63 - 1
_MAX_AXES = 64 if int(np.__version__.partition(".")[0]) >= 2 else 32


@dataclass(frozen=True)
class CompressionParams:
    """
    Parameters of a compressed image, validated.

    Parameters
    ----------
    zcmptype : str
        Algorithm: RICE_1, GZIP_1, GZIP_2, PLIO_1, HCOMPRESS_1 or NOCOMPRESS.
    zbitpix : int
        BITPIX of the image: 8, 16, 32, 64, -32 or -64.
    image_shape, tile_shape : tuple of int
        Shapes of the image and of a whole tile, C order; the tile is clipped to the image, and at least 1 along each axis.
    quantized : bool
        Whether the pixels are floats that were scaled to integers (single tiles may still be kept as floats).
    blocksize, bytepix : int
        RICE_1: pixels in a block, and bytes of a coded pixel.
    smooth : bool
        HCOMPRESS_1: whether the decoder smooths.
    hcomp_scale : float
        HCOMPRESS_1: the scale that was asked for; the one in each stream counts.
    zquantiz : str or None
        NO_DITHER, SUBTRACTIVE_DITHER_1 or SUBTRACTIVE_DITHER_2; None unless quantized.
    zdither0 : int or None
        Seed of the dither, 1 to 10000; None unless dithered.
    zscale, zzero : float or None
        Scale and zero point where they are keywords, the same for all tiles; None where they are columns.
    zblank : int or None
        Value of undefined pixels among the coded integers where no ZBLANK column gives one.
    blank : int or None
        Integer image: the stored value of undefined pixels.
    bscale, bzero : int or float
        Scaling of the image: value = stored * bscale + bzero.
    zmaskcmp : str or None
        Algorithm of the null masks; None without a column of them.
    unsigned : bool
        Whether a BZERO that only shifts integers makes them unsigned (or signed bytes); if not, it makes them floats, as any
        other does. No header tells.

    Raises
    ------
    HeaderError
        If a value is outside of what the format allows; its attributes give the keyword, what was found and expected.
    UnsupportedError
        For tiles of more than 2**31 - 1 pixels, more axes than numpy has, and BYTEPIX 8.
    """

    zcmptype: str
    zbitpix: int
    image_shape: tuple[int, ...]
    tile_shape: tuple[int, ...]
    quantized: bool = False
    blocksize: int = kw.DEFAULT_BLOCKSIZE
    bytepix: int = kw.DEFAULT_BYTEPIX
    smooth: bool = False
    hcomp_scale: float = 0.0
    zquantiz: str | None = None
    zdither0: int | None = None
    zscale: float | None = None
    zzero: float | None = None
    zblank: int | None = None
    blank: int | None = None
    bscale: float = 1
    bzero: float = 0
    zmaskcmp: str | None = None
    unsigned: bool = True

    def __post_init__(self):
        require(self.zcmptype in kw.ALGORITHMS, "ZCMPTYPE", self.zcmptype, "one of " + ", ".join(kw.ALGORITHMS))
        _require_bitpix(self.zbitpix)
        require(1 <= self.blocksize <= kw.MAX_BLOCKSIZE, "BLOCKSIZE", self.blocksize, f"1 to {kw.MAX_BLOCKSIZE}")
        if self.bytepix == 8:
            raise UnsupportedError("BYTEPIX is 8: RICE_1 is defined for 1, 2 and 4 bytes per pixel")
        require(self.bytepix in kw.BYTEPIX_VALUES, "BYTEPIX", self.bytepix, "1, 2 or 4")
        self._check_shapes()
        self._check_quantization()

    def _check_shapes(self):
        n_axes = len(self.image_shape)
        require(1 <= n_axes <= 999, "ZNAXIS", n_axes, "1 to 999")
        if n_axes > _MAX_AXES:
            raise UnsupportedError(f"an image of {n_axes} axes: numpy arrays have {_MAX_AXES} at most")
        if len(self.tile_shape) != n_axes:
            raise HeaderError(f"tile shape {self.tile_shape} does not fit image shape {self.image_shape}")
        for axis, (size, tile) in enumerate(zip(reversed(self.image_shape), reversed(self.tile_shape)), 1):
            require(0 <= size <= _MAX_INT64, f"ZNAXIS{axis}", size, "0 or more")
            require(tile >= 1, f"ZTILE{axis}", tile, "1 or more")
        if prod(self.image_shape) > _MAX_INT64:
            raise UnsupportedError(f"an image of shape {self.image_shape} has more than 2**63 - 1 pixels")
        if prod(self.tile_shape) > kw.MAX_TILE_PIXELS:
            raise UnsupportedError(f"a tile of shape {self.tile_shape} has more than 2**31 - 1 pixels")

    def _check_quantization(self):
        if not self.quantized:
            if self.zbitpix < 0 and self.zcmptype not in kw.LOSSLESS_FLOAT_ALGORITHMS:
                raise HeaderError(
                    f"ZCMPTYPE is {self.zcmptype!r} and ZBITPIX {self.zbitpix}, which needs ZSCALE and ZZERO: found neither"
                    " columns nor keywords"
                )
            return
        require(self.zbitpix < 0, "ZBITPIX", self.zbitpix, "-32 or -64 in a quantized image")
        require(self.zquantiz in kw.DITHER_METHODS, "ZQUANTIZ", self.zquantiz, "one of " + ", ".join(kw.DITHER_METHODS))
        if self.dither_method:
            in_range = isinstance(self.zdither0, int) and 1 <= self.zdither0 <= kw.N_DITHER_SEEDS
            require(in_range, "ZDITHER0", self.zdither0, f"1 to {kw.N_DITHER_SEEDS}")

    @classmethod
    def from_header(cls, header: Mapping) -> CompressionParams:
        """
        Read the parameters from the header of a compressed image.

        Parameters
        ----------
        header : mapping of str to object
            The header of the table: an astropy Header, a dict or what `read_cards` gives.

        Returns
        -------
        CompressionParams
            What the header says, with the defaults of the format for what it leaves out.

        Raises
        ------
        HeaderError
            If a keyword is missing, has the wrong type or a value outside of what the format allows, or if the number of
            table rows is not that of the tiles.
        UnsupportedError
            For what is lawful but not handled, as tiles of more than 2**31 - 1 pixels.

        Notes
        -----
        Where a keyword is missing, readers before this one agree on: row tiles, BLOCKSIZE 32, BYTEPIX 4, no smoothing,
        NO_DITHER, ZDITHER0 1. A ZDITHER0 out of range counts modulo 10000. Floats are quantized if ZSCALE and ZZERO are
        there, as columns or keywords; ZQUANTIZ does not tell. An image without pixels may have rows: astropy writes some.
        """
        values = HeaderValues(header)
        require(values.flag("ZIMAGE"), "ZIMAGE", header.get("ZIMAGE"), "T")
        zcmptype = values.algorithm("ZCMPTYPE")
        zbitpix = values.integer("ZBITPIX")
        _require_bitpix(zbitpix)
        image_shape, tile_shape = _read_shapes(values)
        columns = _read_columns(values)
        params = cls(
            zcmptype, zbitpix, image_shape, tile_shape,
            **_read_settings(values, zcmptype),
            **_read_quantization(values, columns, zbitpix),
            **_read_blanks(values, columns, zbitpix),
            bscale=values.number("BSCALE", 1), bzero=values.number("BZERO", 0),
            zmaskcmp=values.algorithm("ZMASKCMP") if columns.intersection(kw.MASK_COLUMNS) else None,
        )
        n_rows = values.integer("NAXIS2", params.n_tiles)
        require(n_rows == params.n_tiles or 0 in image_shape, "NAXIS2", n_rows, f"{params.n_tiles}, the number of tiles")
        return params

    @property
    def ndim(self) -> int:
        """Number of axes of the image."""
        return len(self.image_shape)

    @computed_once
    def grid_shape(self) -> tuple[int, ...]:
        """Number of tiles along each axis, C order."""
        return tuple(-(-size // tile) for size, tile in zip(self.image_shape, self.tile_shape))

    @computed_once
    def grid(self) -> TileGrid:
        """The tiles of the image."""
        return TileGrid(self.image_shape, self.tile_shape)

    @property
    def n_tiles(self) -> int:
        """Number of tiles, which is the number of rows of the table."""
        return prod(self.grid_shape)

    @property
    def n_pixels(self) -> int:
        """Number of pixels of the image."""
        return prod(self.image_shape)

    @property
    def tile_pixels(self) -> int:
        """Number of pixels of a whole tile."""
        return prod(self.tile_shape)

    @property
    def dither_method(self) -> int:
        """0 without dither, else 1 or 2."""
        return kw.DITHER_METHODS[self.zquantiz] if self.zquantiz is not None else 0

    @property
    def dtype(self) -> np.dtype:
        """Type of the stored pixels, in native byte order."""
        return np.dtype(kw.DTYPE_OF_BITPIX[self.zbitpix])

    @computed_once
    def offset_dtype(self) -> np.dtype | None:
        """Integer type of the image if BZERO only shifts the stored integers to it (uint16, uint32, uint64, int8)."""
        if not self.unsigned or self.bscale != 1 or self.zbitpix < 0:
            return None
        if self.zbitpix == 8:
            return np.dtype("i1") if self.bzero == -128 else None
        return np.dtype(f"u{self.zbitpix // 8}") if self.bzero == 1 << (self.zbitpix - 1) else None

    @property
    def scaled(self) -> bool:
        """Whether BSCALE or BZERO change the stored pixels."""
        return self.bscale != 1 or self.bzero != 0

    @computed_once
    def result_dtype(self) -> np.dtype:
        """Type of the pixels after scaling, in native byte order; integers with BLANK become floats that hold NaN."""
        if self.offset_dtype is not None:
            return self.offset_dtype
        if self.zbitpix < 0 or (not self.scaled and self.blank is None):
            return self.dtype
        return np.dtype("f4" if self.zbitpix <= 16 else "f8")

    @property
    def plio_offset(self) -> bool:
        """Whether 32768 has to be subtracted from what PLIO_1 gives: cfitsio codes unsigned 16-bit values themselves."""
        return self.zcmptype == "PLIO_1" and self.zbitpix == 16 and self.bzero == 32768


def _require_bitpix(zbitpix) -> None:
    """Refuse a ZBITPIX that is none, before anything is computed from it."""
    require(zbitpix in kw.DTYPE_OF_BITPIX, "ZBITPIX", zbitpix, "8, 16, 32, 64, -32 or -64")


def _read_shapes(values: HeaderValues) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes of image and tile, C order: FITS counts axes from the fastest."""
    n_axes = values.integer("ZNAXIS")
    require(1 <= n_axes <= 999, "ZNAXIS", n_axes, "1 to 999")
    if n_axes > _MAX_AXES:
        raise UnsupportedError(f"ZNAXIS is {n_axes}: numpy arrays have {_MAX_AXES} axes at most")
    axes = range(n_axes, 0, -1)
    image = tuple(values.integer(f"ZNAXIS{axis}") for axis in axes)
    tile = tuple(values.integer(f"ZTILE{axis}", 1 if axis > 1 else max(size, 1)) for axis, size in zip(axes, image))
    clipped = tuple(min(t, max(size, 1)) for t, size in zip(tile, image))
    return image, clipped


def _read_columns(values: HeaderValues) -> frozenset[str]:
    """Names of the columns that say something about a tile, in upper case."""
    n_columns = values.integer("TFIELDS", 0)
    require(0 <= n_columns <= 999, "TFIELDS", n_columns, "0 to 999")
    return frozenset(values.text(f"TTYPE{n}", "").upper() for n in range(1, n_columns + 1))


def _read_settings(values: HeaderValues, zcmptype: str) -> dict:
    """Settings of the algorithm, from the pairs ZNAMEi and ZVALi."""
    wanted = _SETTINGS_OF.get(zcmptype, ())
    at: dict[str, str] = {}
    number = 1
    while wanted and values.has(f"ZNAME{number}"):
        name = values.text(f"ZNAME{number}").upper()
        if name in wanted:
            at.setdefault(name, f"ZVAL{number}")
        number += 1
    settings: dict[str, float] = {}
    if "BLOCKSIZE" in at:
        settings["blocksize"] = values.integer(at["BLOCKSIZE"])
    if "BYTEPIX" in at:
        bytepix = values.integer(at["BYTEPIX"])
        settings["bytepix"] = kw.DEFAULT_BYTEPIX if bytepix in kw.BYTEPIX_OF_RUSTFITS_FLOATS else bytepix
    if "SCALE" in at:
        settings["hcomp_scale"] = float(values.number(at["SCALE"]))
    if "SMOOTH" in at:
        settings["smooth"] = values.switch(at["SMOOTH"])
    return settings


def _read_quantization(values: HeaderValues, columns: frozenset[str], zbitpix: int) -> dict:
    """Whether floats were quantized, and how."""
    if zbitpix > 0:
        return {}
    constants = {
        name: float(values.number(name)) for name in ("ZSCALE", "ZZERO") if name not in columns and values.has(name)
    }
    missing = [name for name in ("ZSCALE", "ZZERO") if name not in columns and name not in constants]
    if len(missing) == 2:
        return {}
    if missing:
        raise HeaderError(keyword=missing[0], expected="a column or a keyword beside that of the other")
    found = values.text("ZQUANTIZ", "NO_DITHER")
    method = found.upper()
    if method in (kw.NOT_QUANTIZED, ""):
        method = "NO_DITHER"
    require(method in kw.DITHER_METHODS, "ZQUANTIZ", found, "one of " + ", ".join(kw.DITHER_METHODS))
    seed = (values.integer("ZDITHER0", 1) - 1) % kw.N_DITHER_SEEDS + 1 if kw.DITHER_METHODS[method] else None
    return {
        "quantized": True, "zquantiz": method, "zdither0": seed,
        "zscale": constants.get("ZSCALE"), "zzero": constants.get("ZZERO"),
    }


def _read_blanks(values: HeaderValues, columns: frozenset[str], zbitpix: int) -> dict:
    """
    Values of undefined pixels.

    ZBLANK is that of the coded integers; without it cfitsio takes BLANK. In an integer image a missing BLANK follows from
    ZBLANK, and is the least integer of the type if only a column of that name says that there are undefined pixels.
    """
    zblank, blank = (values.integer(name) if values.has(name) else None for name in ("ZBLANK", "BLANK"))
    if zbitpix < 0:
        return {"zblank": blank if zblank is None else zblank}
    if blank is None:
        blank = -(1 << (zbitpix - 1)) if zblank is None and "ZBLANK" in columns else zblank
    return {"zblank": zblank, "blank": blank}
