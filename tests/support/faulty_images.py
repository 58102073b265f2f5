"""Images in files that cfitsio or the standard make difficult, and what reads them."""

import numpy as np
from numpy.testing import assert_array_equal

import astropy_tilecomp as tc
from support.small_files import CompressedImage, dither, gzip_1


def integers(shape, dtype="i2", low=-3000, high=3000, seed=7):
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def assert_reads_as(path, expected, **options):
    """Every way to read the image in HDU 1 gives exactly the expected pixels, and their type."""
    expected = np.asarray(expected)
    readings = []
    for engine in ("kernel", "cfitsio"):
        with tc.open(path, engine=engine, **options) as hdul:
            readings += [np.array(hdul[1].section[...])]
            if expected.size:
                readings += [np.stack([hdul[1].section[n] for n in range(len(expected))])]
            readings += [np.array(hdul[1].data)]
    readings += [tc.read_image(path), tc.read_image(path, threads=1)]
    for got in readings:
        assert_array_equal(got, expected)
        assert got.dtype.newbyteorder("=") == expected.dtype.newbyteorder("=")


def quantized(ints, tile, zdither0, *, method="SUBTRACTIVE_DITHER_1", bitpix=-32, cards=()):
    """An image of quantized floats and its right values: zscale 0.25, zzero 3 times the row."""
    image = CompressedImage(ints.shape, tile, bitpix, "GZIP_1", [("ZQUANTIZ", method), *cards])
    if zdither0 is not None:
        image.cards.append(("ZDITHER0", zdither0))
    image.add_tiles([gzip_1(ints[box], "i4") for box in image.boxes()])
    zzero = 3.0 * np.arange(len(image.boxes()))
    image.add_column("ZSCALE", np.full(len(zzero), 0.25)).add_column("ZZERO", zzero)
    values = np.empty(ints.shape, "f4" if bitpix == -32 else "f8")
    for row, box in enumerate(image.boxes()):
        part = ints[box]
        random = dither(row, zdither0 or 1, part.size).reshape(part.shape)
        shift = 0.5 - random if method != "NO_DITHER" else 0
        values[box] = (part + shift) * 0.25 + zzero[row]
    return image, values
