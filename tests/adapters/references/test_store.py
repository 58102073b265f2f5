"""References opened by their path or dictionary: read through the sources of this package, checked, and never two versions."""

import copy
import os
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from support import needs
from support.servers import range_server

import astropy_tilecomp as tc

zarr = needs.module("zarr")


def sample(seed=1, shape=(700, 300)):
    return np.random.default_rng(seed).normal(1000, 20, shape).astype("i2")


def content(folder, seed, **settings):
    tc.write_image(folder / "made.fits.fz", sample(seed), overwrite=True, **settings)
    return (folder / "made.fits.fz").read_bytes()


@pytest.mark.parametrize("settings", [
    {"tile_shape": (1, 300)}, {"tile_shape": (50, 30)}, {"algorithm": "GZIP_1"}, {"algorithm": "NOCOMPRESS"},
], ids=str)
@pytest.mark.parametrize("index", [np.s_[500:510, 7:40], np.s_[-3:], np.s_[...]], ids=str)
def test_a_file_that_is_replaced_is_an_error(index, settings, tmp_path):
    with range_server({"a.fits.fz": content(tmp_path, 1, **settings)}) as server:
        array = tc.open_references(tc.references(f"{server.url}a.fits.fz", hdu=1))
        assert_array_equal(array[3:5, 10:20], sample(1)[3:5, 10:20])
        server.files["a.fits.fz"] = content(tmp_path, 2, **settings)
        server.fault = lambda number: "changed"
        with pytest.raises(tc.SourceError, match="changed"):
            array[index]


def test_a_local_file_that_is_replaced_is_an_error(tmp_path):
    content(tmp_path, 1)
    path = tmp_path / "made.fits.fz"
    array = tc.open_references(tc.references(path, hdu=1))
    assert_array_equal(array[3], sample(1)[3])
    content(tmp_path, 2)
    os.utime(path, ns=(1, 1))
    with pytest.raises(tc.SourceError, match="changed"):
        array[100]


def test_requests_are_repeated(tmp_path):
    with range_server({"a.fits.fz": content(tmp_path, 1)}) as server:
        references = tc.references(f"{server.url}a.fits.fz", hdu=1)
        server.fault = lambda number: "503" if number % 3 == 0 else None
        assert_array_equal(tc.open_references(references)[10:30], sample(1)[10:30])


def test_files_in_places_of_several_kinds(tmp_path):
    name = "a.fits.fz"
    with range_server({name: content(tmp_path, 1)}) as server:
        places = [f"{server.url}{name}", str(tmp_path / "made.fits.fz")]
        array = tc.open_references(tc.references(places, hdu=1))
        assert_array_equal(array[:, 7], [sample(1)[7]] * 2)


@pytest.mark.parametrize("damage", [
    None, 5, [], {"a": 1}, [None, 0, 10], [True, 0, 10], ["p", 0, "y"], ["p", "y", 3], ["p", -5, 3], ["p", 0, 1, 2],
    ["p", 0], ["p", 0, True],
], ids=str)
def test_damaged_references_name_the_key(damage, tmp_path):
    content(tmp_path, 1)
    references = copy.deepcopy(tc.references(tmp_path / "made.fits.fz"))
    key = next(key for key, value in references["refs"].items() if isinstance(value, list))
    references["refs"][key] = damage
    with pytest.raises(tc.HeaderError, match=key):
        tc.open_references(references)


def test_the_store_pickles_and_reads_ranges(tmp_path):
    from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
    from zarr.core.buffer import default_buffer_prototype
    from zarr.core.sync import sync

    content(tmp_path, 1)
    array = tc.open_references(tc.references(tmp_path / "made.fits.fz", hdu=1))
    store = pickle.loads(pickle.dumps(array.store))
    assert store == array.store
    key, (_, offset, nbytes) = next((key, place) for key, place in store.references.items() if isinstance(place, list))
    whole = (tmp_path / "made.fits.fz").read_bytes()[offset:offset + nbytes]
    for wanted, expected in ((None, whole), (RangeByteRequest(3, 9), whole[3:9]), (OffsetByteRequest(nbytes - 5), whole[-5:]),
                             (SuffixByteRequest(7), whole[-7:]), (RangeByteRequest(nbytes, nbytes + 9), b"")):
        assert sync(store.get(key, default_buffer_prototype(), wanted)).to_bytes() == expected
    assert sync(store.get("no/such/key", default_buffer_prototype())) is None
    assert sync(store.exists(key)) and not sync(store.exists("no/such/key"))
    assert_array_equal(zarr.open(store, mode="r")[5:9], sample(1)[5:9])


@pytest.mark.parametrize("seed", range(40))
def test_every_kind_of_index_of_zarr(seed, tmp_path):
    rng = np.random.default_rng(seed)
    image = np.arange(23 * 31 * 7, dtype="i4").reshape(23, 31, 7)
    tc.write_image(tmp_path / "a.fits.fz", image, tile_shape=(5, 8, 7))
    array = tc.open_references(tc.references(tmp_path / "a.fits.fz", hdu=1))

    def one(size, kinds):
        kind = rng.choice(kinds)
        if kind == "integer":
            return int(rng.integers(size))
        if kind == "slice":
            start, stop = sorted(rng.integers(0, size + 1, 2).tolist())
            return slice(start, stop, int(rng.integers(1, 4)))
        if kind == "mask":
            return rng.random(size) < 0.4
        return rng.integers(0, size, rng.integers(1, 6)).tolist()

    basic = tuple(one(size, ["integer", "slice"]) for size in image.shape)
    assert_array_equal(array[basic], image[basic])
    outer = tuple(one(size, ["slice", "array", "mask"]) for size in image.shape)
    positions = [np.arange(size)[which] for which, size in zip(outer, image.shape)]
    assert_array_equal(array.oindex[outer], image[np.ix_(*positions)])
    points = tuple(rng.integers(0, size, 5).tolist() for size in image.shape)
    assert_array_equal(array.vindex[points], image[points])
    axis = int(rng.integers(3))
    lone = tuple(one(size, ["array"]) if number == axis else slice(None) for number, size in enumerate(image.shape))
    assert_array_equal(array[lone], image[lone])
