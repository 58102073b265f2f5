"""What is in a FITS file: its HDUs, how the images are compressed, and what reading them costs; no tile is decoded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import HeaderError, TileCompError
from ..hdus import FoundHDU, walk
from ..keywords import COMPRESSED_DATA, GZIP_COMPRESSED_DATA, UNCOMPRESSED_DATA
from ..read.table_rows import read_table
from ..sources.base import ByteSource
from ..sources.opening import opened
from ..tiling.columns import COLUMN_NAMES
from ..tiling.params import CompressionParams
from ..tiling.table import TileTable
from .cutout_cost import CutoutCost, cutout_cost

__all__ = ["FileInfo", "HDUInfo", "HeapInfo", "ImageInfo", "info"]


@dataclass(frozen=True)
class HeapInfo:
    """
    How the bytes of the tiles lie in the heap.

    Attributes
    ----------
    nbytes : int
        Size of the heap.
    tile_nbytes : int
        Bytes of all tiles together.
    smallest, median, largest : int
        Bytes of a tile.
    n_gaps, gap_nbytes : int
        Stretches of the heap that no tile uses, and their bytes.
    in_order : bool
        Whether the tiles lie in row order.
    contiguous : bool
        Whether they lie in row order without gaps between them: then neighbours are read in one request.
    """

    nbytes: int
    tile_nbytes: int
    smallest: int
    median: int
    largest: int
    n_gaps: int
    gap_nbytes: int
    in_order: bool
    contiguous: bool


@dataclass(frozen=True)
class ImageInfo:
    """
    How one image is compressed.

    Attributes
    ----------
    algorithm : str
        ZCMPTYPE.
    settings : dict
        What belongs to the algorithm: blocksize and bytepix, or scale and smooth.
    shape, tile_shape, grid_shape : tuple of int
        Of the image, of a whole tile, and number of tiles along each axis; C order.
    dtype : str
        Type of the pixels as they are read.
    n_tiles : int
        Number of tiles.
    pixel_nbytes : int
        Bytes of the stored pixels, uncompressed.
    ratio : float
        How many times as large they are as table and heap.
    bits_per_pixel : float
        Of table and heap.
    quantization : str
        ZQUANTIZ, empty for images that are not quantized.
    zdither0 : int or None
        Seed of the dither.
    zscale : (float, float) or None
        Least and largest step between two values of quantized tiles.
    n_gzip, n_raw, n_unusable : int
        Tiles in GZIP_COMPRESSED_DATA, in UNCOMPRESSED_DATA, and without usable bytes.
    heap : HeapInfo
        How the tiles lie.
    cutout : CutoutCost or None
        What a box of 200 x 200 pixels costs; None for images of fewer than two axes and for empty ones.
    """

    algorithm: str
    settings: dict
    shape: tuple[int, ...]
    tile_shape: tuple[int, ...]
    grid_shape: tuple[int, ...]
    dtype: str
    n_tiles: int
    pixel_nbytes: int
    ratio: float
    bits_per_pixel: float
    quantization: str
    zdither0: int | None
    zscale: tuple[float, float] | None
    n_gzip: int
    n_raw: int
    n_unusable: int
    heap: HeapInfo
    cutout: CutoutCost | None


@dataclass(frozen=True)
class HDUInfo:
    """
    One HDU.

    Attributes
    ----------
    number : int
        0 for the primary HDU.
    kind : {"compressed image", "image", "table", "empty", "other"}
        What it holds.
    name : str
        EXTNAME, in upper case.
    version : int
        EXTVER.
    shape : tuple of int
        C order; rows alone for a table, () for an empty HDU.
    offset, header_nbytes, data_nbytes : int
        First byte in the file, bytes of the header, and bytes of data without padding.
    missing_nbytes : int
        Bytes of data that the file, which was cut, does not hold.
    has_checksum : bool
        Whether there is a CHECKSUM or DATASUM.
    image : ImageInfo or None
        Of a compressed image.
    problem : str
        Why there is no `image` for a compressed one; else empty.
    """

    number: int
    kind: str
    name: str
    version: int
    shape: tuple[int, ...]
    offset: int
    header_nbytes: int
    data_nbytes: int
    missing_nbytes: int
    has_checksum: bool
    image: ImageInfo | None = None
    problem: str = ""


@dataclass(frozen=True)
class FileInfo:
    """
    One file.

    Attributes
    ----------
    path : str
        What the source is called.
    nbytes : int
        Size.
    hdus : tuple of HDUInfo
        In the order of the file.
    problem : str
        Why the file could not be followed to its end; else empty.
    """

    path: str
    nbytes: int
    hdus: tuple[HDUInfo, ...]
    problem: str = ""

    @property
    def images(self) -> tuple[HDUInfo, ...]:
        """The compressed images whose header is right."""
        return tuple(hdu for hdu in self.hdus if hdu.image is not None)


def info(path, *, storage_options: dict | None = None) -> FileInfo:
    """
    Say what is in a file.

    Parameters
    ----------
    path : path, URL, file object, bytes or anything else that `as_source` takes
        The FITS file; only headers and tables are read.
    storage_options : dict, optional
        What fsspec needs to open a URL.

    Returns
    -------
    FileInfo

    Raises
    ------
    HeaderError
        If the file does not begin with a FITS header.

    Examples
    --------
    >>> import astropy_tilecomp as tc
    >>> image = tc.info("panoptes_solved.fits.fz").images[0].image
    >>> image.algorithm, image.tile_shape, image.n_tiles, round(image.ratio, 2)
    ('RICE_1', (1, 700), 700, 1.76)
    """
    hdus, problem = [], ""
    with opened(path, storage_options) as source:
        try:
            for found in walk(source):
                hdus.append(_describe(source, found))
        except HeaderError as error:
            if not hdus:
                raise
            problem = str(error).removeprefix(f"{source.name}: ")
        return FileInfo(source.name, source.nbytes, tuple(hdus), problem)


def _describe(source: ByteSource, found: FoundHDU) -> HDUInfo:
    """One HDU, whatever it holds."""
    image, problem = None, ""
    if found.is_compressed_image:
        try:
            image = _describe_image(source, found)
        except TileCompError as error:
            problem = str(error)
    return HDUInfo(
        found.number, _kind(found), found.name, found.version, image.shape if image else _shape(found),
        found.header_offset, found.data_offset - found.header_offset, found.data_end - found.data_offset,
        max(0, found.data_end - source.nbytes), "CHECKSUM" in found.header or "DATASUM" in found.header, image, problem,
    )


def _kind(found: FoundHDU) -> str:
    if found.is_compressed_image:
        return "compressed image"
    xtension = found.header.get("XTENSION", "IMAGE")
    if xtension in ("BINTABLE", "TABLE", "A3DTABLE"):
        return "table"
    if found.data_end == found.data_offset:
        return "empty"
    return "image" if xtension == "IMAGE" else "other"


def _shape(found: FoundHDU) -> tuple[int, ...]:
    """Shape of a plain image, rows of a table."""
    if found.header.get("XTENSION") in ("BINTABLE", "TABLE", "A3DTABLE"):
        return found.shape[-2:-1]
    return found.shape


def _describe_image(source: ByteSource, found: FoundHDU) -> ImageInfo:
    params, table = read_table(source, found)
    layout, n_pixels = table.layout, params.n_pixels
    pixel_nbytes = n_pixels * params.dtype.itemsize
    good = table.column == COLUMN_NAMES.index(COMPRESSED_DATA)
    zscale = table.zscale[good] if params.quantized and table.zscale is not None else None
    return ImageInfo(
        params.zcmptype, _settings(params), params.image_shape, params.tile_shape, params.grid_shape,
        str(params.result_dtype), params.n_tiles, pixel_nbytes,
        pixel_nbytes / layout.data_nbytes if layout.data_nbytes else 0.0,
        8 * layout.data_nbytes / n_pixels if n_pixels else 0.0,
        params.zquantiz or "", params.zdither0,
        (float(zscale.min()), float(zscale.max())) if zscale is not None and len(zscale) else None,
        _count(table, GZIP_COMPRESSED_DATA), _count(table, UNCOMPRESSED_DATA), int((table.column == 0).sum()),
        _describe_heap(table), cutout_cost(params, table) if params.ndim > 1 and n_pixels else None,
    )


def _count(table: TileTable, name: str) -> int:
    return int((table.column == COLUMN_NAMES.index(name)).sum())


def _settings(params: CompressionParams) -> dict:
    if params.zcmptype == "RICE_1":
        return {"blocksize": params.blocksize, "bytepix": params.bytepix}
    if params.zcmptype == "HCOMPRESS_1":
        return {"scale": params.hcomp_scale, "smooth": params.smooth}
    return {}


def _describe_heap(table: TileTable) -> HeapInfo:
    """How the tiles lie: masks count as used."""
    used = table.column != 0
    offset, nbytes = table.offset[used], table.nbytes[used]
    in_order = bool((np.diff(offset) >= 0).all())
    contiguous = bool((offset[1:] == offset[:-1] + nbytes[:-1]).all())
    if table.mask_offset is not None and table.mask_nbytes is not None:
        masked = table.mask_nbytes > 0
        offset, nbytes = np.append(offset, table.mask_offset[masked]), np.append(nbytes, table.mask_nbytes[masked])
    layout = table.layout
    order = np.argsort(offset, kind="stable")
    start = np.append(offset[order], layout.data_nbytes)
    reach = np.maximum.accumulate(np.append(layout.theap, (offset + nbytes)[order]))
    gaps = np.maximum(start - reach, 0)
    sizes = table.nbytes[used]
    return HeapInfo(
        layout.heap_nbytes, int(sizes.sum()), int(sizes.min()) if len(sizes) else 0,
        int(np.median(sizes)) if len(sizes) else 0, int(sizes.max(initial=0)),
        int((gaps > 0).sum()), int(gaps.sum()), in_order, contiguous,
    )
