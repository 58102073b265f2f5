"""The whole reading path: indices, cache, sources, out=, limits, bad files."""

import pickle
import threading
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from support.encoded_images import RecordingSource, encode_image, encoded_images
from support.plain_decoding import cut, step_by_step
from support.small_files import CompressedImage
from support.strategies import array_indices, basic_indices, tile_grids

from astropy_tilecomp.codecs import codec_for
from astropy_tilecomp.errors import CorruptTileError, HeaderError, TileCompWarning, TruncatedTileError, UnsupportedError
from astropy_tilecomp.read import TileReader, section
from astropy_tilecomp.read.limits import MAX_NBYTES_VARIABLE
from astropy_tilecomp.sources import BufferSource
from astropy_tilecomp.tiling.grid import TileGrid
from astropy_tilecomp.tiling.selection import select


def integers(shape, dtype="i2", seed=1):
    return np.random.default_rng(seed).integers(0, 1000, shape).astype(dtype)


@pytest.fixture
def image():
    """40 x 50 pixels in tiles of 10 x 10."""
    return encode_image(integers((40, 50)), (10, 10), "RICE_1")


def reader_of(image, **options):
    return TileReader(image.source, image.header, **options)


# ---- indices ----


@given(data=st.data())
def test_any_index_gives_what_numpy_gives(data):  # S43
    grid = data.draw(tile_grids(max_axes=4, max_size=9))
    pixels = integers(grid.image_shape)
    encoded = encode_image(pixels, grid.tile_shape, data.draw(st.sampled_from(("RICE_1", "GZIP_2"))))
    reader = reader_of(encoded, cache_bytes=data.draw(st.sampled_from((0, 100, 1 << 20))))
    for _ in range(3):
        index = data.draw(st.one_of(basic_indices(grid.image_shape, allow_newaxis=False), array_indices(grid.image_shape)))
        got, expected = reader.read(index), pixels[index]
        assert_array_equal(got, expected)
        assert np.shape(got) == np.shape(expected) and got.dtype == expected.dtype
        assert_array_equal(section(encoded.source, encoded.header, index), expected)


@given(data=st.data())
def test_bytes_read_are_those_of_the_touched_tiles(data):  # S27
    grid = data.draw(tile_grids(max_axes=3, min_size=1, max_size=9))
    encoded = encode_image(integers(grid.image_shape), grid.tile_shape, "GZIP_1")
    index = data.draw(basic_indices(grid.image_shape, allow_newaxis=False))
    source = RecordingSource(encoded.data)
    reader = TileReader(source, encoded.header, cache_bytes=data.draw(st.sampled_from((0, 1 << 20))))
    assert_array_equal(reader.read(index), encoded.pixels[index])
    touched = select(grid, index).rows if encoded.pixels[index].size else []
    expected = np.zeros(len(encoded.data), bool)
    width = encoded.header["NAXIS1"]
    heap = np.cumsum([encoded.header["NAXIS1"] * encoded.header["NAXIS2"], *map(len, encoded.streams)])
    for row in touched:
        expected[row * width:(row + 1) * width] = True
        expected[heap[row]:heap[row + 1]] = True
    assert_array_equal(source.bytes_read(), expected)
    assert reader.stats.n_tiles == len(touched)
    assert reader.stats.nbytes == expected.sum() == sum(stop - start for start, stop in source.ranges)
    assert reader.stats.n_requests == len(source.ranges)


def test_integers_give_a_scalar(image):
    got = reader_of(image).read((3, -1))
    assert got == image.pixels[3, -1] and got.dtype == np.int16 and not isinstance(got, np.ndarray)


@pytest.mark.parametrize("index", [np.s_[40], np.s_[0, 0, 0], np.s_[None], np.s_[1.5], np.s_["a"], np.s_[..., ...]])
def test_what_numpy_refuses_is_refused(image, index):
    with pytest.raises(IndexError):
        reader_of(image).read(index)


@given(data=st.data())
def test_scaling_is_that_of_the_steps(data):
    grid = data.draw(tile_grids(max_axes=2, min_size=1, max_size=9))
    encoded = data.draw(encoded_images(grid))
    scaled = data.draw(st.booleans())
    reader = reader_of(encoded, scaled=scaled)
    expected = step_by_step(encoded, ..., scaled)
    got = reader.read()
    assert_array_equal(got, expected)
    assert got.dtype == expected.dtype == reader.result_dtype
    for _ in range(2):
        assert_array_equal(reader.read(np.s_[-1, ...]), expected[-1])


def test_names_of_shapes_and_types():
    encoded = encode_image(integers((7, 9)), (3, 4), "RICE_1", cards=[("BZERO", 32768)])
    reader = reader_of(encoded)
    assert (reader.shape, reader.ndim, reader.chunks) == ((7, 9), 2, (3, 4))
    assert (reader.dtype, reader.result_dtype) == (np.dtype("u2"), np.dtype("u2"))
    stored = reader_of(encoded, scaled=False)
    assert (stored.dtype, stored.result_dtype) == (np.dtype("i2"), np.dtype("i2"))
    scaled = reader_of(encode_image(integers((7, 9)), (3, 4), "RICE_1", cards=[("BSCALE", 2.0)]))
    assert (scaled.dtype, scaled.result_dtype) == (np.dtype("i2"), np.dtype("f4"))


# ---- out= ----


@pytest.mark.parametrize("cache_bytes", [0, 1 << 20])
@pytest.mark.parametrize("byteorder", ["<", ">"])
def test_out_of_any_layout(image, byteorder, cache_bytes):
    index = np.s_[3:33:2, 40:5:-1]
    expected = image.pixels[index]
    reader = reader_of(image, cache_bytes=cache_bytes)
    dtype = np.dtype("i2").newbyteorder(byteorder)
    packed = np.zeros(expected.shape, [("flag", "u1"), ("value", dtype)])
    for out in (np.empty(expected.shape, dtype), np.empty(expected.shape[::-1], dtype).T,
                np.empty(expected.shape, dtype)[::-1, ::-1], np.empty((60, 80), dtype)[::4, ::2][:15, :35], packed["value"]):
        out[...] = 0
        assert reader.read(index, out=out) is out
        assert_array_equal(out, expected)
    assert (packed["flag"] == 0).all()
    buffer = memoryview(np.empty(expected.shape, "i2"))
    assert reader.read(index, out=buffer) is buffer
    assert_array_equal(np.asarray(buffer), expected)


@pytest.mark.parametrize("out, error", [
    (np.empty((40, 49), "i2"), ValueError), (np.empty(2000, "i2"), ValueError), (np.empty((40, 50), "u2"), TypeError),
    (np.empty((40, 50), "i4"), TypeError), (np.broadcast_to(np.int16(0), (40, 50)), ValueError),
    (np.zeros((40, 50), "i2").tolist(), TypeError),
])
def test_out_that_does_not_fit_is_refused(image, out, error):
    with pytest.raises(error, match="out "):
        reader_of(image).read(out=out)


def test_out_takes_no_other_memory_of_its_size():
    encoded = encode_image(integers((4000, 2000)), (20, 2000), "RICE_1")
    reader, out = reader_of(encoded), np.empty((4000, 2000), "i2")
    reader.read(out=out, threads=2)
    tracemalloc.start()
    reader.read(out=out, threads=2)                             # a thread may have had no part in the first
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < out.nbytes / 4                                # compressed bytes: 1 MiB a thread at most


# ---- cache ----


def test_rows_of_a_tile_decode_it_once():
    encoded = encode_image(integers((64, 300)), (32, 100), "RICE_1")
    source = RecordingSource(encoded.data)
    reader = TileReader(source, encoded.header)
    for row in range(64):
        assert_array_equal(reader.read(row), encoded.pixels[row])
    assert (reader.stats.n_tiles, reader.stats.n_hits) == (6, 62 * 3)
    read = source.bytes_read().sum()
    assert read == sum(stop - start for start, stop in source.ranges) == len(encoded.data)


def test_no_cache_decodes_each_time():
    encoded = encode_image(integers((32, 100)), (32, 100), "RICE_1")
    reader = reader_of(encoded, cache_bytes=0)
    for row in range(4):
        assert_array_equal(reader.read(row), encoded.pixels[row])
    assert (reader.stats.n_tiles, reader.stats.n_hits) == (4, 0)


def test_whole_reads_leave_the_cache_alone(image):
    reader = reader_of(image)
    reader.read(np.s_[:5, :5])
    reader.read()
    assert reader.stats.n_tiles == 1 + 20
    reader.read(np.s_[5:7, :5])
    assert reader.stats.n_hits == 1


def test_the_least_recently_used_tile_goes_first(image):
    reader = reader_of(image, cache_bytes=2 * 200)
    for x in (0, 10, 1, 20):                                    # tiles 0, 1, 0, 2: tile 1 goes
        reader.read((0, x))
    hits = reader.stats.n_hits
    reader.read((0, 2))
    assert reader.stats.n_hits == hits + 1
    reader.read((0, 12))
    assert reader.stats.n_hits == hits + 1


def test_results_share_nothing_with_the_cache(image):
    reader = reader_of(image)
    first = reader.read(np.s_[:5, :5])
    first[...] = -1
    assert_array_equal(reader.read(np.s_[:5, :5]), image.pixels[:5, :5])
    assert reader.stats.n_hits == 1


def test_dropped_cache_reads_anew():
    encoded = encode_image(integers((10, 10)), (10, 10), "RICE_1")
    data = bytearray(encoded.data)
    reader = TileReader(BufferSource(data), encoded.header)
    reader.read(np.s_[:5])
    other = encode_image(integers((10, 10), seed=2), (10, 10), "RICE_1")
    data[:] = other.data[:len(data)].ljust(len(data), b"\0")
    reader.drop_cache()
    assert_array_equal(reader.read(np.s_[:5]), other.pixels[:5])


# ---- threads ----


@pytest.mark.parametrize("cache_bytes", [0, 600, 1 << 20])
def test_many_threads_on_one_reader(image, cache_bytes):
    reader = reader_of(image, cache_bytes=cache_bytes)
    rng = np.random.default_rng(2)
    corners = [(rng.integers(0, 30), rng.integers(0, 40)) for _ in range(200)]
    with ThreadPoolExecutor(8) as workers:
        parts = list(workers.map(lambda at: reader.read(np.s_[at[0]:at[0] + 9, at[1]:at[1] + 9]), corners))
    for (y, x), part in zip(corners, parts):
        assert_array_equal(part, image.pixels[y:y + 9, x:x + 9])


def test_number_of_threads_does_not_matter(monkeypatch):
    monkeypatch.setenv("ASTROPY_TILECOMP_THREADS", "4")
    encoded = encode_image(integers((700, 500), "i4"), (1, 500), "RICE_1", bitpix=-32,
                           cards=[("ZQUANTIZ", "SUBTRACTIVE_DITHER_1"), ("ZDITHER0", 5)], zscale=np.full(700, 0.5), zzero=np.zeros(700))
    assert threading.active_count() >= 1
    one, four = (section(encoded.source, encoded.header, threads=threads) for threads in (1, 4))
    assert_array_equal(one, four)


# ---- pickles ----


def test_readers_pickle(image):
    reader = reader_of(image, scaled=False, cache_bytes=1000)
    reader.read(np.s_[:3, :3])
    again = pickle.loads(pickle.dumps(reader))
    assert_array_equal(again.read(), image.pixels)
    assert again.stats.n_hits == 0


# ---- limits ----


@pytest.mark.parametrize("way", ["argument", "variable"])
def test_results_are_bounded(image, monkeypatch, way):
    if way == "variable":
        monkeypatch.setenv(MAX_NBYTES_VARIABLE, "3999")
    reader = reader_of(image, max_nbytes=3999 if way == "argument" else None)
    with pytest.raises(UnsupportedError, match="takes 4000 bytes, max_nbytes is 3999"):
        reader.read()


@pytest.mark.parametrize("options, match", [({"on_error": "skip"}, "on_error"), ({"threads": 0}, "threads"), ({"engine": "x"}, "engine")])
def test_wrong_options(image, options, match):
    with pytest.raises(ValueError, match=match):
        reader_of(image, **options).read()


def absurd(shape, tile, n_rows=1):
    """A header that announces any image over one row of nothing."""
    made = CompressedImage(shape, tile, 16, "GZIP_1", n_rows=n_rows)
    made.add_tiles([b"12345"])
    return dict(made.header_cards()), made.table_bytes() + made.heap


@pytest.mark.parametrize("shape, tile, n_rows, error", [
    ((2**31 - 1, 2**31 - 1), (2**31 - 1, 2**31 - 1), 1, UnsupportedError),
    ((2**31 - 1, 2**31 - 1), (1, 2**31 - 1), 2**31 - 1, TruncatedTileError),
    ((2**31 - 1, 2**31 - 1), (1, 2**31 - 1), 1, HeaderError),
    ((2**31 - 1, 1), (1, 1), 2**31 - 1, TruncatedTileError),
    ((32768, 32767), (32768, 32767), 1, (CorruptTileError, UnsupportedError)),
])
def test_announced_sizes_are_not_believed(shape, tile, n_rows, error):
    header, data = absurd(shape, tile, n_rows)
    tracemalloc.start()
    with pytest.raises(error):
        TileReader(BufferSource(data), header, max_nbytes=1 << 28).read()
    with pytest.raises(error):
        TileReader(BufferSource(data), header, max_nbytes=1 << 28).read(np.s_[:10, :10])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 22


def test_33_axes():
    made = CompressedImage((1,) * 32 + (8,), (1,) * 32 + (8,), 16, "GZIP_1")
    made.add_tiles([b"12345"])
    with pytest.raises(UnsupportedError, match="33"):
        TileReader(BufferSource(made.table_bytes() + made.heap), dict(made.header_cards())).read()


def test_32_axes():
    shape = (2,) + (1,) * 29 + (3, 4)
    pixels = integers(shape)
    assert_array_equal(reader_of(encode_image(pixels, (1,) * 30 + (2, 4), "RICE_1")).read(), pixels)


# ---- bad tiles ----


@pytest.mark.parametrize("cache_bytes", [0, 1 << 20])
def test_bad_tiles_are_remembered_once(image, cache_bytes):
    reader = reader_of(cut(image, 7, 3), on_error="fill", cache_bytes=cache_bytes)
    expected = image.pixels.copy()
    expected[10:20, 20:30] = 0
    for index in (..., np.s_[15:25, 5:28], np.s_[12], np.s_[::-1, ::3]):
        assert_array_equal(reader.read(index), expected[index])
    assert [(bad.row, bad.tile) for bad in reader.damaged_tiles] == [(7, (1, 2))]
    assert isinstance(reader.damaged_tiles[0].error, CorruptTileError)
    with pytest.raises(CorruptTileError, match=r"tile \(1, 2\), row 7"):
        reader.read(np.s_[12], on_error="raise")
    assert_array_equal(reader.read(np.s_[:10], on_error="raise"), expected[:10])


@pytest.mark.parametrize("fault", ["no bytes", "cut", "beyond the file"])
@pytest.mark.parametrize("cache_bytes", [0, 1 << 20])
@given(index=basic_indices((40, 50), allow_newaxis=False) | array_indices((40, 50)))
def test_bad_tiles_are_filled_whatever_is_asked_for(fault, cache_bytes, index):
    image = encode_image(integers((40, 50)), (10, 10), "RICE_1")
    row, box = 7, np.s_[10:20, 20:30]
    if fault == "cut":
        image = cut(image, row, 3)
    elif fault == "no bytes":
        image.data = image.data[:8 * row] + bytes(8) + image.data[8 * row + 8:]
    else:
        row, box = 19, np.s_[30:, 40:]
        image.data = image.data[:-10]
    expected = image.pixels.copy()
    expected[box] = -7
    reader = reader_of(image, on_error="fill", fill_value=-7, cache_bytes=cache_bytes)
    for _ in range(2):
        got = reader.read(index)
        assert_array_equal(got, expected[index])
        assert np.shape(got) == np.shape(expected[index])
    assert {bad.row for bad in reader.damaged_tiles} <= {row}
    assert reader.damaged_tiles or not (expected[index] == -7).any()


def test_tiles_past_the_end_of_the_file(image):
    image.data = image.data[:-10]
    with pytest.raises(TruncatedTileError, match=r"tile \(3, 4\), row 19.*beyond the end of the file"):
        reader_of(image).read()
    assert_array_equal(reader_of(image).read(np.s_[:30]), image.pixels[:30])


def test_one_warning_for_bytes_left_over():
    encoded = encode_image(integers((8, 12)), (4, 6), "RICE_1", spare=bytes(5))
    reader = reader_of(encoded, cache_bytes=0)
    with pytest.warns(TileCompWarning, match="4 tiles have unused bytes, the first in row 0") as caught:
        assert_array_equal(reader.read(), encoded.pixels)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reader.read()


# ---- null masks ----


@pytest.mark.parametrize("zmaskcmp", ["GZIP_1", "RICE_1", "PLIO_1"])
@pytest.mark.parametrize("cache_bytes", [0, 1 << 20])
def test_null_masks(zmaskcmp, cache_bytes):
    pixels = integers((6, 8), "i4")
    lost = np.random.default_rng(4).integers(0, 2, (6, 8)).astype("u1")
    lost[:3, :4] = 0
    encoded = encode_image(pixels, (3, 4), "GZIP_1", bitpix=-32, zscale=np.full(4, 0.5), zzero=np.zeros(4))
    made = CompressedImage((6, 8), (3, 4), -32, "GZIP_1", [("ZMASKCMP", zmaskcmp)])
    made.add_tiles(encoded.streams)
    masks = encode_image(lost, (3, 4), zmaskcmp)
    made.add_tiles([None, *masks.streams[1:]], column="NULL_PIXEL_MASK")
    made.add_column("ZSCALE", np.full(4, 0.5)).add_column("ZZERO", np.zeros(4))
    reader = TileReader(BufferSource(made.table_bytes() + made.heap), dict(made.header_cards()), cache_bytes=cache_bytes)
    expected = np.where(lost, np.nan, pixels * 0.5).astype("f4")
    for index in (..., np.s_[1:5, ::-3], np.s_[2]):
        assert_array_equal(reader.read(index), expected[index])


def test_codec_of_a_tile_is_enough(image):
    """The public steps alone read a tile: the reader is made of them and of nothing else."""
    grid = TileGrid(image.params.image_shape, image.params.tile_shape)
    row = grid.row((2, 3))
    pixels = codec_for(image.params, row=row).decode(image.streams[row])
    assert_array_equal(pixels, reader_of(image).read(grid.box((2, 3))))
