"""PixelBuffer: what zarr reads into, in memory that served before."""

import gc
import tomllib

import needs
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import astropy_tilecomp as tc
from astropy_tilecomp import large_arrays
from astropy_tilecomp.codecs import _kernels
from astropy_tilecomp.large_arrays import HAS_HUGE_PAGES, LEAST_NBYTES

zarr = needs.module("zarr")

from astropy_tilecomp.adapters.zarr_buffer import PixelBuffer  # noqa: E402

NAME = "astropy_tilecomp.adapters.zarr_buffer.PixelBuffer"


@pytest.fixture
def setting():
    gc.collect()
    large_arrays._pieces.clear()
    with zarr.config.set({"ndbuffer": NAME}):
        yield


@pytest.fixture(scope="module")
def image():
    return np.random.default_rng(5).integers(0, 1000, (1500, 1500)).astype("i2")


def test_entry_point():
    project = tomllib.loads((needs.REPOSITORY / "pyproject.toml").read_text())["project"]
    assert list(project["entry-points"]["zarr.ndbuffer"].values()) == [NAME[::-1].replace(".", ":", 1)[::-1]]
    assert f"{PixelBuffer.__module__}.{PixelBuffer.__qualname__}" == NAME


@pytest.mark.skipif(not HAS_HUGE_PAGES, reason="large arrays are numpy's own where huge pages are not asked for")
def test_results_are_large_results(setting, image, tmp_path):
    tc.write_image(tmp_path / "a.fits.fz", image)
    array = tc.open_references(tc.references(str(tmp_path / "a.fits.fz")))["COMPRESSED_IMAGE"]
    assert image.nbytes >= LEAST_NBYTES
    first, second = array[...], array[...]
    for result in (first, second):
        assert isinstance(result.base, _kernels.LentMemory)
        assert_array_equal(result, image)
    assert not np.shares_memory(first, second)


@pytest.mark.skipif(not HAS_HUGE_PAGES, reason="large arrays are numpy's own where huge pages are not asked for")
def test_memory_serves_again(setting):
    first = PixelBuffer.empty((1500, 1500), np.dtype("i2")).as_ndarray_like()
    place = first.__array_interface__["data"][0]
    del first
    again = PixelBuffer.empty((1500, 750), np.dtype("f4")).as_ndarray_like()
    assert again.__array_interface__["data"][0] == place


@pytest.mark.parametrize("dtype", ["i2", ">f4", "c16", "M8[s]", "bool"])
def test_arrays_of_other_codecs_are_the_same(setting, dtype):
    values = np.arange(1_200_000).reshape(1200, 1000).astype(dtype)
    array = zarr.create_array({}, shape=values.shape, chunks=(500, 700), dtype=values.dtype)
    array[...] = values
    assert_array_equal(array[...], values)
    assert_array_equal(array[3:900:7, 5], values[3:900:7, 5])
    assert array[3, 5] == values[3, 5]


def test_missing_chunks_have_the_fill_value(setting):
    spoilt = large_arrays.empty((1 << 23,), np.dtype("u1"))
    spoilt.fill(7)
    del spoilt
    array = zarr.create_array({}, shape=(1024, 2048), chunks=(100, 100), dtype="i4", fill_value=-3)
    array[:5, :5] = 1
    expected = np.full((1024, 2048), -3, "i4")
    expected[:5, :5] = 1
    assert_array_equal(array[...], expected)


@pytest.mark.parametrize(("dtype", "order"), [("O", "C"), ("f8", "F")])
def test_what_zarr_makes_itself(dtype, order):
    buffer = PixelBuffer.empty((1000, 1000), np.dtype(dtype), order)
    array = buffer.as_ndarray_like()
    assert type(buffer) is PixelBuffer
    assert (array.shape, array.dtype, array.flags.owndata) == ((1000, 1000), np.dtype(dtype), True)
    assert array.flags.f_contiguous == (order == "F")
