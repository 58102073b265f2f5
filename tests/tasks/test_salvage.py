"""salvage: good tiles byte for byte, bad ones blank, a report of what was lost, and a file that every reader reads."""

import subprocess
import warnings

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal
from support import needs
from support.damaged_files import BROKEN_ROWS, break_tiles, pixels_of, star_image, streams_of, write_broken
from support.encoded_images import encode_image
from support.small_files import CompressedImage

import astropy_tilecomp as tc
from astropy_tilecomp.tasks.salvage import salvaged_name

CASES = [
    ("i2", {}), ("i2", {"algorithm": "HCOMPRESS_1"}), ("i2", {"algorithm": "PLIO_1"}), ("i2", {"algorithm": "GZIP_2"}),
    ("u2", {}), ("u1", {}), ("i4", {}), ("i8", {}), ("f4", {}), ("f4", {"quantize_method": "SUBTRACTIVE_DITHER_2"}),
    ("f4", {"algorithm": "HCOMPRESS_1"}), ("f4", {"lossless": True}), ("f8", {"algorithm": "GZIP_1"}),
]
each_case = pytest.mark.parametrize(
    ("dtype", "options"), CASES, ids=[" ".join(map(str, (dtype, *options.values()))) for dtype, options in CASES]
)


@each_case
def test_253_of_256_tiles_are_kept(tmp_path, dtype, options):
    path, out = tmp_path / "a.fits.fz", tmp_path / "b.fits.fz"
    good = write_broken(path, dtype, **options)
    before, _ = streams_of(path)
    report = tc.salvage(path, out)
    after, _ = streams_of(out)
    assert [fault.row for fault in report.lost] == list(BROKEN_ROWS)
    assert [hdu.action for hdu in report.hdus] == ["kept", "repaired"]
    assert not report.intact
    kept = [row for row in range(256) if row not in BROKEN_ROWS]
    assert [after[row] for row in kept] == [before[row] for row in kept]
    lost = pixels_of(report.lost, good.shape)
    found = tc.read_image(out)
    assert found[~lost].tobytes() == good[~lost].tobytes()
    assert np.isnan(found[lost]).all() if dtype[0] == "f" else (found[lost] == 0).all()
    assert tc.verify(out).good
    assert tc.verify(out).hdus[1].checksum


@each_case
def test_every_reader_reads_the_result(tmp_path, dtype, options):
    path, out = tmp_path / "a.fits.fz", tmp_path / "b.fits.fz"
    write_broken(path, dtype, **options)
    report = tc.salvage(path, out)
    ours = tc.read_image(out)
    assert_array_equal(fits.getdata(out, 1), ours)
    if dtype != "i8":  # cfitsio has no 64-bit images
        fitsio = needs.module("fitsio")
        assert_array_equal(fitsio.read(str(out), ext=1), ours)
        subprocess.run([needs.tool("funpack"), "-O", tmp_path / "c.fits", out], check=True, capture_output=True)
        if dtype[0] != "f":  # funpack 4.2 writes zeros for some NaNs, and for pixels beside them, of its own files too
            assert_array_equal(fits.getdata(tmp_path / "c.fits"), ours)
    assert len(report.lost) == 3


def test_blank_fills_integers_that_have_it(tmp_path):
    path, out = tmp_path / "a.fits.fz", tmp_path / "b.fits.fz"
    header = fits.Header([("BLANK", -999)])
    fits.PrimaryHDU(star_image(), header).writeto(tmp_path / "a.fits")
    tc.pack(tmp_path / "a.fits", path, tile_shape=(16, 16))
    break_tiles(path)
    report = tc.salvage(path, out, fill_value=7)
    stored = fits.getdata(out, 1, do_not_scale_image_data=True)
    assert (stored[pixels_of(report.lost, stored.shape)] == -999).all()


def test_fill_value(tmp_path):
    path, out = tmp_path / "a.fits.fz", tmp_path / "b.fits.fz"
    write_broken(path, "u2")
    report = tc.salvage(path, out, fill_value=7)
    assert (tc.read_image(out)[pixels_of(report.lost, (256, 256))] == 7).all()


def test_a_sound_file_is_copied(tmp_path):
    for path in (needs.SHIPPED / "galsim_test_multiS.fits.fz", needs.SHIPPED / "fitslib_rice_f32_nan_gzipfallback.fz"):
        report = tc.salvage(path, tmp_path / "b.fits", overwrite=True)
        assert report.intact
        assert (tmp_path / "b.fits").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("part", [0.3, 0.6, 0.95])
@pytest.mark.parametrize("dtype", ["i2", "f4"])
def test_a_cut_file(tmp_path, part, dtype):
    path = tmp_path / "a.fits.fz"
    tc.write_image(path, star_image(dtype), tile_shape=(16, 16), checksum=True)
    good, content = tc.read_image(path), path.read_bytes()
    path.write_bytes(content[:int(part * len(content))])
    report = tc.salvage(path, tmp_path / "b.fits.fz")
    lost = pixels_of(report.lost, good.shape)
    assert 0 < len(report.lost) < 256
    assert "the file ends" in report.hdus[1].problem
    found = tc.read_image(tmp_path / "b.fits.fz")
    assert_array_equal(found[~lost], good[~lost])
    assert tc.verify(tmp_path / "b.fits.fz").good


def test_a_file_cut_in_its_table(tmp_path):
    path = tmp_path / "a.fits.fz"
    tc.write_image(path, star_image(), tile_shape=(16, 16))
    hdu = tc.info(path).hdus[1]
    path.write_bytes(path.read_bytes()[:hdu.offset + hdu.header_nbytes + 1000])
    report = tc.salvage(path, tmp_path / "b.fits.fz")
    assert len(report.lost) == 256
    assert (tc.read_image(tmp_path / "b.fits.fz") == 0).all()
    assert tc.verify(tmp_path / "b.fits.fz").good


@pytest.mark.parametrize("ending", ["fits.fz", "fits.gz"])
@pytest.mark.parametrize("dtype", ["i2", "u1", "f4"])
@pytest.mark.parametrize("of_image", [True, False])
@pytest.mark.parametrize("sums", [(), ("DATASUM",), ("CHECKSUM", "DATASUM")], ids=str)
def test_sums_are_renewed_none_added_none_dropped(tmp_path, ending, dtype, of_image, sums):
    path, out, names = tmp_path / "a.fits.fz", tmp_path / f"b.{ending}", ("CHECKSUM", "DATASUM", "ZHECKSUM", "ZDATASUM")
    fits.PrimaryHDU(star_image().astype(dtype)).writeto(tmp_path / "plain.fits", checksum=of_image)
    tc.pack(tmp_path / "plain.fits", path, checksum=False)
    if sums:
        with fits.open(path, mode="update", disable_image_compression=True) as hdus:
            hdus[1].add_checksum() if "CHECKSUM" in sums else hdus[1].add_datasum()
    before = [name for name in names if name in fits.getheader(path, 1, disable_image_compression=True)]
    break_tiles(path, BROKEN_ROWS)
    report = tc.salvage(path, out)
    header = fits.getheader(out, 1, disable_image_compression=True)
    assert report.lost and [name for name in names if name in header] == before == [*sums, *names[2:] * of_image]
    assert tc.verify(out).good
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # unpack warns of stale sums of the image
        tc.unpack(out, tmp_path / "restored.fits")
    assert tc.verify(tmp_path / "restored.fits").good


def test_other_hdus_stay(tmp_path):
    path, out = tmp_path / "a.fits", tmp_path / "b.fits"
    table = fits.BinTableHDU.from_columns([fits.Column("X", "J", array=np.arange(7))])
    parts = [fits.PrimaryHDU(np.arange(12)), fits.CompImageHDU(star_image(), tile_shape=(16, 16)), table,
             fits.CompImageHDU(star_image(), tile_shape=(16, 16))]
    fits.HDUList(parts).writeto(path)
    break_tiles(path)
    report = tc.salvage(path, out)
    assert [hdu.action for hdu in report.hdus] == ["kept", "repaired", "kept", "kept"]
    with fits.open(out) as hdul:
        assert_array_equal(hdul[0].data, np.arange(12))
        assert_array_equal(hdul[2].data["X"], np.arange(7))
        assert_array_equal(hdul[3].data, star_image())


def test_an_image_without_a_lawful_header_is_left_out(tmp_path):
    tc.write_image(tmp_path / "a.fits.fz", star_image())
    content = (tmp_path / "a.fits.fz").read_bytes().replace(b"ZCMPTYPE= 'RICE_1", b"ZCMPTYPE= 'RISE_1")
    report = tc.salvage(content, tmp_path / "b.fits.fz")
    assert [hdu.action for hdu in report.hdus] == ["kept", "dropped"]
    assert "ZCMPTYPE" in report.hdus[1].problem
    with fits.open(tmp_path / "b.fits.fz") as hdul:
        assert len(hdul) == 1


def test_masks_go_with_their_tiles(tmp_path):
    """A null mask of a lost tile is dropped, those of the others stay."""
    pixels = np.arange(48, dtype="i4").reshape(6, 8)
    lost_pixels = np.random.default_rng(4).integers(0, 2, (6, 8)).astype("u1")
    encoded = encode_image(pixels, (3, 4), "GZIP_1", bitpix=-32, zscale=np.full(4, 0.5), zzero=np.zeros(4))
    image = CompressedImage((6, 8), (3, 4), -32, "GZIP_1", [("ZMASKCMP", "RICE_1")])
    image.add_tiles(encoded.streams)
    image.add_tiles(encode_image(lost_pixels, (3, 4), "RICE_1").streams, column="NULL_PIXEL_MASK")
    image.add_column("ZSCALE", np.full(4, 0.5)).add_column("ZZERO", np.zeros(4))
    path = image.write(tmp_path / "a.fits")
    good = tc.read_image(path)
    break_tiles(path, rows=[1])
    report = tc.salvage(path, tmp_path / "b.fits")
    assert [fault.row for fault in report.lost] == [1]
    lost = pixels_of(report.lost, good.shape)
    found = tc.read_image(tmp_path / "b.fits")
    assert np.isnan(good[~lost]).any()
    assert_array_equal(found[~lost], good[~lost])
    assert np.isnan(found[lost]).all()
    assert tc.verify(tmp_path / "b.fits").good


def test_nothing_is_overwritten_or_left_behind(tmp_path):
    path, out = tmp_path / "a.fits.fz", tmp_path / "b.fits.fz"
    write_broken(path)
    out.write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        tc.salvage(path, out)
    assert out.read_bytes() == b"mine"
    with pytest.raises(tc.HeaderError):
        tc.salvage(b"no file at all" * 300, tmp_path / "c.fits.fz")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.fits.fz", "b.fits.fz"]
    tc.salvage(path, out, overwrite=True)
    assert tc.verify(out).good


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.fits.fz", "a.salvaged.fits.fz"), ("d/a.b.fits", "d/a.b.salvaged.fits"), ("a.fz", "a.salvaged.fz"), ("d.x/a", "d.x/a.salvaged")],
)
def test_names(name, expected):
    assert salvaged_name(name) == expected
