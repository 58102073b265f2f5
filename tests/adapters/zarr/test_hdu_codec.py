"""The zarr codec in which a chunk is a whole HDU: equal to direct reading, in few requests, through every kind of store."""

import asyncio
import json
import pickle
import warnings

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal
from support import needs
from support.real_files import FILES, REAL
from support.selections import draw_selection
from support.servers import all_together, range_server

import astropy_tilecomp as tc
from astropy_tilecomp.hdus import find_image
from astropy_tilecomp.sources import as_source
from astropy_tilecomp.tiling.grid import TileGrid
from astropy_tilecomp.tiling.layout import TableLayout
from astropy_tilecomp.tiling.params import CompressionParams
from astropy_tilecomp.tiling.selection import select
from astropy_tilecomp.tiling.table import TileTable

zarr = needs.module("zarr")
fsspec = needs.module("fsspec")

WHOLE_FILE_GZIP = "lsst_obs_CC_S_20240404_000780_R22_S01.fits"
IMAGES = [
    (entry["name"], hdu["index"])
    for entry in FILES
    if entry["name"] not in ("fitsiopure_comp.fits", WHOLE_FILE_GZIP)
    for hdu in entry["compressed_hdus"]
]


def open_array(refs, **options):
    """A zarr array at the root of references."""
    fs = fsspec.filesystem("reference", fo=refs, asynchronous=True, **options)
    return zarr.open_array(zarr.storage.FsspecStore(fs, read_only=True), mode="r")


def open_http(refs):
    """The same over HTTP, where the file system behind the references has to be asynchronous too."""
    return open_array(refs, remote_protocol="http", remote_options={"asynchronous": True})


def write_compressed(path, image, **settings):
    """One compressed image in HDU 1 of a new file, made by astropy."""
    fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(image, **settings)]).writeto(path)
    return str(path)


@pytest.mark.parametrize(("name", "hdu"), IMAGES, ids=lambda value: str(value))
def test_references_equal_direct_reading(name, hdu):  # S5, S6, S21, S23, S24
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = tc.read_image(REAL / name, hdu=hdu)
        array = open_array(tc.references(REAL / name, hdu=hdu))
        assert array.shape == expected.shape
        assert array.dtype == expected.dtype
        assert_array_equal(array[...], expected)
        rng = np.random.default_rng(hdu)
        for _ in range(4):
            selection = draw_selection(rng, expected.shape)
            assert_array_equal(array[selection], expected[selection])
        outer = [np.sort(rng.integers(0, length, 5)) for length in expected.shape]
        assert_array_equal(array.oindex[tuple(outer)], expected[np.ix_(*outer)])
        points = tuple(rng.integers(0, length, 20) for length in expected.shape)
        assert_array_equal(array.vindex[points], expected[points])
        mask = np.zeros(expected.shape, bool)
        mask[points] = True
        assert_array_equal(array.get_mask_selection(mask), expected[mask])


def test_stored_pixels(panoptes):
    with tc.open(panoptes, do_not_scale_image_data=True) as hdus:
        expected = hdus[1].data
    array = open_array(tc.references(panoptes, hdu=1, scaled=False))
    assert array.dtype == np.int16
    assert_array_equal(array[:], expected)


def test_a_file_compressed_as_a_whole_is_refused():
    with pytest.raises(tc.UnsupportedError, match="compressed as a whole"):
        tc.references(needs.shared("data/real") / WHOLE_FILE_GZIP)


def test_a_group_is_named_by_extname_extver_and_number(tmp_path):
    image = np.zeros((8, 8), "i2")
    names = [("SCI", 1), ("SCI", 2), ("a/b", 1), (".hidden", 1), ("ERR", 1), ("ERR", 1), ("c\\d", 1)]
    headers = [fits.Header([("EXTNAME", name), ("EXTVER", version)]) for name, version in names]
    hdus = [fits.CompImageHDU(image, header) for header in headers]
    fits.HDUList([fits.PrimaryHDU(), *hdus]).writeto(tmp_path / "group.fits")
    refs = tc.references(tmp_path / "group.fits")["refs"]
    found = [key.removesuffix("/zarr.json") for key in refs if key.endswith("/zarr.json")]
    assert found == ["SCI_1", "SCI_2", "a_b", "_hidden", "ERR_1_hdu5", "ERR_1_hdu6", "c_d"]
    group = tc.open_references({"refs": refs})
    assert all(group[name].shape == (8, 8) for name in found)


def test_references_are_json_with_attributes(panoptes):
    refs = json.loads(json.dumps(tc.references(panoptes, hdu=1)))
    document = json.loads(refs["refs"]["zarr.json"])
    header = fits.getheader(panoptes, 1)
    assert document["attributes"]["CRVAL1"] == header["CRVAL1"]
    assert not {"BZERO", "ZCMPTYPE", "TFORM1", "NAXIS1"} & document["attributes"].keys()
    assert document["dimension_names"] == ["y", "x"]
    assert list(refs["refs"])[1] == "c/0/0"


@pytest.mark.parametrize("url", ["https://user:word@host/a.fits", "https://host/a.fits?X-Amz-Signature=1"])
def test_no_credential_enters_a_reference(url):
    with pytest.raises(ValueError, match="credential"):
        tc.references(url)


def star_field(shape=(4096, 4096), dtype="i2"):
    """Sky noise and stars, fixed seed."""
    rng = np.random.default_rng(5)
    image = rng.normal(300, 10, shape)
    image[rng.integers(0, shape[0], 500), rng.integers(0, shape[1], 500)] += 5000
    return image.astype(dtype)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Three 4096 x 4096 images behind a server: row tiles, square tiles, dithered floats."""
    folder = tmp_path_factory.mktemp("served")
    kinds = {
        "rows": ("i2", {}),
        "tiles": ("i2", {"tile_shape": (256, 256)}),
        "floats": ("f4", {"tile_shape": (256, 256), "quantize_method": 1, "dither_seed": 42}),
    }
    files = {}
    for kind, (dtype, settings) in kinds.items():
        path = write_compressed(folder / f"{kind}.fits", star_field(dtype=dtype), compression_type="RICE_1", **settings)
        files[f"{kind}.fits"] = (folder / f"{kind}.fits").read_bytes()
        files[kind] = path
    with range_server({name: content for name, content in files.items() if name.endswith(".fits")}) as server:
        yield server, files


def needed_nbytes(path, cutout):
    """Bytes of the header, of the touched table rows and of their tiles: what a cutout cannot do without."""
    with as_source(path) as source:
        found = find_image(source, 1)
        params, layout = CompressionParams.from_header(found.header), TableLayout.from_header(found.header)
        rows = select(TileGrid(params.image_shape, params.tile_shape), cutout).rows
        data = source.part(found.data_offset, found.end)
        ranges = layout.row_ranges(rows)
        table = TileTable.from_buffers(layout, ranges, data.read_ranges(ranges), rows)
        return found.header.nbytes + len(rows) * layout.naxis1 + int(table.nbytes.sum())


@pytest.mark.parametrize("kind", ["rows", "tiles", "floats"])
def test_a_cutout_takes_three_requests(served, kind):  # S7
    server, files = served
    array = open_http(tc.references(server.url + f"{kind}.fits", hdu=1))
    expected = tc.read_image(files[kind])
    server.forget()
    cutout = np.s_[1000:1100, 2000:2100]
    assert_array_equal(array[cutout], expected[cutout])
    assert len(server.requests) <= 3
    used = needed_nbytes(files[kind], cutout)
    assert used <= server.nbytes <= 1.2 * used
    server.forget()
    other = np.s_[3000:3100, 500:600]
    assert_array_equal(array[other], expected[other])
    assert len(server.requests) <= 2


def test_ranges_overlap_in_time(served):
    server, files = served
    array = open_http(tc.references(server.url + "tiles.fits", hdu=1))
    assert array[0, 0] == tc.read_section(files["tiles"], np.s_[0, 0])
    server.forget()
    server.fault = all_together(8)
    assert_array_equal(array[:, 700], tc.read_section(files["tiles"], np.s_[:, 700]))
    server.fault = None


def test_a_wrong_hint_costs_a_request_and_no_more(served):
    server, files = served
    refs = tc.references(server.url + "tiles.fits", hdu=1)
    expected = tc.read_section(files["tiles"], np.s_[5:9, 5:9])
    for hint in (0, 2880, 100_000, 10**9):
        document = json.loads(refs["refs"]["zarr.json"])
        document["codecs"][0]["configuration"]["header_size"] = hint
        array = open_http({"version": 1, "refs": refs["refs"] | {"zarr.json": json.dumps(document)}})
        server.forget()
        assert_array_equal(array[5:9, 5:9], expected)
        assert len(server.requests) <= 5


def test_a_long_header_is_read_on(tmp_path):
    header = fits.Header([(f"KEY{n:05d}", n) for n in range(1200)])
    path = tmp_path / "long.fits"
    image = np.arange(400, dtype="i2").reshape(20, 20)
    fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(image, header)]).writeto(path)
    refs = tc.references(path, hdu=1)
    document = json.loads(refs["refs"]["zarr.json"])
    document["codecs"][0]["configuration"]["header_size"] = 2880
    refs["refs"]["zarr.json"] = json.dumps(document)
    assert_array_equal(open_array(refs)[...], image)


@pytest.mark.parametrize("kind", ["local", "memory"])
def test_plain_stores(tmp_path, kind, panoptes):
    refs = tc.references(panoptes, hdu=1)["refs"]
    _, start, nbytes = refs["c/0/0"]
    chunk = panoptes.read_bytes()[start:start + nbytes]
    if kind == "local":
        (tmp_path / "c" / "0").mkdir(parents=True)
        (tmp_path / "zarr.json").write_text(refs["zarr.json"])
        (tmp_path / "c" / "0" / "0").write_bytes(chunk)
        store = zarr.storage.LocalStore(tmp_path, read_only=True)
    else:
        prototype = zarr.core.buffer.default_buffer_prototype()
        contents = {"zarr.json": refs["zarr.json"].encode(), "c/0/0": chunk}
        store = zarr.storage.MemoryStore({key: prototype.buffer.from_bytes(value) for key, value in contents.items()})
    array = zarr.open_array(store, mode="r")
    expected = tc.read_image(panoptes)
    assert_array_equal(array[:], expected)
    assert_array_equal(array[100:200:3, 7], expected[100:200:3, 7])


@pytest.mark.parametrize("n_served", [0, 1, 2], ids=["header", "tiles", "kept reader"])
def test_a_cancelled_read_leaves_no_request_behind(tmp_path, n_served):
    """Or its thread waited for good, where a server does not answer, and the process could not end."""
    image = np.random.default_rng(5).integers(0, 20_000, (300, 200), "i2")
    refs = tc.references(write_compressed(tmp_path / "a.fits", image), hdu=1)["refs"]
    _, start, nbytes = refs["c/0/0"]

    class SilentStore(zarr.storage.MemoryStore):
        left = n_served

        async def get(self, key, prototype, byte_range=None):
            if key.startswith("c/"):
                self.left -= 1
                if self.left < 0:
                    try:
                        self.asked.set()
                        await asyncio.Event().wait()
                    finally:
                        self.ended.set()
            return await super().get(key, prototype, byte_range)

    async def cancelled_then_read():
        store = SilentStore()
        store.asked, store.ended = asyncio.Event(), asyncio.Event()
        buffer = zarr.core.buffer.default_buffer_prototype().buffer
        await store.set("zarr.json", buffer.from_bytes(refs["zarr.json"].encode()))
        await store.set("c/0/0", buffer.from_bytes((tmp_path / "a.fits").read_bytes()[start:start + nbytes]))
        array = await zarr.api.asynchronous.open_array(store=store)
        if n_served == 2:
            assert_array_equal(await array.getitem((slice(0, 5), slice(None))), image[:5])
        reading = asyncio.ensure_future(array.getitem((slice(100, 105), slice(None))))
        await asyncio.wait_for(store.asked.wait(), 60)
        reading.cancel()
        await asyncio.wait_for(store.ended.wait(), 60)
        with pytest.raises(asyncio.CancelledError):
            await reading
        store.left = 1000
        return await array.getitem((slice(100, 105), slice(None)))

    assert_array_equal(asyncio.run(cancelled_then_read()), image[100:105])


def test_an_absent_chunk_gives_the_fill_value(panoptes):
    refs = tc.references([panoptes, panoptes], hdu=1)
    del refs["refs"]["c/1/0/0"]
    assert not open_array(refs)[1, :5, :5].any()


def make_stack(folder, n=100):
    """Files whose images agree in shape alone: tile shapes, algorithms, seeds, dither, fallback tiles and NaN differ."""
    paths, images = [], []
    for number in range(n):
        rng = np.random.default_rng(number)
        image = rng.normal(100, 10, (60, 90)).astype("f4")
        if number % 5 == 0:
            image[10:20, 30:50] = np.nan
        if number % 7 == 0:
            image[:30] = 3.0  # constant tiles cannot be quantized and fall back to gzip
        settings = {
            "compression_type": ("RICE_1", "GZIP_2", "GZIP_1")[number % 3],
            "tile_shape": ((1, 90), (30, 45), (16, 16))[number // 3 % 3],
            "quantize_method": (1, 2, -1)[number % 4 % 3],
        }
        if settings["quantize_method"] > 0:
            settings["dither_seed"] = number + 1
        paths.append(write_compressed(folder / f"file{number:03d}.fits", image, **settings))
        images.append(fits.getdata(paths[-1], 1))
    return paths, np.stack(images)


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    return make_stack(tmp_path_factory.mktemp("stack"))


def test_a_stack_of_files_that_differ(stack):  # S25, S34
    paths, expected = stack
    refs = tc.references(paths, hdu=1)
    array = open_array(refs)
    assert_array_equal(array[...], expected)
    assert_array_equal(array[::7, 20:40, 11], expected[::7, 20:40, 11])
    assert_array_equal(array.oindex[[3, 50, 99], :, [0, 89]], expected[np.ix_([3, 50, 99], range(60), [0, 89])])


def test_references_to_a_stack_are_small(stack):
    urls = [f"https://archive.example.org/data/2026/{n:04d}/image.fits.fz" for n in range(100)]
    refs = tc.references(stack[0], hdu=1)
    for path, url in zip(stack[0], urls):
        refs = json.loads(json.dumps(refs).replace(path, url))
    assert len(json.dumps(refs)) < 20_000


def test_a_cutout_through_a_stack_is_concurrent(stack):
    paths, expected = stack
    with range_server({f"{n}.fits": open(path, "rb").read() for n, path in enumerate(paths)}) as server:  # noqa: SIM115, PTH123
        array = open_http(tc.references([f"{server.url}{n}.fits" for n in range(len(paths))], hdu=1))
        server.forget()
        server.fault = all_together(8)
        assert_array_equal(array[:, 5:9, 5:9], expected[:, 5:9, 5:9])
        assert len(server.requests) <= 3 * len(paths)


def test_types_of_a_stack(tmp_path):
    plain, blank = np.arange(64, dtype="i2").reshape(8, 8), np.arange(64, dtype="i2").reshape(8, 8)
    first = write_compressed(tmp_path / "plain.fits", plain)
    second = write_compressed(tmp_path / "blank.fits", blank, header=fits.Header([("BLANK", 5)]))
    array = open_array(tc.references([first, second], hdu=1))
    expected = np.stack([plain, blank]).astype("f4")
    expected[1][blank == 5] = np.nan
    assert array.dtype == np.float32
    assert_array_equal(array[...], expected)


def test_pixels_that_do_not_fit_are_refused(tmp_path):
    path = write_compressed(tmp_path / "wide.fits", np.arange(64, dtype="i4").reshape(8, 8))
    refs = tc.references(path, hdu=1)
    refs["refs"]["zarr.json"] = refs["refs"]["zarr.json"].replace('"int32"', '"int16"')
    with pytest.raises(tc.HeaderError, match="int32, which int16 of the array cannot hold"):
        open_array(refs)[...]


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1])
def test_integers_that_a_float_would_round_are_refused(tmp_path, value):
    """numpy's common type of int64 and float64 is float64, and its cast "safe", though not exact."""
    whole, large = np.full((8, 8), 2**53, "i8"), np.arange(64, dtype="i8").reshape(8, 8)
    large[7, 7] = value
    images = [np.ones((8, 8)), whole, large]
    paths = [tmp_path / f"{number}.fits" for number in range(3)]
    for path, image in zip(paths, images):
        tc.write_image(path, image, lossless=True)
    array = open_array(tc.references(paths, hdu=1))
    assert array.dtype == np.float64
    assert_array_equal(array[:2], np.stack(images[:2]))
    for read in (lambda: array[2], lambda: array.oindex[[2], [3, 7], [7]], lambda: array.vindex[[2], [7], [7]]):
        with pytest.raises(tc.HeaderError, match="float64 of the array would round"):
            read()


def test_another_shape_is_refused(tmp_path):
    first = write_compressed(tmp_path / "a.fits", np.zeros((8, 8), "i2"))
    second = write_compressed(tmp_path / "b.fits", np.zeros((8, 9), "i2"))
    with pytest.raises(tc.HeaderError, match=r"shape \(8, 9\)"):
        tc.references([first, second], hdu=1)


def test_an_empty_axis(tmp_path):
    header = fits.Header()
    path = tmp_path / "empty.fits"
    refs = tc.references(write_compressed(path, np.zeros((4, 4), "i2"), header=header), hdu=1)
    document = json.loads(refs["refs"]["zarr.json"])
    array = open_array(refs)
    assert array[0:0].shape == (0, 4)
    assert document["shape"] == [4, 4]


def test_a_broken_tile_is_an_error(tmp_path):
    path = write_compressed(tmp_path / "broken.fits", np.arange(4096, dtype="i2").reshape(64, 64), tile_shape=(16, 16))
    content = bytearray((tmp_path / "broken.fits").read_bytes())
    with fits.open(path, disable_image_compression=True) as hdus:
        heap = hdus[1]._data_offset + hdus[1]._theap
    content[heap:heap + 200] = b"\xff" * 200
    (tmp_path / "broken.fits").write_bytes(content)
    with pytest.raises(tc.CorruptTileError, match=r"tile \(0, 0\)"):
        open_array(tc.references(path, hdu=1))[...]


def test_the_codec_survives_json_and_pickle(panoptes):  # S3
    from astropy_tilecomp.adapters.zarr.hdu_codec import TileHDUCodec

    codec = TileHDUCodec(tile_shape=(1, 700), header_size=9000)
    assert TileHDUCodec.from_dict(json.loads(json.dumps(codec.to_dict()))) == codec
    assert pickle.loads(pickle.dumps(codec)) == codec
    assert codec == TileHDUCodec(tile_shape=(1, 700), header_size=2880), "the hint does not count"
    array = pickle.loads(pickle.dumps(open_array(tc.references(panoptes, hdu=1))))
    assert_array_equal(array[3:5], tc.read_section(panoptes, np.s_[3:5]))


@pytest.mark.parametrize("change", [{"version": 2}, {"unknown": 1}, {"version": None}], ids=str)
def test_other_configurations_are_refused(change):
    from astropy_tilecomp.adapters.zarr.hdu_codec import TileHDUCodec

    with pytest.raises(ValueError, match="expected, found"):
        TileHDUCodec.from_dict({"name": "astropy_tilecomp.hdu", "configuration": {"version": 1} | change})


@pytest.mark.parametrize("change", [
    {"header_size": "2880"}, {"header_size": None}, {"header_size": 2880.5}, {"tile_shape": 5}, {"tile_shape": "88"},
    {"tile_shape": [8, None]}, {"tile_shape": [8.5]}, {"scaled": "false"}, {"scaled": 0}, {"scaled": None},
], ids=str)
def test_values_of_another_type_are_refused(change):
    """When the array is opened, not in the middle of a read; a text "false" is no truth value."""
    from astropy_tilecomp.adapters.zarr.hdu_codec import TileHDUCodec
    from astropy_tilecomp.adapters.zarr.whole_hdu import WholeHDU

    with pytest.raises(ValueError, match="expected"):
        TileHDUCodec.from_dict({"name": "astropy_tilecomp.hdu", "configuration": {"version": 1} | change})
    if "scaled" in change:
        with pytest.raises(ValueError, match="expected a boolean"):
            WholeHDU.from_config({"version": 1} | change)


def test_writing_is_refused(tmp_path):
    array = zarr.create_array(
        zarr.storage.MemoryStore(), shape=(4, 4), dtype="i2", chunks=(4, 4),
        serializer={"name": "astropy_tilecomp.hdu", "configuration": {"version": 1}}, compressors=None,
    )
    with pytest.raises(tc.UnsupportedError, match="only reads"):
        array[...] = 1
