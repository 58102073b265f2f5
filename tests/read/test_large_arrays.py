"""Memory for large results: numpy's own, seen by tracemalloc, and laid out in huge pages."""

import tracemalloc

import numpy as np
import pytest

import astropy_tilecomp as tc
from astropy_tilecomp.read.large_arrays import HUGE_PAGE, MIN_NBYTES, empty

SHAPES = [(), (0,), (3, 0, 2), (5, 7), (1, HUGE_PAGE // 2, 2), (4 * HUGE_PAGE + 3,)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["u1", ">i2", "f8"])
def test_an_array_is_that_of_numpy(shape, dtype):
    array = empty(shape, np.dtype(dtype))
    assert (array.shape, array.dtype) == (shape, np.dtype(dtype))
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert array.flags.aligned
    if array.nbytes >= MIN_NBYTES:
        assert array.__array_interface__["data"][0] % HUGE_PAGE == 0
    array[...] = 7
    assert (array == 7).all()


def test_nothing_is_kept_back(tmp_path):
    tc.write_image(tmp_path / "a.fits.fz", np.zeros((2048, 2048), "i4"))
    tc.read_image(tmp_path / "a.fits.fz")
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        image = tc.read_image(tmp_path / "a.fits.fz")
        with_image, _ = tracemalloc.get_traced_memory()
        assert with_image - before >= image.nbytes
        del image
        after, _ = tracemalloc.get_traced_memory()
        assert after - before < 1 << 20
    finally:
        tracemalloc.stop()
