"""Plans and bytes to pixels: the fused path against the steps one by one, runs, errors, fill."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from support.encoded_images import RecordingSource, encode_image, encoded_images
from support.plain_decoding import cut, plan_of, step_by_step
from support.strategies import array_indices, basic_indices, tile_grids

from astropy_tilecomp.decode import decode, decode_tiles
from astropy_tilecomp.decode.runs import RUN_NBYTES, RUNS_PER_THREAD, SIDE_BY_SIDE, Runs, _window
from astropy_tilecomp.errors import CorruptTileError, TrailingBytesError, TruncatedTileError, UnsupportedError
from astropy_tilecomp.tiling.selection import select
from astropy_tilecomp.tiling.tile_plan import coalesce


def decoded(image, index=..., *, order="C", byteorder="=", scaled=True, **options):
    """Decode a selection into a fresh array."""
    reading = plan_of(image, index)
    dtype = (image.params.result_dtype if scaled else image.params.dtype).newbyteorder(byteorder)
    out = np.empty(reading.selection.shape, dtype, order=order)
    report = decode(reading, image.source, out, scaled=scaled, **options)
    return out, report


@given(data=st.data())
def test_fused_path_equals_the_steps(data):  # S17
    grid = data.draw(tile_grids(max_axes=3, min_size=1, max_size=9))
    image = data.draw(encoded_images(grid))
    index = data.draw(st.one_of(basic_indices(grid.image_shape, allow_newaxis=False), array_indices(grid.image_shape)))
    engine = data.draw(st.sampled_from(("kernel", "cfitsio")))
    scaled = data.draw(st.booleans())
    got, report = decoded(image, index, engine=engine, scaled=scaled, order=data.draw(st.sampled_from("CF")),
                          byteorder=data.draw(st.sampled_from("<>")))
    expected = step_by_step(image, index, scaled)
    assert_array_equal(got, expected)
    assert got.dtype.newbyteorder("=") == expected.dtype
    assert report.damaged == [] and report.trailing == []
    assert report.n_tiles == select(grid, index).n_tiles


@given(data=st.data())
def test_whole_tiles_equal_the_steps(data):
    grid = data.draw(tile_grids(max_axes=3, min_size=1, max_size=9))
    image = data.draw(encoded_images(grid))
    index = data.draw(basic_indices(grid.image_shape, allow_newaxis=False))
    reading = plan_of(image, index)
    tiles, _ = decode_tiles(reading, image.source, dtype=image.params.result_dtype)
    expected = step_by_step(image, ...)
    assert [job for job, _ in sorted(tiles)] == list(range(reading.selection.n_tiles))
    for job, pixels in tiles:
        row = int(reading.table.row[job])
        assert_array_equal(pixels, expected[grid.box(grid.tile(row))])


@pytest.mark.parametrize("algorithm, tile", [
    *((algorithm, tile) for algorithm in ("RICE_1", "GZIP_2", "PLIO_1") for tile in ((1, 600), (7, 600), (500, 1), (500, 600))),
    *((algorithm, (64, 64)) for algorithm in ("RICE_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1")), ("HCOMPRESS_1", (16, 600)),
])
@pytest.mark.parametrize("threads", [1, 3])
def test_large_images_in_threads(monkeypatch, algorithm, tile, threads):
    monkeypatch.setenv("ASTROPY_TILECOMP_THREADS", "3")
    pixels = np.random.default_rng(3).poisson(200, (500, 600)).astype("i2")
    image = encode_image(pixels, tile, algorithm)
    assert_array_equal(decoded(image, threads=threads)[0], pixels)
    assert_array_equal(decoded(image, np.s_[::-3, 5:590:7], threads=threads)[0], pixels[::-3, 5:590:7])


def test_bytes_of_a_remote_source_are_asked_for_in_ranges_of_the_plan():
    pixels = np.random.default_rng(1).integers(0, 1000, (40, 50)).astype("i4")
    image = encode_image(pixels, (10, 10), "RICE_1")
    reading = plan_of(image, np.s_[3:17, 22:31], gap=4)
    source = RecordingSource(image.data, gap=4, is_local=False)
    out = np.empty((14, 9), "i4")
    report = decode(reading, source, out)
    assert_array_equal(out, pixels[3:17, 22:31])
    assert source.ranges == reading.tiles.pairs()
    assert (report.n_requests, report.nbytes) == (len(source.ranges), reading.nbytes)


def test_no_byte_is_read_that_is_not_needed():
    pixels = np.random.default_rng(1).integers(0, 1000, (40, 50)).astype("i4")
    image = encode_image(pixels, (10, 10), "GZIP_1")
    reading = plan_of(image, np.s_[::20, ::25])
    source = RecordingSource(image.data)
    out = np.empty((2, 2), "i4")
    decode(reading, source, out)
    assert_array_equal(out, pixels[::20, ::25])
    assert source.bytes_read().sum() == reading.table.nbytes.sum() == reading.nbytes


def test_a_cut_tile_is_named():
    pixels = np.random.default_rng(1).integers(0, 30000, (6, 40)).astype("i2")
    image = cut(encode_image(pixels, (1, 40), "RICE_1"), 4, 20)
    with pytest.raises(TruncatedTileError) as caught:
        decoded(image)
    error = caught.value
    start = len(image.data) - sum(len(stream) for stream in image.streams[4:])
    assert (error.tile, error.row, error.algorithm, error.column) == ((4, 0), 4, "RICE_1", "COMPRESSED_DATA")
    assert error.byte_range == (start, start + 20)
    assert "of 40" in error.reason
    assert "tile (4, 0), row 4, RICE_1 in COMPRESSED_DATA" in str(error)


@pytest.mark.parametrize("algorithm", ["RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1", "NOCOMPRESS"])
@pytest.mark.parametrize("engine", ["kernel", "cfitsio"])
def test_bad_tiles_are_filled_and_told(algorithm, engine):
    pixels = np.random.default_rng(1).integers(0, 200, (12, 20)).astype("i4")
    image = cut(encode_image(pixels, (4, 10), algorithm, cards=[("BLANK", -9)]), 3, 9)
    with pytest.raises(CorruptTileError):
        decoded(image, engine=engine)
    got, report = decoded(image, engine=engine, on_error="fill")
    expected = pixels.astype("f8")
    expected[4:8, 10:] = np.nan
    assert_array_equal(got, expected)
    assert [(bad.row, bad.tile, bad.box) for bad in report.damaged] == [(3, (1, 1), np.s_[4:8, 10:20])]
    stored, _ = decoded(image, engine=engine, on_error="fill", scaled=False)
    assert_array_equal(stored, np.where(np.isnan(expected), -9, expected))


def test_fill_value_of_integers_without_blank():
    pixels = np.arange(40, dtype="i2").reshape(4, 10)
    image = cut(encode_image(pixels, (1, 10), "GZIP_1", cards=[("BZERO", 32768)]), 2, 9)
    got, _ = decoded(image, on_error="fill", fill_value=77)
    assert got.dtype == "u2"
    assert_array_equal(got[2], 77)
    assert_array_equal(got[[0, 1, 3]], pixels[[0, 1, 3]] + np.uint16(32768))


@pytest.mark.parametrize("cards", [[("BLANK", -(2**63))], [("BLANK", 5), ("ZBLANK", -(2**63))]], ids=["BLANK", "ZBLANK"])
@pytest.mark.parametrize("scaled", [True, False])
def test_least_integer_may_be_blank(cards, scaled):
    pixels = np.array([[-(2**63), 2**63 - 1], [0, 6]])
    image = encode_image(pixels, (1, 2), "GZIP_2", cards=cards)
    got, _ = decoded(image, scaled=scaled)
    assert_array_equal(got, step_by_step(image, ..., scaled))
    assert not scaled or np.isnan(got[0, 0])


def test_rows_without_data_are_bad_tiles():
    pixels = np.arange(40, dtype="i2").reshape(4, 10)
    image = cut(encode_image(pixels, (1, 10), "RICE_1"), 1, 0)
    with pytest.raises(CorruptTileError, match=r"row 1.*no column holds data"):
        decoded(image)
    got, report = decoded(image, on_error="fill")
    assert_array_equal(got[1], 0)
    assert_array_equal(got[[0, 2, 3]], pixels[[0, 2, 3]])
    assert [bad.row for bad in report.damaged] == [1]


def test_bytes_left_over_are_told():
    pixels = np.arange(40, dtype="i4").reshape(4, 10)
    image = encode_image(pixels, (2, 10), "RICE_1", spare=bytes(6))
    got, report = decoded(image)
    assert_array_equal(got, pixels)
    assert report.trailing == [(row, len(stream) - 6, len(stream)) for row, stream in enumerate(image.streams)]


@pytest.mark.parametrize("engine", ["kernel", "cfitsio"])
@pytest.mark.parametrize("n_unused", [17, 400])
@pytest.mark.parametrize("algorithm", ["RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1"])
def test_many_unused_bytes_are_damage(algorithm, n_unused, engine):
    pixels = np.arange(40, dtype="i2").reshape(4, 10)
    image = encode_image(pixels, (4, 5), algorithm, spare=bytes(n_unused + n_unused % 2))
    with pytest.raises(TrailingBytesError) as caught:
        decoded(image, engine=engine)
    assert caught.value.nbytes - caught.value.used >= n_unused and caught.value.row == 0
    _, report = decoded(image, engine=engine, on_error="fill")
    assert [bad.row for bad in report.damaged] == [0, 1]


@pytest.mark.parametrize("engine", ["kernel", "cfitsio"])
@pytest.mark.parametrize("index", [np.s_[:1, :3], np.s_[:2, :3], np.s_[1, 1], np.s_[::2, 2:9]], ids=str)
def test_zeros_in_place_of_tiles_are_damage_in_every_part_of_them(index, engine):
    pixels = np.random.default_rng(3).integers(0, 30000, (40, 64)).astype("i2")
    image = encode_image(pixels, (40, 64), "RICE_1")
    image.data = image.data[:-len(image.streams[0])] + bytes(len(image.streams[0]))
    with pytest.raises(TrailingBytesError):
        decoded(image, index, engine=engine)


def test_every_cut_and_flip_of_a_tile_gives_an_error_or_pixels():
    pixels = np.random.default_rng(8).integers(0, 50, (4, 5)).astype("i2")
    for algorithm in ("RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1"):
        image = encode_image(pixels, (4, 5), algorithm)
        start = len(image.data) - len(image.streams[0])
        for nbytes in range(len(image.streams[0])):
            _, report = decoded(cut(encode_image(pixels, (4, 5), algorithm), 0, nbytes), on_error="fill")
            assert report.damaged, (algorithm, nbytes)
        for at in range(start, len(image.data)):
            for bit in range(8):
                flipped = bytearray(image.data)
                flipped[at] ^= 1 << bit
                broken = encode_image(pixels, (4, 5), algorithm)
                broken.data = bytes(flipped)
                got, report = decoded(broken, on_error="fill")
                assert report.damaged == [] or (got == 0).all()


def test_output_of_another_type_is_refused():
    image = encode_image(np.zeros((4, 4), "i2"), (4, 4), "RICE_1")
    with pytest.raises(TypeError, match="the output has the type <f4, the image has <i2"):
        decode(plan_of(image), image.source, np.empty((4, 4), "f4"))


def test_scratch_is_bounded():
    image = encode_image(np.zeros((400, 400), "i2"), (400, 400), "RICE_1")
    with pytest.raises(UnsupportedError, match="bytes of scratch, max_nbytes is 1000"):
        decode(plan_of(image), image.source, np.empty((400, 400), "i2"), max_nbytes=1000)


@pytest.mark.parametrize("n_jobs, tile_nbytes", [(1, 50), (4, 50_000), (7, 9 << 20), (100, 50_000), (4096, 3500)])
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("side_by_side", [False, True])
def test_runs_are_even(n_jobs, tile_nbytes, threads, side_by_side):
    """Every job is in one run; all threads get as many runs, none more than a unit longer than another, of about 1 MiB."""
    jobs = np.arange(n_jobs)
    nbytes = np.full(n_jobs, tile_nbytes)
    tiles = coalesce(jobs, jobs * tile_nbytes, nbytes)
    runs = Runs(None, tiles, nbytes, None)._runs(threads, side_by_side)
    assert [job for start, stop in runs for job in range(start, stop)] == jobs.tolist()
    lengths = [stop - start for start, stop in runs]
    unit = SIDE_BY_SIDE if side_by_side else 1
    assert max(lengths) - min(lengths) <= unit
    assert max(lengths) <= max(unit, RUN_NBYTES // tile_nbytes + unit)
    assert len(runs) % threads == 0 or len(runs) < RUNS_PER_THREAD * threads or max(lengths) == 1


def test_a_thread_has_one_window_at_a_time():
    def grow():
        tracemalloc.start()
        for nbytes in range(RUN_NBYTES, 2 * RUN_NBYTES, RUN_NBYTES // 8):
            assert len(_window(nbytes)) == nbytes
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    with ThreadPoolExecutor(1) as thread:
        assert RUN_NBYTES < thread.submit(grow).result() < 2 * RUN_NBYTES
