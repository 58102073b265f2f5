"""tilecomp refs: what is written opens in zarr, xarray and Icechunk, with the right pixels."""

import json

import pytest
from numpy.testing import assert_array_equal
from support import needs
from support.command_line import check_help, check_missing, check_no_fits, fail, leftovers, succeed
from support.damaged_files import star_image

import astropy_tilecomp as tc

IMAGES = [star_image(shape=(60, 80)), star_image("i2", (60, 80))[::-1].copy()]


@pytest.fixture
def files(tmp_path):
    """Two images."""
    for name, image in zip("ab", IMAGES):
        tc.write_image(tmp_path / f"{name}.fits.fz", image, tile_shape=(16, 16), name="SCI")
    return tmp_path


def test_help_and_bad_files(tmp_path):
    check_help("refs", "--format", "--hdu", "--stack-dimension")
    check_missing("refs", tmp_path)
    check_no_fits("refs", tmp_path)


def test_json(files):
    zarr, fsspec = needs.module("zarr"), needs.module("fsspec")
    succeed("refs", "--hdu", "SCI", files / "a.fits.fz")
    refs = json.loads((files / "a.fits.fz.json").read_text())
    fs = fsspec.filesystem("reference", fo=refs, asynchronous=True)
    assert_array_equal(zarr.open_array(zarr.storage.FsspecStore(fs, read_only=True), mode="r")[:], IMAGES[0])
    assert "--force replaces it" in fail("refs", files / "a.fits.fz")
    message = fail("refs", "--force", "--format", "json", files / "a.fits.fz", "-o", files / "a.fits.fz")
    assert "a.fits.fz is one of the files" in message
    assert_array_equal(tc.read_image(files / "a.fits.fz"), IMAGES[0])


def test_a_stack_in_json(files):
    zarr, fsspec = needs.module("zarr"), needs.module("fsspec")
    succeed("refs", files / "*.fz", "-o", files / "stack.json", "--stack-dimension", "night")
    refs = json.loads((files / "stack.json").read_text())
    fs = fsspec.filesystem("reference", fo=refs, asynchronous=True)
    array = zarr.open_group(zarr.storage.FsspecStore(fs, read_only=True), mode="r")["SCI"]
    assert_array_equal(array[:], IMAGES)
    assert array.metadata.dimension_names[0] == "night"
    assert "--output has to name" in fail("refs", files / "*.fz", code=2)


def test_values_in_parquet_have_no_empty_places(files):
    """Fsspec opens the first place that it meets, in an order by chance, and pandas 3 reads an empty one as NaN."""
    needs.module("kerchunk")
    reference, fastparquet = needs.module("fsspec.implementations.reference"), needs.module("fastparquet")
    succeed("refs", files / "*.fz", "-o", files / "stack.parquet", "--stack-dimension", "night")
    assert fastparquet.ParquetFile(str(files / "stack.parquet" / "night" / "refs.0.parq")).columns == ["raw"]
    mapper = reference.LazyReferenceMapper(str(files / "stack.parquet"))
    assert list(memoryview(mapper["night/0"]).cast("q")) == list(range(len(IMAGES)))
    assert [mapper[f"SCI/{number}.0.0"][0] for number in range(len(IMAGES))] == [str(files / f"{name}.fits.fz") for name in "ab"]


def test_parquet(files):
    needs.module("kerchunk")
    xarray = needs.module("xarray")
    succeed("refs", files / "a.fits.fz", "-o", files / "a.parquet")
    assert_array_equal(xarray.open_dataset(str(files / "a.parquet"), engine="kerchunk").SCI.values, IMAGES[0])
    succeed("refs", files / "*.fz", "-o", files / "stack.parquet")
    assert_array_equal(xarray.open_dataset(str(files / "stack.parquet"), engine="kerchunk").SCI.values, IMAGES)
    assert "--force replaces it" in fail("refs", files / "a.fits.fz", "-o", files / "a.parquet")
    succeed("refs", "--force", files / "b.fits.fz", "-o", files / "a.parquet")
    assert_array_equal(xarray.open_dataset(str(files / "a.parquet"), engine="kerchunk").SCI.values, IMAGES[1])


@pytest.mark.parametrize("form", ["parquet", "icechunk"])
def test_a_folder_of_other_files_is_never_replaced(files, form, monkeypatch):
    monkeypatch.chdir(files)
    for name in (files, ".", f"{files}/"):
        message = fail("refs", "--force", "--format", form, files / "a.fits.fz", "-o", name)
        assert message == f"tilecomp: {name} is a folder with something else in it, which is not replaced\n"
    assert sorted(path.name for path in files.iterdir()) == ["a.fits.fz", "b.fits.fz"]


@pytest.mark.parametrize("form", ["parquet", "icechunk"])
def test_folders_that_are_replaced(files, form):
    needs.module("kerchunk" if form == "parquet" else "virtualizarr")
    (files / "out").mkdir()
    for _ in range(2):
        succeed("refs", "--force", "--format", form, files / "a.fits.fz", "-o", f"{files / 'out'}/")
    assert len(list((files / "out").iterdir())) > 1
    assert leftovers(files) == []


def test_icechunk(files):
    icechunk, zarr = needs.module("icechunk"), needs.module("zarr")
    needs.module("virtualizarr")
    for names, out, expected in ((["a"], "a.icechunk", IMAGES[0]), (["a", "b"], "stack.icechunk", IMAGES)):
        succeed("refs", *(files / f"{name}.fits.fz" for name in names), "-o", files / out)
        storage = icechunk.local_filesystem_storage(str(files / out))
        allowed = {f"{files.resolve().as_uri()}/": None}
        session = icechunk.Repository.open(storage, authorize_virtual_chunk_access=allowed).readonly_session("main")
        assert_array_equal(zarr.open_group(session.store, mode="r")["SCI"][:], expected)


@pytest.mark.parametrize("form", ["json", "parquet", "icechunk"])
def test_a_failure_leaves_nothing(files, form):
    (files / "cut.fits.fz").write_bytes((files / "a.fits.fz").read_bytes()[:9000])
    assert "tilecomp: " in fail("refs", files / "cut.fits.fz", "--format", form, "-o", files / "out")
    assert leftovers(files) == []
    assert not (files / "out").exists()


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_a_folder_that_is_missing(files, form):
    needs.module("kerchunk")
    message = fail("refs", files / "a.fits.fz", "--format", form, "-o", files / "nowhere" / "out")
    assert message == f"tilecomp: {files / 'nowhere' / 'out'}: No such file or directory\n"


def test_bad_options(files):
    assert "standard input is none" in fail("refs", "-", "-o", files / "a.json", code=2)
    assert "expected a name that ends in .json" in fail("refs", files / "a.fits.fz", "-o", files / "a.yaml", code=2)
    assert "is not one of" in fail("refs", "--format", "csv", files / "a.fits.fz", code=2)
    assert "is not for parquet" in fail("refs", "--stored", files / "a.fits.fz", "-o", files / "a.parquet", code=2)


@pytest.mark.parametrize(("output", "options", "engines"), [
    ("a.json", (), ("astropy_tilecomp",)), ("b.json", ("--zarr-format", "2"), ("astropy_tilecomp", "kerchunk")),
    ("c.parquet", (), ("astropy_tilecomp", "kerchunk")), ("d.json", ("--hdu", "1"), ("astropy_tilecomp",)),
])
def test_what_is_written_opens_by_its_path(output, options, engines, panoptes, tmp_path):
    xarray = needs.module("xarray")
    needs.module("kerchunk")
    path = tmp_path / output
    succeed("refs", panoptes, "-o", path, *options)
    image = tc.read_image(panoptes)
    opened = tc.open_references(path)
    found = opened if hasattr(opened, "shape") else opened["COMPRESSED_IMAGE"]
    assert_array_equal(found[300:310, ::100], image[300:310, ::100])
    for engine in engines:
        with xarray.open_dataset(str(path), engine=engine) as dataset:
            (variable,) = dataset.data_vars.values()
            assert_array_equal(variable[300:310, ::100], image[300:310, ::100])


@pytest.mark.parametrize("content", ["no json", "[1, 2]", "7"])
def test_other_json_is_not_references(content, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(tc.HeaderError, match="references"):
        tc.open_references(path)
