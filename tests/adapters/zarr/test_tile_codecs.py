"""The codecs of tiles in zarr arrays of format 3."""

import json
import pickle
import tomllib

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from support import needs
from support.tiles import SHAPE, each_codec, pixels_for

from astropy_tilecomp import codecs
from astropy_tilecomp.codecs import Gzip1, Rice1
from astropy_tilecomp.errors import CorruptTileError, UnsupportedError

zarr = needs.module("zarr")
adapter = pytest.importorskip("astropy_tilecomp.adapters.zarr.tile_codecs")


@pytest.fixture(autouse=True, scope="module")
def registered():
    """As the entry points do it, in a tree that is not installed too."""
    for name in adapter.__all__:
        made = getattr(adapter, name)
        if hasattr(made, "codec_class"):
            zarr.registry.register_codec(made.codec_class.codec_id, made)


def skip_byte_orders_of_old_zarr(codec):
    """zarr before 3.1 makes no arrays of format 3 in the other byte order."""
    if zarr.__version__.startswith("3.0.") and not pixels_for(codec, (1, 1)).dtype.isnative:
        pytest.skip("zarr before 3.1 has no byte orders")


def form_of(codec):
    """The zarr form of a codec."""
    return getattr(adapter, f"{type(codec).__name__}Tile")(codec)


def test_entry_points():
    project = tomllib.loads((needs.REPOSITORY / "pyproject.toml").read_text())["project"]
    points = project["entry-points"]["zarr.codecs"]
    for codec in codecs.CODECS:
        if codec is not codecs.Quantize:
            name = f"astropy_tilecomp.adapters.zarr.tile_codecs:{codec.__name__}Tile"
            assert points[codec.codec_id] == name
            assert getattr(adapter, name.split(":")[1]).codec_class is codec


@each_codec
def test_array(codec):
    """S2, S26, S35, S36: written, read and opened again; the array's byte order wins over the codec's."""
    skip_byte_orders_of_old_zarr(codec)
    image = pixels_for(codec, (12, 30))
    for dtype in {image.dtype.newbyteorder("="), image.dtype}:
        store = zarr.storage.MemoryStore()
        array = zarr.create_array(
            store, shape=image.shape, chunks=SHAPE, dtype=dtype, serializer=form_of(codec), compressors=None, filters=None
        )
        array[...] = image
        document = json.loads(store._store_dict["zarr.json"].to_bytes())
        assert [entry["name"] for entry in document["codecs"]] == [codec.codec_id]
        assert document["codecs"][0]["configuration"]["version"] == 1
        again = zarr.open_array(store, mode="r")
        assert_array_equal(again[...], image)
        assert_array_equal(again[3:9, 7:23], image[3:9, 7:23])
        assert again.serializer == form_of(codec)


@each_codec
def test_stack_of_tiles(codec):
    """S25: k tiles in one chunk."""
    skip_byte_orders_of_old_zarr(codec)
    image = pixels_for(codec, (24, 10))
    streams = b"".join(codec.encode(image[y : y + 6]) for y in range(0, 24, 6))
    for rows in (6, 12, 24):
        store = zarr.storage.MemoryStore()
        array = zarr.create_array(
            store, shape=(24, 10), chunks=(rows, 10), dtype=image.dtype, serializer=form_of(codec), compressors=None
        )
        array[...] = image
        assert_array_equal(zarr.open_array(store)[...], image)
        if rows == 24 and not codec.algorithm.startswith("GZIP"):
            assert store._store_dict["c/0/0"].to_bytes() == streams


@each_codec
def test_box_of_tiles(codec):
    """S25: tiles beside one another as well as below one another."""
    skip_byte_orders_of_old_zarr(codec)
    image = pixels_for(codec, (24, 40))
    store = zarr.storage.MemoryStore()
    array = zarr.create_array(
        store, shape=image.shape, chunks=(12, 20), dtype=image.dtype, serializer=form_of(codec), compressors=None
    )
    array[...] = image
    assert_array_equal(zarr.open_array(store)[...], image)
    if not codec.algorithm.startswith("GZIP"):
        tiles = [image[y : y + 6, x : x + 10] for y in (0, 6) for x in (20, 30)]
        assert store._store_dict["c/0/1"].to_bytes() == b"".join(codec.encode(tile) for tile in tiles)


def test_chunks_that_are_no_box_of_tiles():
    array = zarr.create_array(
        zarr.storage.MemoryStore(), shape=(12, 15), chunks=(12, 15), dtype="i2",
        serializer=form_of(Rice1(bytepix=2, tile_shape=SHAPE)), compressors=None,
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"a chunk of shape \(12, 15\) is no box of tiles of shape \(6, 10\)"):
        array[...] = np.ones((12, 15), "i2")


def test_edge_tile_is_an_error():
    """S22: never an image of the wrong shape."""
    codec = Rice1(bytepix=2, tile_shape=SHAPE)
    store = zarr.storage.MemoryStore()
    array = zarr.create_array(store, shape=(6, 15), chunks=SHAPE, dtype="i2", serializer=form_of(codec), compressors=None)
    array[...] = 1 + np.arange(90, dtype="i2").reshape(6, 15)
    edge = codec.encode(np.arange(30, dtype="i2").reshape(6, 5))
    store._store_dict["c/0/1"] = zarr.core.buffer.default_buffer_prototype().buffer.from_bytes(edge)
    with pytest.raises(CorruptTileError, match="stream ends at pixel 30 of 60"):
        array[...]


def test_documents_are_checked():
    made = form_of(Rice1(bytepix=2, tile_shape=SHAPE))
    document = made.to_dict()
    assert adapter.Rice1Tile.from_dict(json.loads(json.dumps(document))) == made
    assert pickle.loads(pickle.dumps(made)) == made
    assert hash(made) == hash(adapter.Rice1Tile(bytepix=2, tile_shape=SHAPE))
    assert made != form_of(Gzip1(dtype="i2"))
    assert "bytepix=2" in repr(made)
    with pytest.raises(ValueError, match="unknown keys: colour"):
        adapter.Rice1Tile.from_dict({"name": "astropy_tilecomp.rice1", "configuration": {"colour": 3}})
    with pytest.raises(ValueError, match="codec 'gzip'"):
        adapter.Rice1Tile.from_dict({"name": "gzip"})
    with pytest.raises(UnsupportedError):
        adapter.Rice1Tile.from_dict({"name": "astropy_tilecomp.rice1", "configuration": {"version": 2}})
    with pytest.raises(NotImplementedError):
        made.compute_encoded_size(3, None)
