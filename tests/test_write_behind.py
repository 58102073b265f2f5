"""The file that is written out while it is written: every byte where it belongs, every piece asked for once."""

import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astropy_tilecomp import write_behind
from astropy_tilecomp.write_behind import PIECE_NBYTES, WriteBehindFile


@pytest.fixture
def requests(monkeypatch):
    """The (start, nbytes) that the system is asked to write out; it refuses all of them."""
    asked = []

    def refuse(descriptor, start, nbytes, flags):
        os.fstat(descriptor)
        asked.append((start, nbytes))
        return -1

    monkeypatch.setattr(write_behind, "_sync_file_range", refuse)
    return asked


def new_file(path):
    return io.BufferedRandom(WriteBehindFile(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)))


def test_whole_pieces_are_asked_for_once(tmp_path, requests):
    with new_file(tmp_path / "a") as file:
        file.write(bytes(2880))
        for _ in range(5):
            file.write(bytes(PIECE_NBYTES // 2))
        file.seek(0)
        file.write(b"header")
        file.seek(0, os.SEEK_END)
        file.write(bytes(3 * PIECE_NBYTES))
        size = file.tell()
    assert [start for start, _ in requests] == [sum(nbytes for _, nbytes in requests[:n]) for n in range(len(requests))]
    assert sum(nbytes for _, nbytes in requests) == size // PIECE_NBYTES * PIECE_NBYTES
    assert all(nbytes % PIECE_NBYTES == 0 for _, nbytes in requests)


@given(writes=st.lists(st.tuples(st.integers(0, 9000), st.binary(max_size=9000)), max_size=20))
def test_bytes_are_those_of_a_plain_file(tmp_path_factory, monkeypatch, writes):
    monkeypatch.setattr(write_behind, "PIECE_NBYTES", 4096)
    path, plain = tmp_path_factory.mktemp("files") / "a", io.BytesIO()
    with new_file(path) as file:
        for place, data in writes:
            for each in file, plain:
                each.seek(place)
                each.write(data)
            assert file.tell() == plain.tell()
        file.seek(0)
        assert file.read() == plain.getvalue()
    assert path.read_bytes() == plain.getvalue()
