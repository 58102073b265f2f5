"""HDUs and sections go through pickle: the file is opened again, and refused if it changed."""

import copy
import io
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal

import astropy_tilecomp as tc

IMAGE = np.arange(1200, dtype="i4").reshape(30, 40)


@pytest.fixture
def path(tmp_path):
    fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(IMAGE, name="a", tile_shape=(8, 8))]).writeto(tmp_path / "a.fits")
    return tmp_path / "a.fits"


def again(obj):
    return pickle.loads(pickle.dumps(obj))


def test_an_hdu_that_nobody_looked_at(path):
    with tc.open(path, threads=1) as hdus:
        hdu = again(hdus[1])
    assert len(pickle.dumps(hdu)) < 2000
    assert (hdu.name, hdu.shape, hdu._options.threads) == ("A", (30, 40), 1)
    assert_array_equal(hdu.section[5:9], IMAGE[5:9])
    assert hdu.header["EXTNAME"] == "A"
    assert_array_equal(hdu.data, IMAGE)


def test_what_was_changed_goes_along(path):
    with tc.open(path) as hdus:
        hdus[1].header["OBJECT"] = "M 31"
        assert again(hdus[1]).header["OBJECT"] == "M 31"
        assert_array_equal(again(hdus[1]).section[3], IMAGE[3])
        hdus[1].data[0, 0] = -1
        assert again(hdus[1]).data[0, 0] == -1
        assert again(hdus[1]).section[0, 0] == -1


def test_a_section(path):
    with tc.open(path) as hdus:
        section = again(hdus[1].section)
        assert_array_equal(section[::3, 4], IMAGE[::3, 4])
        assert_array_equal(copy.deepcopy(hdus[1].section)[2], IMAGE[2])


def test_sections_in_other_processes(path):
    with tc.open(path) as hdus, ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        rows = list(pool.map(hdus[1].section.__getitem__, range(0, 30, 5)))
    assert_array_equal(rows, IMAGE[::5])


def test_an_hdu_made_in_memory():
    hdu = again(tc.CompImageHDU(IMAGE, tile_shape=(8, 8), compression_type="GZIP_2"))
    assert_array_equal(hdu.data, IMAGE)
    assert (hdu.tile_shape, hdu.compression_type) == ((8, 8), "GZIP_2")


def test_an_hdu_of_bytes_carries_them(path):
    hdu = again(tc.open(path.read_bytes())[1])
    assert_array_equal(hdu.section[7], IMAGE[7])
    with tc.enabled():
        hdu = again(fits.HDUList.fromstring(path.read_bytes())[1])
    assert_array_equal(hdu.section[7], IMAGE[7])


def test_an_hdu_under_enable(path):
    with tc.enabled(), fits.open(path) as hdus:
        pickled = pickle.dumps(hdus[1])
    assert_array_equal(pickle.loads(pickled).section[7], IMAGE[7])


def test_a_file_object_is_not_pickled(path):
    with tc.open(io.BytesIO(path.read_bytes())) as hdus:
        assert_array_equal(hdus[1].section[7], IMAGE[7])
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(hdus[1])


def test_a_file_that_changed_is_refused(path):
    with tc.open(path) as hdus:
        pickled = pickle.dumps(hdus[1])
    fits.CompImageHDU(IMAGE + 1).writeto(path, overwrite=True)
    with pytest.raises(tc.SourceError, match="changed since it was pickled"):
        pickle.loads(pickled)


def test_an_error_survives_pickling():
    from astropy_tilecomp.adapters.fits.errors import as_cfitsio_error

    error = as_cfitsio_error(tc.TruncatedTileError("ends", tile=(1, 2), row=5, algorithm="RICE_1", byte_range=(10, 30)))
    twin = again(error)
    assert str(twin) == str(error)
    assert (twin.tile, twin.row, type(twin)) == ((1, 2), 5, type(error))
    assert isinstance(twin, tc.TruncatedTileError)


def test_the_package_is_quick_to_import():
    code = "import sys, astropy_tilecomp; print(sorted({m.partition('.')[0] for m in sys.modules} & {'numpy', 'astropy', 'zarr'}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
