"""Pixels replaced in a file: equal to numpy's assignment, few bytes written, valid at every moment."""

import errno
import os
import signal
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal
from support import needs
from support.small_files import CompressedImage, rice_1

import astropy_tilecomp as tc
from astropy_tilecomp.hdus import find_image
from astropy_tilecomp.read.table_rows import read_table
from astropy_tilecomp.sources import FileSource

INDICES = [np.s_[5, 7], np.s_[10:50, 20:60], np.s_[::9, ::-11], np.s_[:, 33], np.s_[...], np.s_[[3, 40, 41]]]


def sample(dtype="i2", shape=(70, 90)):
    return np.abs(np.random.default_rng(3).normal(300, 9, shape)).astype(dtype)


def write(path, image, **settings):
    """An image behind an empty primary HDU, with checksums."""
    tc.write_image(path, image, tile_shape=(16, 20), checksum=True, name="IMAGE", **settings)
    return path


def check_file(path):
    """Astropy finds nothing wrong, checksums included, and both readers agree; return the pixels."""
    with fits.open(path, checksum=True) as hdus:
        hdus.verify("exception")
        expected = hdus["IMAGE"].data
    found = tc.read_image(path, hdu="IMAGE")
    assert_array_equal(found, expected)
    return found


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize(("algorithm", "dtype"), [
    ("RICE_1", "i2"), ("RICE_1", "u2"), ("GZIP_2", "i4"), ("HCOMPRESS_1", "i2"), ("PLIO_1", "i2"), ("NOCOMPRESS", "u1"),
])
def test_equal_to_assignment(index, algorithm, dtype, tmp_path):
    image = np.minimum(sample(dtype), 255) if dtype == "u1" else sample(dtype)
    path = write(tmp_path / "a.fits", image, algorithm=algorithm)
    new = np.random.default_rng(1).integers(0, 200, image[index].shape).astype(dtype)
    report = tc.replace_pixels(path, index, new)
    assert report.in_place
    image[index] = new
    assert_array_equal(check_file(path), image)


def test_only_touched_tiles_are_encoded(tmp_path):
    image = sample()
    path = write(tmp_path / "a.fits", image)
    before = path.read_bytes()
    report = tc.replace_pixels(path, np.s_[0:5, 0:5], 7)
    assert report.n_tiles == 1
    assert path.stat().st_size <= len(before) + report.nbytes + 2880
    image[:5, :5] = 7
    assert_array_equal(check_file(path), image)


def test_quantized_floats(tmp_path):
    image = sample("f4")
    path = write(tmp_path / "a.fits", image, quantize_level=4, dither_seed=7)
    stored = tc.read_image(path)
    new = np.random.default_rng(2).normal(0, 9, (16, 20)).astype("f4")
    tc.replace_pixels(path, np.s_[16:32, 20:40], new)
    found = check_file(path)
    assert np.abs(found[16:32, 20:40] - new).max() < 3
    stored[16:32, 20:40] = found[16:32, 20:40]
    assert_array_equal(found, stored)


def test_undefined_pixels_and_constant_tiles(tmp_path):
    """Both need what the file does not have: ZBLANK, and the column of tiles that fall back."""
    path = write(tmp_path / "a.fits", sample("f4"), dither_seed=7)
    stored = tc.read_image(path)
    assert not tc.replace_pixels(path, np.s_[3, 3], np.nan).in_place
    assert not tc.replace_pixels(path, np.s_[32:48, 20:40], 5.0).in_place
    found = check_file(path)
    assert np.isnan(found[3, 3])
    assert (found[32:48, 20:40] == 5).all()
    assert_array_equal(found[48:], stored[48:])
    assert tc.replace_pixels(path, np.s_[4, 3], np.nan).in_place
    assert np.isnan(check_file(path)[4, 3])


def test_the_scale_of_lossy_streams_is_kept(tmp_path):
    path = write(tmp_path / "a.fits", sample("i4"), algorithm="HCOMPRESS_1", hcomp_scale=-12)
    tc.replace_pixels(path, np.s_[0:16, 0:20], sample("i4")[16:32, 20:40])
    with fits.open(path, disable_image_compression=True) as hdus:
        streams = hdus["IMAGE"].data["COMPRESSED_DATA"]
    assert [int.from_bytes(bytes(stream[10:14]), "big") for stream in streams[:2]] == [12, 12]


def test_scaled_integers(tmp_path):
    header = fits.Header([("BSCALE", 0.5), ("BZERO", 10.0), ("BLANK", -99)])
    hdu = fits.CompImageHDU(sample("i2"), tile_shape=(16, 20), name="IMAGE")
    hdu.header.update(header)
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(tmp_path / "a.fits")
    tc.replace_pixels(tmp_path / "a.fits", np.s_[:2, :2], np.array([[1.5, 2], [np.nan, 11]]))
    assert_array_equal(tc.read_section(tmp_path / "a.fits", np.s_[:2, :2]), np.array([[1.5, 2], [np.nan, 11]], "f4"))


def test_an_hdu_in_the_middle(tmp_path):
    path = write(tmp_path / "a.fits", sample())
    tc.write_image(path, sample("i4"), name="LAST", append=True)
    assert not tc.replace_pixels(path, np.s_[:9], 1, hdu="IMAGE").in_place
    image = sample()
    image[:9] = 1
    assert_array_equal(check_file(path), image)
    assert_array_equal(tc.read_image(path, hdu="LAST"), sample("i4"))


def test_repack_closes_the_gaps(tmp_path):
    image = sample()
    path = write(tmp_path / "a.fits", image)
    whole = path.stat().st_size
    for _ in range(3):
        tc.replace_pixels(path, ..., image ^ 1)
        tc.replace_pixels(path, ..., image)
    assert path.stat().st_size > 2 * whole
    saved = tc.repack(path)
    assert saved > 0
    assert path.stat().st_size == whole
    assert_array_equal(check_file(path), image)


@pytest.mark.parametrize(("index", "values", "error"), [
    (np.s_[0, 0], 70000, ValueError), (np.s_[0:3, 0:3], np.zeros((2, 2)), ValueError), (np.s_[100, 0], 1, IndexError),
    (np.s_[0, 0], np.nan, ValueError), (np.s_[0, :2], np.ma.masked_equal([1, 2], 2), ValueError),
], ids=str)
def test_what_does_not_fit_changes_nothing(index, values, error, tmp_path):
    path = write(tmp_path / "a.fits", sample())
    before = path.read_bytes()
    with pytest.raises(error):
        tc.replace_pixels(path, index, values)
    assert path.read_bytes() == before


def test_cards_out_of_place_are_not_edited(tmp_path):
    path = write(tmp_path / "a.fits", sample())
    content = path.read_bytes()
    at = content.index(b"PCOUNT  =", 2880)
    path.write_bytes(content[:at] + content[at : at + 80].replace(b"PCOUNT  =", b"PCOUNT = ") + content[at + 80 :])
    before = path.read_bytes()
    assert_array_equal(tc.read_image(path), tc.read_image(content))
    with pytest.raises(tc.HeaderError, match=r'PCOUNT .*"=" in column 9'):
        tc.replace_pixels(path, np.s_[0, 0], 7)
    assert path.read_bytes() == before


@pytest.mark.parametrize("values", ["7", None, 1 + 2j, np.datetime64("2020")], ids=str)
def test_only_real_numbers_are_pixels(values, tmp_path):
    path = write(tmp_path / "a.fits", sample())
    with pytest.raises(TypeError, match=r"pixels of type .* for an image of type"):
        tc.replace_pixels(path, np.s_[0, 0], values)


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_floats_are_rounded_only_on_request(dtype, tmp_path):
    path = tmp_path / "a.fits"
    tc.write_image(path, np.zeros((8, 8), dtype))
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"cannot hold 4 of 5 values: 5.7 would be read back as 6"):
        tc.replace_pixels(path, np.s_[0, :5], [3, 5.7, 6.2, 7.5, -0.3])
    assert path.read_bytes() == before
    tc.replace_pixels(path, np.s_[0, :5], [3, 5.7, 6.2, 7.5, -0.3], rounded=True)
    assert tc.read_image(path)[0, :5].tolist() == [3, 6, 6, 8, 0]
    tc.replace_pixels(path, np.s_[0, 0], 4.0)
    assert tc.read_image(path)[0, 0] == 4
    beyond = float(np.iinfo(dtype).max) + 1  # for 64 bits the float beside the largest integer
    with pytest.raises(ValueError, match="do not fit"):
        tc.replace_pixels(path, np.s_[0, 0], beyond)


SCALES = {
    "BSCALE": ("i2", {"BSCALE": 0.25, "BZERO": 3.0}), "BLANK": ("i4", {"BLANK": -5}), "integers": ("i2", {}), "uint16": ("u2", {}),
    "floats with BSCALE": ("f4", {"BSCALE": 3.0, "BZERO": 0.1}),
}


@pytest.mark.parametrize("value", [2, 7.25, 8.3, np.nan, -5, -0.0], ids=str)
@pytest.mark.parametrize("kind", SCALES)
def test_what_is_assigned_is_read_back_or_refused(kind, value, tmp_path):
    dtype, cards = SCALES[kind]
    path = tmp_path / "a.fits"
    tc.write_image(path, np.arange(64).reshape(8, 8).astype(dtype), cards, algorithm="GZIP_1", lossless=True)
    before = path.read_bytes()
    try:
        tc.replace_pixels(path, np.s_[2:4, 3], value)
    except ValueError:
        assert path.read_bytes() == before
    else:
        image = tc.read_image(path)
        assert_array_equal(image[2:4, 3], image.dtype.type(value))


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("dtype", ["i2", "u2"])
def test_a_section_of_integers_takes_integers(in_memory, dtype, tmp_path):
    path = tmp_path / "a.fits"
    tc.write_image(path, np.zeros((8, 8), dtype))
    with tc.open(path, mode="update") as hdus:
        if in_memory:
            hdus[1].data
        for value in (5.7, np.nan, 1e9, 70000, np.array([3, 0.5])):
            with pytest.raises(ValueError):
                hdus[1].section[0, :2] = value
        hdus[1].section[1, :2] = 7.0
    assert tc.read_image(path)[:2, :2].tolist() == [[0, 0], [7, 7]]


@pytest.mark.parametrize("in_memory", [True, False])
def test_scale_back_rounds_what_a_section_takes(in_memory, tmp_path):
    path = tmp_path / "a.fits"
    tc.write_image(path, np.zeros((8, 8), "i2"))
    with tc.open(path, mode="update", scale_back=True) as hdus:
        if in_memory:
            hdus[1].data
        hdus[1].section[0, :2] = [5.7, -0.6]
    assert tc.read_image(path)[0, :2].tolist() == [6, -1]


def test_nothing_selected_changes_nothing(tmp_path):
    path = write(tmp_path / "a.fits", sample())
    before = path.read_bytes()
    assert tc.replace_pixels(path, np.s_[0:0], 1).n_tiles == 0
    assert path.read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("last", [True, False], ids=["appended", "rebuilt"])
def test_killed_at_any_moment_the_file_is_valid(last, tmp_path):
    """kill -9 at random moments: every tile holds the old pixels or the new ones."""
    program = textwrap.dedent("""
        import sys, numpy as np, astropy_tilecomp as tc
        print("ready", flush=True)
        for n in range(10**6):
            tc.replace_pixels(sys.argv[1], np.s_[16:48, 20:60], n % 1000, hdu="IMAGE")
    """)
    path = write(tmp_path / "a.fits", np.full((70, 90), 999, "i2"))
    if not last:
        tc.write_image(path, sample(), name="LAST", append=True)
    rng = np.random.default_rng(1)
    for _ in range(25):
        with subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE, cwd=needs.REPOSITORY) as editor:
            editor.stdout.readline()
            try:
                editor.wait(rng.uniform(0.005, 0.06))
            except subprocess.TimeoutExpired:
                editor.send_signal(signal.SIGKILL)
        for found in (tc.read_image(path, hdu="IMAGE"), fits.getdata(path, "IMAGE")):
            for tile in (np.s_[16:32, 20:40], np.s_[16:32, 40:60], np.s_[32:48, 20:40], np.s_[32:48, 40:60]):
                assert (found[tile] == found[tile][0, 0]).all()
            assert (found[:16] == 999).all()
    tc.repack(path, hdu="IMAGE")
    assert (tc.read_image(path, hdu="IMAGE")[48:] == 999).all()


@pytest.mark.parametrize("index", [np.s_[...], np.s_[3, 5], np.s_[10:40, ::3]], ids=str)
@pytest.mark.parametrize("dtype", ["i2", "u2", "f4"])
def test_equal_pixels_write_nothing(dtype, index, tmp_path):
    image = sample(dtype)
    path = write(tmp_path / "a.fits", image)
    image, before = tc.read_image(path), path.read_bytes()
    report = tc.replace_pixels(path, index, image[index])
    assert report.n_tiles == 0 and path.read_bytes() == before
    with tc.open(path, mode="update") as hdus:
        hdus[1].section[index] = image[index]
    assert path.read_bytes() == before


def with_notes(path, image, form, last):
    """A file whose table has a column of variable length that holds no tiles."""
    tc.write_image(path, image, tile_shape=(16, 20), name="IMAGE")
    with fits.open(path, disable_image_compression=True) as hdus:
        table, n_tiles = hdus[1], len(hdus[1].data)
        notes = np.empty(n_tiles, object)
        notes[:] = [np.arange(1 + n) + 10 * n for n in range(n_tiles)]
        columns = [fits.Column("COMPRESSED_DATA", form, array=table.data["COMPRESSED_DATA"]),
                   fits.Column("NOTES", form[:2] + "J", array=notes)]
        new = fits.BinTableHDU.from_columns(columns[:: 1 if last else -1], name="IMAGE")
        new.header.extend(card for card in table.header.cards if card.keyword.startswith("Z"))
        fits.HDUList([fits.PrimaryHDU(), new] + [fits.ImageHDU(np.zeros(3))] * (not last)).writeto(path, overwrite=True)
    return [note.tolist() for note in notes]


@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("form", ["1PB", "1QB"])
def test_other_columns_keep_their_bytes(form, last, tmp_path):
    path, image = tmp_path / "a.fits", sample()
    notes = with_notes(path, image, form, last)
    image[20:50, 30] = 3
    tc.replace_pixels(path, np.s_[20:50, 30], 3)
    tc.repack(path)
    assert_array_equal(check_file(path), image)
    with fits.open(path, disable_image_compression=True) as hdus:
        assert [row.tolist() for row in hdus[1].data["NOTES"]] == notes


@pytest.mark.parametrize("room", [0, 2000, 9000])
def test_without_space_the_file_is_as_before(room, tmp_path):
    path = write(tmp_path / "a.fits", sample())
    before = path.read_bytes()
    program = f"""
        import resource, signal, numpy as np, astropy_tilecomp as tc
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, ({len(before) + room}, resource.RLIM_INFINITY))
        tc.replace_pixels({str(path)!r}, ..., np.random.default_rng(1).integers(0, 30000, (70, 90)).astype("i2"))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert done.returncode == 1 and "OSError" in done.stderr
    assert path.read_bytes() == before


def test_a_failed_edit_is_cut_off_before_anything_else_is_written(monkeypatch, tmp_path):
    """A disk that is full to the last byte takes a write only when something was given back."""
    path = write(tmp_path / "a.fits", sample())
    before, written, pwrite = path.read_bytes(), [], os.pwrite

    def pwrite_to_full_disk(descriptor, data, offset):
        if os.fstat(descriptor).st_size > len(before):
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(offset)
        return pwrite(descriptor, data, offset)

    monkeypatch.setattr(os, "pwrite", pwrite_to_full_disk)
    with pytest.raises(OSError, match="No space left"):
        tc.replace_pixels(path, ..., np.random.default_rng(1).integers(0, 30000, (70, 90)).astype("i2"))
    assert len(written) == 3 and path.read_bytes() == before


@pytest.mark.parametrize("sums", [(), ("CHECKSUM", "DATASUM"), ("DATASUM",)], ids=str)
@pytest.mark.parametrize("of_image", [True, False])
def test_sums_are_those_that_were_there_and_right(of_image, sums, tmp_path):
    plain, path, restored = tmp_path / "plain.fits", tmp_path / "a.fits.fz", tmp_path / "restored.fits"
    fits.PrimaryHDU(sample()).writeto(plain, checksum=of_image)
    tc.pack(plain, path, checksum=False)
    if sums:
        with fits.open(path, mode="update", disable_image_compression=True) as hdus:
            hdus[1].add_checksum() if "CHECKSUM" in sums else hdus[1].add_datasum()
    names = ("CHECKSUM", "DATASUM", "ZHECKSUM", "ZDATASUM")
    before = [name for name in names if name in fits.getheader(path, 1, disable_image_compression=True)]
    tc.replace_pixels(path, np.s_[5:40, 7:60:2], 11)
    header = fits.getheader(path, 1, disable_image_compression=True)
    assert [name for name in names if name in header] == before
    assert tc.verify(path).good
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # unpack warns of stale sums of the image
        tc.unpack(path, restored)
    assert tc.verify(restored).good


def through_data(path):
    with tc.open(path, mode="update") as hdus:
        hdus[1].data[0] = 7.25


def through_copy(path):
    with tc.open(path) as hdus:
        hdus[1].data[0] = 7.25
        hdus.writeto(path.with_name("b.fits"))
    path.with_name("b.fits").replace(path)


def through_salvage(path):
    content = path.read_bytes()
    with FileSource(path) as source:
        found = find_image(source)
        _, table = read_table(source, found)
        at = found.data_offset + int(table.offset[0])
        nbytes = int(table.nbytes[0])
    path.write_bytes(content[:at] + b"\xff" * nbytes + content[at + nbytes:])
    tc.salvage(path, path.with_name("b.fits"))
    path.with_name("b.fits").replace(path)


EDITS = {
    "replace_pixels": lambda path: tc.replace_pixels(path, np.s_[0], 7.25), "data": through_data, "copy": through_copy,
    "salvage": through_salvage,
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_tile_that_cannot_be_quantized_goes_where_the_table_keeps_such(edit, tmp_path):
    """Where there is UNCOMPRESSED_DATA, a column GZIP_COMPRESSED_DATA would hide it from cfitsio."""
    pixels = np.random.default_rng(1).integers(0, 99, (4, 8)).astype("i4")
    raw = np.full(8, 2.5, ">f4")
    image = CompressedImage(pixels.shape, (1, 8), -32, "RICE_1", [("ZNAME1", "BYTEPIX"), ("ZVAL1", 4), ("EXTNAME", "IMAGE")])
    image.add_column("ZSCALE", [0.5] * 4, "1D", ">f8")
    image.add_column("ZZERO", [10.0] * 4, "1D", ">f8")
    image.add_tiles([rice_1(row, 4) for row in pixels[:3]] + [None])
    image.add_tiles([None] * 3 + [raw.tobytes()], column="UNCOMPRESSED_DATA", form="1PE", element=4)
    path = image.write(tmp_path / "a.fits")
    fitsio, want = needs.module("fitsio"), tc.read_image(path)
    EDITS[edit](path)
    want[0] = np.nan if edit == "salvage" else 7.25
    assert_array_equal(tc.read_image(path), want)
    assert_array_equal(fitsio.read(str(path), ext=1)[[0, 3]], want[[0, 3]])
    with FileSource(path) as source:
        _, table = read_table(source, find_image(source))
    assert table.column.tolist() == [3, 1, 1, 3]  # astropy's layout has an empty column GZIP_COMPRESSED_DATA
