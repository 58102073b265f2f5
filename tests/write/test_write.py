"""Writing piece by piece, and files that every other reader reads with equal pixels."""

import gzip
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal
from support import needs
from support.written_images import ALGORITHMS, SHAPES, holds, sample

import astropy_tilecomp as tc

DTYPES = ("u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
QUANTIZED = ({"quantize_method": -1}, {"quantize_method": 1, "dither_seed": 42}, {"quantize_method": 2, "dither_seed": 9999})


def combinations():
    """Everything that can be written: algorithm, type, shape, tile, and how floats are quantized."""
    for algorithm in ALGORITHMS:
        for dtype in DTYPES:
            for shape, tile in SHAPES:
                if not holds(algorithm, dtype, shape, tile):
                    continue
                if dtype[0] != "f":
                    yield algorithm, dtype, shape, tile, {}
                elif algorithm in ("GZIP_1", "GZIP_2", "NOCOMPRESS"):
                    yield algorithm, dtype, shape, tile, {"lossless": True}
                if dtype[0] == "f" and algorithm != "NOCOMPRESS":
                    yield from ((algorithm, dtype, shape, tile, settings) for settings in QUANTIZED
                                if not (algorithm == "PLIO_1" and settings["quantize_method"] == 2))


def read_by_astropy(path, algorithm, dtype, ndim):  # noqa: ARG001
    if algorithm == "NOCOMPRESS" and dtype in ("i8", "u8"):
        return None  # astropy 8.0 has no 64-bit NOCOMPRESS
    if algorithm == "PLIO_1" and dtype == "u2":
        return None  # astropy forgets the offset that cfitsio adds
    return fits.getdata(path, 1)


def read_by_fitsio(path, algorithm, dtype, ndim):
    if dtype in ("i8", "u8") or algorithm == "NOCOMPRESS" or ndim > 3:
        return None  # cfitsio has no 64-bit images, and another NOCOMPRESS; fitsio reads three axes at most
    return needs.module("fitsio").read(str(path), ext=1)


def read_by_rustfits(path, algorithm, dtype, ndim):  # noqa: ARG001
    if algorithm == "PLIO_1" and dtype == "u2":
        return None  # as astropy
    rustfits = needs.module("rustfits")
    try:
        with rustfits.FITS(str(path)) as hdus:
            return hdus[1].read()
    except (NotImplementedError, ValueError, OSError, RuntimeError) as error:
        assert any(word in str(error).lower() for word in ("unsupported", "not supported", "only supports", "unknown zcmptype")), str(error)
        return None


@pytest.mark.parametrize("read", [read_by_astropy, read_by_fitsio, read_by_rustfits], ids=lambda read: read.__name__)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_peers_read_equal_pixels(read, algorithm, tmp_path):
    n_read = 0
    for number, (_, dtype, shape, tile, settings) in enumerate(c for c in combinations() if c[0] == algorithm):
        path = tmp_path / f"{number}.fits"
        image = sample(dtype, shape)
        tc.write_image(path, image, algorithm=algorithm, tile_shape=tile, **settings)
        expected = tc.read_image(path)
        if dtype[0] != "f" or settings.get("lossless"):
            assert_array_equal(expected, image)
        found = read(path, algorithm, dtype, len(shape))
        if found is None:
            continue
        n_read += 1
        assert_array_equal(found, expected, err_msg=f"{algorithm} {dtype} {shape} {tile} {settings}")
    assert n_read > 10 or (algorithm == "NOCOMPRESS" and read is not read_by_astropy)


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "NOCOMPRESS"])
def test_funpack_reads_equal_pixels(algorithm, tmp_path):
    funpack = needs.tool("funpack")
    for number, (_, dtype, shape, tile, settings) in enumerate(c for c in combinations() if c[0] == algorithm):
        if dtype in ("i8", "u8"):
            continue
        path, restored = tmp_path / f"{number}.fits.fz", tmp_path / f"{number}.fits"
        tc.write_image(path, sample(dtype, shape), algorithm=algorithm, tile_shape=tile, **settings)
        subprocess.run([funpack, "-O", restored, path], check=True, capture_output=True)
        with fits.open(restored) as hdus:
            assert_array_equal(hdus[1].data, tc.read_image(path), err_msg=f"{dtype} {shape} {tile} {settings}")


def test_astropy_verifies_what_is_written(tmp_path):
    header = fits.Header([("OBJECT", "M31", "a comment"), ("CRVAL1", 10.5), ("HISTORY", "one line")])
    tc.write_image(tmp_path / "a.fits", sample("u2", (30, 40)), header, name="SCI", checksum=True)
    with fits.open(tmp_path / "a.fits", checksum=True) as hdus:
        hdus.verify("exception")
        assert hdus["SCI"].header["OBJECT"] == "M31"
        assert hdus["SCI"].header.comments["OBJECT"] == "a comment"
        assert list(hdus["SCI"].header["HISTORY"]) == ["one line"]
        assert hdus["SCI"].data.dtype == np.uint16


@pytest.mark.parametrize("dtype", ["i2", "f4"])
def test_pieces_of_any_size_make_the_same_file(dtype, tmp_path):
    image = sample(dtype, (100, 70))
    tc.write_image(tmp_path / "whole.fits", image, tile_shape=(16, 20))
    for step in (1, 7, 16, 33, 100):
        with tc.TileWriter(tmp_path / f"{step}.fits", image.shape, dtype, tile_shape=(16, 20), dither_seed=seed_of(tmp_path)) as writer:
            for start in range(0, 100, step):
                writer.write(image[start:start + step])
        assert (tmp_path / f"{step}.fits").read_bytes() == (tmp_path / "whole.fits").read_bytes()


def seed_of(folder):
    header = fits.getheader(folder / "whole.fits", 1, disable_image_compression=True)
    return header.get("ZDITHER0", 1)


@pytest.mark.parametrize("dtype", ["i2", "f4"])
def test_tiles_in_any_order(dtype, tmp_path):
    image = sample(dtype, (100, 70))
    tc.write_image(tmp_path / "whole.fits", image, tile_shape=(16, 20), dither_seed=5)
    boxes = [(row, column) for row in range(0, 7, 2) for column in range(0, 4, 2)]
    np.random.default_rng(0).shuffle(boxes)
    with tc.TileWriter(tmp_path / "any.fits", image.shape, dtype, tile_shape=(16, 20), dither_seed=5) as writer:
        for row, column in boxes:
            writer.write_tiles((row, column), image[row * 16:(row + 2) * 16, column * 20:(column + 2) * 20])
    assert_array_equal(tc.read_image(tmp_path / "any.fits"), tc.read_image(tmp_path / "whole.fits"))
    assert_array_equal(fits.getdata(tmp_path / "any.fits", 1), tc.read_image(tmp_path / "whole.fits"))


def test_a_box_that_cuts_a_tile_is_refused(tmp_path):
    writer = tc.TileWriter(tmp_path / "a.fits", (100, 70), "i2", tile_shape=(16, 20))
    with pytest.raises(ValueError, match="no box of whole tiles"), writer:
        writer.write_tiles((0, 0), np.zeros((16, 30), "i2"))
    assert not os.listdir(tmp_path)


def test_a_tile_written_twice_is_refused(tmp_path):
    writer = tc.TileWriter(tmp_path / "a.fits", (32, 20), "i2", tile_shape=(16, 20))
    with pytest.raises(ValueError, match="row 0 was written before"), writer:
        writer.write_tiles((0, 0), np.zeros((16, 20), "i2"))
        writer.write_tiles((0, 0), np.zeros((16, 20), "i2"))
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("rows", [0, 10, 99])
def test_an_incomplete_image_leaves_nothing(rows, tmp_path):
    with pytest.raises(ValueError, match=r"not written|rows were written"), tc.TileWriter(tmp_path / "a.fits", (100, 70), "i2") as writer:
        writer.write(np.zeros((rows, 70), "i2"))
    assert not os.listdir(tmp_path)


def test_an_error_of_the_caller_leaves_the_old_file(tmp_path):
    (tmp_path / "a.fits").write_bytes(b"old")
    with pytest.raises(KeyError), tc.TileWriter(tmp_path / "a.fits", (4, 4), "i2", overwrite=True) as writer:
        writer.write(np.zeros((4, 4), "i2"))
        raise KeyError
    assert os.listdir(tmp_path) == ["a.fits"]
    assert (tmp_path / "a.fits").read_bytes() == b"old"
    writer = tc.TileWriter(tmp_path / "a.fits", (4, 4), "i2", overwrite=True)
    writer.abort()
    assert (tmp_path / "a.fits").read_bytes() == b"old"


def test_too_many_rows(tmp_path):
    with pytest.raises(ValueError, match="101 rows for an image of 100"), tc.TileWriter(tmp_path / "a.fits", (100, 7), "i2") as writer:
        writer.write(np.zeros((101, 7), "i2"))


def test_append_to_a_file(tmp_path):
    first, second = sample("i2", (20, 30)), sample("f4", (10, 12))
    tc.write_image(tmp_path / "a.fits", first, name="FIRST")
    before = (tmp_path / "a.fits").read_bytes()
    tc.write_image(tmp_path / "a.fits", second, name="SECOND", append=True, lossless=True)
    assert (tmp_path / "a.fits").read_bytes().startswith(before)
    assert_array_equal(tc.read_image(tmp_path / "a.fits", hdu="SECOND"), second)
    assert_array_equal(tc.read_image(tmp_path / "a.fits", hdu="FIRST"), first)


def test_nothing_is_appended_to_a_file_that_is_cut(tmp_path):
    path = tmp_path / "a.fits"
    fits.ImageHDU(np.ones(1440, "i2")).writeto(path)  # no padding behind the pixels
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(tc.HeaderError, match=r"HDU 1 reaches to byte \d+, the file has \d+.*salvage"):
        tc.write_image(path, sample("i2", (20, 30)), append=True)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_only_files_are_replaced(tmp_path, make):
    make(tmp_path / "a.fits")
    for overwrite in (False, True):
        with pytest.raises(FileExistsError, match="a folder, a device or a pipe: only a file is replaced"):
            tc.write_image(tmp_path / "a.fits", sample("i2", (20, 30)), overwrite=overwrite)
    assert not (tmp_path / "a.fits").is_file()


def test_values_that_do_not_fit(tmp_path):
    with pytest.raises(ValueError, match="do not all fit"), tc.TileWriter(tmp_path / "a.fits", (2, 2), "i2") as writer:
        writer.write(np.array([[1, 2], [3, 70000]]))
    with pytest.raises(TypeError, match="pixels of type float64"), tc.TileWriter(tmp_path / "a.fits", (2, 2), "i2") as writer:
        writer.write(np.array([[1.5, 2], [3, 4]]))
    with pytest.raises(tc.HeaderError, match="GZIP_2"):
        tc.write_image(tmp_path / "a.fits", np.zeros((4, 4)), algorithm="RICE_1", lossless=True)
    with pytest.raises(tc.NotEncodableError, match=r"tile \(0, 0\), row 0"):
        tc.write_image(tmp_path / "a.fits", np.full((4, 4), -1, "i2"), algorithm="PLIO_1")
    assert not os.listdir(tmp_path)


def test_lossless_floats_keep_every_bit(tmp_path):
    bits = np.random.default_rng(0).integers(0, 2**32, (40, 50), "u4")
    image = bits.view("f4")
    image[0, :4] = [np.nan, np.inf, -np.inf, -0.0]
    tc.write_image(tmp_path / "a.fits", image, lossless=True)
    assert tc.read_image(tmp_path / "a.fits").tobytes() == image.tobytes()


@pytest.mark.parametrize("settings", [{"dither_seed": -1}, {"dither_seed": 7}], ids=str)
def test_the_same_pixels_make_the_same_file(settings, tmp_path):
    image = sample("f4", (50, 60))
    for name in ("a.fits", "b.fits"):
        tc.write_image(tmp_path / name, image, **settings)
    assert (tmp_path / "a.fits").read_bytes() == (tmp_path / "b.fits").read_bytes()


def test_an_empty_image(tmp_path):
    tc.write_image(tmp_path / "a.fits", np.zeros((0, 5), "i2"))
    assert tc.read_image(tmp_path / "a.fits").shape == (0, 5)


@pytest.mark.slow
def test_killed_at_any_moment_the_old_file_or_the_new_one(tmp_path):
    """kill -9 at 50 random moments of a write that replaces a file."""
    program = textwrap.dedent("""
        import sys, numpy as np, astropy_tilecomp as tc
        print("ready", flush=True)
        for n in range(10**6):
            tc.write_image(sys.argv[1], np.full((600, 400), n % 1000, "i2"), overwrite=True, tile_shape=(50, 50))
    """)
    path = tmp_path / "a.fits"
    tc.write_image(path, np.full((600, 400), 999, "i2"))
    rng = np.random.default_rng(1)
    for _ in range(50):
        with subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE, cwd=needs.REPOSITORY) as writer:
            writer.stdout.readline()
            try:
                writer.wait(rng.uniform(0.005, 0.06))
            except subprocess.TimeoutExpired:
                writer.send_signal(signal.SIGKILL)
        image = tc.read_image(path)
        assert image.shape == (600, 400)
        assert (image == image[0, 0]).all()


IMAGE = np.arange(9).reshape(3, 3)


@pytest.mark.parametrize(
    ("image", "options", "error", "message"),
    [
        (np.int16(3), {}, tc.HeaderError, "the image has no axis"),
        (np.full((3, 3), -5, "i2"), {"algorithm": "PLIO_1"}, tc.NotEncodableError, r"row 0, PLIO_1: a pixel is outside of 0 to 16777215"),
        (np.ones((3, 3), bool), {}, TypeError, "FITS has no image of type bool, but of integers"),
        (np.ma.masked_less(np.arange(9.0).reshape(3, 3), 2), {}, ValueError, "2 of 9 pixels are masked, and an image has no mask"),
        (IMAGE, {"tile_shape": 5}, TypeError, "tile_shape is 5, expected 2 integers"),
        (IMAGE, {"tile_shape": (2.5, 3)}, TypeError, r"tile_shape is \(2.5, 3\), expected 2 integers"),
        (IMAGE / 7, {"quantize_level": "high"}, ValueError, "quantize_level is 'high', expected a finite number"),
        (np.ones((9, 9), "i2"), {"algorithm": "HCOMPRESS_1", "hcomp_scale": np.inf}, ValueError, "hcomp_scale is inf, expected a finite"),
        (IMAGE, {"name": 5}, TypeError, "name is 5, expected a string"),
    ],
    ids=["no axis", "PLIO_1", "bool", "masked", "no sequence", "no integers", "no number", "no scale", "no name"],
)
def test_what_cannot_be_written(tmp_path, image, options, error, message):
    with pytest.raises(error, match=message):
        tc.write_image(tmp_path / "a.fits", image, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("header", "error", "message"),
    [
        ({"OBJECT": "Mén"}, tc.HeaderError, "OBJECT is 'Mén', expected printable ASCII"),
        ({"OBJECT": "M\n31"}, tc.HeaderError, "expected printable ASCII"),
        ({"TWO WORDS": 1}, tc.HeaderError, "'TWO WORDS' is no keyword of a value"),
        ({"COMMENT": "a"}, tc.HeaderError, "'COMMENT' is no keyword of a value.*an astropy Header takes comments"),
        ({"MUCHTOOLONG": 1}, tc.HeaderError, "'MUCHTOOLONG' is no keyword of a value"),
        ({"EXPTIME": (3, "seconds")}, TypeError, r"EXPTIME is \(3, 'seconds'\), expected a string"),
        ("OBJECT", TypeError, "header is 'OBJECT', expected an astropy Header"),
        ([("OBJECT", "M31")], TypeError, "expected an astropy Header"),
        (5, TypeError, "header is 5, expected an astropy Header"),
    ],
    ids=str,
)
def test_headers_that_would_make_no_fits_file(tmp_path, header, error, message):
    with pytest.raises(error, match=message):
        tc.write_image(tmp_path / "a.fits", IMAGE, header)
    assert list(tmp_path.iterdir()) == []


def test_headers_of_every_kind(tmp_path):
    wanted = fits.Header({"OBJECT": "M31", "GAIN": 1.5})
    for header in (wanted, {"object": "M31", "GAIN": np.float32(1.5)}, wanted.cards, [str(card) for card in wanted.cards]):
        tc.write_image(tmp_path / "a.fits", IMAGE, header, overwrite=True)
        found = fits.getheader(tmp_path / "a.fits", 1)
        assert (found["OBJECT"], found["GAIN"]) == ("M31", 1.5)


def test_long_strings_of_cards(tmp_path):
    header = fits.Header({"NOTE": "x" * 200, "GAIN": 1.5})
    tc.write_image(tmp_path / "a.fits", IMAGE, header.cards)
    found = fits.getheader(tmp_path / "a.fits", 1)
    assert (found["NOTE"], found["GAIN"]) == ("x" * 200, 1.5)


def test_a_masked_array_without_masked_pixels(tmp_path):
    tc.write_image(tmp_path / "a.fits", np.ma.masked_less(IMAGE, 0))
    assert_array_equal(tc.read_image(tmp_path / "a.fits"), IMAGE)


def test_a_folder_that_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        tc.write_image(tmp_path / "nowhere" / "a.fits", np.ones((3, 3), "i2"))
    assert caught.value.filename == str(tmp_path / "nowhere" / "a.fits")


@pytest.mark.parametrize("text", ["x" * 100, "it's " * 40 + "z"])
def test_long_strings_of_a_mapping_and_long_names_are_written(tmp_path, text):
    path = tmp_path / "a.fits"
    tc.write_image(path, np.zeros((3, 4), "i2"), {"LONGSTR": text, "OTHER": 3}, name=text.strip())
    with fits.open(path) as hdul:
        hdul.verify("exception")
        assert (hdul[1].header["LONGSTR"], hdul[1].header["OTHER"]) == (text, 3)
        assert hdul[1].header["EXTNAME"] == text


def test_names_that_end_in_gz_are_gzipped(tmp_path):
    image, plain, path = np.arange(600, dtype="i2").reshape(20, 30), tmp_path / "plain.fits.fz", tmp_path / "a.fits.fz.gz"
    for target in (plain, path):
        tc.write_image(target, image, checksum=True)
    assert gzip.decompress(path.read_bytes()) == plain.read_bytes()
    assert_array_equal(tc.read_image(path), image)
    tc.unpack(plain, tmp_path / "u.fits.gz")
    assert_array_equal(fits.getdata(tmp_path / "u.fits.gz"), image)
    tc.pack(tmp_path / "u.fits.gz", tmp_path / "k.fits.fz.gz", verify=True)
    assert_array_equal(tc.read_image(tmp_path / "k.fits.fz.gz"), image)
    assert tc.salvage(plain, tmp_path / "s.fits.gz").intact
    assert_array_equal(tc.read_image(tmp_path / "s.fits.gz"), image)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("ending", [".jpg", ".png", ".npy", ".bz2", ".zip"])
def test_names_of_other_formats_are_refused(ending, tmp_path):
    image, plain = np.zeros((4, 5), "i2"), tmp_path / "plain.fits.fz"
    tc.write_image(plain, image)
    for write in (lambda path: tc.write_image(path, image), lambda path: tc.unpack(plain, path), lambda path: tc.pack(plain, path),
                  lambda path: tc.salvage(plain, path)):
        with pytest.raises(ValueError, match=rf"\{ending}"):
            write(tmp_path / f"a{ending}")
    assert [path.name for path in tmp_path.iterdir()] == ["plain.fits.fz"]


@pytest.mark.parametrize("letter", ["a", "ä"])
def test_the_longest_names_can_be_written(letter, tmp_path):
    name = letter * ((255 - len(".fits.fz")) // len(letter.encode())) + ".fits.fz"
    tc.write_image(tmp_path / name, np.zeros((4, 5), "i2"))
    tc.replace_pixels(tmp_path / name, np.s_[0, 0], 3)
    assert tc.read_image(tmp_path / name)[0, 0] == 3
