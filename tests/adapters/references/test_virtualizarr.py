"""VirtualiZarr and Icechunk: virtual data sets of compressed images, written, opened again and read in part."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal
from support import needs

import astropy_tilecomp as tc

virtualizarr = needs.module("virtualizarr")
obstore_store = needs.module("obstore.store")
registry_module = needs.module("obspec_utils.registry")
xarray = needs.module("xarray")
zarr = needs.module("zarr")


@pytest.fixture(scope="module")
def night(tmp_path_factory):
    """Files whose images agree in shape alone: tile shape, algorithm, seed and NaN differ."""
    folder = tmp_path_factory.mktemp("night")
    paths = []
    for n in range(5):
        image = np.random.default_rng(n).normal(100, 9, (40, 50)).astype("f4")
        image[n, 3:9] = np.nan
        hdu = fits.CompImageHDU(
            image, fits.Header([("EXPTIME", 30.0), ("SEQ", n)]), name="SCI", tile_shape=[(1, 50), (16, 16)][n % 2],
            compression_type=["RICE_1", "GZIP_2"][n % 2], quantize_method=1 + n % 2, dither_seed=n + 1,
        )
        paths.append(folder / f"{n}.fits")
        fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(paths[-1])
    return paths, np.stack([fits.getdata(path) for path in paths])


def virtual(path, **settings):
    registry = registry_module.ObjectStoreRegistry({"file://": obstore_store.LocalStore()})
    return virtualizarr.open_virtual_dataset(Path(path).as_uri(), registry=registry, parser=tc.TileCompParser(**settings))


def stacked(paths):
    """Virtual data sets one after the other; without the attributes that differ."""
    return xarray.concat([virtual(path) for path in paths], dim="file", coords="minimal", compat="override")


def test_a_virtual_variable(night):
    paths, _ = night
    dataset = virtual(paths[0])
    assert list(dataset) == ["SCI"]
    assert dataset.SCI.dims == ("y", "x")
    assert dataset.SCI.attrs["EXPTIME"] == 30.0
    assert not {"ZCMPTYPE", "TFORM1"} & dataset.SCI.attrs.keys()
    assert list(virtual(paths[0], hdu="SCI")) == ["SCI"]
    assert not list(virtual(paths[0], skip_variables=["SCI"]))


def test_the_manifest_store_reads(night):
    paths, expected = night
    registry = registry_module.ObjectStoreRegistry({"file://": obstore_store.LocalStore()})
    store = tc.TileCompParser()(paths[1].as_uri(), registry)
    array = zarr.open_group(store, mode="r", zarr_format=3)["SCI"]
    assert_array_equal(array[...], expected[1])
    assert_array_equal(array[7:9, ::5], expected[1][7:9, ::5])


def repository(folder, place):
    """An Icechunk repository at a place of its own that may read the files of a folder."""
    icechunk = needs.module("icechunk")
    prefix = f"{folder.as_uri()}/"
    config = icechunk.RepositoryConfig.default()
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(prefix, icechunk.local_filesystem_store(str(folder))))
    return icechunk.Repository.create(
        icechunk.local_filesystem_storage(str(place)), config=config,
        authorize_virtual_chunk_access=icechunk.containers_credentials({prefix: None}),
    )


@pytest.mark.filterwarnings("ignore::Warning")
def test_to_icechunk_and_back(night, tmp_path):  # S34
    paths, expected = night
    repo = repository(paths[0].parent, tmp_path / "repository")
    session = repo.writable_session("main")
    dataset = stacked(paths)
    (dataset.vz if hasattr(dataset, "vz") else dataset.virtualize).to_icechunk(session.store)
    session.commit("a night")
    with xarray.open_zarr(repo.readonly_session("main").store, consolidated=False, zarr_format=3) as opened:
        assert_array_equal(opened.SCI, expected)
        assert_array_equal(opened.SCI[1:4, 3:9, 7], expected[1:4, 3:9, 7])
        assert opened.SCI.attrs["EXPTIME"] == 30.0


@pytest.mark.filterwarnings("ignore::Warning")
def test_icechunk_directly(night, tmp_path):
    """Without VirtualiZarr: the metadata of our references, and a virtual reference for each chunk."""
    paths, expected = night
    repo = repository(paths[0].parent, tmp_path / "repository")
    session = repo.writable_session("main")
    prototype = zarr.core.buffer.default_buffer_prototype()
    for key, content in tc.references(paths, hdu=1)["refs"].items():
        if isinstance(content, str):
            zarr.core.sync.sync(session.store.set(f"stack/{key}", prototype.buffer.from_bytes(content.encode())))
        else:
            url, offset, length = content
            session.store.set_virtual_ref(f"stack/{key}", Path(url).as_uri(), offset=offset, length=length)
    session.commit("a stack")
    array = zarr.open_array(repo.readonly_session("main").store, path="stack", mode="r")
    assert_array_equal(array[...], expected)
    assert_array_equal(array[:, 5, ::7], expected[:, 5, ::7])
    assert_array_equal(pickle.loads(pickle.dumps(array))[2, :9], expected[2, :9])


def test_files_that_do_not_stack(night, tmp_path):
    other = tmp_path / "other.fits"
    fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(np.zeros((40, 51), "f4"), name="SCI")]).writeto(other)
    with pytest.raises(ValueError, match=r"shape|dimension|size"):
        stacked([night[0][0], other])


def test_to_kerchunk_is_no_way(night):
    """What the docs warn of: if VirtualiZarr learns to keep codecs, the warning can go."""
    dataset = virtual(night[0][0])
    try:
        refs = (dataset.vz if hasattr(dataset, "vz") else dataset.virtualize).to_kerchunk(format="dict")
    except (NotImplementedError, ValueError, TypeError):
        return
    assert "astropy_tilecomp" not in str(refs["refs"]["SCI/.zarray"])


def test_the_parser_says_what_it_cannot_parse(tmp_path):
    fits.PrimaryHDU(np.zeros((4, 4))).writeto(tmp_path / "plain.fits")
    with pytest.raises(tc.HeaderError, match="no compressed image"):
        virtual(tmp_path / "plain.fits")
