"""pack and unpack: whole files, byte for byte where nothing is lost, atomic, with a report of what was done."""

import os
import shutil
import subprocess
from contextlib import nullcontext

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal
from support import needs

import astropy_tilecomp as tc

STALE_SUMS = {"pocs_unsolved.fits"}  # its CHECKSUM was wrong before it was packed
NOT_STANDARD = {"pdl_m51.fits", "blackbox-images_16bit-mono-M34.fit", "blackbox-images_8bit-mono-Convertjup_0_1_L_01.FIT"}


def plain_files():
    folder = needs.SHARED / "data" / "real" / "plain"
    return sorted(folder.glob("*.fi*")) + sorted(folder.glob("*.FI*")) if folder.exists() else []


each_plain = pytest.mark.parametrize("path", plain_files(), ids=lambda path: path.name)


def test_the_plain_files_are_there():
    needs.shared("data/real/plain")
    assert len(plain_files()) == 17


@each_plain
def test_a_lossless_file_comes_back(path, tmp_path):
    packed, restored = tmp_path / (path.name + ".fz"), tmp_path / path.name
    if path.name in NOT_STANDARD:
        with pytest.warns(tc.TileCompWarning, match="padd"):
            report = tc.pack(path, packed, lossless=True, verify=True)
    else:
        report = tc.pack(path, packed, lossless=True, verify=True)
    assert report.nbytes_after == packed.stat().st_size
    stale = path.name in STALE_SUMS
    with pytest.warns(tc.TileCompWarning, match="CHECKSUM or DATASUM") if stale else nullcontext():
        tc.unpack(packed, restored)
    original, again = path.read_bytes(), restored.read_bytes()
    if path.name in NOT_STANDARD:
        assert again[:len(original) // 2880 * 2880 - 2880] == original[:len(original) // 2880 * 2880 - 2880]
        assert len(again) == -(-len(original) // 2880) * 2880
    elif stale:
        assert tc.verify(restored).good and not tc.verify(path).good
        assert len(again) == len(original) and again[11520:] == original[11520:]
    else:
        assert again == original


@each_plain
def test_funpack_restores_the_same_pixels(path, tmp_path):
    funpack = needs.tool("funpack")
    if fits.getheader(path)["BITPIX"] == 64:
        with pytest.raises(subprocess.CalledProcessError):  # cfitsio has no 64-bit images; astropy reads them
            subprocess.run([needs.tool("fpack"), "-O", tmp_path / "c.fz", path], check=True, capture_output=True)
        return
    if path.name in NOT_STANDARD:
        with pytest.warns(tc.TileCompWarning):
            tc.pack(path, tmp_path / "a.fits.fz", lossless=True)
    else:
        tc.pack(path, tmp_path / "a.fits.fz", lossless=True)
    subprocess.run([funpack, "-O", tmp_path / "b.fits", tmp_path / "a.fits.fz"], check=True, capture_output=True)
    with fits.open(path, do_not_scale_image_data=True) as expected, fits.open(
            tmp_path / "b.fits", do_not_scale_image_data=True) as found:
        assert len(found) == len(expected)
        for one, other in zip(expected, found):
            if one.data is not None and one.is_image:
                assert_array_equal(other.data, one.data)


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (["-r"], {}),
        (["-r", "-t", "50,40"], {"tile_shape": (40, 50)}),
        (["-r", "-w"], {"tile_shape": "whole"}),
        (["-g1"], {"algorithm": "GZIP_1"}),
        (["-g2"], {"algorithm": "GZIP_2"}),
        (["-h"], {"algorithm": "HCOMPRESS_1"}),
        (["-h", "-s", "2"], {"algorithm": "HCOMPRESS_1", "hcomp_scale": 2}),
        (["-p"], {"algorithm": "PLIO_1"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
@pytest.mark.parametrize("dtype", ["u1", "i2", "i4"])
def test_integer_tiles_equal_those_of_fpack(options, settings, dtype, tmp_path):
    fpack = needs.tool("fpack")
    rng = np.random.default_rng(3)
    image = np.clip(rng.normal(60, 12, (120, 130)), 0, 200).astype(dtype)
    fits.PrimaryHDU(image).writeto(tmp_path / "a.fits")
    subprocess.run([fpack, *options, "-O", tmp_path / "theirs.fz", tmp_path / "a.fits"], check=True, capture_output=True)
    tc.pack(tmp_path / "a.fits", tmp_path / "ours.fz", **settings)
    assert_same_table(tmp_path / "ours.fz", tmp_path / "theirs.fz", gzip="-g" in options[0])


@pytest.mark.parametrize("tile", [None, (40, 50), (120, 130)], ids=str)
@pytest.mark.parametrize(("method", "option"), [(1, "-q77"), (2, "-qz77"), (-1, "-q0")], ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_float_tiles_equal_those_of_fpack(tile, method, option, dtype, tmp_path):
    """Quantized by the same level and seed: every stream, ZSCALE and ZZERO."""
    fpack = needs.tool("fpack")
    rng = np.random.default_rng(8)
    image = rng.normal(100, 9, (120, 130)).astype(dtype)
    image[5, 7] = 0
    image[30:50, 20:90] = 3  # a constant patch
    fits.PrimaryHDU(image).writeto(tmp_path / "a.fits")
    tiling = [] if tile is None else ["-t", f"{tile[1]},{tile[0]}"]
    command = [fpack, option, "4", *tiling, "-O", tmp_path / "theirs.fz", tmp_path / "a.fits"]
    subprocess.run(command, check=True, capture_output=True)
    tc.pack(tmp_path / "a.fits", tmp_path / "ours.fz", tile_shape=tile, quantize_method=method, dither_seed=77, quantize_level=4)
    assert_same_table(tmp_path / "ours.fz", tmp_path / "theirs.fz")


def assert_same_table(ours, theirs, gzip=False):
    """The tables of two files are equal: every stream (with gzip their pixels), every scale and zero point."""
    with fits.open(ours, disable_image_compression=True) as one, fits.open(theirs, disable_image_compression=True) as other:
        assert one[1].columns.names == other[1].columns.names
        for name in one[1].columns.names:
            if gzip and name.endswith("COMPRESSED_DATA"):
                continue
            for found, expected in zip(one[1].data[name], other[1].data[name]):
                assert_array_equal(found, expected)
    with fits.open(ours, do_not_scale_image_data=True) as one, fits.open(theirs, do_not_scale_image_data=True) as other:
        assert_array_equal(one[1].data, other[1].data)


@pytest.fixture
def mixed_file(tmp_path):
    """A file with a primary image, a table, an empty image, an image with a name, and 64-bit integers."""
    rng = np.random.default_rng(2)
    columns = [fits.Column("X", "J", array=np.arange(7)), fits.Column("NAME", "8A", array=["a"] * 7)]
    hdus = fits.HDUList([
        fits.PrimaryHDU(rng.integers(0, 1000, (30, 40), "i2")),
        fits.BinTableHDU.from_columns(columns, name="CATALOG"),
        fits.ImageHDU(name="EMPTY"),
        fits.ImageHDU(rng.integers(0, 60000, (20, 25), "u2"), name="SCI"),
        fits.ImageHDU(rng.integers(-(2**40), 2**40, (6, 7), "i8"), name="LONG"),
    ])
    hdus[0].header["OBJECT"] = ("M31", "a comment")
    hdus[0].header["HISTORY"] = "a line of history"
    hdus[0].header["LONGSTR"] = "word " * 30
    hdus[0].header["HIERARCH ESO TEL ALT"] = 12.5
    hdus[3].header.insert("EXTNAME", ("", ""))
    hdus.writeto(tmp_path / "mixed.fits", checksum=True)
    return tmp_path / "mixed.fits"


def test_other_hdus_are_copied(mixed_file, tmp_path):
    report = tc.pack(mixed_file, verify=True)
    assert [(hdu.action, hdu.algorithm) for hdu in report.hdus] == [
        ("packed", "RICE_1"), ("copied", ""), ("copied", ""), ("packed", "RICE_1"), ("packed", "GZIP_2")]
    assert report.output == str(mixed_file) + ".fz"
    with fits.open(report.output, checksum=True) as packed, fits.open(mixed_file) as original:
        assert [hdu.name for hdu in packed[2:]] == [hdu.name for hdu in original[1:]]
        packed.verify("exception")
        assert_array_equal(packed["SCI"].data, original["SCI"].data)
    tc.unpack(report.output, tmp_path / "again.fits")
    assert (tmp_path / "again.fits").read_bytes() == mixed_file.read_bytes()


def test_keywords_of_the_image_go_before_the_arguments(tmp_path):
    image = np.random.default_rng(1).normal(50, 5, (40, 60)).astype("f4")
    header = fits.Header([("FZALGOR", "GZIP_1"), ("FZTILE", "(20,10)"), ("FZQVALUE", 8.0), ("FZDTHRSD", 77),
                          ("FZQMETHD", "SUBTRACTIVE_DITHER_2")])
    left = fits.ImageHDU(np.zeros((5, 5), "i2"), fits.Header([("FZALGOR", "NONE")]))
    fits.HDUList([fits.PrimaryHDU(image, header), left]).writeto(tmp_path / "a.fits")
    report = tc.pack(tmp_path / "a.fits", algorithm="RICE_1")
    assert report.hdus[1].action == "copied"
    header = fits.getheader(report.output, 1, disable_image_compression=True)
    keywords = ("ZCMPTYPE", "ZTILE1", "ZTILE2", "ZDITHER0", "ZQUANTIZ")
    assert [header[keyword] for keyword in keywords] == ["GZIP_1", 20, 10, 77, "SUBTRACTIVE_DITHER_2"]


def test_unpack_says_that_a_compressed_table_stays_one(tmp_path):
    table = fits.BinTableHDU(np.zeros(3, [("a", "i4")]))
    table.header["ZTABLE"] = True
    fits.HDUList([fits.PrimaryHDU(), table]).writeto(tmp_path / "a.fits.fz")
    with pytest.warns(tc.TileCompWarning, match="HDU 1 is a compressed table, which is copied as it is"):
        tc.unpack(tmp_path / "a.fits.fz")
    assert (tmp_path / "a.fits").read_bytes() == (tmp_path / "a.fits.fz").read_bytes()


@pytest.mark.parametrize("algorithm", ["RICE", "rice_1", "ZIP"])
def test_an_algorithm_that_there_is_not_goes_nowhere(mixed_file, algorithm):
    with pytest.raises(tc.HeaderError, match=f"'{algorithm}', expected one of RICE_1, GZIP_1"):
        tc.pack(mixed_file, algorithm=algorithm)
    assert not mixed_file.with_suffix(".fits.fz").exists()


def test_what_an_algorithm_cannot_hold_goes_to_gzip(tmp_path):
    image = np.arange(-50, 50, dtype="i2").reshape(10, 10)
    fits.PrimaryHDU(image).writeto(tmp_path / "negative.fits")
    with pytest.warns(tc.TileCompWarning, match="HDU 0 is compressed by GZIP_2: tile"):
        report = tc.pack(tmp_path / "negative.fits", algorithm="PLIO_1")
    assert report.hdus[0].algorithm == "GZIP_2"
    assert_array_equal(tc.read_image(report.output), image)


def test_nothing_is_overwritten_unless_asked(mixed_file):
    output = str(mixed_file) + ".fz"
    tc.pack(mixed_file)
    before = os.stat(output).st_mtime_ns
    with pytest.raises(FileExistsError, match="overwrite=True"):
        tc.pack(mixed_file)
    assert os.stat(output).st_mtime_ns == before
    tc.pack(mixed_file, overwrite=True)
    with pytest.raises(FileExistsError):
        tc.unpack(output)


def test_a_damaged_file_leaves_nothing_behind(mixed_file, tmp_path):
    packed = tmp_path / "a.fits.fz"
    tc.pack(mixed_file, packed)
    shutil.copy(packed, tmp_path / "cut.fits.fz")
    os.truncate(tmp_path / "cut.fits.fz", 2880 * 5 + 700)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(tc.TileCompError):
        tc.unpack(tmp_path / "cut.fits.fz")
    assert sorted(os.listdir(tmp_path)) == before


def test_a_cut_image_is_not_packed(tmp_path, mixed_file):
    os.truncate(mixed_file, mixed_file.stat().st_size - 2880 - 100)
    with pytest.raises(tc.HeaderError, match="reaches to byte"):
        tc.pack(mixed_file, tmp_path / "x.fz")
    assert not (tmp_path / "x.fz").exists()


def test_checksums_of_a_lossy_image_are_made_anew(tmp_path):
    image = np.random.default_rng(4).normal(10, 1, (50, 50)).astype("f4")
    fits.PrimaryHDU(image).writeto(tmp_path / "a.fits", checksum=True)
    tc.pack(tmp_path / "a.fits")
    tc.unpack(tmp_path / "a.fits.fz", tmp_path / "b.fits")
    with fits.open(tmp_path / "b.fits", checksum=True) as hdus:  # a wrong one is a warning, and warnings are errors
        assert hdus[0].verify_checksum() == 1
        assert hdus[0].verify_datasum() == 1
        assert np.abs(hdus[0].data - image).max() < 0.2


def test_keywords_of_the_empty_primary_come_along(tmp_path):
    image = np.arange(12, dtype="i2").reshape(3, 4)
    fits.PrimaryHDU(image).writeto(tmp_path / "a.fits")
    tc.pack(tmp_path / "a.fits")
    with fits.open(tmp_path / "a.fits.fz", mode="update", disable_image_compression=True) as hdus:
        hdus[0].header["ADDED"] = 7
    tc.unpack(tmp_path / "a.fits.fz", tmp_path / "b.fits")
    header = fits.getheader(tmp_path / "b.fits")
    assert header["ADDED"] == 7
    assert header["NAXIS1"] == 4


def test_a_pack_that_is_verified_warns_of_nothing(tmp_path, recwarn):
    fits.ImageHDU(np.arange(600, dtype="i2").reshape(20, 30)).writeto(tmp_path / "a.fits")
    tc.pack(tmp_path / "a.fits", verify=True)
    tc.advise(np.arange(6000, dtype="i2").reshape(60, 100), algorithms=["GZIP_2"])
    assert recwarn.list == []


def test_progress_ends_at_the_size_of_the_file(mixed_file):
    calls = []
    tc.pack(mixed_file, on_progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (mixed_file.stat().st_size,) * 2
    assert calls == sorted(calls)


def test_a_url_needs_an_output(tmp_path):
    with pytest.raises(ValueError, match="output="):
        tc.pack(b"SIMPLE  =                    T")
    (tmp_path / "a.fits").write_bytes(b"")
    with pytest.raises(ValueError, match=r"does not end in \.fz"):
        tc.unpack(tmp_path / "a.fits")
