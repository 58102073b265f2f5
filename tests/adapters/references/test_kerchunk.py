"""kerchunk's own tools over our references: process_file, MultiZarrToZarr, parquet, xarray's engine."""

import json
import warnings

import numpy as np
import pytest
from astropy.io import fits
from astropy.table import Table
from numpy.testing import assert_array_equal
from support import needs

import astropy_tilecomp as tc

kerchunk_fits = needs.module("kerchunk.fits")
combine = needs.module("kerchunk.combine")
fsspec = needs.module("fsspec")
zarr = needs.module("zarr")
xarray = needs.module("xarray")


def sample(seed=0, dtype="f4"):
    return np.random.default_rng(seed).normal(100, 9, (40, 50)).astype(dtype)


def write(path, *hdus):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits.HDUList([fits.PrimaryHDU(), *hdus]).writeto(path)
    return str(path)


@pytest.fixture
def everything(tmp_path):
    """A compressed image between a plain image, a table and another compressed image."""
    return write(
        tmp_path / "all.fits",
        fits.ImageHDU(sample(1), name="PLAIN"),
        fits.CompImageHDU(sample(2), name="FLOATS", quantize_method=1, dither_seed=3, tile_shape=(7, 11)),
        fits.table_to_hdu(Table({"a": [1, 2, 3], "b": [1.5, 2.5, 3.5]})),
        fits.CompImageHDU(sample(3, "u2"), name="COUNTS", compression_type="GZIP_2"),
    )


def text(refs):
    return {key: value.decode() if isinstance(value, bytes) else value for key, value in refs.items()}


def test_compressed_images_are_right(everything):  # S42
    refs = tc.process_file(everything, extension=["FLOATS", "COUNTS"])
    group = tc.open_references(text(refs))
    for name in ("FLOATS", "COUNTS"):
        expected = fits.getdata(everything, name)
        assert_array_equal(group[name][...], expected)
        assert group[name].dtype == expected.dtype.newbyteorder("=")
        assert group[name].attrs["EXTNAME"] == name
    assert refs["FLOATS/0.0"][0] == everything


def test_other_hdus_are_kerchunks_own(everything):  # S46
    ours = tc.process_file(everything, extension=[1, 2, 3])
    theirs = kerchunk_fits.process_file(everything, extension=[1, 3])
    assert len(theirs) > 4
    for key, content in theirs.items():
        assert key in (".zgroup", ".zattrs") or ours[key] == content
    assert ours.keys() - theirs.keys() == {"FLOATS/.zarray", "FLOATS/.zattrs", "FLOATS/0.0"}


def test_a_plain_file_is_left_to_kerchunk(tmp_path):
    path = str(tmp_path / "plain.fits")
    fits.PrimaryHDU(sample(4)).writeto(path)
    theirs, ours = kerchunk_fits.process_file(path), tc.process_file(path)
    assert ours.keys() | {".zattrs"} == theirs.keys()
    assert {key: ours[key] for key in ours if not key.startswith(".z")} == {
        key: theirs[key] for key in theirs if not key.startswith(".z")}


def test_the_first_with_data_and_the_primary_header(everything):
    refs = tc.process_file(everything, extension=2, primary_attr_to_group=True)
    assert json.loads(refs[".zattrs"])["BITPIX"] == 8
    assert any(key.startswith("PLAIN/") for key in tc.process_file(everything))
    out = {}
    assert tc.process_file(everything, extension=2, out=out) is out
    with pytest.raises(KeyError, match="no extension 9"):
        tc.process_file(everything, extension=9)


def test_multi_zarr_to_zarr(tmp_path):
    paths = [
        write(tmp_path / f"{n}.fits",
              fits.CompImageHDU(sample(n), quantize_method=1, dither_seed=n + 1, name="SCI", tile_shape=(n + 1, 50)))
        for n in range(6)
    ]
    singles = [{"version": 1, "refs": text(tc.process_file(path))} for path in paths]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        combined = combine.MultiZarrToZarr(
            singles, concat_dims=["file"], identical_dims=["y", "x"], coo_map={"file": "INDEX"}
        ).translate()
    array = tc.open_references(text(combined["refs"]))["SCI"]
    assert_array_equal(array[...], np.stack([fits.getdata(path) for path in paths]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dataset = xarray.open_dataset({"version": 1, "refs": text(combined["refs"])}, engine="kerchunk")
        assert dataset.SCI.dims == ("file", "y", "x")
        assert_array_equal(dataset.SCI[3, 5:9], fits.getdata(paths[3])[5:9])


def test_engine_kerchunk_keeps_types_and_zeros(tmp_path):
    image = sample(7, "i2")
    image[:5] = 0
    path = write(tmp_path / "a.fits", fits.CompImageHDU(image, name="SCI"))
    dataset = xarray.open_dataset({"version": 1, "refs": text(tc.process_file(path))}, engine="kerchunk")
    assert dataset.SCI.dtype == np.int16
    assert_array_equal(dataset.SCI, image)


@pytest.mark.filterwarnings("ignore::Warning")
def test_parquet_by_lazy_reference_mapper(tmp_path):
    needs.module("fastparquet")
    reference = fsspec.implementations.reference
    path = write(tmp_path / "a.fits", fits.CompImageHDU(sample(5), name="SCI", quantize_method=2, dither_seed=9))
    (tmp_path / "refs").mkdir()
    out = reference.LazyReferenceMapper.create(str(tmp_path / "refs"), fs=fsspec.filesystem("file"))
    assert tc.process_file(path, out=out) is out
    fs = fsspec.filesystem("reference", fo=str(tmp_path / "refs"), asynchronous=True)
    array = zarr.open_group(zarr.storage.FsspecStore(fs, read_only=True), mode="r", zarr_format=2)["SCI"]
    assert_array_equal(array[...], fits.getdata(path))


def test_a_file_packed_as_a_whole_is_refused(tmp_path):
    import gzip

    path = write(tmp_path / "a.fits", fits.CompImageHDU(sample(1), name="SCI"))
    (tmp_path / "a.fits.gz").write_bytes(gzip.compress((tmp_path / "a.fits").read_bytes()))
    with pytest.raises(tc.UnsupportedError, match="compressed as a whole"):
        tc.process_file(path + ".gz")
