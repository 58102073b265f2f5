"""Files that lists of HDUs write into: file objects, compressed and cut files, appended and emptied HDUs, files written over."""

import bz2
import copy
import gzip
import io
import lzma
import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal

import astropy_tilecomp as tc

IMAGE = np.arange(600, dtype="i2").reshape(20, 30)


def three_images():
    return fits.HDUList([fits.PrimaryHDU(), *(fits.CompImageHDU(IMAGE + n, name=f"S{n}") for n in range(3))])


@pytest.fixture
def content():
    buffer = io.BytesIO()
    three_images().writeto(buffer)
    return buffer.getvalue()


class Kept(io.BytesIO):
    """Stays open, so that its content can be looked at."""

    def close(self):
        pass


def longer_header(hdul):
    hdul[1].header.extend([(f"KEY{n}", n) for n in range(60)])


def one_hdu_less(hdul):
    del hdul[2]


def one_hdu_more(hdul):
    hdul.append(tc.CompImageHDU(IMAGE, name="NEW"))


def more_pixels(hdul):
    hdul[1].data = np.tile(IMAGE, (3, 3))


def one_pixel(hdul):
    hdul[1].data[0, 0] = 31000


def two_flushes(hdul):
    longer_header(hdul)
    hdul.flush()
    hdul[2].header["ALSO"] = True
    hdul[3].data[2, 3] = 5


CHANGES = [longer_header, one_hdu_less, one_hdu_more, more_pixels, one_pixel, two_flushes]
each_change = pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)


def facts(data):
    """Name, pixels and cards of each image in the bytes of a file."""
    with fits.open(io.BytesIO(data)) as hdul:
        hdul.verify("exception")
        return [(hdu.name, hdu.data.tolist(), [str(card) for card in hdu.header.cards]) for hdu in hdul[1:]]


@pytest.fixture
def expected(content, tmp_path):
    """What a change makes of a plain local file."""
    def after(change):
        path = tmp_path / "plain.fits"
        path.write_bytes(content)
        with tc.open(path, mode="update") as hdul:
            change(hdul)
        return facts(path.read_bytes())

    return after


@each_change
def test_a_buffer_that_is_updated_holds_the_result(content, expected, change, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    buffer = Kept(content)
    with tc.open(buffer, mode="update") as hdul:
        change(hdul)
    assert os.listdir(tmp_path) == []
    assert facts(buffer.getvalue()) == expected(change)


@each_change
def test_a_file_without_a_name_that_is_updated_holds_the_result(content, expected, change):
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        hdul = tc.open(file, mode="update")
        change(hdul)
        hdul.close(closed=False)
        file.seek(0)
        assert facts(file.read()) == expected(change)


def test_a_buffer_that_is_only_looked_at_stays_as_it_is(content):
    buffer = Kept(content)
    with tc.open(buffer, mode="update") as hdul:
        hdul[1].data.sum(), hdul[2].header["EXTNAME"]
    assert buffer.getvalue() == content


def test_an_update_of_a_buffer_that_fails_changes_nothing(content, monkeypatch):
    buffer = Kept(content)
    hdul = tc.open(buffer, mode="update")
    longer_header(hdul)
    monkeypatch.setattr(tc.CompImageHDU, "_writeto", lambda *args, **kwargs: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        hdul.flush()
    assert buffer.getvalue() == content


@each_change
def test_a_gz_file_that_is_updated_stays_one(content, expected, change, tmp_path):
    path = tmp_path / "a.fits.gz"
    path.write_bytes(gzip.compress(content))
    with tc.open(path, mode="update") as hdul:
        change(hdul)
    assert facts(gzip.decompress(path.read_bytes())) == expected(change)
    assert sorted(os.listdir(tmp_path)) == ["a.fits.gz", "plain.fits"]


def test_a_gz_file_that_is_only_looked_at_stays_as_it_is(content, tmp_path):
    path = tmp_path / "a.fits.gz"
    path.write_bytes(packed := gzip.compress(content))
    with tc.open(path, mode="update") as hdul:
        hdul[1].data.sum()
    assert path.read_bytes() == packed


def test_pixels_on_disk_of_a_gz_file_are_refused(content, tmp_path):
    path = tmp_path / "a.fits.gz"
    path.write_bytes(packed := gzip.compress(content))
    with tc.open(path, mode="update") as hdul, pytest.raises(ValueError, match="gunzip"):
        hdul[1].section[:2, :2] = 3
    with pytest.raises(tc.HeaderError, match="gunzip"):
        tc.replace_pixels(path, np.s_[:2, :2], 3)
    assert path.read_bytes() == packed


@pytest.mark.parametrize(("ending", "opener"), [("gz", gzip.open), ("bz2", bz2.open), ("xz", lzma.open)], ids=["gz", "bz2", "xz"])
def test_an_open_decompressor(content, tmp_path, ending, opener):
    """Is read in every mode that only reads, also by fits.open; the modes that write refuse it by name of the mode."""
    path = tmp_path / f"a.fits.{ending}"
    with opener(path, "wb") as file:
        file.write(content)
    packed = path.read_bytes()
    with opener(path) as file, tc.enabled(), fits.open(file) as hdul:
        assert_array_equal(hdul[2].section[3:5], IMAGE[3:5] + 1)
    for mode in ("readonly", "denywrite", "copyonwrite"):
        with opener(path) as file, tc.open(file, mode=mode) as hdul:
            assert_array_equal(hdul[2].data, IMAGE + 1)
    for mode in ("append", "update"):
        with opener(path) as file, pytest.raises(tc.UnsupportedError, match=mode):
            tc.open(file, mode=mode)
    assert path.read_bytes() == packed


EDITS = {
    "header": lambda hdul: hdul[1].header.set("OBSERVER", "me"),
    "pixels on disk": lambda hdul: hdul[1].section.__setitem__(np.s_[:2, :2], 3),
    "data": lambda hdul: setattr(hdul[1], "data", IMAGE),
    "primary header": lambda hdul: hdul[0].header.set("OBSERVER", "me"),
    "one HDU more": one_hdu_more,
}


WAYS_TO_EDIT = [
    *(("tc.open", "update", edit) for edit in EDITS), *(("fits.open", "update", edit) for edit in EDITS if edit != "pixels on disk"),
    ("tc.open", "append", "one HDU more"), ("fits.open", "append", "one HDU more"),
]


@pytest.mark.parametrize(("opener", "mode", "edit"), WAYS_TO_EDIT)
def test_a_cut_file_is_not_changed(tmp_path, opener, mode, edit):
    opener, edit = {"tc.open": tc.open, "fits.open": fits.open}[opener], EDITS[edit]
    noise = np.random.default_rng(0).integers(0, 30000, (200, 300)).astype("i2")
    path = tmp_path / "cut.fits"
    fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(noise, tile_shape=(20, 300))]).writeto(path)
    path.write_bytes(before := path.read_bytes()[:-6000])
    refusal = pytest.raises(tc.HeaderError, match=r"cut\.fits: HDU 1 reaches to byte .*salvage")
    with tc.enabled(), warnings.catch_warnings(action="ignore"), refusal, opener(path, mode=mode) as hdul:
        edit(hdul)
    assert path.read_bytes() == before


def test_a_cut_file_can_be_read_in_update_mode(tmp_path, content):
    path = tmp_path / "cut.fits"
    path.write_bytes(content[:-3000])
    with warnings.catch_warnings(action="ignore"), tc.open(path, mode="update") as hdul:
        assert_array_equal(hdul[1].data, IMAGE)
    assert path.read_bytes() == content[:-3000]


@pytest.mark.parametrize("opener", [tc.open, fits.open], ids=["tc.open", "fits.open"])
def test_an_image_without_pixels_leaves_what_follows_it(tmp_path, opener):
    path = tmp_path / "a.fits"
    images = fits.CompImageHDU(IMAGE, name="A"), fits.ImageHDU(IMAGE + 2, name="B"), fits.CompImageHDU(IMAGE + 3, name="C")
    fits.HDUList([fits.PrimaryHDU(), *images]).writeto(path)
    with tc.enabled(), opener(path, mode="update") as hdul:
        hdul["A"].data = None
        hdul.flush()
        hdul["B"].header["CARD"] = 1
    with fits.open(path) as hdul:
        assert [hdu.name for hdu in hdul] == ["PRIMARY", "A", "B", "C"]
        assert hdul["A"].data is None
        assert_array_equal(hdul["B"].data, IMAGE + 2)
        assert hdul["B"].header["CARD"] == 1
        assert_array_equal(hdul["C"].data, IMAGE + 3)


@pytest.mark.parametrize("mode", ["append", "update"])
def test_an_appended_hdu_knows_its_place(tmp_path, mode):
    path = tmp_path / "a.fits"
    fits.PrimaryHDU().writeto(path)
    with tc.open(path, mode=mode) as hdul:
        hdul.extend([tc.CompImageHDU(IMAGE), fits.ImageHDU(IMAGE), tc.CompImageHDU(IMAGE + 1)])
        hdul.flush()
        places = [hdu.fileinfo() for hdu in hdul]
        assert_array_equal(hdul[3].section[2], IMAGE[2] + 1)
        hdul.append(tc.CompImageHDU(IMAGE + 2))
        hdul.flush()
        places.append(hdul.fileinfo(4))
    with fits.open(path, disable_image_compression=True) as hdul:
        for hdu, place in zip(hdul, places, strict=True):
            found = hdu.fileinfo()
            assert [place[key] for key in ("hdrLoc", "datLoc", "datSpan")] == [found[key] for key in ("hdrLoc", "datLoc", "datSpan")]
    with fits.open(path) as hdul:
        assert_array_equal(hdul[4].data, IMAGE + 2)


@contextmanager
def files_end_at(nbytes):
    """No file can become longer than so many bytes: OSError, as on a full disk."""
    before, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, resource.RLIM_INFINITY))
        signal.signal(signal.SIGXFSZ, handler)


def open_object(path, **options):
    return tc.open(open(path, "ab+"), **options)


@pytest.mark.parametrize("opener", [tc.open, open_object], ids=["path", "file object"])
@pytest.mark.parametrize("room", [0, 1000, 6000, 20000, 60000])
def test_an_append_without_space_is_cut_off_and_can_be_repeated(tmp_path, content, opener, room):
    path = tmp_path / "a.fits"
    path.write_bytes(content)
    noise = np.random.default_rng(1).integers(0, 2**15, (100, 250)).astype("i2")
    hdul = opener(path, mode="append")
    hdul.append(tc.CompImageHDU(IMAGE, name="FIRST"))
    hdul.append(tc.CompImageHDU(noise, name="SECOND"))
    hdul.append(fits.ImageHDU(noise[:5], name="THIRD"))
    with files_end_at(len(content) + room):
        for _ in range(2):
            with pytest.raises(OSError):
                hdul.flush()
            assert path.read_bytes() == content
    hdul.flush()
    assert_array_equal(hdul["SECOND"].section[3:5], noise[3:5])
    hdul.close()
    assert tc.verify(path).good
    with fits.open(path) as hdul:
        for name, image in {"S2": IMAGE + 2, "FIRST": IMAGE, "SECOND": noise, "THIRD": noise[:5]}.items():
            assert_array_equal(hdul[name].data, image)


def test_what_an_append_could_not_write_is_not_written_by_closing(tmp_path, content):
    path = tmp_path / "a.fits"
    path.write_bytes(content)
    hdul = tc.open(path, mode="append")
    hdul.append(tc.CompImageHDU(IMAGE))
    with files_end_at(len(content) + 1000), pytest.raises(OSError):
        hdul.flush()
    hdul._file.close()  # as at the end of a program
    assert path.read_bytes() == content


def test_an_append_to_a_buffer_that_fails_is_cut_off(content):
    class Small(Kept):
        def write(self, data):
            if self.tell() + len(data) > len(content) + 5000:
                raise MemoryError("no room")
            return super().write(data)

    buffer = Small(content)
    hdul = tc.open(buffer, mode="append")
    hdul.append(tc.CompImageHDU(IMAGE))
    with pytest.raises(MemoryError, match="no room"):
        hdul.flush()
    assert buffer.getvalue() == content


def repickled(what):
    return pickle.loads(pickle.dumps(what))


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, repickled])
@pytest.mark.parametrize("read_before", [False, True])
@pytest.mark.parametrize("gone", ["written over", "removed"])
def test_copies_of_a_list_whose_file_is_another_by_now(tmp_path, clone, read_before, gone):
    path = tmp_path / "a.fits"
    three_images().writeto(path)
    with tc.open(path) as hdul:
        if read_before:
            hdul[1].section[3, 4]
        if gone == "removed":
            path.unlink()
        else:
            del hdul[3]
            hdul.writeto(path, overwrite=True)
        for number in (1, 2):
            assert_array_equal(clone(hdul[number]).data, IMAGE + number - 1)
            assert_array_equal(clone(hdul[number].section)[2:4], IMAGE[2:4] + number - 1)


@pytest.mark.parametrize("edit", [
    lambda path: tc.replace_pixels(path, np.s_[:2], 3), tc.repack, lambda path: tc.write_image(path, IMAGE, append=True),
], ids=["replace_pixels", "repack", "write_image"])
def test_a_cut_file_is_not_changed_by_functions(tmp_path, content, edit):
    path = tmp_path / "cut.fits"
    path.write_bytes(content[: 2 * 2880 + 100])
    with pytest.raises(tc.HeaderError, match=r"cut\.fits: HDU 1 reaches to byte .*salvage"):
        edit(path)
    assert path.read_bytes() == content[: 2 * 2880 + 100]


INTERRUPTED_FLUSH = """
import os, signal, sys, threading, warnings
import numpy as np
import astropy_tilecomp as tc
from astropy.io import fits

warnings.simplefilter("ignore")
path, mode = sys.argv[1:]
image = np.arange(2000 * 2000, dtype="i4").reshape(2000, 2000)
fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(image)]).writeto(path)
tc.enable()
hdus = fits.open(path, mode=mode)
hdus[1].data
assert threading.active_count() > 1
hdus[1].data[0, 0] = -1
if mode == "append":
    hdus.append(fits.CompImageHDU(image))
write = fits.CompImageHDU._prewriteto

def interrupted(self, *args, **kwargs):
    os.kill(os.getpid(), signal.SIGINT)
    return write(self, *args, **kwargs)

fits.CompImageHDU._prewriteto = interrupted
try:
    hdus.flush()
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("mode", ["update", "append"])
def test_an_interrupt_waits_for_the_end_of_a_flush(tmp_path, mode):
    environment = {**os.environ, "ASTROPY_TILECOMP_THREADS": "2"}
    command = [sys.executable, "-c", INTERRUPTED_FLUSH, tmp_path / "a.fits", mode]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout == "interrupted\n", done.stderr
    with fits.open(tmp_path / "a.fits") as hdus:
        if mode == "update":
            assert hdus[1].data[0, 0] == -1
        else:
            assert_array_equal(hdus[2].data, hdus[1].data)
