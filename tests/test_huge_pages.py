"""Memory for results: as numpy's, but for where large arrays begin."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import astropy_tilecomp as tc
from astropy_tilecomp.huge_pages import HUGE_PAGE, LEAST_NBYTES, empty

SHAPES = [(), (0,), (3, 0, 2), (5, 7), (1, HUGE_PAGE // 2, 2), (4 * HUGE_PAGE + 3,)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["u1", ">i2", "f8"])
def test_an_array_is_that_of_numpy(shape, dtype):
    array = empty(shape, np.dtype(dtype))
    assert (array.shape, array.dtype) == (shape, np.dtype(dtype))
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert array.flags.aligned
    if sys.platform == "linux" and array.nbytes >= LEAST_NBYTES:
        assert array.__array_interface__["data"][0] % HUGE_PAGE == 0
    else:
        assert array.flags.owndata
    array[...] = 7
    assert (array == 7).all()


def test_results_use_it(tmp_path):
    path = tmp_path / "large.fits.fz"
    image = np.arange(2300 * 2000, dtype="i2").reshape(2300, 2000)
    tc.write_image(path, image)
    got = tc.read_image(path)
    assert_array_equal(got, image)
    assert got.nbytes >= LEAST_NBYTES or sys.platform != "linux"
    assert got.__array_interface__["data"][0] % HUGE_PAGE == 0 or sys.platform != "linux"
