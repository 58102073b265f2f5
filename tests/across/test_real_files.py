"""Real files of many writers: every compressed HDU gives the pixels that independent readers agree on."""

import hashlib
import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from support import needs
from support.real_files import DAMAGED, FILES, REAL

import astropy_tilecomp as tc

pytestmark = pytest.mark.filterwarnings("ignore")  # many of these files have odd headers
each_file = pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry["name"])


def hash_pixels(pixels):
    """SHA-256 of pixels as the manifest defines it: big-endian, C order, every NaN the default quiet NaN."""
    pixels = np.array(pixels, dtype=pixels.dtype.newbyteorder(">"))
    if pixels.dtype.kind == "f":
        pixels[np.isnan(pixels)] = np.frombuffer({4: b"\x7f\xc0" + bytes(2), 8: b"\x7f\xf8" + bytes(6)}[
            pixels.dtype.itemsize], pixels.dtype)[0]
    return hashlib.sha256(pixels.tobytes()).hexdigest()


def open_stored(name, **options):
    """Open a real file for its stored pixels."""
    return tc.open(REAL / name, do_not_scale_image_data=True, **options)


def random_sections(shape, rng, n):
    """Draw `n` basic indices with any start, stop and step, some of them backwards, some with integers."""
    def on_axis(length):
        if rng.random() < 0.2:
            return int(rng.integers(-length, length))
        start, stop = sorted(rng.integers(0, length + 1, 2).tolist())
        step = int(rng.choice([1, 1, 1, 2, 7]))
        if rng.random() < 0.2:
            return slice(stop, start or None, -step)
        return slice(start, stop, step)

    return [tuple(on_axis(length) for length in shape) for _ in range(n)]


@pytest.mark.parametrize("threads", [1, None], ids=["1-thread", "all-threads"])
@each_file
def test_data_gives_the_agreed_pixels(entry, threads):
    with open_stored(entry["name"], threads=threads) as hdul:
        for expected in entry["compressed_hdus"]:
            data = hdul[expected["index"]].data
            assert list(data.shape) == expected["shape"]
            assert data.dtype.newbyteorder(">").str == expected["decoded"]["dtype"]
            assert hash_pixels(data) == expected["decoded"]["sha256"], f"HDU {expected['index']}"


@pytest.mark.parametrize("engine", ["kernel", "cfitsio"])
@each_file
def test_the_whole_section_gives_the_agreed_pixels(entry, engine):
    with open_stored(entry["name"], engine=engine) as hdul:
        for expected in entry["compressed_hdus"]:
            section = hdul[expected["index"]].section
            assert section.shape == tuple(expected["shape"])
            assert hash_pixels(section[...]) == expected["decoded"]["sha256"], f"HDU {expected['index']}"


@pytest.mark.slow
@each_file
def test_random_sections_equal_the_data(entry):
    rng = np.random.default_rng(8)
    with open_stored(entry["name"]) as whole, open_stored(entry["name"]) as lazy:
        for expected in entry["compressed_hdus"][:6]:
            data = whole[expected["index"]].data
            section = lazy[expected["index"]].section
            for index in random_sections(data.shape, rng, 12):
                assert_array_equal(section[index], data[index], err_msg=f"HDU {expected['index']}, {index}")


@pytest.mark.parametrize(
    "entry",
    [entry for entry in FILES if any("scaled" in hdu for hdu in entry["compressed_hdus"])],
    ids=lambda entry: entry["name"],
)
def test_scaled_pixels(entry):
    with tc.open(REAL / entry["name"]) as hdul, tc.open(REAL / entry["name"]) as lazy:
        for expected in (hdu for hdu in entry["compressed_hdus"] if "scaled" in hdu):
            agreed = expected["scaled"]["astropy"]
            data = hdul[expected["index"]].data
            assert data.dtype.newbyteorder(">").str == agreed["dtype"]
            assert hash_pixels(data) == agreed["sha256"]
            assert hash_pixels(lazy[expected["index"]].section[...]) == agreed["sha256"]


def test_a_damaged_file_raises():
    damaged = needs.shared("data/real") / DAMAGED
    hdul = tc.open(damaged)
    with pytest.raises((tc.TileCompError, OSError)), hdul:  # astropy itself may find no HDU 1 in it
        hdul[1].data  # noqa: B018


def test_the_shipped_files_are_free_and_unchanged():
    entries = json.loads((needs.SHIPPED / "MANIFEST.json").read_text())["files"]
    assert {path.name for path in needs.SHIPPED.iterdir()} == {e["name"] for e in entries} | {"MANIFEST.json", "README.md"}
    for entry in entries:
        assert entry["licence"].startswith(("BSD-", "MIT", "Unlicense"))
        assert hashlib.sha256((needs.SHIPPED / entry["name"]).read_bytes()).hexdigest() == entry["sha256"]
