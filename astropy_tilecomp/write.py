"""The whole writing path: array, parameters, tiles, heap and table, header, file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace

import numpy as np

from .atomic import copy_range, replacing_fits
from .codecs.buffers import unmasked
from .encode import EncodedTiles, encode, encode_box
from .errors import HeaderError
from .files import require_complete, walk
from .keywords import DITHER_METHODS, N_DITHER_SEEDS
from .sources import FileSource
from .spool import TileSpool
from .tiling.cards import CARD_SIZE, cards_of, cut_cards, format_card, format_cards, join_cards, keyword_of
from .tiling.grid import TileGrid
from .tiling.header import null_primary
from .tiling.params import CompressionParams
from .tiling.shapes import fit_tile_shape

__all__ = ["TileWriter", "image_cards", "params_for", "resolve_seed", "write_image"]

DEFAULT_QUANTIZE_LEVEL = 16.0
_BITPIX_OF = {"u1": 8, "i1": 8, "i2": 16, "u2": 16, "i4": 32, "u4": 32, "i8": 64, "u8": 64, "f4": -32, "f8": -64}
_BZERO_OF = {"i1": -128, "u2": 1 << 15, "u4": 1 << 31, "u8": 1 << 63}
_NUMBER_OF_METHOD = {-1: "NO_DITHER", 0: "NO_DITHER", 1: "SUBTRACTIVE_DITHER_1", 2: "SUBTRACTIVE_DITHER_2"}
_KEYWORD = re.compile(r"[A-Z0-9_-]{1,8}")
_WITHOUT_VALUE = ("COMMENT", "HISTORY", "CONTINUE", "HIERARCH", "END")
_TAKES_ALL = "an astropy Header takes comments and long keywords too"
_STRUCTURE = frozenset(
    ("SIMPLE", "XTENSION", "BITPIX", "NAXIS", "EXTEND", "PCOUNT", "GCOUNT", "BSCALE", "BZERO", "CHECKSUM", "DATASUM", "END")
)


def params_for(shape: Sequence[int], dtype, *, algorithm: str | None = None, tile_shape: Sequence[int] | None = None,
               lossless: bool = False, quantize_method: int | str = "SUBTRACTIVE_DITHER_1", dither_seed: int = 1,
               hcomp_scale: float = 0, hcomp_smooth: bool = False, blank: int | None = None, zblank: int | None = None,
               style: str = "cfitsio") -> CompressionParams:
    """
    Choose the parameters of a compressed image.

    Parameters
    ----------
    shape : sequence of int
        Shape of the image, C order.
    dtype : dtype_like
        Type of the pixels; unsigned and 8-bit signed integers are stored with BZERO.
    algorithm : str, optional
        RICE_1, GZIP_1, GZIP_2, PLIO_1, HCOMPRESS_1 or NOCOMPRESS; by default RICE_1, and GZIP_2 for what RICE_1 cannot hold:
        64-bit integers, and floats that are to be `lossless`.
    tile_shape : sequence of int, optional
        As `fit_tile_shape` takes it.
    lossless : bool
        Keep floats as they are, to the bit; by default they are quantized.
    quantize_method : int or str
        NO_DITHER (-1), SUBTRACTIVE_DITHER_1 (1) or SUBTRACTIVE_DITHER_2 (2), which keeps zeros.
    dither_seed : int
        ZDITHER0, 1 to 10000.
    hcomp_scale : float
        HCOMPRESS_1: over 0 times the noise of each tile, under 0 minus the scale itself, 0 lossless.
    hcomp_smooth : bool
        HCOMPRESS_1: ask readers to smooth.
    blank : int, optional
        Stored value of undefined pixels of an integer image.
    zblank : int, optional
        Integer for undefined pixels of quantized floats.
    style : {"cfitsio", "astropy"}
        Whose habits to follow.

    Returns
    -------
    CompressionParams

    Raises
    ------
    HeaderError
        If the algorithm cannot hold such pixels or tiles.
    TypeError
        If FITS has no such type of pixels.
    """
    dtype = np.dtype(dtype)
    code = dtype.str[1:]
    if code not in _BITPIX_OF:
        raise TypeError(f"FITS has no image of type {dtype}, but of integers of 8 to 64 bits, float32 and float64")
    if not len(shape):
        raise HeaderError("the image has no axis: its shape is (), expected one axis or more")
    zbitpix = _BITPIX_OF[code]
    algorithm = algorithm or ("GZIP_2" if zbitpix == 64 or (zbitpix < 0 and lossless) else "RICE_1")
    if lossless and zbitpix < 0 and algorithm not in ("GZIP_1", "GZIP_2", "NOCOMPRESS"):
        raise HeaderError(f"{algorithm} holds no floats without loss; use GZIP_2 or GZIP_1")
    if lossless and algorithm == "HCOMPRESS_1" and hcomp_scale:
        raise HeaderError(f"lossless with an HCOMPRESS_1 scale of {hcomp_scale}: only scale 0 is lossless")
    if zbitpix == 64 and algorithm not in ("GZIP_1", "GZIP_2", "NOCOMPRESS"):
        raise HeaderError(f"{algorithm} holds no 64-bit integers; use GZIP_2 or GZIP_1")
    if code in ("u4", "u8") and algorithm == "PLIO_1":
        raise HeaderError(f"PLIO_1 holds no {dtype}: stored values would be negative")
    quantized = zbitpix < 0 and not lossless and algorithm != "NOCOMPRESS"
    method = _method_name(quantize_method) if quantized else None
    if quantized and algorithm == "HCOMPRESS_1" and hcomp_scale and method == "SUBTRACTIVE_DITHER_2":
        method = "SUBTRACTIVE_DITHER_1"  # as cfitsio: lossy HCOMPRESS_1 would destroy the marks of zeros
    return CompressionParams(
        algorithm, zbitpix, tuple(shape), fit_tile_shape(shape, tile_shape, algorithm, style=style),
        quantized=quantized, zquantiz=method, zdither0=dither_seed if DITHER_METHODS.get(method) else None,
        bytepix=min(4, abs(zbitpix) // 8), hcomp_scale=float(hcomp_scale), smooth=bool(hcomp_smooth),
        zblank=zblank if quantized else None, blank=blank if zbitpix > 0 else None, bzero=_BZERO_OF.get(code, 0),
    )


def _method_name(method: int | str) -> str:
    name = _NUMBER_OF_METHOD.get(method, method)
    if name not in DITHER_METHODS:
        raise HeaderError(keyword="ZQUANTIZ", found=method, expected="one of " + ", ".join(DITHER_METHODS) + ", or -1, 1, 2")
    return str(name)


def resolve_seed(request: int, first_tile: np.ndarray, *, null: float | None = None) -> int:
    """
    Turn a request for a dither seed into the seed.

    Parameters
    ----------
    request : int
        1 to 10000: that; 0: any, another one each time; negative: made from the pixels.
    first_tile : ndarray of float32 or float64
        Pixels of the first tile.
    null : float, optional
        What stands for NaN while the bytes are summed; by default NaN itself.

    Returns
    -------
    int
        1 to 10000.

    Raises
    ------
    ValueError
        If the request is over 10000.
    """
    if request > N_DITHER_SEEDS:
        raise ValueError(f"dither_seed is {request}, expected {N_DITHER_SEEDS} at most")
    if request > 0:
        return int(request)
    if request == 0:
        return int.from_bytes(os.urandom(8), "big") % N_DITHER_SEEDS + 1
    pixels = np.array(first_tile)
    if null is not None:
        pixels[np.isnan(pixels)] = null
    return int(pixels.view(np.uint8).sum(dtype=np.uint64)) % N_DITHER_SEEDS + 1


def image_cards(header, params: CompressionParams, name: str | None = None) -> list[str]:
    """
    Make the header of an image extension.

    Parameters
    ----------
    header : astropy Header, mapping, sequence of card images, or None
        Cards to keep, with their comments; those of the structure and of scaling are made anew.
    params : CompressionParams
        Parameters of the image.
    name : str, optional
        EXTNAME.

    Returns
    -------
    list of str
        Card images, without END.
    """
    kept = [card for card in _cards_of(header) if not _is_structure(keyword_of(card))]
    if name is not None:
        if not isinstance(name, str):
            raise TypeError(f"name is {name!r}, expected a string")
        kept = [*_images_for("EXTNAME", name), *(card for card in kept if keyword_of(card) != "EXTNAME")]
    if params.zbitpix < 0:
        kept = [card for card in kept if keyword_of(card) != "BLANK"]
    shape = [format_card(f"NAXIS{axis}", length) for axis, length in enumerate(reversed(params.image_shape), 1)]
    cards = [
        format_card("XTENSION", "IMAGE", "Image extension"), format_card("BITPIX", params.zbitpix, "array data type"),
        format_card("NAXIS", params.ndim, "number of array dimensions"), *shape,
        format_card("PCOUNT", 0, "number of parameters"), format_card("GCOUNT", 1, "number of groups"), *kept,
    ]
    if params.bzero:
        cards += [format_card("BSCALE", 1), format_card("BZERO", params.bzero)]
    return cards


def _cards_of(header) -> list[str]:
    """The card images of whatever a user calls a header."""
    if header is None:
        return []
    if hasattr(header, "tostring"):  # an astropy Header
        return cards_of(header)
    if isinstance(header, Mapping):
        return [image for keyword, value in header.items() for image in _images_for(keyword, value)]
    if isinstance(header, Iterable) and not isinstance(header, str):
        cards = list(header)
        if all(isinstance(card, str) or hasattr(card, "image") for card in cards):
            return [image for card in cards for image in _images_of(card)]
    raise TypeError(f"header is {header!r}, expected an astropy Header, a mapping or a sequence of card images")


def _images_of(card) -> list[str]:
    """A card image as it is, or those of an astropy Card, of which a long string has several."""
    return [card.ljust(CARD_SIZE)] if isinstance(card, str) else cut_cards(str(card))


def _images_for(keyword: str, value) -> list[str]:
    """The card images of one keyword of a mapping; a long string has several."""
    name = str(keyword).upper()
    if not _KEYWORD.fullmatch(name) or name in _WITHOUT_VALUE:
        raise HeaderError(f"header: {keyword!r} is no keyword of a value, which has 1 to 8 of A-Z, 0-9, - and _; {_TAKES_ALL}")
    if not isinstance(value, (str, bool, int, float, np.bool_, np.integer, np.floating)):
        raise TypeError(f"header: {keyword} is {value!r}, expected a string, a bool, an integer or a float; {_TAKES_ALL}")
    if isinstance(value, str) and not (value.isascii() and value.isprintable()):
        raise HeaderError(f"header: {keyword} is {value!r}, expected printable ASCII characters")
    return format_cards(name, value)


def _is_structure(keyword: str) -> bool:
    return keyword in _STRUCTURE or (keyword.startswith("NAXIS") and keyword[5:].isdecimal())


class TileWriter:
    """
    Write a compressed image piece by piece to a new file, or to the end of one.

    Parameters
    ----------
    path : str or path-like
        The file. It appears, or changes, only when the writer is closed without an error.
    shape : sequence of int
        Shape of the image, C order.
    dtype : dtype_like
        Type of the pixels.
    header : astropy Header, mapping or sequence of card images, optional
        Header of the image; a mapping is one of keywords to values.
    name : str, optional
        EXTNAME.
    append : bool
        Add the image to an existing file.
    overwrite : bool
        Whether an existing file may be replaced.
    checksum : bool
        Write CHECKSUM and DATASUM.
    quantize_level : float
        Floats: steps in one standard deviation of the noise; if negative, minus the step itself.
    dither_seed : int
        1 to 10000; 0 for any, negative for one that is made from the first tile that is written.
    threads : int, optional
        Threads to use at most.
    engine : {"kernel", "cfitsio"}, optional
        By default ASTROPY_TILECOMP_ENGINE, else "kernel".
    algorithm, tile_shape, lossless, quantize_method, hcomp_scale, hcomp_smooth, blank, zblank, style
        See `params_for`.

    Attributes
    ----------
    params : CompressionParams
        What the settings came to.

    Raises
    ------
    FileExistsError
        If the file exists, and is neither to be appended to nor replaced.
    HeaderError, TypeError
        For settings that do not fit, as `params_for`.

    Notes
    -----
    In memory are the tiles that are being encoded, the table, and up to 64 MiB of the heap; more of it waits in a temporary
    file in the folder of `path`. A crash at any moment leaves the old file, or the new one.

    Examples
    --------
    >>> import numpy as np
    >>> from astropy_tilecomp import TileWriter, read_section
    >>> with TileWriter("image.fits.fz", shape=(300, 200), dtype="int16", tile_shape=(100, 100)) as writer:
    ...     for start in range(0, 300, 50):
    ...         writer.write(np.full((50, 200), start, "int16"))
    >>> read_section("image.fits.fz", np.s_[::60, 0])
    array([  0,  50, 100, 150, 200], dtype=int16)
    """

    def __init__(self, path, shape: Sequence[int], dtype, header=None, *, name: str | None = None, append: bool = False,
                 overwrite: bool = False, checksum: bool = False, quantize_level: float = DEFAULT_QUANTIZE_LEVEL,
                 dither_seed: int = -1, threads: int | None = None, engine: str | None = None, algorithm: str | None = None,
                 tile_shape: Sequence[int] | None = None, lossless: bool = False,
                 quantize_method: int | str = "SUBTRACTIVE_DITHER_1", hcomp_scale: float = 0, hcomp_smooth: bool = False,
                 blank: int | None = None, zblank: int | None = None, style: str = "cfitsio"):
        self.params = params_for(
            shape, dtype, algorithm=algorithm, tile_shape=tile_shape, lossless=lossless, quantize_method=quantize_method,
            dither_seed=max(1, dither_seed), hcomp_scale=hcomp_scale, hcomp_smooth=hcomp_smooth, blank=blank, zblank=zblank,
            style=style,
        )
        self.dtype = np.dtype(dtype).newbyteorder("=")
        self.grid = TileGrid(self.params.image_shape, self.params.tile_shape)
        self._cards = image_cards(header, self.params, name)
        self._encoding = {"quantize_level": quantize_level, "threads": threads, "engine": engine}
        self._checksum, self._seed = checksum, dither_seed
        self._slab = _Slab(self.grid, self.dtype)
        with ExitStack() as stack:
            self._file = stack.enter_context(replacing_fits(path, overwrite=overwrite or append))
            self._begin(path, append)
            self._spool = TileSpool(self.params, os.path.dirname(os.path.realpath(os.fspath(path))))
            stack.callback(self._spool.close)
            self._stack = stack.pop_all()

    def _begin(self, path, append: bool) -> None:
        """Write what stands before the image: an empty primary HDU, or the file to append to."""
        if not append:
            self._file.write(join_cards(null_primary()))
            return
        with FileSource(path) as source:
            *_, last = walk(source)
            require_complete(source, last)
            stop = last.end
        with open(path, "rb") as old:
            copy_range(old, 0, min(stop, os.fstat(old.fileno()).st_size), self._file)
        self._file.write(bytes(stop - self._file.tell()))

    def write(self, values) -> None:
        """
        Write the next pixels along the first axis.

        Parameters
        ----------
        values : array_like
            Any number of rows of the image: its shape, but for the first axis.

        Raises
        ------
        ValueError
            If the shape does not fit, or there are more rows than the image has.
        NotEncodableError
            If the algorithm cannot hold the pixels.
        """
        for start, rows in self._slab.take(self._converted(values)):
            self._settle_seed(rows)
            self._add(encode(rows, self.params, start=start, **self._encoding))

    def write_tiles(self, tile: Sequence[int], values) -> None:
        """
        Write whole tiles anywhere, in any order, each once.

        Parameters
        ----------
        tile : sequence of int
            Grid coordinates of the first of them.
        values : array_like
            Pixels of a box of whole tiles that begins there.

        Raises
        ------
        ValueError
            If it is no box of whole tiles, or a tile was written before.
        NotEncodableError
            If the algorithm cannot hold the pixels.
        """
        values = self._converted(values)
        self._settle_seed(values)
        self._add(encode_box(values, self.params, tuple(tile), **self._encoding))

    def _converted(self, values) -> np.ndarray:
        values = unmasked(values)
        if values.dtype.newbyteorder("=") == self.dtype:
            return values
        if not np.can_cast(values.dtype, self.dtype, "same_kind"):
            raise TypeError(f"pixels of type {values.dtype} for an image of type {self.dtype}")
        converted = values.astype(self.dtype)
        if self.dtype.kind in "iu" and not np.array_equal(converted, values):
            raise ValueError(f"pixels of type {values.dtype} do not all fit the image's {self.dtype}")
        return converted

    def _settle_seed(self, values: np.ndarray) -> None:
        """Fix ZDITHER0 with the first pixels."""
        if self._seed is None or not self.params.dither_method:
            return
        first = values[tuple(slice(length) for length in self.params.tile_shape)]
        seed, self._seed = resolve_seed(self._seed, first), None
        self.params = self._spool.params = replace(self.params, zdither0=seed)

    def _add(self, pieces: Iterable[EncodedTiles]) -> None:
        for tiles in pieces:
            self._spool.add(tiles)

    def close(self) -> None:
        """
        Write header, table and heap, and put the file in place.

        Raises
        ------
        ValueError
            If tiles are missing; the old file, if any, is untouched.
        """
        self.__exit__(None, None, None)

    def abort(self) -> None:
        """Give up: the old file, if any, is untouched."""
        with suppress(_Aborted):
            self.__exit__(_Aborted, _Aborted(), None)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        stack, self._stack = self._stack, ExitStack()
        with stack:
            if error is not None:
                raise error
            if self._file.closed:
                return
            self._slab.check_complete()
            self._spool.write_hdu(
                self._file, self._cards, quantize_level=self._encoding["quantize_level"], checksum=self._checksum
            )


class _Aborted(Exception):
    """What undoes a write that the user gives up."""


class _Slab:
    """Rows that come in pieces of any number, given out in whole tiles along the first axis."""

    def __init__(self, grid: TileGrid, dtype: np.dtype):
        self._grid, self._dtype = grid, dtype
        self._kept: list[np.ndarray] = []
        self._n_kept = self._start = 0

    def take(self, values: np.ndarray):
        """Add rows; yield (start, rows) as soon as whole tiles are there."""
        n_rows, row_shape = self._grid.image_shape[0], self._grid.image_shape[1:]
        if values.shape[1:] != row_shape or values.ndim != len(row_shape) + 1:
            raise ValueError(f"pixels of shape {values.shape}, expected rows of an image of shape {self._grid.image_shape}")
        arrived = self._start + self._n_kept + len(values)
        if arrived > n_rows:
            raise ValueError(f"{arrived} rows for an image of {n_rows}")
        self._kept.append(values)
        self._n_kept += len(values)
        whole = self._n_kept if arrived == n_rows else self._n_kept // self._grid.tile_shape[0] * self._grid.tile_shape[0]
        if whole:
            rows = self._kept[0] if len(self._kept) == 1 else np.concatenate(self._kept)
            start, self._start = self._start, self._start + whole
            self._kept, self._n_kept = [rows[whole:].copy()], self._n_kept - whole
            yield start, rows[:whole]
        elif len(values):
            self._kept[-1] = values.copy()  # the caller may use its array again

    def check_complete(self) -> None:
        if self._n_kept:
            raise ValueError(f"{self._start + self._n_kept} rows were written, the image has {self._grid.image_shape[0]}")


def write_image(path, image, header=None, *, algorithm: str | None = None, tile_shape: Sequence[int] | None = None,
                lossless: bool = False, quantize_level: float = DEFAULT_QUANTIZE_LEVEL,
                quantize_method: int | str = "SUBTRACTIVE_DITHER_1", dither_seed: int = -1, hcomp_scale: float = 0,
                hcomp_smooth: bool = False, blank: int | None = None, zblank: int | None = None, style: str = "cfitsio",
                name: str | None = None, append: bool = False, overwrite: bool = False, checksum: bool = False,
                threads: int | None = None, engine: str | None = None) -> None:
    """
    Write an array as a compressed image.

    Parameters
    ----------
    path : str or path-like
        The file; it appears only when it is complete.
    image : array_like
        The pixels.
    header : astropy Header, mapping or sequence of card images, optional
        Header of the image; a mapping is one of keywords to values.
    algorithm : str, optional
        RICE_1, GZIP_1, GZIP_2, PLIO_1, HCOMPRESS_1 or NOCOMPRESS; by default RICE_1, and GZIP_2 for what RICE_1 cannot hold.
    tile_shape : sequence of int, optional
        C order; by default one row of the image, or about 16 rows with HCOMPRESS_1.
    lossless : bool
        Keep floats bit for bit; by default they are quantized.
    quantize_level : float
        Floats: steps in one standard deviation of the noise; if negative, minus the step itself.
    quantize_method : int or str
        NO_DITHER (-1), SUBTRACTIVE_DITHER_1 (1) or SUBTRACTIVE_DITHER_2 (2), which keeps zeros.
    dither_seed : int
        1 to 10000; 0 for any, negative for one made from the first tile.
    hcomp_scale, hcomp_smooth, blank, zblank, style
        See `params_for`.
    name, append, overwrite, checksum, threads, engine
        See `TileWriter`.

    Raises
    ------
    FileExistsError
        If the file exists, and neither `append` nor `overwrite` is given.
    NotEncodableError
        If the algorithm cannot hold the pixels.
    HeaderError, TypeError, ValueError
        For settings that do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from astropy_tilecomp import read_image, write_image
    >>> write_image("counts.fits.fz", np.arange(12, dtype="uint16").reshape(3, 4), {"OBJECT": "M31"})
    >>> read_image("counts.fits.fz")[1]
    array([4, 5, 6, 7], dtype=uint16)
    """
    image = np.asanyarray(image)
    with TileWriter(
        path, image.shape, image.dtype, header, name=name, append=append, overwrite=overwrite, checksum=checksum,
        quantize_level=quantize_level, dither_seed=dither_seed, threads=threads, engine=engine, algorithm=algorithm,
        tile_shape=tile_shape, lossless=lossless, quantize_method=quantize_method, hcomp_scale=hcomp_scale,
        hcomp_smooth=hcomp_smooth, blank=blank, zblank=zblank, style=style,
    ) as writer:
        if image.size:
            writer.write(image)
