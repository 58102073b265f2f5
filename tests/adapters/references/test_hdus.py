"""References of every kind: all cases that broke other software, byte orders, empty axes, S3, earlier releases, missing packages."""

import json
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from support import needs, small_files
from support.case_files import REFUSALS, each_case
from support.selections import draw_selection
from support.servers import s3_server

import astropy_tilecomp as tc
from astropy_tilecomp.adapters.zarr.numcodecs import TileBox, WholeHDU
from astropy_tilecomp.codecs import Rice1

zarr = needs.module("zarr")
fsspec = needs.module("fsspec")

GOLDEN = needs.REPOSITORY / "tests" / "golden" / "references"
READING = ("decode", "compress", "edit_header", "section")
"""What a case may ask for beside reading; reading alone is done here."""
MAX_TO_READ_WHOLE = 100 << 20
"""Bytes of a file; codecs of zarr format 2 read the whole HDU, and one case has a hole of gigabytes in it."""


def outcome(get):
    """The array that a way of reading gives, or None where it refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return get()
        except REFUSALS:
            return None


def direct(path, hdu):
    with tc.open(path) as hdus:
        return np.array(hdus[hdu].section[...])


@each_case(lambda case: not set(case.get("do", {})) & set(READING))
def test_every_case_as_a_whole_hdu(folder, case):
    """Equal to direct reading, bit for bit; and where that refuses, so do references."""
    needs.shared("cases")
    path, hdu = folder / case["file"], case["hdu"]
    expected = outcome(lambda: direct(path, hdu))
    array = outcome(lambda: tc.open_references(tc.references(path, hdu=hdu)))
    same(None if array is None else outcome(lambda: array[...]), expected)
    if path.stat().st_size > MAX_TO_READ_WHOLE:
        return
    if expected is not None:
        check_selections(array, expected)
    found = outcome(lambda: tc.open_references(text(tc.process_file(str(path), extension=hdu))))
    if found is not None:
        (array,) = (array for _, array in found.arrays())
        same(outcome(lambda: array[...]), expected)


def check_selections(array, expected):
    """Random parts: slices with steps, an outer product of arrays, points, a mask."""
    rng = np.random.default_rng(expected.size)
    for _ in range(3):
        box = draw_selection(rng, expected.shape)
        assert_array_equal(array[box], expected[box])
    if expected.size:
        outer = tuple(np.sort(rng.integers(0, length, 4)) for length in expected.shape)
        assert_array_equal(array.oindex[outer], expected[np.ix_(*outer)])
        points = tuple(rng.integers(0, length, 9) for length in expected.shape)
        assert_array_equal(array.vindex[points], expected[points])
        mask = np.zeros(expected.shape, bool)
        mask[points] = True
        assert_array_equal(array.get_mask_selection(mask), expected[mask])


@each_case(lambda case: not set(case.get("do", {})) & set(READING))
def test_every_case_tile_by_tile(folder, case):
    """Framed tiles are equal to direct reading; whatever cannot be referred to is refused with a reason."""
    needs.shared("cases")
    path, hdu = folder / case["file"], case["hdu"]
    expected = outcome(lambda: direct(path, hdu))
    references = outcome(lambda: tc.tile_references(path, hdu, framed=True))
    if references is None:
        with pytest.raises(REFUSALS) as refusal:
            tc.tile_references(path, hdu, framed=True)
        assert len(str(refusal.value)) > 20
        return
    same(outcome(lambda: zarr.open_group(tc.TileStore(references), mode="r")[references.name][...]), expected)


def same(found, expected):
    assert (found is None) == (expected is None)
    if expected is not None:
        assert found.dtype == expected.dtype
        assert_array_equal(found, expected)
        if expected.dtype.kind == "f":
            assert_array_equal(np.signbit(found), np.signbit(expected))


def text(refs):
    """kerchunk's references with text in place of bytes."""
    return {key: value.decode() if isinstance(value, bytes) else value for key, value in refs.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.name for path in needs.SHIPPED.glob("*.f*") if path.suffix != ".md"))
def test_framed_tiles_of_real_files(name):  # S6, S23, S24
    path = needs.SHIPPED / name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        references = tc.tile_references(path, framed=True)
        same(zarr.open_group(tc.TileStore(references), mode="r")[references.name][...], tc.read_image(path))


def golden():
    """Release and manifest entry of all golden references."""
    for manifest in sorted(GOLDEN.glob("*/MANIFEST.json")):
        for entry in json.loads(manifest.read_text()):
            yield pytest.param(manifest.parent, entry, id=f"{manifest.parent.name}-{entry['file']}")


@pytest.mark.parametrize(("folder", "entry"), golden())
def test_references_of_all_releases_open(folder, entry, monkeypatch):
    """The names and configurations in them are in other people's files."""
    monkeypatch.chdir(needs.SHIPPED)
    path = folder / entry["file"]
    if "parquet" in entry["kind"]:
        needs.module("fastparquet")
    if entry["kind"] == "json":
        found = tc.open_references(json.loads(path.read_text()), base=str(needs.SHIPPED))
    elif entry["kind"] == "parquet":
        fs = fsspec.filesystem("reference", fo=str(path), asynchronous=True)
        found = zarr.open_group(zarr.storage.FsspecStore(fs, read_only=True), mode="r")
    elif entry["kind"] == "framed":
        found = zarr.open_group(tc.TileStore(tc.TileReferences.from_dict(json.loads(path.read_text()))), mode="r")
    else:
        found = zarr.open_group(tc.TileStore(tc.TileReferences.from_parquet(path)), mode="r")
    array = found[entry["path"]] if entry["path"] else found
    expected = []
    for name in entry["images"]:
        with tc.open(needs.SHIPPED / name, do_not_scale_image_data=not entry["scaled"]) as hdus:
            number = entry["hdu"] or next(n for n, hdu in enumerate(hdus) if isinstance(hdu, tc.CompImageHDU))
            expected.append(np.array(hdus[number].data))
    expected = np.stack(expected) if len(expected) > 1 else expected[0]
    same(array[...], expected.astype(expected.dtype.newbyteorder("=")))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("dtype", ["i2", "i4", "f4", "f8"])
def test_byte_orders(tmp_path, order, dtype):  # S36
    """zarr arrays of format 2 have a byte order; the codec's config says which."""
    image = np.arange(80).reshape(8, 10).astype(dtype)
    path = small_files.gzipped(image, (4, 10)).write(tmp_path / "a.fits")
    refs = json.loads(json.dumps(text(tc.process_file(str(path), extension=1))))
    key = next(key for key in refs if key.endswith("/.zarray"))
    document = json.loads(refs[key])
    document["dtype"] = document["compressor"]["dtype"] = order + dtype
    refs[key] = json.dumps(document)
    array = tc.open_references(refs)[key.removesuffix("/.zarray")]
    assert array.dtype == np.dtype(order + dtype)
    assert_array_equal(array[...], image)
    codec = WholeHDU(dtype=order + dtype)
    assert WholeHDU.from_config(json.loads(json.dumps(codec.get_config()))) == codec
    if dtype in ("i2", "i4"):
        box = TileBox(codec=Rice1(tile_shape=(4, 10), dtype=order + dtype, bytepix=int(dtype[1])), box=(2, 1))
        found = box.decode(box.encode(image.astype(order + dtype)))
        assert found.dtype == np.dtype(order + dtype)
        assert_array_equal(found, image)


@pytest.mark.parametrize("shape", [(0, 8), (8, 0), (0,), (3, 0, 4)], ids=str)
def test_axes_without_pixels(tmp_path, shape):
    path = small_files.gzipped(np.zeros(shape, "i2"), (1,) * len(shape)).write(tmp_path / "empty.fits")
    assert tc.read_image(path).shape == shape
    array = tc.open_references(tc.references(path, hdu=1))
    assert array.shape == shape
    assert array[...].shape == shape
    stack = tc.open_references(tc.references([path, path], hdu=1))
    assert stack[...].shape == (2, *shape)
    for framed in (False, True):
        for zarr_format in (2, 3):
            references = tc.tile_references(path, framed=framed, zarr_format=zarr_format)
            assert zarr.open_group(tc.TileStore(references), mode="r")[references.name][...].shape == shape
            assert not any(isinstance(content, list) for content in references.to_dict()["refs"].values())
    refs = text(tc.process_file(str(path), extension=1))
    (array,) = (array for _, array in tc.open_references(refs).arrays())
    assert array[...].shape == shape


@pytest.mark.slow
def test_over_s3(panoptes):
    needs.module("s3fs")
    image, url = tc.read_image(panoptes), "s3://sky/stars.fits"
    with s3_server("sky", {"stars.fits": panoptes.read_bytes()}) as (endpoint, _):
        options = {"endpoint_url": endpoint, "key": "testing", "secret": "testing"}
        refs = tc.references(url, hdu=1, storage_options=options)
        assert "testing" not in json.dumps(refs)
        assert_array_equal(tc.open_references(refs, options)[500:600, 100:200], image[500:600, 100:200])
        references = tc.tile_references(url, storage_options=options, framed=True)
        array = zarr.open_group(tc.TileStore(references, options), mode="r")[references.name]
        assert_array_equal(array[500:510, 100:110], image[500:510, 100:110])


BLOCKED = """
import sys
sys.modules.update(dict.fromkeys({blocked!r}))  # None there: the import fails
import numpy as np
import astropy_tilecomp as tc
path = {path!r}
{code}
"""

EXTRAS = {
    "zarr": (["zarr", "numcodecs"], "tc.open_references(tc.references(path))"),
    "zarr references": (["zarr"], "tc.open_references(tc.references(path))"),
    "zarr store": (["zarr", "numcodecs"], "tc.TileStore(tc.tile_references(path, framed=True))"),
    "zarr codec": (["zarr"], "import astropy_tilecomp.adapters.zarr.hdu_codec"),
    "zarr tiles": (["zarr"], "import astropy_tilecomp.adapters.zarr.tile_codecs"),
    "zarr numcodecs": (["numcodecs"], "import astropy_tilecomp.adapters.zarr.numcodecs"),
    "kerchunk": (["kerchunk"], "tc.process_file(path)"),
    "kerchunk parquet": (["fastparquet", "pandas"], "tc.tile_references(path, framed=True).to_parquet(path + '.refs')"),
    "virtualizarr": (["virtualizarr"], "tc.TileCompParser()('file://' + path, None)"),
    "xarray": (["xarray"], "import astropy_tilecomp.adapters.xarray"),
    "dask": (["dask"], "tc.to_dask(path)"),
    "remote": (["fsspec"], "tc.read_image('http://127.0.0.1:9/a.fits')"),
}


def run_without(blocked, path, code):
    program = BLOCKED.format(blocked=blocked, path=str(path), code=code)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=needs.REPOSITORY)


@pytest.mark.parametrize("name", EXTRAS)
def test_a_missing_extra_is_named(name, panoptes):
    blocked, code = EXTRAS[name]
    done = run_without(blocked, panoptes, code)
    expected = name.split()[0]
    assert done.returncode == 1
    assert f"it comes with the extra '{expected}': pip install 'astropy_tilecomp[{expected}]'" in done.stderr, done.stderr


def test_the_core_works_without_any_extra(panoptes, tmp_path):  # S13
    blocked = ["zarr", "numcodecs", "fsspec", "kerchunk", "virtualizarr", "icechunk", "obstore", "xarray", "dask", "asdf", "pandas",
               "fastparquet", "aiohttp", "s3fs", "matplotlib", "click", "rich", "imagecodecs", "fitsio", "rustfits"]
    code = f"""
with tc.open(path) as hdus:
    assert hdus[1].section[3:5, ::7].shape == (2, 100)
image = tc.read_image(path)
target = {str(tmp_path / "copy.fits")!r}
tc.write_image(target, image)
assert (tc.read_image(target) == image).all()
refs = tc.references(path)
tiles = tc.tile_references(path, framed=True).to_dict()
assert tc.to_asdf(refs)["refs"].keys() == refs["refs"].keys()
"""
    done = run_without(blocked, panoptes, code)
    assert done.returncode == 0, done.stderr


def test_arrays_pickle_to_other_processes(panoptes, tmp_path):
    """References, framed tiles and VirtualiZarr's store: a new process reads them and imports nothing of ours by hand."""
    framed = tc.tile_references(panoptes, framed=True)
    arrays = [tc.open_references(tc.references(panoptes, hdu=1)), zarr.open_group(tc.TileStore(framed), mode="r")[framed.name]]
    obstore, registry = needs.module("obstore.store"), needs.module("obspec_utils.registry")
    needs.module("virtualizarr")
    stores = registry.ObjectStoreRegistry({"file://": obstore.LocalStore()})
    arrays.append(zarr.open_group(tc.TileCompParser()(panoptes.as_uri(), stores), mode="r", zarr_format=3)["COMPRESSED_IMAGE"])
    pickled = pickle.dumps(arrays)
    assert len(pickled) < 100_000
    (tmp_path / "arrays").write_bytes(pickled)
    code = f"""
import os, pickle
for array in pickle.load(open({str(tmp_path / "arrays")!r}, "rb")):
    print(int(array[300:303, 200].sum()), flush=True)
os._exit(0)  # a thread of obstore that still waits for the interpreter aborts as that ends
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=needs.REPOSITORY)
    assert done.returncode == 0, done.stderr
    assert [int(line) for line in done.stdout.split()] == [int(tc.read_section(panoptes, np.s_[300:303, 200]).sum())] * 3
