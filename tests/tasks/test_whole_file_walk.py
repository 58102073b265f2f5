"""Every real file through unpack, pack, an edit, repack and salvage: each result is legal, complete and right for other readers."""

import shutil
import subprocess
import warnings

import numpy as np
import pytest
from astropy.io import fits
from support import needs

import astropy_tilecomp as tc
from astropy_tilecomp.hdus import walk
from astropy_tilecomp.sources import as_source
from astropy_tilecomp.tiling.header_cards import split_cards
from astropy_tilecomp.tiling.image_keywords import is_mandatory
from astropy_tilecomp.tiling.to_image import table_to_image

fitsio = needs.module("fitsio")

ILLEGAL_INPUT = {
    "hmi_hmi.sharp_cea_720s.377.20110215_020000_TAI.conf_disambig.fits": "USFLUX has a value with a small e",
    "hmi_hmi.sharp_cea_720s.377.20110215_020000_TAI.magnetogram.fits": "USFLUX has a value with a small e",
}
"""Files that astropy calls illegal before anything is done to them, with the reason."""

DAMAGED_INPUT = {"fitsiopure_comp.fits": "its descriptors do not lie in its heap"}
"""Files that can only be salvaged, with the reason."""


def real_files():
    """The compressed files of the developers' shared folder; none where there is no such folder."""
    folder = needs.SHARED / "data" / "real"
    return sorted(path for path in folder.glob("*") if path.suffix in (".fits", ".fz")) if folder.is_dir() else []


def astropy_fault(path):
    """What astropy finds wrong with a file; empty if nothing."""
    try:
        with warnings.catch_warnings(), fits.open(path, disable_image_compression=True) as hdus:
            warnings.simplefilter("ignore")
            hdus.verify("exception")
            return "" if all(hdu.header is not None for hdu in hdus) else "an HDU without a header"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"


def fitsio_fault(path):
    """What fitsio cannot read of a file."""
    try:
        with fitsio.FITS(str(path)) as file:
            for hdu in file:
                if hdu.has_data():
                    hdu.read()
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return ""


def check(path, before, what):
    """Check a file that was made of one with the faults `before`."""
    for judge, allowed in ((astropy_fault, before["astropy"]), (fitsio_fault, before["fitsio"])):
        fault = judge(path)
        assert not fault or allowed, f"{what}: {judge.__name__}: {fault}"
    report = tc.verify(path)
    assert report.good or not before["good"], f"{what}: {[hdu for hdu in report.hdus if not hdu.good]} {report.problem}"


def cards_of(path):
    """Cards of the compressed images of a file, as those of their images, and of all HDUs as they are."""
    images, all_cards = [], set()
    with as_source(path) as source:
        for found in walk(source):
            cards = split_cards(source.read(found.header_offset, found.data_offset))
            all_cards.update(cards)
            if found.is_compressed_image:
                images += table_to_image(cards)
    return images, all_cards


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", real_files(), ids=lambda path: path.name)
def test_every_step_gives_a_whole_file(path, tmp_path):
    before = {"astropy": astropy_fault(path), "fitsio": fitsio_fault(path), "good": tc.verify(path).good}
    assert bool(before["astropy"]) == (path.name in ILLEGAL_INPUT), before["astropy"]

    saved = tmp_path / "saved.fits.fz"
    report = tc.salvage(path, saved)
    assert report.intact or not before["good"]
    check(saved, before, "salvage")
    if path.name in DAMAGED_INPUT:
        assert not before["good"] and tc.verify(saved).good
        return

    plain = tmp_path / "plain.fits"
    tc.unpack(path, plain)
    check(plain, before, "unpack")
    there = cards_of(plain)[1]
    lost = [card for card in cards_of(path)[0] if card not in there and not is_mandatory(card[:8].strip())]
    assert not lost, f"unpack: {lost[:3]} of {len(lost)} cards are lost"

    packed = tmp_path / "packed.fits.fz"
    tc.pack(plain, packed, verify=True, lossless=True)
    check(packed, before, "pack")

    edited = tmp_path / "edited.fits.fz"
    shutil.copy(packed if path.read_bytes()[:2] == b"\x1f\x8b" else path, edited)  # a gzipped file is not edited in place
    image = tc.read_image(edited)
    if image.size and not before["astropy"]:
        corner = (0,) * image.ndim
        value = image[(-1,) * image.ndim]
        if np.isfinite(value):
            tc.replace_pixels(edited, corner, value)
        tc.repack(edited)
        check(edited, before, "edit")
        with tc.open(edited, mode="update") as hdus:
            next(hdu for hdu in hdus if isinstance(hdu, tc.CompImageHDU)).header["OBSERVER"] = "somebody"
        check(edited, before, "header edit")

    if shutil.which("funpack") and not before["fitsio"]:
        restored = tmp_path / "restored.fits"
        done = subprocess.run(["funpack", "-O", restored, packed], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        check(restored, before, "funpack")
