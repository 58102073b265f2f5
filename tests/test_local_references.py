"""Chunks that references place in local files: found in the file itself, and nothing else is taken for one."""

import os
from pathlib import Path

import needs
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from test_zarr_codecs import open_array

import astropy_tilecomp as tc

zarr = needs.module("zarr")
fsspec = needs.module("fsspec")

IMAGE = np.random.default_rng(2).integers(0, 1000, (64, 96)).astype("i2")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "sky.fits.fz"
    tc.write_image(path, IMAGE, tile_shape=(8, 96))
    return path


@pytest.fixture
def opened(monkeypatch):
    """The files that fsspec opens, in turn."""
    from fsspec.implementations.local import LocalFileSystem

    paths, original = [], LocalFileSystem._open

    def noted(self, path, *args, **kwargs):
        paths.append(path)
        return original(self, path, *args, **kwargs)

    monkeypatch.setattr(LocalFileSystem, "_open", noted)
    return paths


def store_of(refs, **options):
    fs = fsspec.filesystem("reference", fo=refs, asynchronous=True, **options)
    return zarr.storage.FsspecStore(fs, read_only=True)


def chunk_of(store, key="c/0/0"):
    from zarr.storage._common import StorePath

    from astropy_tilecomp.adapters.local_references import local_chunk

    return local_chunk(StorePath(store, key))


def with_place(path, place):
    """References in which the chunk lies at `place`."""
    return {"zarr.json": tc.references(path, hdu=1)["refs"]["zarr.json"], "c/0/0": place}


def test_the_store_is_asked_for_nothing(path, opened):
    array = open_array(tc.references(path, hdu=1))
    assert_array_equal(array[...], IMAGE)
    assert_array_equal(array[5:50:7, 3], IMAGE[5:50:7, 3])
    assert opened == []


@pytest.mark.parametrize("form", [str, Path.as_uri, lambda path: f"local://{path}"], ids=["path", "file", "local"])
def test_the_forms_of_a_url(path, form):
    _, start, nbytes = tc.references(path, hdu=1)["refs"]["c/0/0"]
    chunk = chunk_of(store_of(with_place(path, [form(path), start, nbytes])))
    assert bytes(chunk.read(0, chunk.nbytes)) == path.read_bytes()[start:start + nbytes]
    assert chunk.name == str(path)
    assert chunk.offset == start


def test_a_reference_to_a_whole_file(path, tmp_path):
    _, start, nbytes = tc.references(path, hdu=1)["refs"]["c/0/0"]
    alone = tmp_path / "alone"
    alone.write_bytes(path.read_bytes()[start:start + nbytes])
    assert_array_equal(open_array(with_place(path, [str(alone)]))[...], IMAGE)
    assert_array_equal(open_array(with_place(path, [None]), target=str(alone))[...], IMAGE)


def test_an_array_of_a_group_and_a_store_below_a_folder(path, opened):
    refs = tc.references(path)["refs"]
    (name,) = (key.split("/")[0] for key in refs if key.endswith("/c/0/0"))
    assert_array_equal(zarr.open_group(store_of(refs), mode="r")[name][3], IMAGE[3])
    fs = fsspec.filesystem("reference", fo=refs, asynchronous=True)
    below = zarr.storage.FsspecStore(fs, path=name, read_only=True)
    assert_array_equal(zarr.open_array(below, mode="r")[3], IMAGE[3])
    assert opened == []


def test_what_is_not_part_of_a_local_file(path):
    from fsspec.implementations.reference import ReferenceFileSystem

    class Derived(ReferenceFileSystem):
        pass

    place = tc.references(path, hdu=1)["refs"]["c/0/0"]
    assert chunk_of(store_of({"c/0/0": place})) is not None
    others = {
        "absent": store_of({}),
        "inline": store_of({"c/0/0": "bytes"}),
        "http": store_of({"c/0/0": ["http://host/a", 0, 9]}, remote_protocol="http", remote_options={"asynchronous": True}),
        "memory": store_of({"c/0/0": ["memory://a", 0, 9]}, remote_protocol="memory"),
        "no place": store_of({"c/0/0": [None]}),
        "derived": zarr.storage.FsspecStore(Derived({"c/0/0": place}, asynchronous=True), read_only=True),
        "wrapped": zarr.storage.WrapperStore(store_of({"c/0/0": place})),
        "dictionary": zarr.storage.MemoryStore(),
    }
    assert [name for name, store in others.items() if chunk_of(store) is not None] == []


def test_a_derived_file_system_is_asked(path, opened):
    from fsspec.implementations.reference import ReferenceFileSystem

    class Derived(ReferenceFileSystem):
        pass

    files = Derived(tc.references(path, hdu=1), asynchronous=True)
    array = zarr.open_array(zarr.storage.FsspecStore(files, read_only=True), mode="r")
    assert_array_equal(array[...], IMAGE)
    assert set(opened) == {str(path)}


def test_no_descriptor_stays_open(path):
    array = open_array(tc.references([path] * 20, hdu=1))
    array[:, 0]
    before = len(os.listdir("/proc/self/fd"))
    again = open_array(tc.references([path] * 20, hdu=1))
    assert_array_equal(again[...], np.stack([IMAGE] * 20))
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_that_changed_is_refused(path):
    array = open_array(tc.references(path, hdu=1))
    assert_array_equal(array[0], IMAGE[0])
    path.write_bytes(path.read_bytes() + bytes(2880))
    with pytest.raises(tc.SourceError, match=r"sky\.fits\.fz: changed since it was opened"):
        array[40]


def test_a_file_that_is_gone_or_cut(path):
    refs = tc.references(path, hdu=1)
    _, start, nbytes = refs["refs"]["c/0/0"]
    os.truncate(path, start + nbytes // 2)
    with pytest.raises(tc.TruncatedTileError, match="beyond the end"):
        open_array(refs)[...]
    os.truncate(path, start + 1000)
    with pytest.raises(tc.HeaderError, match="no header of an HDU in the first 1000 bytes"):
        open_array(refs)[...]
    array = open_array(refs)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"sky\.fits\.fz"):
        array[...]


def test_parquet_references(path, tmp_path):
    needs.module("fastparquet")
    refs = tc.tile_references(path)
    refs.to_parquet(tmp_path / "refs")
    assert chunk_of(store_of(str(tmp_path / "refs")), f"{refs.name}/0.0") is not None
