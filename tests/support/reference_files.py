"""Files of the same pixels by astropy and fpack, tile by tile."""

import io
import subprocess
from dataclasses import replace

import numpy as np
from astropy.io import fits

from astropy_tilecomp import read
from astropy_tilecomp.encode import encode
from astropy_tilecomp.sources import BufferSource
from astropy_tilecomp.tiling.heap import lay_out
from astropy_tilecomp.tiling.params import CompressionParams
from astropy_tilecomp.tiling.to_table import image_to_table
from support import needs

CFITSIO_ZBLANK = -(2**31) + 1
BLOCK = 2880


def star_field(shape, dtype, *, seed=3, noise=5.0):
    """Noise on a slope with some bright spots."""
    rng = np.random.default_rng(seed)
    field = rng.normal(100, noise, shape) + np.arange(shape[-1]) * 0.05
    field.flat[rng.integers(0, field.size, max(1, field.size // 200))] += 800
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        field = np.clip(np.round(field), info.min, info.max)
    return field.astype(dtype)


def params_for(image, zcmptype, tile, **settings):
    """Parameters for an array, as a writer would choose them."""
    kind, size = image.dtype.kind, image.dtype.itemsize
    zbitpix = {"f": -8}.get(kind, 8) * size
    if zcmptype == "RICE_1":
        settings.setdefault("bytepix", 4 if kind == "f" else size)
    if kind == "f" and zcmptype != "NOCOMPRESS":
        settings.setdefault("quantized", True)
        if settings["quantized"]:
            settings.setdefault("zquantiz", "SUBTRACTIVE_DITHER_1")
            settings.setdefault("zdither0", 1 if settings["zquantiz"] != "NO_DITHER" else None)
    if (kind, size) in {("u", 2), ("u", 4), ("u", 8)}:
        settings["bzero"] = 2 ** (8 * size - 1)
    if (kind, size) == ("i", 1):
        settings["bzero"] = -128
    return CompressionParams(zcmptype, zbitpix, image.shape, tile, **settings)


def joined(pieces):
    """All pieces as (streams, column, zscale, zzero, has_null)."""
    pieces = list(pieces)
    streams = []
    for piece in pieces:
        stop = np.cumsum(piece.nbytes)
        streams += [bytes(piece.heap[int(b - n) : int(b)]) for b, n in zip(stop, piece.nbytes)]
    fields = [np.concatenate([getattr(p, name) for p in pieces]) for name in ("column", "zscale", "zzero", "has_null")]
    return streams, *fields


def compressed_file(image, params, **settings):
    """A FITS file: null primary and the compressed image."""
    streams, column, zscale, zzero, has_null = joined(encode(image, params, **settings))
    nbytes = np.array([len(stream) for stream in streams])
    scalars = {"zscale": zscale, "zzero": zzero} if params.quantized else {}
    table = lay_out(params, column, nbytes, **scalars)
    params = replace(params, zblank=CFITSIO_ZBLANK) if has_null.any() else params
    plain = fits.ImageHDU(np.asarray(image))
    cards = [str(card) for card in plain.header.cards]
    cards = image_to_table(cards, params, table.layout)
    header = "".join(card.ljust(80) for card in [*cards, "END"]).encode()
    data = table.to_bytes() + b"".join(streams)
    primary = io.BytesIO()
    fits.PrimaryHDU().writeto(primary)
    return primary.getvalue() + header + b" " * (-len(header) % BLOCK) + data + bytes(-len(data) % BLOCK)


def table_of(content):
    """The table HDU of a file, not seen as an image."""
    return fits.open(io.BytesIO(content) if isinstance(content, bytes) else content, disable_image_compression=True)[1]


def section_of(content):
    """What our reader makes of a file."""
    table = table_of(content)
    start = table._data_offset
    return read.section(BufferSource(content[start:]), dict(table.header))


OPTION_OF = {"RICE_1": "-r", "HCOMPRESS_1": "-h", "PLIO_1": "-p", "GZIP_1": "-g1", "GZIP_2": "-g2"}


def fpack(folder, image, options):
    """What fpack makes of an image: rows of the table, and where each tile's bytes are."""
    plain, packed = folder / "plain.fits", folder / "packed.fits"
    fits.PrimaryHDU(image).writeto(plain, overwrite=True)
    packed.unlink(missing_ok=True)
    subprocess.run([needs.tool("fpack"), *options, "-O", str(packed), str(plain)], check=True, capture_output=True)
    return table_of(packed)
