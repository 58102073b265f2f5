"""Tile shapes: cfitsio's rules, and what astropy does with the same request."""

import subprocess

import numpy as np
import pytest
from astropy.io import fits
from support import needs

from astropy_tilecomp.errors import HeaderError
from astropy_tilecomp.tiling.params import CompressionParams
from astropy_tilecomp.tiling.shapes import default_tile_shape, fit_tile_shape, whole_tile_shape

ROW_ALGORITHMS = ("RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "NOCOMPRESS")


@pytest.mark.parametrize("zcmptype", ROW_ALGORITHMS)
@pytest.mark.parametrize(("image", "row", "whole"), [
    ((7,), (7,), (7,)), ((50, 70), (1, 70), (50, 70)), ((3, 50, 70), (1, 1, 70), (3, 50, 70)), ((0, 5), (1, 5), (1, 5)),
    ((5, 0), (1, 1), (5, 1)),
])
def test_row_algorithms(zcmptype, image, row, whole):
    assert default_tile_shape(image, zcmptype) == row
    assert fit_tile_shape(image, None, zcmptype) == row
    assert whole_tile_shape(image, zcmptype) == whole


@pytest.mark.parametrize(("asked", "got"), [
    ((10, 20), (10, 20)), ((-1, -1), (50, 70)), ((0, 0), (1, 70)), ((100, 100), (50, 70)), ((-1, 1), (50, 1)),
])
def test_requests(asked, got):
    assert fit_tile_shape((50, 70), asked, "RICE_1") == got


@pytest.mark.parametrize("asked", [(10,), (1, 10, 20), (-2, 5)])
def test_requests_that_make_no_sense(asked):
    with pytest.raises(HeaderError, match=r"tile shape|ZTILE2"):
        fit_tile_shape((50, 70), asked, "RICE_1")


def test_unknown_style():
    with pytest.raises(ValueError, match="style is 'other'"):
        fit_tile_shape((50, 70), None, "RICE_1", style="other")


@pytest.mark.parametrize(("rows", "tile"), [
    (4, 4), (30, 30), (31, 16), (32, 16), (33, 24), (34, 24), (35, 24), (37, 16), (49, 20),
])
def test_rows_of_hcompress_tiles(rows, tile):
    assert default_tile_shape((rows, 70), "HCOMPRESS_1") == (tile, 70)
    assert default_tile_shape((3, rows, 70), "HCOMPRESS_1") == (1, tile, 70)


def test_whole_of_hcompress_is_a_plane():
    assert whole_tile_shape((5, 50, 70), "HCOMPRESS_1") == (1, 50, 70)


def test_hcompress_tiles_grow_until_the_last_one_is_large_enough():
    assert fit_tile_shape((37, 70), (7, 70), "HCOMPRESS_1") == (8, 70)
    with pytest.raises(HeaderError, match="ZTILE2 is 7, expected a size that leaves no last tile of less than 4 of the 37"):
        fit_tile_shape((37, 70), (7, 70), "HCOMPRESS_1", style="astropy")


def test_hcompress_takes_any_two_axes():
    assert fit_tile_shape((8, 50, 70), (4, 1, 70), "HCOMPRESS_1") == (4, 1, 70)


@pytest.mark.parametrize(("image", "asked"), [
    ((50, 70), (1, 70)), ((50, 70), (3, 70)), ((8, 50, 70), (4, 4, 70)), ((50, 3), None), ((70,), None), ((3, 3, 70), None),
    ((13, 70), (4, 70)),
])
def test_what_hcompress_cannot_hold(image, asked):
    with pytest.raises(HeaderError, match=r"HCOMPRESS_1|ZTILE"):
        fit_tile_shape(image, asked, "HCOMPRESS_1")


def packed_tile_shape(folder, n_rows, n_columns, *options):
    """Tile shape that fpack chooses, None where it refuses."""
    plain, packed = folder / "plain.fits", folder / "packed.fits"
    fits.PrimaryHDU(np.zeros((n_rows, n_columns), "i2")).writeto(plain, overwrite=True)
    packed.unlink(missing_ok=True)
    subprocess.run([needs.tool("fpack"), *options, "-O", str(packed), str(plain)], check=False, capture_output=True)
    if not packed.exists():
        return None
    with fits.open(packed, disable_image_compression=True) as hdul:
        return CompressionParams.from_header(hdul[1].header).tile_shape


@pytest.mark.parametrize("n_rows", [4, 9, 30, 31, 33, 49, 50, 65, 97, 113, 129])
def test_default_equals_fpacks(tmp_path, n_rows):
    assert packed_tile_shape(tmp_path, n_rows, 12, "-h") == default_tile_shape((n_rows, 12), "HCOMPRESS_1")


@pytest.mark.parametrize("tile", [(4, 4), (5, 6), (7, 12), (9, 5), (13, 7)])
@pytest.mark.parametrize("image", [(37, 12), (40, 23)])
def test_request_equals_fpacks(tmp_path, image, tile):
    got = packed_tile_shape(tmp_path, *image, "-h", "-t", f"{tile[1]},{tile[0]}")
    if got is None:
        with pytest.raises(HeaderError):
            fit_tile_shape(image, tile, "HCOMPRESS_1")
    else:
        assert fit_tile_shape(image, tile, "HCOMPRESS_1") == got
