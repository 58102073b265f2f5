"""Memory for large results: it serves one after the other, never two at once, and not much of it is kept."""

import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from support import needs

import astropy_tilecomp as tc
from astropy_tilecomp.read import large_arrays
from astropy_tilecomp.read.large_arrays import HAS_HUGE_PAGES, LARGEST_KEPT, LEAST_NBYTES, MOST_KEPT, empty

HUGE_PAGE = 2 << 20
SHAPES = [(), (0,), (3, 0, 2), (5, 7), (1, HUGE_PAGE // 2, 2), (4 * HUGE_PAGE + 3,)]
BYTE = np.dtype("u1")
on_linux = pytest.mark.skipif(not HAS_HUGE_PAGES, reason="large arrays are numpy's own where huge pages are not asked for")


@pytest.fixture(autouse=True)
def nothing_spare():
    gc.collect()
    large_arrays._pieces.clear()


def kept():
    return large_arrays._pieces.kept_nbytes


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
    if array.nbytes >= LEAST_NBYTES and HAS_HUGE_PAGES:
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


@pytest.mark.parametrize("nbytes", [0, LEAST_NBYTES - 1, LARGEST_KEPT + 1])
def test_short_and_very_long_arrays_are_not_kept(nbytes):
    array = empty((nbytes,), BYTE)
    assert array.size == nbytes
    del array
    assert kept() == 0


@on_linux
def test_so_much_is_kept_and_none_for_an_array_much_shorter():
    arrays = [empty((n * LEAST_NBYTES,), BYTE) for n in (5, 16, 12, 1, 2)]
    long = address(arrays[1])
    while arrays:
        arrays.pop(0)
    assert MOST_KEPT == 32 * LEAST_NBYTES
    assert kept() == (16 + 12 + 1 + 2) * LEAST_NBYTES
    short = empty((LEAST_NBYTES + 5,), BYTE)
    assert kept() == (16 + 12 + 1) * LEAST_NBYTES
    again = empty((LARGEST_KEPT - 1,), BYTE)
    assert address(again) == long
    assert not np.shares_memory(short, again)


def resident_of(code):
    """Kilobytes in memory that some lines of Python leave more than there were after the imports."""
    program = f"""if True:
        import numpy as np
        from astropy_tilecomp.read.large_arrays import empty
        def resident():
            return int(open("/proc/self/statm").read().split()[1]) * 4
        def filled(nbytes):
            array = empty((nbytes,), np.dtype("u1"))
            array.fill(1)
            return array
        before = resident()
        kept = {code}
        print(resident() - before)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return int(done.stdout)


@on_linux
def test_live_arrays_take_what_they_need():
    assert resident_of("[filled((4 << 20) + 1) for _ in range(20)]") < 20 * 4096 * 1.1 + 4096
    with_longer_ones_before = "[(filled(60 << 20) is None) or filled(31 << 20) for _ in range(6)]"
    assert resident_of(with_longer_ones_before) < (6 * 31 + 128) * 1024 * 1.1


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
    assert LEAST_NBYTES <= kept() <= MOST_KEPT      # one that finds another at the list takes fresh memory: more than 8 may be kept


@on_linux
def test_no_room_is_a_memory_error_after_all_that_is_kept_was_given_back():
    program = """if True:
        import resource
        import numpy as np
        from astropy_tilecomp.read import large_arrays
        BYTE = np.dtype("u1")
        arrays = [large_arrays.empty((64 << 20,), BYTE) for _ in range(2)]
        del arrays
        size = int(open("/proc/self/statm").read().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (size + (20 << 20), -1))
        assert large_arrays._pieces.kept_nbytes == 128 << 20
        assert large_arrays.empty((100 << 20,), BYTE).size == 100 << 20
        large_arrays.empty((1 << 41,), BYTE)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == "MemoryError: the system has no 2199023255552 bytes for an array"


@pytest.mark.parametrize("keep", [
    "sys.kept = [array]; sys.kept.append(sys.kept)", "sys.excepthook = lambda *a, kept=array: None", "np.kept = array",
])
def test_an_array_may_live_until_the_interpreter_ends(keep):
    code = f"""if True:
        import sys
        import numpy as np
        from astropy_tilecomp.read.large_arrays import empty
        array = empty((20_000_000,), np.dtype("u1"))
        {keep}
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


@on_linux
def test_giving_an_array_up_runs_no_python():
    """So no signal is handled there, where what its handler raises would be lost."""
    seen = []
    array = empty((LEAST_NBYTES,), BYTE)
    sys.setprofile(lambda frame, event, argument: seen.append(event))
    try:
        del array
    finally:
        sys.setprofile(None)
    assert [event for event in seen if event == "call"] == []
    assert kept() == LEAST_NBYTES


@on_linux
def test_a_forked_child_has_its_own():
    array = empty((LEAST_NBYTES,), BYTE)
    array.fill(1)
    spare = empty((LEAST_NBYTES,), BYTE)
    del spare
    child = os.fork()
    if child == 0:
        again = empty((LEAST_NBYTES,), BYTE)
        again.fill(2)
        os._exit(int(not (array == 1).all()))
    again = empty((LEAST_NBYTES,), BYTE)
    again.fill(3)
    assert os.waitpid(child, 0)[1] == 0
    assert (again == 3).all() and (array == 1).all()


def test_results_stay_as_they_are(tmp_path):
    images = np.random.default_rng(3).integers(0, 1000, (4, 2300, 2000)).astype("i2")
    for number, image in enumerate(images):
        tc.write_image(tmp_path / f"{number}.fits.fz", image)
    results = [tc.read_image(tmp_path / f"{number}.fits.fz") for number in (0, 1, 2)]
    assert results[0].nbytes >= LEAST_NBYTES
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
