"""Memory that serves one chunk after the other: never two at once, and not much of it."""

from concurrent.futures import ThreadPoolExecutor

import needs
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import astropy_tilecomp as tc
from astropy_tilecomp.adapters import chunk_memory
from astropy_tilecomp.adapters.chunk_memory import LARGEST_LOAN, SMALLEST_LOAN, borrowed

LONG = (SMALLEST_LOAN // 2 + 5,)


@pytest.fixture(autouse=True)
def nothing_spare():
    chunk_memory._spare.clear()


def address(array):
    return array.__array_interface__["data"][0]


def test_what_is_given_up_serves_again():
    first = borrowed(LONG, np.dtype("i2"))
    place = address(first)
    del first
    again = borrowed((3, SMALLEST_LOAN // 12 + 1), np.dtype(">f4"))
    assert address(again) == place
    assert (again.shape, again.dtype) == ((3, SMALLEST_LOAN // 12 + 1), ">f4")
    assert again.flags.writeable
    assert again.flags.c_contiguous


@pytest.mark.parametrize("view", [lambda array: array[7:9], lambda array: memoryview(array)[1:], lambda array: array.reshape(1, -1).T])
def test_a_view_keeps_the_memory(view):
    first = borrowed(LONG, np.dtype("i2"))
    first.fill(5)
    kept = view(first)
    del first
    other = borrowed(LONG, np.dtype("i2"))
    other.fill(6)
    assert not np.shares_memory(np.asarray(kept), other)
    assert (np.asarray(kept) == 5).all()


@pytest.mark.parametrize("nbytes", [0, SMALLEST_LOAN - 1, LARGEST_LOAN + 1])
def test_short_and_very_long_arrays_are_not_kept(nbytes):
    array = borrowed((nbytes,), np.dtype("u1"))
    assert array.flags.owndata
    del array
    assert not chunk_memory._spare


def test_one_piece_is_kept():
    arrays = [borrowed((n * SMALLEST_LOAN,), np.dtype("u1")) for n in (1, 16, 3)]
    del arrays
    (piece,) = chunk_memory._spare
    assert len(piece) <= LARGEST_LOAN
    longer = borrowed((LARGEST_LOAN,), np.dtype("u1"))
    longer[[0, -1]] = 1
    del longer
    assert [len(piece) for piece in chunk_memory._spare] == [LARGEST_LOAN]


def test_threads_never_share_it():
    def work(number):
        for turn in range(30):
            array = borrowed(LONG, np.dtype("i2"))
            array[::4096] = number * 100 + turn
            assert (array[::4096] == number * 100 + turn).all()
            del array

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    assert len(chunk_memory._spare) == 1


def test_results_of_zarr_stay_as_they_are(tmp_path):
    zarr = needs.module("zarr")
    needs.module("fsspec")
    images = np.random.default_rng(3).integers(0, 1000, (2, 1500, 1500)).astype("i2")
    paths = [tmp_path / "0.fits.fz", tmp_path / "1.fits.fz"]
    for path, image in zip(paths, images):
        tc.write_image(path, image)
    array = tc.open_references(tc.references(paths, hdu=1))
    assert isinstance(array, zarr.Array)
    one, two, both = array[0], array[1], array[...]
    assert not np.shares_memory(one, two)
    assert_array_equal(one, images[0])
    assert_array_equal(two, images[1])
    assert_array_equal(both, images)
    assert len(chunk_memory._spare) == 1
