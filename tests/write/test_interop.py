"""Files that other writers make, over every algorithm, type, shape and quantization: our pixels equal theirs."""

import itertools
import subprocess
import threading
import warnings

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal
from support import needs
from support.written_images import ALGORITHMS, SHAPES, holds, sample

import astropy_tilecomp as tc

CFITSIO_TYPES = ("u1", "i2", "u2", "i4", "f4", "f8")
FPACK_OPTIONS = {"RICE_1": ["-r"], "GZIP_1": ["-g1"], "GZIP_2": ["-g2"], "PLIO_1": ["-p"], "HCOMPRESS_1": ["-h"]}
QUANTIZED = {None: [], "NO_DITHER": ["-q0", "4"], "SUBTRACTIVE_DITHER_1": ["-q77", "4"], "SUBTRACTIVE_DITHER_2": ["-qz77", "4"]}


def written(algorithms, dtypes, methods):
    """Combinations that writers of the cfitsio family can make."""
    for algorithm, dtype, (shape, tile) in itertools.product(algorithms, dtypes, SHAPES):
        if not holds(algorithm, dtype, shape, tile) or (algorithm == "PLIO_1" and dtype not in ("u1", "i2", "u2")):
            continue
        for method in methods if dtype[0] == "f" else [None]:
            yield algorithm, dtype, shape, tile, method


@pytest.mark.parametrize("algorithm", FPACK_OPTIONS)
def test_written_by_fpack(algorithm, tmp_path):
    fpack = needs.tool("fpack")
    n_read = 0
    methods = list(QUANTIZED)[1:]
    for number, (_, dtype, shape, tile, method) in enumerate(written([algorithm], CFITSIO_TYPES, methods)):
        plain, packed = tmp_path / f"{number}.fits", tmp_path / f"{number}.fz"
        image = sample(dtype, shape)
        fits.PrimaryHDU(image).writeto(plain)
        tiling = ["-t", ",".join(str(length) for length in reversed(tile))]
        command = [fpack, *FPACK_OPTIONS[algorithm], *tiling, *QUANTIZED[method], "-O", packed, plain]
        subprocess.run(command, check=True, capture_output=True)
        found = tc.read_image(packed)
        if method is None:
            assert_array_equal(found, image, err_msg=f"{dtype} {shape} {tile}")
        else:
            assert_array_equal(found, fits.getdata(packed, 1), err_msg=f"{dtype} {shape} {tile} {method}")
        n_read += 1
    assert n_read >= 12


@pytest.mark.parametrize("algorithm", ["RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1"])
def test_written_by_fitsio(algorithm, tmp_path):
    fitsio = needs.module("fitsio")
    methods = ("NO_DITHER", "SUBTRACTIVE_DITHER_1", "SUBTRACTIVE_DITHER_2")
    n_read = 0
    for number, (_, dtype, shape, tile, method) in enumerate(written([algorithm], CFITSIO_TYPES, methods)):
        if len(shape) > 3:
            continue
        path, image = tmp_path / f"{number}.fits", sample(dtype, shape)
        settings = {"compress": algorithm, "tile_dims": list(tile)}
        if method is not None:
            settings |= {"qlevel": 4, "qmethod": method, "dither_seed": 77}
        fitsio.write(str(path), image, **settings)
        found = tc.read_image(path)
        if method is None:
            assert_array_equal(found, image, err_msg=f"{dtype} {shape} {tile}")
        else:
            assert_array_equal(found, fitsio.read(str(path), ext=1), err_msg=f"{dtype} {shape} {tile} {method}")
        n_read += 1
    assert n_read >= 8


@pytest.mark.parametrize("algorithm", ["RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1"])
def test_written_by_rustfits(algorithm, tmp_path):
    rustfits = needs.module("rustfits")
    codec = {"RICE_1": rustfits.Rice1, "GZIP_1": rustfits.Gzip1, "GZIP_2": rustfits.Gzip2, "PLIO_1": rustfits.Plio1,
             "HCOMPRESS_1": rustfits.Hcompress1}[algorithm]
    n_read = 0
    for number, (_, dtype, shape, tile, _) in enumerate(written([algorithm], CFITSIO_TYPES, [None])):
        if (dtype == "u2" and algorithm == "PLIO_1") or (len(shape) > 2 and algorithm == "HCOMPRESS_1"):
            continue  # it codes raw unsigned values without the offset of cfitsio; its HCOMPRESS_1 has two axes
        path, image = tmp_path / f"{number}.fits", sample(dtype, shape)
        with rustfits.FITS(str(path), "w+") as file:
            quantize = rustfits.Quantize() if dtype[0] == "f" else None
            file.write_image(image, compress=codec(tile_shape=tile), quantize=quantize)
        found = tc.read_image(path)
        expected = image if dtype[0] != "f" else rustfits.read(str(path), ext=1)
        assert_array_equal(found, expected, err_msg=f"{dtype} {shape} {tile}")
        n_read += 1
    assert n_read >= 4


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_written_by_astropy(algorithm, tmp_path):
    types = ("u1", "i2", "u2", "i4", "u4", "i8", "f4", "f8")
    n_read = 0
    for number, (_, dtype, shape, tile, method) in enumerate(written([algorithm], types, (-1, 1, 2))):
        if (dtype in ("u2", "u4") and algorithm == "PLIO_1") or (algorithm == "NOCOMPRESS" and dtype == "i8"):
            continue  # astropy refuses the first and cannot read the second
        path, image = tmp_path / f"{number}.fits", sample(dtype, shape)
        settings = {} if method is None else {"quantize_method": method, "dither_seed": 42}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fits.CompImageHDU(image, compression_type=algorithm, tile_shape=tile, **settings).writeto(path)
        expected = fits.getdata(path, 1)
        if dtype[0] != "f":
            assert_array_equal(expected, image)
        assert_array_equal(tc.read_image(path), expected, err_msg=f"{dtype} {shape} {tile} {method}")
        n_read += 1
    assert n_read >= 8


def test_eight_threads_write_hcompress_at_once(tmp_path):
    images = [np.random.default_rng(n).normal(500, 30, (200, 180)).astype("i2") for n in range(8)]

    def write(number):
        for turn in range(3):
            tc.write_image(tmp_path / f"{number}_{turn}.fits", images[number], algorithm="HCOMPRESS_1", threads=1 + turn)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, turn in itertools.product(range(8), range(3)):
        assert_array_equal(fits.getdata(tmp_path / f"{number}_{turn}.fits", 1), images[number])
