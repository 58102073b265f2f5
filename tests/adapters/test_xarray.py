"""The xarray backend: names, dimensions, chunks, attributes, every kind of indexing, pickles."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal
from support import needs, small_files
from support.servers import range_server

import astropy_tilecomp as tc

xarray = needs.module("xarray")
needs.module("dask.array")


@pytest.fixture
def cube(tmp_path):
    """Two compressed images of different shape in one file, the first with a WCS."""
    header = fits.Header([("CTYPE1", "RA---TAN"), ("CRVAL1", 12.5), ("CDELT1", -0.01), ("BUNIT", "ct")])
    rng = np.random.default_rng(0)
    hdus = [
        fits.CompImageHDU(rng.normal(9, 2, (6, 40, 50)).astype("f4"), header, name="SCI", tile_shape=(1, 8, 50),
                          quantize_method=1, dither_seed=4),
        fits.CompImageHDU(rng.integers(0, 60000, (40, 50)).astype("u2"), name="DQ", tile_shape=(10, 10)),
    ]
    fits.HDUList([fits.PrimaryHDU(), *hdus]).writeto(tmp_path / "cube.fits.fz")
    return tmp_path / "cube.fits.fz"


def test_a_file_is_opened_by_its_name(cube):
    with xarray.open_dataset(cube) as dataset:
        assert set(dataset) == {"SCI", "DQ"}
        assert dataset.SCI.dims == ("SCI_z", "SCI_y", "SCI_x")
        assert dataset.DQ.dtype == np.uint16
        assert_array_equal(dataset.SCI, fits.getdata(cube, "SCI"))
        assert_array_equal(dataset.DQ, fits.getdata(cube, "DQ"))


def test_attributes_hold_the_wcs(cube):
    with xarray.open_dataset(cube, hdu="SCI") as dataset:
        assert dataset.SCI.dims == ("z", "y", "x")
        attributes = dataset.SCI.attrs
    assert (attributes["CTYPE1"], attributes["CRVAL1"], attributes["CDELT1"], attributes["BUNIT"]) == ("RA---TAN", 12.5, -0.01, "ct")
    assert not {"ZCMPTYPE", "ZSCALE", "TFORM1", "NAXIS1", "BZERO"} & attributes.keys()


def test_drop_variables(cube):
    for dropped in ("DQ", ["DQ"], {"DQ", "none of them"}):
        with xarray.open_dataset(cube, drop_variables=dropped) as dataset:
            assert list(dataset) == ["SCI"]


@pytest.mark.slow
def test_chunks_are_whole_tiles(cube):
    with xarray.open_dataset(cube, hdu="SCI", chunks={}, chunk_nbytes=8 * 50 * 4 * 3) as dataset:
        assert dataset.SCI.chunksizes["z"] == (1,) * 6
        assert dataset.SCI.chunksizes["y"] == (24, 16)
        assert dataset.SCI.chunksizes["x"] == (50,)
        assert_array_equal(dataset.SCI, fits.getdata(cube, "SCI"))
        mean = dataset.SCI.mean("z").compute(scheduler="processes", num_workers=2)
    np.testing.assert_allclose(mean, fits.getdata(cube, "SCI").mean(0), rtol=1e-5)


INDICES = {
    "integers": {"z": 2, "y": 3, "x": 4},
    "negative": {"z": -1, "y": slice(-5, None)},
    "steps": {"z": slice(None, None, 2), "y": slice(1, 38, 5), "x": slice(0, 50, 7)},
    "backwards": {"y": slice(None, None, -3)},
    "outer": {"z": [5, 0, 3], "y": [39, 2, 2, 7], "x": slice(3, 9)},
    "mask": {"y": np.arange(40) % 3 == 0},
    "empty": {"y": slice(5, 5)},
    "array": {"x": np.array([49, 0])},
}


@pytest.mark.parametrize("name", INDICES)
def test_indexing_equals_numpy(cube, name):  # S43
    index = INDICES[name]
    expected = xarray.DataArray(fits.getdata(cube, "SCI"), dims=("z", "y", "x"))
    with xarray.open_dataset(cube, hdu="SCI") as dataset:
        assert_array_equal(dataset.SCI.isel(index), expected.isel(index))


def test_points(cube):
    rng = np.random.default_rng(1)
    points = {axis: xarray.DataArray(rng.integers(0, n, 20), dims="point") for axis, n in zip("zyx", (6, 40, 50))}
    expected = xarray.DataArray(fits.getdata(cube, "SCI"), dims=("z", "y", "x"))
    with xarray.open_dataset(cube, hdu="SCI") as dataset:
        assert_array_equal(dataset.SCI.isel(points), expected.isel(points))
        assert_array_equal(dataset.SCI.where(dataset.SCI > 10), expected.where(expected > 10))


def test_pickles(cube):
    with xarray.open_dataset(cube, hdu="DQ") as dataset:
        again = pickle.loads(pickle.dumps(dataset))
        assert_array_equal(again.DQ[5:9], fits.getdata(cube, "DQ")[5:9])


def test_only_what_is_needed_is_read(cube):
    """Nothing but headers to open; one tile for a cutout."""
    with (
        range_server({"cube.fits.fz": cube.read_bytes()}) as server,
        xarray.open_dataset(server.url + "cube.fits.fz", hdu="SCI", engine="astropy_tilecomp") as dataset,
    ):
        opened = server.nbytes
        cutout = dataset.SCI[3, 8:16].values
        assert server.nbytes - opened < 10_000
    assert_array_equal(cutout, fits.getdata(cube, "SCI")[3, 8:16])


def test_stored_pixels_and_blank(tmp_path):
    image = np.arange(200, dtype="i2").reshape(10, 20)
    path = small_files.gzipped(image, (5, 20), cards=[("BLANK", 7), ("BSCALE", 2.0)]).write(tmp_path / "a.fits")
    with xarray.open_dataset(path, engine="astropy_tilecomp") as dataset:
        assert dataset.hdu1.dtype == np.float32
        assert np.isnan(dataset.hdu1[0, 7])
        assert_array_equal(dataset.hdu1, tc.read_image(path))
    with xarray.open_dataset(path, engine="astropy_tilecomp", scaled=False) as dataset:
        assert_array_equal(dataset.hdu1, image)
        assert dataset.hdu1.attrs["BSCALE"] == 2.0


@pytest.mark.parametrize(("name", "expected"), [
    ("a.fits.fz", True), ("A.FIT.FZ", True), ("s3://b/a.fits.fz?x=1", True), ("a.fits", False), ("a.nc", False), (b"bytes", False),
])  # fmt: skip
def test_which_names_it_takes(name, expected):
    from astropy_tilecomp.adapters.xarray import TileBackend

    assert TileBackend().guess_can_open(name) is expected


def test_a_file_without_compressed_images(tmp_path):
    fits.PrimaryHDU(np.zeros((4, 4))).writeto(tmp_path / "plain.fits")
    with pytest.raises(tc.HeaderError, match="no compressed image"):
        xarray.open_dataset(tmp_path / "plain.fits", engine="astropy_tilecomp")


def test_a_reader_imports_nothing_of_ours(cube):
    code = f"import xarray; print(int(xarray.open_dataset({str(cube)!r}).DQ[3, 4]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=needs.REPOSITORY)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == fits.getdata(cube, "DQ")[3, 4]


def test_one_broken_header_leaves_the_others(tmp_path):
    path, image = tmp_path / "bad.fits.fz", np.arange(600, dtype="i2").reshape(20, 30)
    names = ("SCI", "ERR", "DQ")
    fits.HDUList([fits.PrimaryHDU(), *(fits.CompImageHDU(image, name=name) for name in names)]).writeto(path)
    with fits.open(path, mode="update", disable_image_compression=True) as hdus:
        hdus["ERR"].header["ZBITPIX"] = 7
    place = rf"{path}: HDU (2|ERR): ZBITPIX is 7"
    with pytest.warns(tc.TileCompWarning, match=place), xarray.open_dataset(path) as dataset:
        assert set(dataset.data_vars) == {"SCI", "DQ"}
        assert_array_equal(dataset.DQ, image)
    with pytest.warns(tc.TileCompWarning, match=place):
        assert {"SCI/zarr.json", "DQ/zarr.json"} < set(tc.references(path)["refs"])
    for read in (tc.read_image, tc.references, tc.to_dask):
        with pytest.raises(tc.HeaderError, match=place):
            read(path, hdu="ERR")
    with tc.open(path) as hdus, pytest.raises(tc.HeaderError, match=place):
        hdus["ERR"].data


def test_logical_cards_and_lists_survive_netcdf(tmp_path):
    needs.module("netCDF4")
    header = fits.Header({"YES": True, "NO": False, "EXPTIME": 1.5})
    header.add_history("one")
    header.add_history("two")
    tc.write_image(tmp_path / "a.fits.fz", np.zeros((4, 5), "i2"), header, name="SCI")
    assert tc.open_references(tc.references(tmp_path / "a.fits.fz", hdu=1)).attrs["YES"] is True
    with xarray.open_dataset(tmp_path / "a.fits.fz") as dataset:
        dataset.to_netcdf(tmp_path / "a.nc", engine="netcdf4")
    with xarray.open_dataset(tmp_path / "a.nc") as dataset:
        assert (dataset.SCI.attrs["YES"], dataset.SCI.attrs["NO"], dataset.SCI.attrs["EXPTIME"]) == (1, 0, 1.5)
        assert list(dataset.SCI.attrs["HISTORY"]) == ["one", "two"]
