"""Keywords of compressed images and their allowed values: the one list of them (FITS 4.0, section 10.1)."""

ALGORITHMS = ("RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1", "NOCOMPRESS")
"""Canonical values of ZCMPTYPE."""

ALGORITHM_ALIASES = {"RICE_ONE": "RICE_1"}
"""Other spellings of ZCMPTYPE that are read."""

LOSSLESS_FLOAT_ALGORITHMS = ("GZIP_1", "GZIP_2", "NOCOMPRESS")
"""Algorithms that hold floats which were not quantized."""

DTYPE_OF_BITPIX = {8: "u1", 16: "i2", 32: "i4", 64: "i8", -32: "f4", -64: "f8"}
"""ZBITPIX to the numpy code of the stored pixels."""

DITHER_METHODS = {"NO_DITHER": 0, "SUBTRACTIVE_DITHER_1": 1, "SUBTRACTIVE_DITHER_2": 2}
"""Values of ZQUANTIZ to the number of the method."""

NOT_QUANTIZED = "NONE"
"""Value of ZQUANTIZ by which cfitsio marks lossless floats."""

N_DITHER_SEEDS = 10000
"""ZDITHER0 runs from 1 to this number."""

BYTEPIX_VALUES = (1, 2, 4)
DEFAULT_BYTEPIX = 4
BYTEPIX_OF_RUSTFITS_FLOATS = (-4, -8)
"""BITPIX / 8, which rustfits 0.1 writes for quantized floats; they are coded in 4 bytes as ever."""

MAX_BLOCKSIZE = 2**16
DEFAULT_BLOCKSIZE = 32
MAX_TILE_PIXELS = 2**31 - 1

COMPRESSED_DATA = "COMPRESSED_DATA"
GZIP_COMPRESSED_DATA = "GZIP_COMPRESSED_DATA"
UNCOMPRESSED_DATA = "UNCOMPRESSED_DATA"
DATA_COLUMNS = (COMPRESSED_DATA, GZIP_COMPRESSED_DATA, UNCOMPRESSED_DATA)
"""Columns that may hold the pixels of a tile, in the order in which they are looked up."""

SCALAR_COLUMNS = ("ZSCALE", "ZZERO", "ZBLANK")
"""Columns that hold one number for each tile."""

MASK_COLUMNS = ("NULL_PIXEL_MASK", "NULL_PIXEL_MASK_COLUMN")
"""Column of compressed null masks, and the name under which nom-tam-fits writes it."""

DEFAULT_EXTNAME = "COMPRESSED_IMAGE"
"""EXTNAME that a writer adds where the image has none; a reader drops it."""

TABLE_NAME_OF = {
    "SIMPLE": "ZSIMPLE",
    "XTENSION": "ZTENSION",
    "BITPIX": "ZBITPIX",
    "NAXIS": "ZNAXIS",
    "EXTEND": "ZEXTEND",
    "BLOCKED": "ZBLOCKED",
    "PCOUNT": "ZPCOUNT",
    "GCOUNT": "ZGCOUNT",
    "CHECKSUM": "ZHECKSUM",
    "DATASUM": "ZDATASUM",
}
"""Image keyword to the keyword that keeps it in the table header; NAXISn goes to ZNAXISn besides."""

IMAGE_NAME_OF = {table: image for image, table in TABLE_NAME_OF.items()}
"""Inverse of `TABLE_NAME_OF`."""

COMPRESSION_KEYWORDS = frozenset(
    ("ZIMAGE", "ZCMPTYPE", "ZQUANTIZ", "ZDITHER0", "ZBLANK", "ZSCALE", "ZZERO")
)
"""Keywords that describe the compression. ZMASKCMP does so only beside one of `MASK_COLUMNS`."""

INDEXED_COMPRESSION_KEYWORDS = frozenset(("ZNAXIS", "ZTILE", "ZNAME", "ZVAL"))
"""Keywords with an axis or parameter number that belong to the compression."""

INDEXED_TABLE_KEYWORDS = frozenset(("TTYPE", "TFORM", "TSCAL", "TZERO"))
"""Keywords with a column number that describe the table. Others, such as TUNIT, change nothing and belong to the image."""

KEPT_UNDER = "HIERARCH TILECOMP "
"""Prefix under which the table keeps cards of the image that would change the meaning of the table."""

DEFAULT_QUANTIZE_LEVEL = 16.0
"""Steps in one standard deviation of the noise, where the user does not say; astropy's default too."""

FPACK_QUANTIZE_LEVEL = 4.0
"""What fpack takes."""
