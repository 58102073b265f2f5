"""The names of the package, with and without the packages that are optional."""

import inspect
import subprocess
import sys

import pytest

import astropy_tilecomp as tc

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


@pytest.mark.parametrize(("name", "option"), [
    ("open", "on_errors"), ("open", "maxnbytes"), ("enable", "thraeds"), ("enabled", "thraeds"), ("read_image", "ext"),
    ("read_section", "ext"), ("write_image", "clobber"), ("TileWriter", "clobber"), ("CompImageHDU", "tile_shap"), ("pack", "clobber"),
    ("unpack", "clobber"), ("replace_pixels", "thraeds"), ("repack", "tile_shap"), ("info", "thraeds"), ("verify", "thraeds"),
    ("salvage", "thraeds"), ("cutouts", "thraeds"), ("references", "hdus"), ("to_dask", "chunk_nbyte"), ("write_dask", "clobber"),
    ("advise", "thraeds"), ("map_tiles", "thraeds"), ("as_source", "storage"),
])
def test_a_misspelt_option_is_an_error_that_names_it(name, option):
    function = getattr(tc, name)
    required = [each for each in inspect.signature(function).parameters.values()
                if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    with pytest.raises(TypeError, match=rf"\b{name}\b.*'{option}'"):
        function(*required, **{option: 3})


def test_no_public_function_takes_options_without_naming_them():
    swallowing = []
    for name in tc.__all__:
        value = getattr(tc, name)
        if callable(value) and not (isinstance(value, type) and issubclass(value, Exception)):
            kinds = [parameter.kind for parameter in inspect.signature(value).parameters.values()]
            swallowing += [name] * (inspect.Parameter.VAR_KEYWORD in kinds)
    assert swallowing == []
