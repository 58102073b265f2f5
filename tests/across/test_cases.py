"""
Every case of ``../shared/cases``: small inputs on which real software failed.

Each script there makes files and says what must come out; here is one test for each file it makes.
Where the shared folder is absent, test_faults.py still has one case of each kind.
"""

import atexit
import pickle
import shutil
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal
from support import needs
from support.case_files import ALL_CASES, FOLDER, REFUSALS, each_case

import astropy_tilecomp as tc
from astropy_tilecomp import codecs

atexit.register(shutil.rmtree, FOLDER)


def cases_of(script):
    """The folder and the entries of one script; the test is skipped without the shared folder."""
    needs.shared("cases")
    return FOLDER / script, [case for _, folder, case in ALL_CASES if folder.name == script]


def read_whole(path, hdu, **options):
    with tc.open(path, **options) as hdul:
        return np.array(hdul[hdu].data)


def read_section(path, hdu, index=np.s_[...], **options):
    with tc.open(path, **options) as hdul:
        return np.array(hdul[hdu].section[index])


def read_in_parts(path, hdu):
    """Put an image together from sections of one plane each along its first axis."""
    with tc.open(path) as hdul:
        section = hdul[hdu].section
        if section.shape[0] == 0:
            return np.array(section[...])
        return np.stack([section[n] for n in range(section.shape[0])])


def read_after_pickling(path, hdu, what):
    with tc.open(path) as hdul:
        image = hdul[hdu]
        copy = pickle.loads(pickle.dumps(image if what == "hdu" else image.section))
    return np.array(copy.data if what == "hdu" else copy[...])


def read_in_threads(path, hdu, n_threads, memmap):
    """Read every row twenty times in `n_threads` threads that share one HDU."""
    with tc.open(path, memmap=memmap) as hdul:
        section = hdul[hdu].section
        n_rows = section.shape[0]
        with ThreadPoolExecutor(n_threads) as pool:
            rows = list(pool.map(lambda n: section[n % n_rows], range(20 * n_rows)))
    whole = np.stack(rows[:n_rows])
    for n, row in enumerate(rows):
        assert_array_equal(row, whole[n % n_rows])
    return whole


def edit_header(path, hdu, key, times):
    """Set a keyword in place, `times` times, then read the image."""
    needs.face("write_image")
    for n in range(times):
        with tc.open(path, mode="update") as hdul:
            hdul[hdu].header[key] = n
    with tc.open(path) as hdul:
        assert hdul[hdu].header[key] == times - 1
        return np.array(hdul[hdu].data)


def compress_and_read(path, settings, target):
    """Write a plain image compressed with `settings`, and read it back."""
    needs.face("write_image")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        image = tc.CompImageHDU(fits.getdata(path), **settings)
        fits.HDUList([fits.PrimaryHDU(), image]).writeto(target, overwrite=True)
    return read_whole(target, 1)


def decode_stream(path, codec, settings, kind):
    """Decode a raw stream given as bytes and as an array; both must give the same pixels."""
    decoder = getattr(codecs, codec)(**settings)
    raw = path.read_bytes()
    results = []
    for given in (raw, np.frombuffer(raw, "u1")):
        decoded = decoder.decode(given)
        is_typed = isinstance(decoded, np.ndarray) and decoded.dtype.itemsize == np.dtype(kind).itemsize
        results.append(np.ravel(decoded if is_typed else np.frombuffer(decoded, kind)))
    assert_array_equal(*results)
    return results[0]


def outcomes(case, folder):
    """The ways to get at the pixels of a case, by name; each is a function without arguments."""
    path, hdu, do = folder / case["file"], case["hdu"], case.get("do", {})
    if "decode" in do:
        return {"decode": lambda: decode_stream(path, do["decode"], do["settings"], case["kind"])}
    if "compress" in do:
        return {"compress": lambda: compress_and_read(path, do["compress"], folder / "compressed.fits")}
    if "edit_header" in do:
        return {"edit": lambda: edit_header(path, hdu, do["edit_header"], do["times"])}
    if "pickle" in do:
        return {"pickle": lambda: read_after_pickling(path, hdu, do["pickle"])}
    if "threads" in do:
        return {"threads": lambda: read_in_threads(path, hdu, do["threads"], do["memmap"])}
    if "section" in do:
        index = eval(f"np.s_[{do['section']}]", {"np": np})

        def section():
            with tc.open(path) as hdul:
                if do.get("loaded"):
                    hdul[hdu].data  # noqa: B018
                return np.array(hdul[hdu].section[index])

        return {"section": section}
    ways = {
        "data": lambda: read_whole(path, hdu),
        "one thread": lambda: read_whole(path, hdu, threads=1),
        "section": lambda: read_section(path, hdu),
        "cfitsio": lambda: read_section(path, hdu, engine="cfitsio"),
        "read_image": lambda: tc.read_image(path, hdu=hdu),
        "parts": lambda: read_in_parts(path, hdu),
    }
    if case.get("references") and hasattr(tc, "references"):
        ways["references"] = lambda: read_by_references(path, hdu)
    return ways


def read_by_references(path, hdu):
    """Read one compressed image of a file as a zarr array over byte references."""
    zarr = needs.module("zarr")
    reference = needs.module("fsspec.implementations.reference")
    files = reference.ReferenceFileSystem(tc.references(str(path), hdu=hdu), asynchronous=True)
    return np.asarray(zarr.open_array(zarr.storage.FsspecStore(files, read_only=True), mode="r")[...])


def check_array(got, case, folder):
    expected = np.load(folder / case["expected"]["array"])
    assert got.shape == expected.shape
    if case.get("tolerance"):
        np.testing.assert_allclose(got, expected, atol=case["tolerance"], rtol=0)
        return
    assert_array_equal(got, expected)
    if expected.dtype.kind == "f":  # bit for bit: signed zeros too
        assert_array_equal(np.signbit(got), np.signbit(expected))
    assert got.dtype.kind == expected.dtype.kind
    assert got.dtype.itemsize == expected.dtype.itemsize


@each_case()
def test_case(folder, case):
    needs.shared("cases")
    for way, get in outcomes(case, folder).items():
        if "error" in case["expected"]:
            with pytest.raises(REFUSALS) as refusal:
                get()
            assert len(str(refusal.value)) > 10, f"{way}: the message says nothing"
            continue
        try:
            got = get()
        except REFUSALS:
            if case.get("or_error"):
                continue
            raise
        check_array(got, case, folder)
    if "dtype" in case:
        with tc.open(folder / case["file"]) as hdul:
            assert hdul[case["hdu"]].section.dtype == np.dtype(case["dtype"])


@each_case(lambda case: "header" in case)
def test_header_of_the_image(folder, case):
    needs.shared("cases")
    with tc.open(folder / case["file"]) as hdul:
        for keyword, value in case["header"].items():
            header = hdul[case["hdu"]].header
            if value is None:
                assert keyword not in header
            elif isinstance(value, list):
                assert list(header[keyword]) == value
            else:
                assert header[keyword] == value


@pytest.mark.parametrize("hole", [np.s_[:2], np.s_[2:]], ids=["before", "after"])
def test_a_part_of_a_sparse_file_does_not_load_the_hole(hole):
    folder, (case,) = cases_of("offset_above_2gib")
    expected = np.load(folder / case["expected"]["array"])
    tracemalloc.start()
    try:
        assert_array_equal(read_section(folder / case["file"], case["hdu"], hole), expected[hole])
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_an_intact_tile_beside_a_bad_descriptor_is_read():
    folder, entries = cases_of("descriptor_out_of_range")
    for case in entries:
        with tc.open(folder / case["file"]) as hdul:
            assert hdul[1].section[16:].shape == (16, 16)
            with pytest.raises(tc.CorruptTileError, match="tile"):
                hdul[1].section[:16]
