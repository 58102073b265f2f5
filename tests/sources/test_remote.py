"""Remote files: few requests, in flight together, repeated where they fail, and never wrong pixels."""

import asyncio
import io
import pickle
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal
from support import needs
from support.servers import PATIENCE, all_together, range_server, s3_server

import astropy_tilecomp as tc
from astropy_tilecomp.sources import arriving, as_source, remote
from astropy_tilecomp.sources.remote_settings import RemoteSettings

fsspec = needs.module("fsspec")
needs.module("aiohttp")

TILE = 128
NEEDED = np.s_[4 * TILE : 12 * TILE, 4 * TILE : 12 * TILE]  # 8 x 8 of 16 x 16 tiles
IMPATIENT = {"timeout": 1, "retries": 3}


@pytest.fixture(scope="module")
def image():
    return np.random.default_rng(1).normal(1000, 40, (16 * TILE, 16 * TILE)).astype("i2")


@pytest.fixture(scope="module")
def content(image, tmp_path_factory):
    """A file of one image in 16 x 16 tiles."""
    path = tmp_path_factory.mktemp("remote") / "tiles.fits"
    tc.write_image(path, image, tile_shape=(TILE, TILE))
    return path.read_bytes()


@pytest.fixture(scope="module")
def running(content):
    with range_server({"tiles.fits": content}) as server:
        yield server


@pytest.fixture
def server(running, monkeypatch):
    """The server as it was when it began, and no long pauses."""
    monkeypatch.setattr(remote, "FIRST_PAUSE", 0.01)
    running.forget()
    yield running
    running.fault, running.latency, running.bytes_per_second = None, 0.0, 0.0


@pytest.fixture
def url(server):
    return server.url + "tiles.fits"


def faulty(kind, numbers):
    """A fault of some kind in the requests of some numbers."""
    return lambda number: kind if number in numbers else None


# --- requests and bytes ----------------------------------------------------------------------------------------------


def test_a_cutout_takes_one_request_for_each_run_of_tiles_all_at_once(server, url, image):
    with tc.open(url) as hdus:
        section = hdus[1].section
        assert section.shape == image.shape
        assert len(server.requests) <= 2
        server.forget()
        server.fault = all_together(8)
        assert_array_equal(section[NEEDED], image[NEEDED])
        stats = section.stats
    assert len(server.requests) <= 9
    assert max(r.start + r.nbytes for r in server.requests) <= len(server.files["tiles.fits"])
    needed = heap_nbytes(server, NEEDED)
    assert server.nbytes <= 1.2 * needed
    assert (stats.n_tiles, stats.n_requests) == (64, 9)
    assert needed <= stats.nbytes <= 1.2 * needed + 10_000


def heap_nbytes(server, index):
    """Bytes of the tiles that a selection touches."""
    with fits.open(io.BytesIO(server.files["tiles.fits"]), disable_image_compression=True) as hdus:
        nbytes = np.array([len(stream) for stream in hdus[1].data["COMPRESSED_DATA"]]).reshape(16, 16)
    return nbytes[tuple(slice(axis.start // TILE, axis.stop // TILE) for axis in index)].sum()


def test_a_cutout_in_one_row_of_tiles_takes_three_requests(server, url, image):
    with tc.open(url) as hdus:
        section = hdus[1].section
        assert section.ndim == 2
        server.forget()
        assert_array_equal(section[130:150, 200:900], image[130:150, 200:900])
    assert len(server.requests) <= 3


def test_the_last_of_sixty_images(server, tmp_path):
    rng = np.random.default_rng(2)
    images = rng.integers(0, 4096, (60, 100, 150), dtype="i2")
    for number, pixels in enumerate(images):
        tc.write_image(tmp_path / "sixty.fits", pixels, {"EXTNAME": f"CCD{number}"}, append=number > 0, tile_shape=(20, 50))
    content = (tmp_path / "sixty.fits").read_bytes()
    assert len(content) > 1_400_000
    server.files["sixty.fits"] = content
    for read in (
        lambda url: tc.open(url)[60].section[30:50, 60:90],
        lambda url: tc.read_section(url, np.s_[30:50, 60:90], hdu="CCD59"),
    ):
        server.forget()
        assert_array_equal(read(server.url + "sixty.fits"), images[59, 30:50, 60:90])
        assert len(server.requests) <= 61 + 4
        assert server.nbytes < 1_000_000


def test_a_second_cutout_asks_for_no_table_and_no_tile_twice(server, url, image):
    with tc.open(url) as hdus:
        section = hdus[1].section
        section[0:100, 0:100]
        before = section.stats
        server.forget()
        assert_array_equal(section[20:60, 5:70], image[20:60, 5:70])
        assert server.requests == []
        assert section.stats.n_hits == before.n_hits + 1


@pytest.mark.filterwarnings("ignore:File may have been truncated")
def test_nothing_is_asked_for_past_the_end(server, image, content):
    server.files["cut.fits"] = content[:-40_000]
    with tc.open(server.url + "cut.fits", on_error="fill") as hdus:
        pixels = hdus[1].section[...]
        assert 0 < len(hdus[1].damaged_tiles) < 5
    assert_array_equal(pixels[: 15 * TILE], image[: 15 * TILE])
    assert max(r.start + r.nbytes for r in server.requests) <= len(content) - 40_000


def test_long_ranges_are_split_at_tiles(server, url, image):
    assert_array_equal(tc.read_image(url, remote={"max_range": 300_000}), image)
    assert len(server.requests) > 10
    assert max(r.nbytes for r in server.requests) <= 300_000
    server.forget()
    assert_array_equal(tc.read_image(url), image)
    assert len(server.requests) == 3


def test_a_tile_longer_than_a_request_comes_in_several(server, tmp_path, image):
    tc.write_image(tmp_path / "one.fits", image[:500, :500], tile_shape=(500, 500))
    server.files["one.fits"] = (tmp_path / "one.fits").read_bytes()
    assert_array_equal(tc.read_image(server.url + "one.fits", remote={"max_range": 50_000}), image[:500, :500])
    assert max(r.nbytes for r in server.requests) <= 50_000


def test_so_many_requests_are_in_flight_as_allowed(server, url, image):
    server.latency = 0.01
    assert_array_equal(tc.read_section(url, NEEDED, remote={"concurrency": 3}), image[NEEDED])
    assert server.most_at_once <= 3


def test_what_is_in_flight_is_limited(server, url, image, monkeypatch):
    monkeypatch.setattr(arriving, "IN_FLIGHT_NBYTES", 1)
    assert_array_equal(tc.read_section(url, NEEDED), image[NEEDED])
    assert server.most_at_once == 1


def test_tiles_are_decoded_as_they_arrive(server, url):
    """The first ranges are given out before the last was answered."""
    ranges = [(start, start + 100_000) for start in range(100_000, 900_000, 100_000)]
    first_was_given_out = threading.Event()
    with as_source(url) as source:
        server.forget()
        server.fault = lambda number: None if number < 7 or first_was_given_out.wait(PATIENCE) else "500"
        for _ in source.iter_ranges(ranges):
            first_was_given_out.set()
    assert len(server.requests) == len(ranges) == 8


# --- settings --------------------------------------------------------------------------------------------------------


def test_settings_come_from_the_call_then_the_environment(monkeypatch):
    monkeypatch.setenv("ASTROPY_TILECOMP_GAP", "5")
    monkeypatch.setenv("ASTROPY_TILECOMP_RETRIES", "0")
    assert RemoteSettings.of({"gap": 7}) == RemoteSettings(gap=7, retries=0)
    assert RemoteSettings.of() == RemoteSettings(gap=5, retries=0)
    monkeypatch.setenv("ASTROPY_TILECOMP_CONCURRENCY", "many")
    with pytest.raises(ValueError, match="ASTROPY_TILECOMP_CONCURRENCY is 'many'"):
        RemoteSettings.of()


@pytest.mark.parametrize("setting", ["max_range", "concurrency", "timeout"])
def test_settings_that_make_no_sense_are_refused(setting):
    with pytest.raises(ValueError, match=f"{setting} is 0"):
        RemoteSettings.of({setting: 0})
    with pytest.raises(TypeError):
        RemoteSettings.of({"speed": 1})


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"max_range": 0.5}, "max_range is 0.5, expected a whole number of 1 or more"), ({"gap": 2.5}, "expected a whole number of 0"),
     ({"retries": "3"}, "retries is '3'"), ({"timeout": "long"}, "timeout is 'long', expected a number of 0.001")],
    ids=str,
)
def test_settings_of_another_kind_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        RemoteSettings.of(settings)


def test_a_table_longer_than_the_cache_is_read_row_by_row(server, tmp_path):
    image = np.arange(20_000 * 4, dtype="i4").reshape(20_000, 4)
    tc.write_image(tmp_path / "rows.fits", image, tile_shape=(1, 4))
    server.files["rows.fits"] = (tmp_path / "rows.fits").read_bytes()
    url = server.url + "rows.fits"
    for table_cache, at_least, at_most in ((0, 0, 60_000), (1 << 20, 160_000, 220_000)):
        server.forget()
        with tc.open(url, remote={"table_cache": table_cache}) as hdus:
            assert_array_equal(hdus[1].section[15_000:15_010], image[15_000:15_010])
        assert at_least <= server.nbytes <= at_most


# --- faults ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", [{0}, {1}, {3, 5}, {1, 2, 3, 4, 5, 6, 7, 8}], ids=str)
@pytest.mark.parametrize("kind", ["500", "503", "cut", "short", "hang", "drop"])
def test_a_fault_that_passes_is_got_over(server, url, image, kind, when):
    server.fault = faulty(kind, when if kind != "hang" else {max(when)})
    assert_array_equal(tc.read_section(url, NEEDED, remote={"timeout": 0.5}), image[NEEDED])


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        ("500", tc.SourceError, r"tiles.fits: bytes \d+ to \d+: HTTP status 500, and so 4 times"),
        ("cut", tc.SourceError, r"bytes \d+ to \d+: .*, and so 4 times"),
        ("short", tc.SourceError, r"bytes \d+ to \d+: got \d+ bytes instead of \d+, and so 4 times"),
        ("hang", tc.SourceError, r"bytes \d+ to \d+: .*(timeout|no answer).*, and so 2 times"),
        ("drop", tc.SourceError, r"bytes \d+ to \d+: .*, and so 4 times"),
        ("whole", tc.SourceError, "it does not support range requests"),
        ("changed", tc.SourceError, "changed since it was opened"),
        ("404", FileNotFoundError, r"tiles.fits: not found \(HTTP status 404\)"),
        ("403", PermissionError, r"tiles.fits: access denied \(HTTP status 403\)"),
        ("long", tc.SourceError, r"asked for \d+ bytes, the server sends more"),
        ("elsewhere", tc.SourceError, r"asked for bytes from \d+ on, the server sent those from \d+ on"),
    ],
)
def test_a_fault_that_stays_is_a_clear_error(server, url, kind, error, message):
    settings = {"timeout": 1, "retries": 1} if kind == "hang" else IMPATIENT
    with tc.open(url, remote=settings) as hdus:
        section = hdus[1].section
        assert section.shape
        server.fault = lambda number: kind
        with pytest.raises(error, match=message):
            section[NEEDED]
        server.fault = None


@pytest.mark.parametrize("kind", ["500", "cut", "short", "whole", "404", "403"])
def test_a_file_that_cannot_be_opened_is_a_clear_error(server, url, kind):
    server.fault = lambda number: kind
    with pytest.raises((tc.SourceError, FileNotFoundError, PermissionError), match=r"tiles\.fits: "):
        tc.open(url, remote=IMPATIENT)


def test_no_server_is_a_clear_error():
    with pytest.raises(tc.SourceError, match=r"http://127.0.0.1:9/a.fits: opening: .*, and so once, without a retry"):
        tc.open("http://127.0.0.1:9/a.fits", remote={"retries": 0})


def test_a_file_replaced_by_one_of_another_size_is_an_error(server, image, content):
    server.files["new.fits"] = content
    with tc.open(server.url + "new.fits") as hdus:
        assert hdus[1].shape == image.shape
        server.files["new.fits"] = content + bytes(2880)
        with pytest.raises(tc.SourceError, match="changed since it was opened: its size was"):
            hdus[1].section[NEEDED]


def test_an_empty_file_is_a_clear_error(server):
    server.files["empty.fits"] = b""
    with pytest.raises(OSError, match=r"(?i)empty|corrupt|no SIMPLE"):
        tc.open(server.url + "empty.fits")


def test_a_small_file_may_come_whole(server, tmp_path):
    tc.write_image(tmp_path / "small.fits", np.arange(50, dtype="i2").reshape(5, 10))
    server.files["small.fits"] = (tmp_path / "small.fits").read_bytes()
    server.fault = lambda number: "whole"
    assert_array_equal(tc.read_section(server.url + "small.fits", np.s_[2, 3]), 23)


def test_a_thousand_cutouts_with_faults(server, url, image):
    rng = np.random.default_rng(5)
    kinds = rng.choice(["500", "503", "cut", "short", "drop"], 100_000)
    is_faulty = rng.random(100_000) < 0.05
    corners = rng.integers(0, 15 * TILE, (1000, 2)).tolist()
    with tc.open(url, cache_bytes=0) as hdus:
        section = hdus[1].section
        assert section.shape
        server.fault = lambda number: kinds[number] if is_faulty[number] else None

        def is_right(corner):
            y, x = corner
            return np.array_equal(section[y : y + 20, x : x + 20], image[y : y + 20, x : x + 20])

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(is_right, corners))
    assert len(server.requests) > 1030


def test_repetitions_are_logged(server, url, image, caplog):
    server.fault = faulty("503", {1})
    with caplog.at_level("INFO", logger="astropy_tilecomp"):
        assert_array_equal(tc.read_section(url, np.s_[2000, 7:9]), image[2000, 7:9])
    assert "tiles.fits: bytes" in caplog.text
    assert "HTTP status 503; trying again" in caplog.text


# --- many readers of one file ----------------------------------------------------------------------------------------


def test_eight_threads_read_one_file(server, url, image):
    corners = np.random.default_rng(3).integers(0, 12 * TILE, (64, 2)).tolist()
    with tc.open(url) as hdus, ThreadPoolExecutor(8) as pool:
        section = hdus[1].section
        parts = list(pool.map(lambda corner: section[corner[0] : corner[0] + 300, corner[1] : corner[1] + 300], corners))
    for (y, x), part in zip(corners, parts):
        assert_array_equal(part, image[y : y + 300, x : x + 300])


def test_an_asyncio_program_reads_one_file(server, url, image):
    boxes = [np.s_[n * TILE : n * TILE + 100, 300:500] for n in range(12)]

    async def program():
        with tc.open(url) as hdus:
            section = hdus[1].section
            section[0, 0]
            server.forget()
            server.fault = all_together(len(boxes))
            parts = await asyncio.gather(*(section.async_read(box) for box in boxes))
            with pytest.raises(IndexError):
                await section.async_read(np.s_[10**6])
            return parts

    for box, part in zip(boxes, asyncio.run(program())):
        assert_array_equal(part, image[box])


def test_reading_in_the_loop_of_fsspec_is_refused(url):
    from fsspec.asyn import get_loop

    source = as_source(url)

    async def read():
        return source.read(100_000, 100_100)

    with pytest.raises(RuntimeError, match="from within fsspec's own event loop"):
        asyncio.run_coroutine_threadsafe(read(), get_loop()).result()


# --- kinds of places -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bucket(content):
    """URL of an S3 server on the loopback address, which has the file as s3://sky/tiles.fits."""
    with s3_server("sky", {"tiles.fits": content}) as found:
        yield found


SIGNED = {"key": "testing", "secret": "testing"}


@pytest.mark.parametrize("access", [{"anon": True}, SIGNED], ids=["anonymous", "signed"])
def test_s3(bucket, image, access):
    needs.module("s3fs")
    options = {"endpoint_url": bucket[0], **access}
    with tc.open("s3://sky/tiles.fits", storage_options=options) as hdus:
        assert_array_equal(hdus[1].section[NEEDED], image[NEEDED])
        assert hdus[1].section.stats.n_requests == 9
    assert_array_equal(tc.read_section("s3://sky/tiles.fits", np.s_[::500, 7], storage_options=options), image[::500, 7])


def test_an_object_of_s3_that_changed_or_is_missing(bucket, content):
    needs.module("s3fs")
    endpoint, client = bucket
    options = {"endpoint_url": endpoint, **SIGNED}
    client.put_object(Bucket="sky", Key="new.fits", Body=content)
    with tc.open("s3://sky/new.fits", storage_options=options) as hdus:
        assert hdus[1].section.shape
        client.put_object(Bucket="sky", Key="new.fits", Body=content[:-1] + b"x")
        with pytest.raises(tc.SourceError, match=r"s3://sky/new\.fits: changed since it was opened"):
            hdus[1].section[NEEDED]
    with pytest.raises(FileNotFoundError):
        tc.open("s3://sky/none.fits", storage_options=options)
    with pytest.raises(OSError, match=r"(?i)forbidden|access|not exist|bucket"):
        tc.open("s3://elsewhere/none.fits", storage_options={"endpoint_url": endpoint, "anon": True})


def test_no_credential_of_s3_enters_a_pickle(bucket):
    needs.module("s3fs")
    source = as_source("s3://sky/tiles.fits", {"endpoint_url": bucket[0], "key": "testing", "secret": "hidden-word"})
    pickled = pickle.dumps(source)
    assert b"hidden-word" not in pickled
    assert b"testing" not in pickled
    assert "hidden-word" not in repr(source)


def test_obstore_reads_s3_and_notices_changes(bucket, image, content):
    store_of = needs.module("obstore.store")
    endpoint, client = bucket
    store = store_of.S3Store("sky", endpoint=endpoint, access_key_id="testing", secret_access_key="testing",
                             region="us-east-1", client_options={"allow_http": True})
    with tc.open((store, "tiles.fits")) as hdus:
        assert_array_equal(hdus[1].section[NEEDED], image[NEEDED])
    client.put_object(Bucket="sky", Key="obstore.fits", Body=content)
    with tc.open((store, "obstore.fits")) as hdus:
        assert hdus[1].section.shape
        client.put_object(Bucket="sky", Key="obstore.fits", Body=content[:-1] + b"x")
        with pytest.raises(tc.SourceError, match="changed since it was opened"):
            hdus[1].section[NEEDED]
    with pytest.raises(FileNotFoundError):
        tc.open((store, "none.fits"))


PLACES = {
    "file system and path": lambda url: (fsspec.filesystem("http"), url),
    "asynchronous file system": lambda url: (fsspec.filesystem("http", asynchronous=True), url),
    "OpenFile": fsspec.open,
    "file object": lambda url: fsspec.filesystem("http").open(url),
    "chained URL": lambda url: f"simplecache::{url}",
    "memory": lambda url: in_memory(url),
    "file in a zip file": lambda url: in_zip(url),
    "file system of a folder": lambda url: (fsspec.filesystem("dir", path="/remote", fs=memory_of(url)), "tiles.fits"),
    "synchronous file system with blocks": lambda url: (Blocked(memory_of(url)), "/remote/tiles.fits"),
}


class Blocked(fsspec.AbstractFileSystem):
    """A file system that knows to open files, as those of FTP or SMB do; what it reads is counted."""

    protocol = "blocked"

    def __init__(self, inner, **options):
        super().__init__(**options)
        self.inner, self.nbytes = inner, 0

    def info(self, path, **options):
        return self.inner.info(path)

    def _open(self, path, mode="rb", **options):
        return BlockedFile(self, path, mode, **options)


class BlockedFile(fsspec.spec.AbstractBufferedFile):
    def _fetch_range(self, start, end):
        self.fs.nbytes += end - start
        return self.fs.inner.cat_file(self.path, start, end)


def in_zip(url):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("inner/tiles.fits", memory_of(url).cat_file("/remote/tiles.fits"))
    memory_of(url).pipe_file("/remote/all.zip", buffer.getvalue())
    return "zip://inner/tiles.fits::memory://remote/all.zip"


def memory_of(url):
    fs = fsspec.filesystem("memory")
    fs.pipe_file("/remote/tiles.fits", fsspec.filesystem("http").cat_file(url))
    return fs


def in_memory(url):
    memory_of(url)
    return "memory://remote/tiles.fits"


def test_a_file_system_with_blocks_reads_no_more_than_it_is_asked_for(url):
    fs = Blocked(memory_of(url))
    with tc.open((fs, "/remote/tiles.fits")) as hdus:
        hdus[1].section[:10, :10]
    assert fs.nbytes < 60_000


@pytest.mark.parametrize("place", PLACES)
def test_every_way_to_name_a_file(url, image, place):
    with tc.open(PLACES[place](url)) as hdus:
        assert_array_equal(hdus[1].section[NEEDED], image[NEEDED])
    assert_array_equal(tc.read_section(PLACES[place](url), np.s_[1000, ::100]), image[1000, ::100])


def test_what_astropy_opened_is_read_by_requests_too(server, url, image):
    with tc.enabled(), fits.open(url, use_fsspec=True, fsspec_kwargs={"block_size": 1 << 14}) as hdus:
        section = hdus[1].section
        assert section.shape == image.shape
        server.forget()
        assert_array_equal(section[NEEDED], image[NEEDED])
    assert len(server.requests) <= 10


def test_a_section_goes_to_another_process_by_its_url(server, url, image):
    with tc.open(url) as hdus:
        pickled = pickle.dumps(hdus[1].section)
    assert len(pickled) < 5000
    assert_array_equal(pickle.loads(pickled)[700:710, 3], image[700:710, 3])
    server.files["tiles.fits"] = server.files["tiles.fits"] + bytes(2880)
    with pytest.raises(tc.SourceError, match="changed since it was pickled"):
        pickle.loads(pickled)
    server.files["tiles.fits"] = server.files["tiles.fits"][:-2880]


def test_cutout2d_takes_a_section(server, url, image):
    from astropy.nddata import Cutout2D

    with tc.open(url) as hdus:
        server.forget()
        cutout = Cutout2D(hdus[1].section, position=(700, 300), size=(40, 60))
    assert_array_equal(cutout.data, Cutout2D(image, position=(700, 300), size=(40, 60)).data)
    assert len(server.requests) <= 3
