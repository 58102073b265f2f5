"""The codecs as numcodecs and zarr see them."""

import json
import pickle
import subprocess
import sys
import tomllib
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from support import needs
from support.tiles import CODECS, each_codec, pixels_for

from astropy_tilecomp import codecs
from astropy_tilecomp.codecs import PLIO1, Gzip1, Gzip2, HCompress1, NoCompress, Quantize, Rice1

numcodecs = needs.module("numcodecs")
zarr = needs.module("zarr")
adapter = pytest.importorskip("astropy_tilecomp.adapters.zarr.numcodecs")

CHUNK = (6, 10)
FOR_STORES = [codec for codec in CODECS if codec.tile_shape == CHUNK]


@pytest.fixture(autouse=True, scope="module")
def registered():
    """As the entry points do it, in a tree that is not installed too."""
    adapter.register()


def test_entry_points():
    """Every codec has one, under the id that its config has; none takes an id of astropy."""
    project = tomllib.loads((needs.REPOSITORY / "pyproject.toml").read_text())["project"]
    points = project["entry-points"]["numcodecs.codecs"]
    for codec in codecs.CODECS:
        assert points.pop(codec.codec_id) == f"astropy_tilecomp.adapters.zarr.numcodecs:{codec.__name__}"
        assert getattr(adapter, codec.__name__) is codec
    assert set(points) == {"astropy_tilecomp.hdu", "astropy_tilecomp.tiles", "astropy_tilecomp.frame"}


@each_codec
def test_get_codec(codec):
    """S3."""
    again = numcodecs.get_codec(json.loads(json.dumps(codec.get_config())))
    assert again == codec
    assert isinstance(again, numcodecs.abc.Codec)
    assert not isinstance(3, numcodecs.abc.Codec)


@pytest.mark.parametrize("codec", FOR_STORES, ids=repr)
def test_buffers_of_numcodecs(codec):
    """S2: what decode gives passes to the next codec and to numcodecs' own helpers."""
    pixels = pixels_for(codec)
    stream = codec.encode(pixels)
    ensure = numcodecs.compat.ensure_contiguous_ndarray
    assert_array_equal(ensure(codec.decode(stream)), pixels.reshape(-1))
    assert bytes(numcodecs.compat.ensure_bytes(codec.decode(stream))) == pixels.tobytes()
    blosc = numcodecs.Blosc()
    assert_array_equal(blosc.decode(blosc.encode(codec.decode(stream)), np.empty_like(pixels)), pixels)
    out = np.empty_like(pixels)
    numcodecs.compat.ndarray_copy(codec.decode(stream), out)
    assert_array_equal(out, pixels)


@pytest.mark.parametrize("codec", FOR_STORES, ids=repr)
def test_zarr_array(codec):
    """S2, S20, S26, S35: as the compressor of a zarr array, written, read, opened again, in a pickle."""
    image = pixels_for(codec, (12, 30))
    store = zarr.storage.MemoryStore()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        array = zarr.create_array(
            store, shape=image.shape, chunks=CHUNK, dtype=image.dtype, compressors=codec, zarr_format=2
        )
        array[...] = image
        again = zarr.open_array(store, mode="r")
        assert_array_equal(again[...], image)
        assert_array_equal(again[3:9, 7:23], image[3:9, 7:23])
    assert again.dtype == image.dtype
    assert again.metadata.compressor == codec
    assert_array_equal(pickle.loads(pickle.dumps(codec)).decode(codec.encode(image[:6, :10])), image[:6, :10])


def test_byte_order_of_an_array_and_its_codec():
    """S36: an array in the other byte order than its codec cannot be written."""
    array = zarr.create_array(
        zarr.storage.MemoryStore(), shape=CHUNK, chunks=CHUNK, dtype=">i2", zarr_format=2,
        compressors=Rice1(bytepix=2, dtype="<i2", tile_shape=CHUNK),
    )  # fmt: skip
    with pytest.raises(ValueError, match="the pixels are >i2, the codec's dtype <i2"):
        array[...] = np.arange(60, dtype=">i2").reshape(CHUNK)


@pytest.mark.parametrize("method", ["NO_DITHER", "SUBTRACTIVE_DITHER_1", "SUBTRACTIVE_DITHER_2"])
def test_quantized_tile_as_a_chunk(method):
    """S21, S24: scale and zero in the config of the array of one tile."""
    values = np.random.default_rng(2).normal(5, 1, (4, 50)).astype("f4")
    values[1, 2], values[2, 3] = np.nan, 0
    encoder = Quantize(zquantiz=method, zdither0=5, codec=Rice1(tile_shape=(4, 50)))
    tile = encoder.encode(values, row=0)
    reader = Quantize(zquantiz="NO_DITHER", codec=encoder.codec, zscale=tile.zscale, zzero=tile.zzero)
    expected = encoder.decode(tile.pixels, zscale=tile.zscale, zzero=tile.zzero, row=0)
    if method == "NO_DITHER":
        store = zarr.storage.MemoryStore()
        array = zarr.create_array(
            store, shape=(4, 50), chunks=(4, 50), dtype="<f4", compressors=reader, zarr_format=2, fill_value=np.nan
        )
        zarr.core.sync.sync(store.set("0.0", zarr.core.buffer.default_buffer_prototype().buffer.from_bytes(tile.pixels)))
        assert_array_equal(array[...], expected)
    assert_array_equal(np.isnan(expected), np.isnan(values))
    assert numcodecs.get_codec(reader.get_config()) == reader


def test_nothing_is_registered_by_an_import_of_the_codecs():
    code = (
        "import sys, astropy_tilecomp.codecs\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] in ('numcodecs', 'zarr', 'astropy')))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_all_codecs_are_here():
    assert {Gzip1, Gzip2, HCompress1, NoCompress, PLIO1, Quantize, Rice1} == set(codecs.CODECS)
    assert {codec.__name__ for codec in codecs.CODECS} < set(adapter.__all__)
