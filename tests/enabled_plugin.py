"""A pytest plugin under which every test runs with `astropy_tilecomp.enable()`."""

import astropy_tilecomp


def pytest_configure():
    astropy_tilecomp.enable()
