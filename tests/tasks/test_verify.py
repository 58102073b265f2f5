"""verify: bad tiles by name, engines against each other, checksums, and files that end too early."""

import numpy as np
import pytest
from astropy.io import fits
from support.damaged_files import BROKEN_ROWS, star_image, streams_of, write_broken
from support.needs import SHIPPED

import astropy_tilecomp as tc
from astropy_tilecomp.codecs import engines
from astropy_tilecomp.tasks import verify

WRONG_CHECKSUMS = {"dkist_dkist4x4.fits", "dkist_nso_dkist.fits", "legacypipe_ksb_staticmask_ood_v1.fits.fz"}
ALGORITHMS = ["RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1"]


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.f*")), ids=lambda path: path.name)
def test_real_files(path):
    report = tc.verify(path)
    assert report.engines == engines()
    assert report.faults == ()
    assert report.n_tiles > 0
    assert report.good == (path.name not in WRONG_CHECKSUMS)  # astropy finds the same ones wrong


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_three_of_256_tiles(tmp_path, algorithm):
    path = tmp_path / "a.fits.fz"
    write_broken(path, algorithm=algorithm)
    streams, starts = streams_of(path)
    report = tc.verify(path)
    assert not report.good
    assert report.n_tiles == 256
    assert [fault.row for fault in report.faults] == list(BROKEN_ROWS)
    assert [fault.tile for fault in report.faults] == [(0, 3), (4, 13), (12, 8)]
    assert [fault.box for fault in report.faults][1] == ((64, 80), (208, 224))
    assert [fault.byte_range for fault in report.faults] == [(starts[row], starts[row] + len(streams[row])) for row in BROKEN_ROWS]
    assert all(fault.column == "COMPRESSED_DATA" and "stream" in fault.reason for fault in report.faults)
    assert (report.hdus[1].checksum, report.hdus[1].datasum) == (False, False)


def test_a_fault_in_words(tmp_path):
    write_broken(tmp_path / "a.fits.fz")
    words = str(tc.verify(tmp_path / "a.fits.fz").faults[1])
    assert words.startswith("HDU 1, tile (4, 13), row 77: ")
    assert " bytes at file offset " in words


def test_checksums_of_every_hdu(tmp_path):
    path = tmp_path / "a.fits"
    fits.HDUList([fits.PrimaryHDU(), fits.ImageHDU(np.arange(5000)), fits.CompImageHDU(star_image())]).writeto(path, checksum=True)
    report = tc.verify(path)
    assert [(hdu.checksum, hdu.datasum) for hdu in report.hdus] == [(True, True)] * 3
    content = bytearray(path.read_bytes())
    content[2880 * 2 + 100] ^= 1
    report = tc.verify(bytes(content))
    assert [hdu.datasum for hdu in report.hdus] == [True, False, True]
    assert not report.good


def test_engines_that_disagree(tmp_path, monkeypatch):
    """A difference of one pixel between the engines is found, and told with its tile."""
    if len(engines()) < 2:
        pytest.skip("this build has one engine")
    tc.write_image(tmp_path / "a.fits.fz", star_image(), tile_shape=(16, 16))
    right = verify.Slab.decoded

    def wrong(slab, engine=None):
        pixels, report = right(slab, engine)
        if engine == "cfitsio":
            pixels[70, 210] += 1
        return pixels, report

    monkeypatch.setattr(verify.Slab, "decoded", wrong)
    (fault,) = tc.verify(tmp_path / "a.fits.fz").faults
    assert (fault.row, fault.tile) == (77, (4, 13))
    assert fault.reason == "kernel and cfitsio decode it to different pixels"


def test_one_engine_alone(tmp_path):
    write_broken(tmp_path / "a.fits.fz")
    report = tc.verify(tmp_path / "a.fits.fz", engines=["kernel"])
    assert report.engines == ("kernel",)
    assert [fault.row for fault in report.faults] == list(BROKEN_ROWS)


@pytest.mark.parametrize("part", [0.3, 0.6, 0.95])
def test_a_cut_file(tmp_path, part):
    tc.write_image(tmp_path / "a.fits.fz", star_image(), tile_shape=(16, 16))
    content = (tmp_path / "a.fits.fz").read_bytes()
    report = tc.verify(content[:int(part * len(content))])
    assert not report.good
    assert "bytes before the data of the HDU do" in report.hdus[1].problem
    assert report.faults[-1].row == 255
    assert report.faults[-1].byte_range is None
    assert "beyond the end of the file" in report.faults[-1].reason


def test_a_damaged_header_ends_no_list_unseen(tmp_path):
    path = tmp_path / "a.fits"
    fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(star_image()), fits.CompImageHDU(star_image())]).writeto(path)
    assert tc.verify(path).good
    content = path.read_bytes()
    second = content.index(b"XTENSION", content.index(b"XTENSION") + 1)
    damaged = content[:second] + b"?" + content[second + 1:]
    report = tc.verify(damaged)
    assert len(report.hdus) == 2
    assert f"bytes from offset {second} on are no HDU" in report.problem
    assert not report.good
    assert "no END card" in tc.verify(content[:second + 80 * 5]).problem


def test_zeros_behind_the_last_hdu_are_lawful(tmp_path):
    tc.write_image(tmp_path / "a.fits.fz", star_image())
    assert tc.verify((tmp_path / "a.fits.fz").read_bytes() + bytes(2880)).good


def test_a_header_that_breaks_the_format(tmp_path):
    tc.write_image(tmp_path / "a.fits.fz", star_image())
    content = (tmp_path / "a.fits.fz").read_bytes().replace(b"ZCMPTYPE= 'RICE_1", b"ZCMPTYPE= 'RISE_1")
    report = tc.verify(content)
    assert not report.good
    assert "ZCMPTYPE is 'RISE_1" in report.hdus[1].problem


def test_memory_is_bounded(tmp_path):
    tc.write_image(tmp_path / "a.fits.fz", star_image())
    report = tc.verify(tmp_path / "a.fits.fz", max_nbytes=100)
    assert "max_nbytes is 100" in report.hdus[1].problem


def test_progress_reaches_the_end(tmp_path):
    tc.write_image(tmp_path / "a.fits.fz", star_image())
    seen = []
    tc.verify(tmp_path / "a.fits.fz", on_progress=lambda done, total: seen.append((done, total)))
    size = (tmp_path / "a.fits.fz").stat().st_size
    assert seen == sorted(seen)
    assert seen[-1] == (size, size)
