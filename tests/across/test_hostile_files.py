"""Files made to do harm, each a case that once hung, ran out of memory or raised what nobody expects."""

import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits
from astropy.utils.exceptions import AstropyUserWarning
from numpy.testing import assert_array_equal
from support.small_files import PRIMARY, CompressedImage, gzip_1, gzipped, rice_1, rice_cards

import astropy_tilecomp as tc

PIXELS = np.arange(48, dtype="i2").reshape(6, 8)


def changed(keyword, value):
    """The bytes of a compressed HDU in which one card has another value."""
    data = bytearray(gzipped(PIXELS, (3, 4)).hdu_bytes())
    at = data.index(f"{keyword:<8}= ".encode())
    data[at + 10:at + 80] = f"{value:>20}".ljust(70).encode()
    return bytes(data)


NO_SIZE = [("GCOUNT", "-30"), ("PCOUNT", "-6000"), ("PCOUNT", "'text'"), ("NAXIS1", "'text'"), ("BITPIX", "'text'"),
           ("GCOUNT", "'text'"), ("GCOUNT", "1.5"), ("NAXIS2", str(2**70))]


@pytest.mark.parametrize(("keyword", "value"), NO_SIZE)
@pytest.mark.filterwarnings("ignore::astropy.utils.exceptions.AstropyUserWarning")
def test_a_header_that_tells_no_size_ends_the_list(tmp_path, keyword, value):
    """Astropy alone reads the same HDU for ever where the size is negative, and raises TypeError or KeyError elsewhere."""
    path = tmp_path / "size.fits"
    good = gzipped(PIXELS, (3, 4)).hdu_bytes()
    path.write_bytes(PRIMARY + good + changed(keyword, value) + good)
    with tc.open(path) as hdul:
        assert_array_equal(hdul[1].data, PIXELS)
        if keyword != "NAXIS2":
            with pytest.warns(tc.TileCompWarning, match="HDU 2 and all behind it are left out"):
                assert len(hdul) == 2
        assert len(hdul) <= 3
    with tc.enabled(), fits.HDUList.fromstring(path.read_bytes()) as hdul:
        assert_array_equal(hdul[1].data, PIXELS)
    assert_array_equal(tc.read_image(path), PIXELS)
    with pytest.raises(tc.TileCompError):
        tc.read_image(path, hdu=3)


TEXTS = ["GCOUNT  = 'text'", "gcount  = 'text'", " GCOUNT = 'text'", "GCOUNT    text", "GCOUNT  ='text'", "HIERARCH GCOUNT = 'text'"]
AXES = ["NAXIS   =           2147483648", "NAXIS   = 1000", "HIERARCH NAXIS = 9223372036854775807"]
ONLY_CAREFUL = {*TEXTS[3:], AXES[2]}  # cards that astropy's fast way of reading a file takes for something else
IMAGE = PRIMARY.replace(b"SIMPLE  =                    T", b"XTENSION= 'IMAGE   '          ")


@pytest.mark.parametrize("card", TEXTS)
@pytest.mark.parametrize("way", ["file", "careful", "memory"])
@pytest.mark.filterwarnings("ignore::astropy.utils.exceptions.AstropyUserWarning")
def test_a_size_that_is_text_is_never_repeated(tmp_path, card, way):
    """Astropy alone multiplies it by the other sizes, here to 6 GB, before it sees that it is none."""
    require_nothing_is_read(tmp_path / "text.fits", "GCOUNT", card, changed("NAXIS2", 2**24), way)


@pytest.mark.parametrize("card", AXES)
@pytest.mark.parametrize("way", ["file", "careful", "memory"])
@pytest.mark.filterwarnings("ignore::astropy.utils.exceptions.AstropyUserWarning")
def test_axes_that_fits_does_not_know_are_never_listed(tmp_path, card, way):
    """Astropy alone lists them all, before it looks for any, where the HDU is an image."""
    require_nothing_is_read(tmp_path / "axes.fits", "NAXIS", card, IMAGE, way)


def require_nothing_is_read(path, keyword, card, broken, way):
    """The HDU with that card in the place of another ends the list, in little memory, unless astropy does not see the card."""
    start = broken.index(f"{keyword:<8}=".encode())
    data = bytearray(PRIMARY + broken[:start] + card.ljust(80).encode() + broken[start + 80:])
    if way == "careful":
        data[len(PRIMARY) + 79] = 0xe9  # no ASCII
    path.write_bytes(data)
    tracemalloc.start()
    if way == "file" and card in ONLY_CAREFUL:
        with tc.open(path) as hdul:
            assert len(hdul) == 2
    else:
        with pytest.warns(tc.TileCompWarning, match=f"HDU 1 and all behind it are left out.*(?i:{keyword})"):
            if way == "memory":
                with tc.enabled(), fits.HDUList.fromstring(path.read_bytes()) as hdul:
                    assert len(hdul) == 1
            else:
                with tc.open(path) as hdul:
                    assert len(hdul) == 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24


HARMLESS = ["NAXIS4  = 'none'", "PCOUNT  = 'none'", "GCOUNT  = 'none'", "HIERARCH NAXIS1 = 'wave'", "HIERARCH pcount = 'wave'",
            "HISTORY NAXIS   = 'none'", "COMMENT = GCOUNT 'none'"]


@pytest.mark.parametrize("card", [*HARMLESS, "NAXIS1  = 'none'"])
def test_text_in_a_header_without_axes(tmp_path, card):
    """Astropy multiplies nothing."""
    start = PRIMARY.index(b"END   ")
    header = PRIMARY[:start] + card.ljust(80).encode() + PRIMARY[start:-80]
    require_all_is_read(tmp_path / "harmless.fits", header + gzipped(PIXELS, (3, 4)).hdu_bytes())


@pytest.mark.parametrize("card", HARMLESS)
def test_text_that_is_no_size_of_a_table(tmp_path, card):
    """Astropy does not multiply by it, for the table has not that many axes, or a later card of the keyword counts."""
    good = gzipped(PIXELS, (3, 4)).hdu_bytes()
    start = good.index(b"PCOUNT  =")
    odd = good[:start] + card.ljust(80).encode() + good[start:].replace(b" " * 80, b"", 1)
    require_all_is_read(tmp_path / "harmless.fits", PRIMARY + odd + good)


def require_all_is_read(path, data):
    """Our list has the HDUs that astropy's has, and the pixels of the last are right."""
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AstropyUserWarning)
        with fits.open(path) as hdul:
            expected = [type(hdu).__name__ for hdu in hdul]
        with tc.open(path) as hdul:
            assert [type(hdu).__name__ for hdu in hdul] == expected
            assert_array_equal(hdul[-1].data, PIXELS)


def test_text_behind_the_end_is_no_size(tmp_path):
    path = tmp_path / "behind.fits"
    path.write_bytes(PRIMARY[:-80] + b"NAXIS1  = 'text'".ljust(80) + gzipped(PIXELS, (3, 4)).hdu_bytes())
    with tc.open(path) as hdul:
        assert_array_equal(hdul[1].data, PIXELS)


def test_an_end_that_astropy_passes_over(tmp_path):
    """What its fast way of reading takes for a card of no meaning ends the header for its careful one only."""
    path = tmp_path / "end.fits"
    no_end = PRIMARY.replace(b"END".ljust(80), b"END          !".ljust(80))
    path.write_bytes(no_end + PRIMARY.replace(b"NAXIS   =                    0", b"NAXIS   =           1210731099"))
    with pytest.warns(tc.TileCompWarning, match="all behind it are left out.*1210731099"), pytest.raises(OSError, match="corrupt"):
        tc.open(path)


@pytest.mark.parametrize("first", [b"", PRIMARY], ids=["the first", "the second"])
def test_a_header_without_end_is_not_read_to_the_end_of_a_terabyte(tmp_path, first):
    path = tmp_path / "endless.fits"
    path.write_bytes(first + (b"XTENSION= 'IMAGE   '" if first else b"SIMPLE  =                    T").ljust(80))
    with path.open("rb+") as file:
        file.truncate(1 << 40)
    with pytest.warns(tc.TileCompWarning, match="left out.*no END card in"):
        if first:
            with tc.open(path) as hdul:
                assert len(hdul) == 1
        else:
            with pytest.raises(OSError, match="corrupt"):
                tc.open(path)


@pytest.mark.parametrize("keyword", ["ZNAXIS", "ZTILE1", "ZBITPIX", "TFORM1", "ZCMPTYPE", "ZIMAGE"])
@pytest.mark.filterwarnings("ignore::astropy.utils.exceptions.AstropyUserWarning")
def test_a_card_that_does_not_parse(tmp_path, keyword):
    """Whether astropy has read the header before or not: a named error, or no image where ZIMAGE is the card."""
    path = tmp_path / "card.fits"
    path.write_bytes(PRIMARY + changed(keyword, "(1, 2) = \x00 'x"))
    for parsed_before in (False, True):
        with tc.open(path) as hdul:
            hdu = hdul[1]
            if keyword == "ZIMAGE":
                assert not isinstance(hdu, tc.CompImageHDU)
                continue
            if parsed_before:
                hdu._bintable.header  # noqa: B018  (from here on the header is astropy's)
            for read in (lambda hdu=hdu: hdu.data, lambda hdu=hdu: hdu.section[0], lambda hdu=hdu: hdu.shape):
                with pytest.raises(tc.TileCompError):
                    read()
    with pytest.raises(tc.TileCompError):
        tc.read_image(path)


@pytest.mark.parametrize("zbitpix", [2**62, -(2**62), 2**70, 0, 64000])
def test_numbers_that_are_computed_with_are_checked_first(tmp_path, zbitpix):
    """The default of BLANK is -2**(ZBITPIX - 1): an integer of half a million terabytes."""
    image = gzipped(PIXELS, (3, 4), bitpix=zbitpix or 16).add_column("ZBLANK", np.zeros(4), "1J", ">i4")
    image.bitpix = zbitpix
    path = image.write(tmp_path / "zbitpix.fits")
    with pytest.raises(tc.HeaderError, match="ZBITPIX"):
        tc.read_image(path)
    with tc.open(path) as hdul, pytest.raises(tc.HeaderError, match="ZBITPIX"):
        hdul[1].data
    with pytest.raises(tc.HeaderError):
        tc.unpack(path, tmp_path / "unpacked.fits")


def test_a_cut_hdu_is_not_copied(tmp_path):
    """A table that the header says to have a terabyte: no copy of it is made up."""
    path, target = tmp_path / "cut.fits", tmp_path / "copy.fits"
    table = gzipped(PIXELS, (3, 4))
    table.heap_nbytes = 2**40
    path.write_bytes(PRIMARY + table.hdu_bytes(leave_out=["ZIMAGE"]))
    with pytest.raises(tc.TruncatedTileError, match="HDU 1 ends at byte"):
        tc.unpack(path, target)
    assert not target.exists()


def test_a_small_edge_tile_takes_no_memory_of_a_whole_one(tmp_path):
    """Two tiles, the first of a thousand million pixels, the second of one row: reading in it goes through the cache."""
    image = CompressedImage((32769, 32768), (32768, 32768), 16, "RICE_1", rice_cards(2))
    last_row = np.arange(32768, dtype="i2")
    image.add_tiles([None, rice_1(last_row, 2)])
    path = image.write(tmp_path / "edge.fits")
    tracemalloc.start()
    with tc.open(path) as hdul:
        assert_array_equal(hdul[1].section[32768, 100:130], last_row[100:130])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20


@pytest.mark.parametrize("algorithm", ["RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1", "NOCOMPRESS"])
@pytest.mark.parametrize("shape", [(2**31, 2**31), (2**31 - 1, 1), (1, 2**31 - 1), (2**16, 2**15)], ids=str)
def test_one_tile_of_absurd_size(tmp_path, algorithm, shape):
    """The header, one row and thirty bytes: refused or found cut, before memory of that size is asked for."""
    image = CompressedImage(shape, shape, 16, algorithm, rice_cards(2) if algorithm == "RICE_1" else [])
    path = image.add_tiles([gzip_1(PIXELS, "i2")[:30]]).write(tmp_path / "absurd.fits")
    for index in (..., np.s_[0, 0], np.s_[-1, -1]):
        with pytest.raises((tc.UnsupportedError, tc.CorruptTileError, tc.HeaderError)):
            tc.read_section(path, index, max_nbytes=1 << 28, threads=1)


@pytest.mark.skipif(sys.platform != "linux", reason="needs files with holes")
def test_a_stream_of_a_terabyte(tmp_path):
    """A file with holes may really have the bytes; memory has no place for them."""
    image = CompressedImage((6, 8), (6, 8), 16, "RICE_1", rice_cards(2), heap=rice_1(PIXELS, 2), heap_nbytes=2**40)
    path = image.set_descriptors([(2**40, 0)], form="1QB").write(tmp_path / "stream.fits")
    with path.open("r+b") as file:
        file.truncate(2**40 + 5 * 2880)
    for read in (lambda: tc.read_image(path), lambda: tc.read_image(path, on_error="fill"), lambda: tc.open(path)[1].data):
        with pytest.raises(tc.UnsupportedError, match="the stream of a tile takes 1099511627776 bytes, max_nbytes is"):
            read()


def test_a_table_larger_than_memory_may_be(tmp_path):
    """Rows that the file really has, of which the format allows two thousand million bytes each."""
    data = changed("NAXIS1", str(4 << 20)) + bytes(20 << 20)
    path = tmp_path / "rows.fits"
    path.write_bytes(PRIMARY + data[:-(len(data) % 2880)])
    with pytest.raises(tc.UnsupportedError, match="the table takes 16777216 bytes, max_nbytes is 1000000"):
        tc.read_image(path, max_nbytes=10**6)


@pytest.mark.slow
def test_a_million_missing_tiles(tmp_path, monkeypatch):
    """The first is named at once, without an error made for each of them."""
    n_tiles = 1_000_000
    image = CompressedImage((n_tiles, 1), (1, 1), 16, "RICE_1", rice_cards(2)).set_descriptors(np.zeros((n_tiles, 2)))
    image.table_bytes = lambda: bytes(8 * n_tiles)
    path = image.write(tmp_path / "missing.fits")
    errors = []
    made = tc.CorruptTileError.__init__
    monkeypatch.setattr(tc.CorruptTileError, "__init__", lambda self, *args, **kwargs: errors.append(self) or made(self, *args, **kwargs))
    for read in (lambda: tc.read_image(path), lambda: tc.read_section(path, np.s_[::2])):
        with pytest.raises(tc.CorruptTileError, match=r"tile \(0, 0\), row 0, RICE_1: no column holds data"):
            read()
    assert 2 <= len(errors) < 10
    part = tc.read_section(path, np.s_[:1000], on_error="fill", fill_value=7)
    assert_array_equal(part, 7)


@pytest.mark.parametrize(("tile", "n_rows", "error", "match"), [
    ((2**31, 2**31), None, tc.UnsupportedError, r"more than 2\*\*31 - 1 pixels"),
    ((1, 2**31), None, tc.UnsupportedError, r"more than 2\*\*31 - 1 pixels"),
    ((16, 16), None, tc.HeaderError, "NAXIS2 is 1, expected 18014398509481984, the number of tiles"),
    ((16, 16), 2**54, tc.TruncatedTileError, "the table of 18014398509481984 rows takes"),
], ids=["one tile", "row tiles", "small tiles", "small tiles announced"])
def test_an_image_of_two_thousand_million_squared(tmp_path, tile, n_rows, error, match):
    """2**31 x 2**31 pixels in one row of a table, or in as many rows as they would take and the file has not."""
    image = CompressedImage((2**31, 2**31), tile, 16, "RICE_1", rice_cards(2), n_rows=n_rows)
    path = image.add_tiles([rice_1(PIXELS, 2)]).write(tmp_path / "square.fits")
    tracemalloc.start()
    for index in (..., np.s_[0, 0], np.s_[::2**20, ::2**20]):
        with pytest.raises(error, match=match):
            tc.read_section(path, index)
        with pytest.raises((error, OSError)), tc.open(path) as hdul:    # astropy seeks past 2**57 bytes, which is one
            hdul[1].section[index]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 << 20


@pytest.mark.parametrize(("keyword", "value"), [
    ("ZCMPTYPE", "'NEW_1'"), ("ZBITPIX", "17"), ("ZNAXIS", "-1"), ("ZNAXIS1", "'x'"), ("ZTILE1", "0"), ("TFORM1", "'9Z'"),
    ("TTYPE1", "'ELSE'"), ("TFIELDS", "0"), ("ZNAXIS2", str(2**63)), ("ZNAXIS", "999"),
])
def test_a_bad_header_in_hdu_2_of_5(tmp_path, keyword, value):
    """It is told when HDU 2 is read, by a named error; the others are read."""
    good = gzipped(PIXELS, (3, 4)).hdu_bytes()
    path = tmp_path / "five.fits"
    path.write_bytes(PRIMARY + good + changed(keyword, value) + good * 3)
    with tc.open(path) as hdul:
        assert len(hdul) == 6
        for n in (5, 4, 3, 1):
            assert_array_equal(hdul[n].section[1:5], PIXELS[1:5])
            assert_array_equal(hdul[n].data, PIXELS)
        for read in (lambda: hdul[2].data, lambda: hdul[2].section[0], lambda: hdul[2].shape):
            with pytest.raises((tc.HeaderError, tc.UnsupportedError)):
                read()
    assert_array_equal(tc.read_image(path, hdu=3), PIXELS)


MUTANTS = """
import sys
sys.path.insert(0, {tests!r})
from support import fuzz_files
sys.exit(fuzz_files.main({arguments!r}))
"""


@pytest.mark.slow
def test_mutants_of_small_files():
    """Whole files with changed headers, tables and heaps, read in every way, in a process of its own: see fuzz_files.py."""
    code = MUTANTS.format(tests=str(Path(__file__).parent.parent), arguments=["--files", "400", "--seed", "20"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert done.stdout.startswith("400 files")
