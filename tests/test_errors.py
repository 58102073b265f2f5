"""The exceptions: what they say, what they are, and that they survive a pickle."""

import copy
import pickle
import subprocess
import sys

import pytest
from astropy.utils.exceptions import AstropyUserWarning

from astropy_tilecomp import errors

PLACE = {"tile": (3, 0), "row": 12, "column": "COMPRESSED_DATA", "algorithm": "RICE_1", "byte_range": (1048320, 1050530)}


@pytest.mark.parametrize(("name", "bases"), [
    ("HeaderError", (errors.TileCompError, ValueError)),
    ("UnsupportedError", (errors.TileCompError, NotImplementedError)),
    ("CorruptTileError", (errors.TileCompError, OSError)),
    ("TruncatedTileError", (errors.CorruptTileError,)),
    ("TrailingBytesError", (errors.CorruptTileError,)),
])
def test_bases(name, bases):
    assert all(issubclass(getattr(errors, name), base) for base in bases)


def test_message_of_a_tile_says_where_and_why():
    error = errors.TruncatedTileError("stream ends at pixel 1873 of 4096", **PLACE)
    assert str(error) == (
        "tile (3, 0), row 12, RICE_1 in COMPRESSED_DATA: stream ends at pixel 1873 of 4096"
        " (2210 bytes at file offset 1048320)"
    )
    assert {name: getattr(error, name) for name in PLACE} == PLACE


def test_message_without_a_place_is_the_reason():
    assert str(errors.CorruptTileError("bad magic")) == "bad magic"
    assert str(errors.CorruptTileError("bad magic", row=0)) == "row 0: bad magic"


def test_message_of_a_keyword_says_found_and_expected():
    error = errors.HeaderError(keyword="ZBITPIX", found=17, expected="8, 16 or 32")
    assert str(error) == "ZBITPIX is 17, expected 8, 16 or 32"
    missing = errors.HeaderError(keyword="ZNAXIS", expected="an integer")
    assert str(missing) == "ZNAXIS is missing, expected an integer"
    assert (error.keyword, error.found, error.expected) == ("ZBITPIX", 17, "8, 16 or 32")


def test_trailing_bytes_give_both_counts():
    error = errors.TrailingBytesError(used=10, nbytes=11, row=2)
    assert str(error) == "row 2: the tile is complete after 10 bytes, 11 were given"
    assert (error.used, error.nbytes) == (10, 11)


@pytest.mark.parametrize("error", [
    errors.TrailingBytesError(used=10, nbytes=11, **PLACE),
    errors.TruncatedTileError("stream ends", **PLACE),
    errors.HeaderError(keyword="ZBITPIX", found=17, expected="8"),
    errors.UnsupportedError("no"),
], ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("clone", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))], ids=["copy", "pickle"])
def test_errors_survive_a_copy(error, clone):
    other = clone(error)
    assert type(other) is type(error)
    assert str(other) == str(error)
    assert vars(other) == vars(error)


def test_the_warning_is_astropys():
    assert issubclass(errors.TileCompWarning, AstropyUserWarning)
    assert errors.TileCompWarning is errors.TileCompWarning
    assert pickle.loads(pickle.dumps(errors.TileCompWarning)) is errors.TileCompWarning


def test_astropy_is_imported_for_the_warning_only():
    code = (
        "import sys; from astropy_tilecomp.errors import CorruptTileError; assert 'astropy' not in sys.modules;"
        "from astropy_tilecomp import errors; errors.TileCompWarning; assert 'astropy' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_warning_works_without_astropy():
    code = (
        "import sys; sys.modules['astropy'] = None; from astropy_tilecomp.errors import TileCompWarning;"
        "assert TileCompWarning.__mro__[1] is UserWarning"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_program_may_do_without_astropys_warning():
    code = (
        "import sys; from astropy_tilecomp import errors; errors.warn_without_astropy();"
        "assert errors.TileCompWarning.__mro__[1] is UserWarning; assert 'astropy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="NoSuchError"):
        errors.NoSuchError  # noqa: B018


@pytest.mark.parametrize("error", [
    errors.HeaderError(keyword="ZCMPTYPE", found="FOO", expected="RICE_1"),
    errors.TruncatedTileError("stream ends", **PLACE),
    errors.TrailingBytesError(used=10, nbytes=11),
    errors.UnsupportedError("no"),
], ids=lambda error: type(error).__name__)
def test_repr_says_what_str_says(error):
    assert repr(error) == f"{type(error).__name__}({str(error)!r})"
    assert error.args[0]
