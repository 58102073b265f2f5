"""The names of the package, with and without the packages that are optional."""

import subprocess
import sys

import pytest

WITHOUT_EXTRAS = """if True:
    import sys
    extras = ("zarr", "numcodecs", "dask", "distributed", "xarray", "rich", "fsspec", "kerchunk", "fastparquet", "virtualizarr",
              "icechunk", "obstore", "asdf", "s3fs", "aiohttp", "matplotlib")
    sys.modules.update(dict.fromkeys(extras))  # None: cannot be imported
"""


@pytest.mark.parametrize("code", [
    "from astropy_tilecomp import *; read_image, open, TileStore",
    "import astropy_tilecomp as tc; help(tc)",
    "import astropy_tilecomp as tc, inspect; assert dict(inspect.getmembers(tc)).keys() >= set(tc.__all__)",
    "import astropy_tilecomp as tc; assert all(hasattr(tc, name) for name in dir(tc))",
], ids=["star import", "help", "getmembers", "hasattr"])
def test_all_names_are_there_without_extras(code):
    subprocess.run([sys.executable, "-c", f"{WITHOUT_EXTRAS}\n{code}"], check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)


def test_what_needs_an_extra_says_so_when_it_is_used():
    code = f"""{WITHOUT_EXTRAS}
    import astropy_tilecomp as tc
    assert not isinstance(3, tc.TileStore)
    try:
        tc.TileStore(None)
    except ImportError as error:
        assert "pip install 'astropy_tilecomp[zarr]'" in str(error), error
        assert "zarr" in tc.TileStore.__doc__
    else:
        raise AssertionError("made")
    """
    subprocess.run([sys.executable, "-c", code], check=True)
