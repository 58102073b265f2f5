"""Whole files: every image compressed, everything else copied."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any, BinaryIO

import numpy as np

from ..encode import NotEncodableError, encode
from ..errors import CorruptTileError, HeaderError, UnsupportedError
from ..hdus import FoundHDU, read_hdu, require_complete, walk
from ..keywords import ALGORITHMS, DEFAULT_QUANTIZE_LEVEL, DTYPE_OF_BITPIX, FPACK_QUANTIZE_LEVEL
from ..read.reader import TileReader
from ..sources.base import ByteSource
from ..sources.local import FileSource
from ..sources.opening import opened
from ..tiling.cards import join_cards, keyword_of
from ..tiling.header_cards import split_cards
from ..tiling.image_keywords import is_mandatory
from ..tiling.params import CompressionParams
from ..tiling.shapes import whole_tile_shape
from ..tiling.to_image import null_primary, table_to_image
from ..write.atomic import replacing_fits
from ..write.hdu_builder import TileSpool
from ..write.params import params_for, resolve_seed
from .reports import SLAB_NBYTES, WHOLE_FILE_ENDINGS, FileReport, HDUReport, copy_hdu, is_lossless, named_after, telling, warn

__all__ = ["pack", "packed_name"]

_CFITSIO_NULL: dict[int, Any] = {-32: np.float32(-9.11912e-36), -64: np.float64(-9.1191291391491e-36)}
_ALGORITHM_OF = {"RICE": "RICE_1", "GZIP": "GZIP_1", "PLIO": "PLIO_1", "HCOMPRESS": "HCOMPRESS_1", "NOCOMPRESS": "NOCOMPRESS"}


@dataclass(frozen=True)
class _Settings:
    """How `pack` compresses; the FZ keywords of a header may say otherwise for its image."""

    algorithm: str | None
    tile_shape: tuple[int, ...] | str | None
    quantize_level: float | None
    quantize_method: int | str
    dither_seed: int
    hcomp_scale: float
    hcomp_smooth: bool
    lossless: bool
    threads: int | None
    engine: str | None

    @property
    def level(self) -> float:
        """The quantization level: cfitsio's defaults where none is given."""
        if self.quantize_level is not None:
            return self.quantize_level
        return DEFAULT_QUANTIZE_LEVEL if self.quantize_method in (-1, "NO_DITHER") else FPACK_QUANTIZE_LEVEL


def pack(path, output=None, *, algorithm: str | None = None, tile_shape=None, quantize_level: float | None = None,
         quantize_method: int | str = "SUBTRACTIVE_DITHER_1", dither_seed: int = 0, hcomp_scale: float = 0,
         hcomp_smooth: bool = False, lossless: bool = False, checksum: bool = True, verify: bool = False,
         overwrite: bool = False, threads: int | None = None, engine: str | None = None,
         on_progress: Callable[[int, int], None] | None = None) -> FileReport:
    """
    Compress every image of a FITS file, as fpack does.

    Parameters
    ----------
    path : str, path-like, URL or anything else that `as_source` takes
        The file.
    output : str or path-like, optional
        The new file; by default `path` with ``.fz`` behind it, in place of ``.gz`` and the like.
    algorithm : str, optional
        RICE_1, GZIP_1, GZIP_2, PLIO_1, HCOMPRESS_1 or NOCOMPRESS; by default RICE_1, and GZIP_2 for what that cannot hold.
    tile_shape : tuple of int, "row" or "whole", optional
        Shape of a tile, C order; by default one row of the image, or some 16 with HCOMPRESS_1.
    quantize_level : float, optional
        Floats: steps in one standard deviation of the noise; if negative, minus the step itself; 0 for no loss. By default
        4, or 16 without dither.
    quantize_method : int or str
        NO_DITHER (-1), SUBTRACTIVE_DITHER_1 (1) or SUBTRACTIVE_DITHER_2 (2), which keeps zeros.
    dither_seed : int
        1 to 10000; 0 for any, negative for one that is made from the pixels.
    hcomp_scale : float
        HCOMPRESS_1: over 0 times the noise of each tile, under 0 minus the scale itself, 0 for no loss.
    hcomp_smooth : bool
        HCOMPRESS_1: ask readers to smooth.
    lossless : bool
        Keep floats to the bit.
    checksum : bool
        Write CHECKSUM and DATASUM of the compressed images.
    verify : bool
        Decode what was written and hold it against the file before it is put in place.
    overwrite : bool
        Whether `output` may replace a file.
    threads : int, optional
        Threads to use at most.
    engine : {"kernel", "cfitsio"}, optional
        By default ASTROPY_TILECOMP_ENGINE, else "kernel".
    on_progress : callable, optional
        Called with the bytes that are done and all bytes.

    Returns
    -------
    FileReport

    Raises
    ------
    FileExistsError
        If `output` exists and may not be replaced.
    HeaderError
        If the file is no FITS file, or ends before its last image does, or there is no such algorithm.
    CorruptTileError
        If `verify` finds that a pixel did not come back.

    Notes
    -----
    Tables, compressed images and HDUs without pixels are copied. The keywords FZALGOR, FZTILE, FZQVALUE, FZQMETHD, FZDTHRSD
    and FZHSCALE of an image go before the arguments. Images that the algorithm cannot hold are compressed by GZIP_2, with a
    warning. An output file appears only when it is complete.
    """
    if algorithm not in (None, *ALGORITHMS):
        raise HeaderError(keyword="ZCMPTYPE", found=algorithm, expected="one of " + ", ".join(ALGORITHMS))
    settings = _Settings(algorithm, tile_shape, quantize_level, quantize_method, dither_seed, hcomp_scale, hcomp_smooth,
                         lossless, threads, engine)
    with opened(path) as source:
        output = named_after(source, output, packed_name)
        hdus = list(walk(source))
        _warn_of_padding(source, hdus)
        reports = []
        with replacing_fits(output, overwrite=overwrite) as file:
            for found in hdus:
                tell = telling(on_progress, source, found)
                reports.append(_pack_hdu(source, found, file, settings, checksum, verify, tell))
                tell(1.0)
        return FileReport(source.name, os.fspath(output), tuple(reports))


def packed_name(name: str) -> str:
    """
    Name of the compressed file beside a plain one.

    Raises
    ------
    ValueError
        If it has that already.
    """
    if name.endswith(".fz"):
        raise ValueError(f"{name} ends in .fz already; output= has to name the new file")
    base, ending = os.path.splitext(name)
    return (base if ending in WHOLE_FILE_ENDINGS else name) + ".fz"


def _warn_of_padding(source: ByteSource, hdus: list[FoundHDU]) -> None:
    """Say what will not come back: unusual bytes where the standard wants zeros, and bytes behind the last HDU."""
    for found in hdus:
        require_complete(source, found)
        if _is_image(found) and any(source.read(found.data_end, min(found.end, source.nbytes))):
            warn(f"{source.name}: HDU {found.number} is padded with other bytes than zeros, which are not kept")
    end = hdus[-1].end
    if source.nbytes != end:
        missing = "misses the end of its padding" if source.nbytes < end else "has bytes behind its last HDU, which are not kept"
        warn(f"{source.name} {missing}")


def _is_image(found: FoundHDU) -> bool:
    """Whether an HDU is a plain image with pixels."""
    header = found.header
    plain = header.get("SIMPLE") is not None or header.get("XTENSION") == "IMAGE"
    return plain and header.get("NAXIS", 0) > 0 and header.get("GROUPS") is not True and found.data_end > found.data_offset


def _pack_hdu(source, found: FoundHDU, file: BinaryIO, settings: _Settings, checksum: bool, verify: bool,
              tell: Callable[[float], None]) -> HDUReport:
    """Write one HDU, compressed or as it is."""
    header, name = found.header, str(found.header.get("EXTNAME", "")).strip()
    before = found.end - found.header_offset
    wanted = _overridden(settings, header) if _is_image(found) else None
    if wanted is None:
        return HDUReport(found.number, name, "copied", nbytes_before=before, nbytes_after=copy_hdu(source, found, file))
    begin = file.tell()
    if found.number == 0:
        file.write(join_cards(null_primary()))
    cards = split_cards(source.read(found.header_offset, found.data_offset))
    try:
        spool = _encode_hdu(source, found, wanted, tell)
    except (HeaderError, NotEncodableError) as error:
        if wanted.algorithm == "GZIP_2":
            raise
        spool = _encode_hdu(source, found, replace(wanted, algorithm="GZIP_2"), tell)
        warn(f"{source.name}: HDU {found.number} is compressed by GZIP_2: {error}")
    start = file.tell()
    params = spool.params
    spool.write_hdu(file, cards, quantize_level=wanted.level if params.quantized else None, checksum=checksum)
    if verify:
        _verify(source, found, file, start, spool)
    n_fallback = int((spool.column == 2).sum())
    spool.close()
    return HDUReport(
        found.number, name, "packed", params.zcmptype, before, file.tell() - begin, params.n_tiles, n_fallback, is_lossless(params)
    )


def _overridden(settings: _Settings, header) -> _Settings | None:
    """The settings for one image, by its FZ keywords; None if it is to be left as it is."""
    if header.get("FZI2F") is True:
        raise UnsupportedError("FZI2F = T asks to turn integers into quantized floats, which pack does not do")
    found: dict[str, Any] = {}
    algorithm = header.get("FZALGOR")
    if algorithm is not None:
        word = str(algorithm).strip().upper()
        if word == "NONE":
            return None
        found["algorithm"] = _ALGORITHM_OF.get(word, word)
    if "FZTILE" in header:
        found["tile_shape"] = _tile_of(str(header["FZTILE"]))
    if "FZQVALUE" in header:
        found["quantize_level"] = float(header["FZQVALUE"])
    if "FZQMETHD" in header:
        found["quantize_method"] = str(header["FZQMETHD"]).strip().upper()
    if "FZDTHRSD" in header:
        seed = header["FZDTHRSD"]
        found["dither_seed"] = {"CLOCK": 0, "CHECKSUM": -1}.get(str(seed).strip().upper(), seed)
    if "FZHSCALE" in header:
        found["hcomp_scale"] = float(header["FZHSCALE"])
    return replace(settings, **found)


def _tile_of(text: str):
    """A tile shape as FZTILE has it: a word, or sizes from the first FITS axis on."""
    word = text.strip().lower()
    if word in ("row", "whole"):
        return word
    try:
        return tuple(int(size) for size in reversed(word.strip("()").split(",")))
    except ValueError:
        raise HeaderError(keyword="FZTILE", found=text, expected="ROW, WHOLE or sizes such as (100,100)") from None


def _params_of(found: FoundHDU, settings: _Settings) -> CompressionParams:
    """The parameters for one image of the file; its pixels are taken as they are stored."""
    header, shape = found.header, found.shape
    lossless = settings.lossless or settings.level == 0
    tile_shape: Any = settings.tile_shape
    if tile_shape == "row":
        tile_shape = (1,) * (len(shape) - 1) + (shape[-1],)
    elif tile_shape == "whole":
        tile_shape = whole_tile_shape(shape, settings.algorithm or "RICE_1")
    elif tile_shape is not None and len(tile_shape) < len(shape):  # as fpack: tiles are 1 along the axes that are not given
        tile_shape = (1,) * (len(shape) - len(tile_shape)) + tuple(tile_shape)
    params = params_for(
        shape, DTYPE_OF_BITPIX[header["BITPIX"]], algorithm=settings.algorithm, tile_shape=tile_shape, lossless=lossless,
        quantize_method=settings.quantize_method, hcomp_scale=settings.hcomp_scale, hcomp_smooth=settings.hcomp_smooth,
        blank=header.get("BLANK"),
    )
    return replace(params, bscale=header.get("BSCALE", 1), bzero=header.get("BZERO", 0))


def _encode_hdu(source, found: FoundHDU, settings: _Settings, tell: Callable[[float], None]) -> TileSpool:
    """Encode the image, some slabs at a time."""
    params = _params_of(found, settings)
    spool = TileSpool(params)
    for start, slab in _slabs(source, found, params):
        if start == 0 and params.dither_method:
            first = slab[tuple(slice(length) for length in params.tile_shape)].astype(params.dtype)
            seed = resolve_seed(settings.dither_seed, first, null=_CFITSIO_NULL[params.zbitpix])
            params = spool.params = replace(params, zdither0=seed)
        for tiles in encode(slab, params, start=start, quantize_level=settings.level, threads=settings.threads, engine=settings.engine):
            spool.add(tiles)
        tell((start + len(slab)) / params.image_shape[0])
    return spool


def _slabs(source, found: FoundHDU, params: CompressionParams) -> Iterator[tuple[int, np.ndarray]]:
    """The image in slabs of whole tiles, one after the other in the same memory, with the index where each begins."""
    dtype, shape, rows_of_tile = params.dtype.newbyteorder(">"), params.image_shape, params.tile_shape[0]
    row_nbytes = prod(shape[1:]) * dtype.itemsize
    step = max(1, SLAB_NBYTES // max(1, row_nbytes * rows_of_tile)) * rows_of_tile
    array = np.empty((min(step, shape[0]), *shape[1:]), dtype)
    for start in range(0, shape[0], step):
        slab = array[: min(step, shape[0] - start)]
        first = found.data_offset + start * row_nbytes
        source.readinto((first, first + slab.nbytes), slab)
        yield start, slab


def _verify(source, found: FoundHDU, file: BinaryIO, start: int, spool: TileSpool) -> None:
    """Decode an HDU that was just written, and hold its pixels against those of the image."""
    file.flush()
    params = spool.params
    with FileSource.from_descriptor(file.fileno(), file.name) as written:
        packed = read_hdu(written, start)
        _verify_cards(source, found, split_cards(written.read(start, packed.data_offset)))
        reader = TileReader(written.part(packed.data_offset, packed.end), packed.header, scaled=False, cache_bytes=0)
        tolerance = float(spool.zscale.max(initial=0.0)) * 0.5000001
        for first, slab in _slabs(source, found, params):
            got = reader.read(slice(first, first + len(slab)))
            if not _same(slab, got, params, tolerance):
                raise CorruptTileError(f"{source.name}: HDU {found.number}: pixels from index {first} on did not come back")


def _verify_cards(source, found: FoundHDU, table_cards: list[str]) -> None:
    """Check that every card of an image comes back, apart from those that describe its size."""
    restored = set(table_to_image(table_cards, is_primary=found.number == 0))
    for card in split_cards(source.read(found.header_offset, found.data_offset)):
        if card not in restored and not is_mandatory(keyword_of(card)):
            raise HeaderError(f"{source.name}: HDU {found.number}: the card {card.strip()!r} did not come back")


def _same(slab: np.ndarray, got: np.ndarray, params: CompressionParams, tolerance: float) -> bool:
    if params.zcmptype == "HCOMPRESS_1" and params.hcomp_scale:
        return got.shape == slab.shape  # how far off is what the user asked for
    if not params.quantized:
        return got.astype(slab.dtype).tobytes() == slab.tobytes()
    with np.errstate(invalid="ignore"):
        near = np.abs(got.astype("f8") - slab.astype("f8")) <= tolerance + np.abs(slab.astype("f8")) * 1e-6
    return bool((near | (np.isnan(got) & np.isnan(slab)) | (got == slab)).all())
