"""Memory for large results: it serves one after the other, never two at once, and not much of it is kept."""

import gc
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import needs
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import astropy_tilecomp as tc
from astropy_tilecomp import large_arrays
from astropy_tilecomp.large_arrays import HUGE_PAGE, LARGEST_KEPT, LEAST_NBYTES, MOST_KEPT, empty

SHAPES = [(), (0,), (3, 0, 2), (5, 7), (1, HUGE_PAGE // 2, 2), (4 * HUGE_PAGE + 3,)]
BYTE = np.dtype("u1")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="large arrays are numpy's own where huge pages are not asked for")


@pytest.fixture(autouse=True)
def nothing_spare():
    gc.collect()
    large_arrays._spare.clear()


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["u1", ">i2", "f8"])
def test_an_array_is_that_of_numpy(shape, dtype):
    array = empty(shape, np.dtype(dtype))
    assert (array.shape, array.dtype) == (shape, np.dtype(dtype))
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert array.flags.aligned
    if array.nbytes >= LEAST_NBYTES:
        assert address(array) % HUGE_PAGE == 0
    else:
        assert array.flags.owndata
    array[...] = 7
    assert (array == 7).all()


@on_linux
def test_what_is_given_up_serves_again():
    first = empty((LEAST_NBYTES // 2 + 5,), np.dtype("i2"))
    place = address(first)
    del first
    again = empty((3, LEAST_NBYTES // 12 + 1), np.dtype(">f4"))
    assert address(again) == place
    assert (again.shape, again.dtype) == ((3, LEAST_NBYTES // 12 + 1), ">f4")


@on_linux
@pytest.mark.parametrize("view", [lambda array: array[7:9], lambda array: memoryview(array)[1:], lambda array: array.reshape(1, -1).T])
def test_a_view_keeps_the_memory(view):
    first = empty((LEAST_NBYTES,), BYTE)
    first.fill(5)
    kept = view(first)
    del first
    other = empty((LEAST_NBYTES,), BYTE)
    other.fill(6)
    assert not np.shares_memory(np.asarray(kept), other)
    assert (np.asarray(kept) == 5).all()


@pytest.mark.parametrize("nbytes", [0, LEAST_NBYTES - 1 if LEAST_NBYTES < sys.maxsize else 1 << 20, LARGEST_KEPT + HUGE_PAGE])
def test_short_and_very_long_arrays_are_not_kept(nbytes):
    array = empty((nbytes,), BYTE)
    assert array.size == nbytes
    del array
    assert not large_arrays._spare


def lengths_kept():
    return sorted(piece.nbytes // LEAST_NBYTES for piece in large_arrays._spare)


@on_linux
def test_so_much_is_kept_and_none_for_an_array_much_shorter():
    arrays = [empty((n * LEAST_NBYTES,), BYTE) for n in (5, 16, 12, 1, 2)]
    long = address(arrays[1])
    while arrays:
        arrays.pop(0)
    assert lengths_kept() == [1, 2, 12, 16]
    assert 32 * LEAST_NBYTES == MOST_KEPT
    short = empty((LEAST_NBYTES - 5 + HUGE_PAGE,), BYTE)
    assert lengths_kept() == [1, 12, 16]
    again = empty((LARGEST_KEPT - 1,), BYTE)
    assert address(again) == long
    assert not np.shares_memory(short, again)


@on_linux
def test_threads_never_share_it():
    def work(number):
        for turn in range(30):
            array = empty((LEAST_NBYTES // 2,), np.dtype("i2"))
            array[::4096] = number * 100 + turn
            assert (array[::4096] == number * 100 + turn).all()
            del array

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    assert 1 <= len(lengths_kept()) <= 8


@on_linux
def test_no_room_is_a_memory_error():
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 40, limit[1]))
    try:
        with pytest.raises(MemoryError, match="no 2199023255552 bytes"):
            empty((1 << 41,), BYTE)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limit)


def test_an_array_may_live_until_the_interpreter_ends():
    code = """if True:
        import sys
        import numpy as np
        from astropy_tilecomp.large_arrays import empty
        array = empty((20_000_000,), np.dtype("u1"))
        sys.kept = [array, empty((20_000_000,), np.dtype("u1"))]
        sys.kept.append(sys.kept)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_results_stay_as_they_are(tmp_path):
    images = np.random.default_rng(3).integers(0, 1000, (4, 2300, 2000)).astype("i2")
    for number, image in enumerate(images):
        tc.write_image(tmp_path / f"{number}.fits.fz", image)
    results = [tc.read_image(tmp_path / f"{number}.fits.fz") for number in (0, 1, 2)]
    assert results[0].nbytes >= LEAST_NBYTES or sys.platform != "linux"
    kept = results.pop(1)[5:7]
    results.append(tc.read_image(tmp_path / "3.fits.fz"))
    for result, image in zip(results, images[[0, 2, 3]]):
        assert_array_equal(result, image)
    assert_array_equal(kept, images[1, 5:7])


def test_results_of_zarr_stay_as_they_are(tmp_path):
    zarr = needs.module("zarr")
    needs.module("fsspec")
    images = np.random.default_rng(3).integers(0, 1000, (2, 2300, 2000)).astype("i2")
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
