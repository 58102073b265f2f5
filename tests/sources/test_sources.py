"""Byte sources: every kind gives the same bytes, from many threads, and says clearly when it cannot."""

import bz2
import gzip
import io
import lzma
import mmap
import os
import pickle
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import astropy_tilecomp as tc
from astropy_tilecomp.errors import SourceError
from astropy_tilecomp.sources import BufferSource, ByteSource, FileSource, LockedSource, SourceFile, as_source

CONTENT = np.random.default_rng(1).integers(0, 256, 100_000, dtype=np.uint8).tobytes()
RANGES = [(0, 0), (0, 10), (99_000, 100_000), (5, 70_000), (28_799, 28_801), (100_000, 100_000)]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "plain.bin"
    path.write_bytes(CONTENT)
    return path


def packed(path, kind):
    """The content compressed as a whole, beside `path`."""
    target = path.with_suffix(f".{kind}")
    if kind == "zip":
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(path, path.name)
    else:
        opener = {"gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open}[kind]
        with opener(target, "wb") as file:
            file.write(CONTENT)
    return target


def memory_url(path):
    import fsspec

    fs = fsspec.filesystem("memory")
    fs.pipe_file("/sources/plain.bin", CONTENT)
    return fs, "/sources/plain.bin"


def obstore_pair(path):
    obstore = pytest.importorskip("obstore")
    store = obstore.store.MemoryStore()
    obstore.put(store, "plain.bin", CONTENT)
    return store, "plain.bin"


def mapped(path):
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class Stream(io.RawIOBase):
    """A stream that cannot seek, like the answer of a server."""

    def __init__(self):
        self.readinto = io.BytesIO(CONTENT).readinto

    def readable(self):
        return True


KINDS = {
    "bytes": lambda path: CONTENT,
    "bytearray": lambda path: bytearray(CONTENT),
    "memoryview": lambda path: memoryview(CONTENT),
    "big-endian array": lambda path: np.frombuffer(CONTENT, ">i4").reshape(100, 250),
    "path": lambda path: path,
    "str": str,
    "file URL": lambda path: path.as_uri(),
    "open file": lambda path: open(path, "rb"),
    "unbuffered file": lambda path: open(path, "rb", buffering=0),
    "BytesIO": lambda path: io.BytesIO(CONTENT),
    "stream": lambda path: Stream(),
    "GzipFile": lambda path: gzip.open(packed(path, "gzip")),
    "mmap": mapped,
    "gzip": lambda path: packed(path, "gzip"),
    "bz2": lambda path: packed(path, "bz2"),
    "xz": lambda path: packed(path, "xz"),
    "zip": lambda path: packed(path, "zip"),
    "gzip in memory": lambda path: gzip.compress(CONTENT),
    "fsspec file system": memory_url,
    "fsspec URL": lambda path: "memory:/" + memory_url(path)[1],
    "fsspec OpenFile": lambda path: pytest.importorskip("fsspec").open("memory:/" + memory_url(path)[1]),
    "fsspec file": lambda path: memory_url(path)[0].open(memory_url(path)[1]),
    "obstore": obstore_pair,
}


@pytest.fixture(params=KINDS, ids=str)
def source(request, path):
    with as_source(KINDS[request.param](path)) as source:
        yield source


def test_every_kind_gives_the_same_bytes(source):
    assert source.nbytes == len(CONTENT)
    assert [bytes(part) for part in source.read_ranges(RANGES)] == [CONTENT[start:stop] for start, stop in RANGES]
    for start, stop in RANGES:
        target = bytearray(stop - start)
        source.readinto((start, stop), target)
        assert target == CONTENT[start:stop]


def test_a_part_is_a_window_that_knows_its_place(source):
    part = source.part(1000, 90_000).part(500, 200_000)
    assert (part.nbytes, part.offset) == (88_500, 1500)
    assert bytes(part.read(10, 40_000)) == CONTENT[1510:41_500]
    target = np.zeros(7, ">i4")
    part.readinto((0, 28), target)
    assert target.tobytes() == CONTENT[1500:1528]
    with pytest.raises(ValueError, match="the source has 88500"):
        part.read(0, 88_501)


@pytest.mark.parametrize("wanted", [(-1, 5), (5, 4), (0, 100_001), (100_001, 100_001)], ids=str)
def test_a_range_outside_is_refused(source, wanted):
    with pytest.raises(ValueError, match="the source has 100000"):
        source.read_ranges([wanted])
    with pytest.raises(ValueError, match="the source has 100000"):
        source.readinto(wanted, bytearray(max(wanted[1] - wanted[0], 0)))


def test_a_buffer_of_another_length_is_refused(source):
    with pytest.raises(ValueError, match="a buffer of 9 bytes for the 10"):
        source.readinto((0, 10), bytearray(9))


def test_eight_threads_read_at_once(source):
    def read(seed):
        starts = np.random.default_rng(seed).integers(0, 90_000, 50).tolist()
        parts = source.read_ranges([(start, start + 1000) for start in starts])
        return all(bytes(part) == CONTENT[start : start + 1000] for part, start in zip(parts, starts))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, range(40)))


def test_reading_a_closed_source_raises_value_error(source):
    if isinstance(source, BufferSource):
        source = BufferSource(CONTENT)
    if "mmap" in source.name:
        source._mapped.close()
    source.close()
    source.close()
    with pytest.raises(ValueError):
        source.read(0, 10)


def test_close_during_reads_never_meets_another_file(tmp_path, path):
    other = tmp_path / "other.bin"
    other.write_bytes(bytes(len(CONTENT)))

    def read(source):
        try:
            for _ in range(1000):
                assert bytes(source.read(100, 5000)) == CONTENT[100:5000]
        except ValueError as error:
            return "closed file" in str(error)
        return True

    with ThreadPoolExecutor(8) as pool:
        for _ in range(10):
            source = FileSource(path)
            results = [pool.submit(read, source) for _ in range(7)]
            source.close()
            again = [FileSource(other) for _ in range(3)]
            assert all(result.result() for result in results)
            del again


def test_the_position_of_a_file_object_is_kept():
    file = io.BytesIO(CONTENT)
    file.seek(123)
    source = as_source(file)
    source.read(5000, 6000)
    assert file.tell() == 123


def test_what_was_written_to_an_open_file_is_read(tmp_path):
    with open(tmp_path / "new.bin", "w+b") as file:
        file.write(b"0123456789")
        assert bytes(as_source(file).read(2, 5)) == b"234"


def test_a_file_cut_while_open_is_an_error(path):
    source = FileSource(path)
    os.truncate(path, 50)
    with pytest.raises(SourceError, match="bytes 40 to 60: got 10 bytes instead of 20"):
        source.read(40, 60)


class Lying(ByteSource):
    """A source that answers with what it was told to."""

    name, nbytes = "lying", 100

    def __init__(self, answer):
        self.answer = answer

    def _read(self, ranges):
        return [self.answer for _ in ranges]


@pytest.mark.parametrize("answer", ["0123456789", None, 10, OSError("no")], ids=repr)
def test_an_answer_that_is_no_bytes_is_an_error(answer):
    with pytest.raises(SourceError, match=f"lying: bytes 0 to 10: got {type(answer).__name__} instead of bytes"):
        Lying(answer).read(0, 10)


@pytest.mark.parametrize("answer", [b"", b"012345678", b"0123456789A"])
def test_a_short_or_long_answer_is_an_error(answer):
    with pytest.raises(SourceError, match=f"got {len(answer)} bytes instead of 10"):
        Lying(answer).read(0, 10)
    with pytest.raises(SourceError, match=f"got {len(answer)} bytes instead of 10"):
        Lying(answer).readinto((0, 10), bytearray(10))


def test_a_file_object_that_reads_less_at_a_time_is_read_on():
    class Trickle(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, 7))

    assert bytes(LockedSource(Trickle(CONTENT)).read(3, 400)) == CONTENT[3:400]


@pytest.mark.parametrize("kind", ["gzip", "bz2", "xz", "zip"])
def test_a_cut_compressed_file_is_an_error(path, kind):
    whole = packed(path, kind).read_bytes()
    with pytest.raises(SourceError, match=rf"\({kind}\): "):
        as_source(whole[: len(whole) // 2])


def test_a_zip_of_two_files_is_refused(tmp_path):
    target = tmp_path / "two.zip"
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("a", b"1")
        archive.writestr("b", b"2")
    with pytest.raises(SourceError, match="a zip file of one file expected, found 2"):
        as_source(target)


@pytest.mark.parametrize("obj", [7, None, io.StringIO("text"), (1, "path")], ids=["number", "None", "text", "pair"])
def test_what_is_no_source_is_a_type_error(obj):
    with pytest.raises(TypeError, match="expected, found"):
        as_source(obj)


def test_a_directory_is_an_error(tmp_path):
    with pytest.raises(OSError, match="directory"):
        as_source(tmp_path)


PICKLED = ["bytes", "bytearray", "big-endian array", "path", "str", "open file", "gzip", "zip", "gzip in memory"]


@pytest.mark.parametrize("kind", PICKLED)
def test_a_source_survives_pickling(path, kind):
    source = as_source(KINDS[kind](path))
    part = pickle.loads(pickle.dumps(source.part(100, 200)))
    assert bytes(part.read(1, 9)) == CONTENT[101:109]
    assert part.offset == 100


@pytest.mark.parametrize("kind", ["BytesIO", "GzipFile", "mmap", "fsspec file system", "obstore"])
def test_what_another_process_cannot_open_is_not_pickled(path, kind):
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(as_source(KINDS[kind](path)))


def test_an_open_file_without_its_name_is_not_pickled(path):
    with open(path, "rb") as file:
        path.unlink()
        source = as_source(file)
        assert bytes(source.read(0, 5)) == CONTENT[:5]
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(source)


def test_a_file_that_changed_is_not_opened_again(path):
    pickled = pickle.dumps(FileSource(path))
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(SourceError, match="changed since it was pickled"):
        pickle.loads(pickled)


def test_no_credential_enters_a_repr_or_a_pickle():
    from astropy_tilecomp.sources.transport_fsspec import _public_options
    from astropy_tilecomp.sources.urls import has_secret, public_url

    signed = "https://me:pw@host/a.fits?X-Amz-Signature=abc&X-Amz-Credential=def"
    assert public_url(signed) == "https://host/a.fits?..."
    assert has_secret(signed)
    assert has_secret("https://host/a.fits?sig=abc")
    assert not has_secret("https://host/download?uri=mast:HST/a.fits")
    options = {
        "anon": True,
        "key": "K",
        "secret": "S",
        "client_kwargs": {"region_name": "us-east-1", "aws_session_token": "T", "endpoint_url": "http://me:pw@host"},
        "headers": {"Authorization": "B"},
    }
    assert _public_options(options) == {"anon": True, "client_kwargs": {"region_name": "us-east-1"}}


def test_a_source_as_a_file_object():
    file = SourceFile(BufferSource(CONTENT))
    assert file.read(10) == CONTENT[:10]
    file.seek(-5, os.SEEK_END)
    assert file.read() == CONTENT[-5:]
    assert file.read(5) == b""
    file.seek(99_998)
    target = bytearray(4)
    assert file.readinto(target) == 2
    assert target[:2] == CONTENT[-2:]
    with pytest.raises(ValueError, match="seek to -1"):
        file.seek(-1)


def test_zeros_of_an_inflated_file_take_no_disk(tmp_path):
    tc.write_image(tmp_path / "a.fits.fz", np.arange(600, dtype="i2").reshape(20, 30))
    path = tmp_path / "bomb.fits.gz"
    with gzip.open(path, "wb") as file:
        file.write((tmp_path / "a.fits.fz").read_bytes())
        for _ in range(100):
            file.write(bytes(1 << 20))
    with as_source(path) as source:
        assert source.nbytes > 100 << 20
        assert os.fstat(source._open_descriptor().number).st_blocks * 512 < 8 << 20
        assert bytes(source.read(source.nbytes - 9, source.nbytes)) == bytes(9)
    assert tc.read_section(path, np.s_[0, :3]).tolist() == [0, 1, 2]


def test_an_inflated_file_leaves_room_on_the_disk(tmp_path, monkeypatch):
    from astropy_tilecomp.sources import streams

    path = tmp_path / "a.fits.gz"
    with gzip.open(path, "wb") as file:
        file.write(os.urandom(3 << 20))
    monkeypatch.setattr(streams, "_ROOM_NBYTES", 1 << 60)
    with pytest.raises(tc.SourceError, match="disk of temporary files"):
        as_source(path)
