"""References to tiles and to runs of tiles, plain and framed, of zarr formats 2 and 3, in JSON and parquet."""

import base64
import json
import math
import pickle

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal
from support import needs, small_files
from support.servers import range_server

import astropy_tilecomp as tc
from astropy_tilecomp import codecs
from astropy_tilecomp.adapters.zarr.frames import FramedTiles, TileFrame
from astropy_tilecomp.adapters.zarr.tile_boxes import TileBox

zarr = needs.module("zarr")
fsspec = needs.module("fsspec")
both_formats = pytest.mark.parametrize("zarr_format", [2, 3])


def sample(shape=(24, 40), dtype="i2", seed=1):
    return np.random.default_rng(seed).normal(300, 30, shape).astype(dtype)


def write(path, image, **settings):
    tc.write_image(path, image, **settings)
    return path


@pytest.fixture
def tiled(tmp_path):
    """16 whole tiles of 6 x 10 pixels."""
    return write(tmp_path / "tiled.fits", sample(), tile_shape=(6, 10))


def write_mixed(path):
    """Dithered floats with edge tiles, NaN, and constant tiles, which fall back to gzip."""
    image = sample((25, 38), "f4")
    image[:14, :11] = 3
    image[20, 5:9] = np.nan
    hdu = fits.CompImageHDU(image, compression_type="RICE_1", tile_shape=(7, 11), quantize_method=1, dither_seed=77)
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(path)
    return path


@pytest.fixture
def mixed(tmp_path):
    return write_mixed(tmp_path / "mixed.fits")


def open_refs(refs, name, **options):
    """The array behind references that fsspec reads alone: a dictionary, or a folder of parquet files."""
    fs = fsspec.filesystem("reference", fo=str(refs) if not isinstance(refs, dict) else refs, asynchronous=True, **options)
    return zarr.open_group(zarr.storage.FsspecStore(fs, read_only=True), mode="r")[name]


def open_store(references):
    return zarr.open_group(tc.TileStore(references), mode="r")[references.name]


@both_formats
@pytest.mark.parametrize("algorithm", ["RICE_1", "GZIP_1", "GZIP_2", "HCOMPRESS_1", "PLIO_1", "NOCOMPRESS"])
@pytest.mark.parametrize("n", [1, 2, 4, 8, 16])
def test_plain_references(tmp_path, algorithm, n, zarr_format):  # S25, S28, S39
    image = sample()
    path = write(tmp_path / "a.fits", image, tile_shape=(6, 10), algorithm=algorithm)
    references = tc.tile_references(path, tiles_per_chunk=n, zarr_format=zarr_format)
    assert math.prod(references.chunk_shape) == 60 * n
    refs = json.loads(json.dumps(references.to_dict()))
    assert sum(isinstance(value, list) for value in refs["refs"].values()) == 16 // n
    assert_array_equal(open_refs(refs, references.name)[...], image)
    assert_array_equal(open_store(references)[5:20, ::3], image[5:20, ::3])


@both_formats
@pytest.mark.parametrize("n", [1, 4])
def test_parquet(tiled, tmp_path, n, zarr_format):
    needs.module("fastparquet")
    references = tc.tile_references(tiled, tiles_per_chunk=n, zarr_format=zarr_format)
    references.to_parquet(tmp_path / "refs", record_size=3)
    array = open_refs(tmp_path / "refs", references.name)
    assert_array_equal(array[...], sample())
    assert array.metadata.zarr_format == zarr_format
    mapper = fsspec.implementations.reference.LazyReferenceMapper(str(tmp_path / "refs"))
    first = ".".join("0" for _ in array.shape)
    assert mapper[f"{references.name}/{first}"] == references.to_dict()["refs"][f"{references.name}/{first}"]


@pytest.mark.parametrize("n", range(1, 13))
def test_any_number_of_row_tiles(tmp_path, n):  # S25
    image = sample((12, 30))
    path = write(tmp_path / "rows.fits", image, tile_shape=(1, 30))
    assert_array_equal(open_store(tc.tile_references(path, tiles_per_chunk=n, framed=True))[...], image)
    if 12 % n:
        with pytest.raises(tc.UnsupportedError, match=r"do not divide the image.*framed=True can.*astropy_tilecomp\.references"):
            tc.tile_references(path, tiles_per_chunk=n)
    else:
        references = tc.tile_references(path, tiles_per_chunk=n)
        assert_array_equal(open_refs(references.to_dict(), references.name)[...], image)


@pytest.mark.parametrize("n", [0, -1, 3.5, 6, 17])
def test_numbers_that_make_no_box(tiled, n):
    with pytest.raises((ValueError, TypeError)):
        tc.tile_references(tiled, tiles_per_chunk=n)


@both_formats
@pytest.mark.parametrize("n", [1, 2, 3, 4, 8, 12, 16])
def test_framed_references_of_a_mixed_file(mixed, n, zarr_format):  # S5, S6, S21, S22, S23, S24
    expected = fits.getdata(mixed)
    references = tc.tile_references(mixed, tiles_per_chunk=n, zarr_format=zarr_format, framed=True)
    assert set(references.tiles["column"]) == {1, 2}
    array = open_store(references)
    assert_array_equal(array[...], expected)
    assert_array_equal(array[3:23:2, 7], expected[3:23:2, 7])
    assert array.dtype == np.float32


@pytest.mark.parametrize("method", [-1, 1, 2])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_quantized_floats(tmp_path, method, dtype):  # S5, S21, S24
    image = sample((30, 30), dtype)
    image[4, 4:9], image[7] = np.nan, 0
    hdu = fits.CompImageHDU(
        image, tile_shape=(8, 8), quantize_method=method, **({} if method == -1 else {"dither_seed": 9999})
    )
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(tmp_path / "a.fits")
    found = open_store(tc.tile_references(tmp_path / "a.fits", framed=True))[...]
    assert_array_equal(found, fits.getdata(tmp_path / "a.fits"))
    assert found.dtype == np.dtype(dtype)


@both_formats
@pytest.mark.parametrize(("dtype", "cards"), [("u2", {}), ("i1", {}), ("i2", {"BSCALE": 2.5, "BZERO": 3}), ("i2", {"BLANK": 300})])
def test_scaled_pixels(tmp_path, dtype, cards, zarr_format):
    """Plain references have no scaling; framed ones do, or both can give the stored pixels."""
    path = tmp_path / "a.fits"
    image = np.arange(960).reshape(24, 40).astype(dtype)
    if cards:
        small_files.gzipped(image, (6, 10), cards=list(cards.items())).write(path)
    else:
        write(path, image, tile_shape=(6, 10))
    assert_array_equal(open_store(tc.tile_references(path, framed=True, zarr_format=zarr_format))[...], tc.read_image(path))
    with pytest.raises(tc.UnsupportedError, match=r"scaled=False"):
        tc.tile_references(path, zarr_format=zarr_format)
    references = tc.tile_references(path, scaled=False, zarr_format=zarr_format)
    with tc.open(path, do_not_scale_image_data=True) as hdus:
        assert_array_equal(open_refs(references.to_dict(), references.name)[...], hdus[1].data)


def test_references_equal_the_descriptors(mixed):  # S23, S42
    before = mixed.read_bytes()
    references = tc.tile_references(mixed, framed=True)
    assert mixed.read_bytes() == before
    with fits.open(mixed, disable_image_compression=True) as hdus:
        table, heap = hdus[1], hdus[1]._data_offset + hdus[1]._theap
    for row, column in enumerate(references.tiles["column"]):
        field = table.columns.names.index(["COMPRESSED_DATA", "GZIP_COMPRESSED_DATA"][column - 1])
        start = table._data_offset + row * table.header["NAXIS1"] + 8 * field
        count, offset = np.frombuffer(before[start:start + 8], ">i4")
        assert (references.chunk_nbytes[row], references.chunk_offset[row]) == (count, heap + offset)


@pytest.mark.parametrize("kind", ["edges", "quantized"])
def test_what_plain_references_cannot_hold(tmp_path, mixed, kind):
    path = mixed if kind == "quantized" else write(tmp_path / "edges.fits", sample(), tile_shape=(7, 11))
    with pytest.raises(tc.UnsupportedError, match=r"framed=True can; astropy_tilecomp\.references makes one reference"):
        tc.tile_references(path)


def test_tiles_that_do_not_follow_one_another(tmp_path):  # S37
    image = sample()
    made = small_files.gzipped(image, (6, 40))
    count, offset = made.columns["COMPRESSED_DATA"][1].T
    streams = [made.heap[start:start + n] for n, start in zip(count, offset)]
    orders = {"shuffled": [2, 0, 3, 1], "gap": [0, 1, 2, 3], "shared": [0, 1, 2, 3]}
    for name, order in orders.items():
        heap, places = b"", {}
        for number in order:
            heap += b"\0" * (name == "gap")
            places[number] = len(streams[number]), len(heap)
            heap += streams[number]
        if name == "shared":
            places[1] = places[0]
        made.heap = heap
        made.set_descriptors([places[number] for number in range(4)])
        path = made.write(tmp_path / f"{name}.fits")
        for framed in (False, True):
            with pytest.raises(tc.UnsupportedError, match=r"cannot share a chunk; tiles_per_chunk=1 can.*references makes"):
                tc.tile_references(path, tiles_per_chunk=2, framed=framed)
        single = tc.tile_references(path)
        expected = tc.read_image(path)
        assert_array_equal(open_refs(single.to_dict(), single.name)[...], expected)
        whole = fsspec.filesystem("reference", fo=tc.references(path, hdu=1), asynchronous=True)
        assert_array_equal(zarr.open_array(zarr.storage.FsspecStore(whole, read_only=True), mode="r")[...], expected)


def test_a_tile_without_bytes_is_an_error(tmp_path):
    made = small_files.gzipped(sample(), (6, 40))
    made.columns["COMPRESSED_DATA"][1][2] = 0, 0
    with pytest.raises(tc.CorruptTileError, match=r"tile \(2, 0\), row 2.*no column holds data"):
        tc.tile_references(made.write(tmp_path / "a.fits"))


def test_one_tile_is_one_request(tiled):  # S7, S39
    with range_server({"a.fits": tiled.read_bytes()}) as server:
        references = tc.tile_references(server.url + "a.fits")
        array = open_refs(
            references.to_dict(), references.name, remote_protocol="http", remote_options={"asynchronous": True}
        )
        server.forget()
        assert_array_equal(array[6:12, 10:20], sample()[6:12, 10:20])
        assert [(r.start, r.nbytes) for r in server.requests] == [(references.chunk_offset[5], references.chunk_nbytes[5])]
        band = tc.tile_references(server.url + "a.fits", tiles_per_chunk=8)
        array = open_refs(band.to_dict(), band.name, remote_protocol="http", remote_options={"asynchronous": True})
        server.forget()
        assert_array_equal(array[4:20], sample()[4:20])
        assert len(server.requests) <= 2


def test_a_frame_before_the_bytes_of_a_tile(mixed):  # S9
    """References as kerchunk writes them, with header bytes joined to the tile inside of them: no side table is needed."""
    references = tc.tile_references(mixed, framed=True, zarr_format=2)
    content = mixed.read_bytes()
    refs = dict(references.documents())
    for chunk, key in enumerate(references.chunk_keys()):
        start, nbytes = int(references.chunk_offset[chunk]), int(references.chunk_nbytes[chunk])
        refs[key] = "base64:" + base64.b64encode(references.frame(chunk) + content[start:start + nbytes]).decode()
    refs = json.loads(json.dumps(refs))
    assert_array_equal(open_refs({"version": 1, "refs": refs}, references.name)[...], fits.getdata(mixed))
    xarray = needs.module("xarray")
    needs.module("kerchunk")
    dataset = xarray.open_dataset({"version": 1, "refs": refs}, engine="kerchunk")
    assert_array_equal(dataset[references.name], fits.getdata(mixed))


@both_formats
def test_framed_references_without_their_store(mixed, zarr_format):
    """Never silently wrong: without the frame a chunk says how it has to be opened."""
    references = tc.tile_references(mixed, framed=True, zarr_format=zarr_format)
    with pytest.raises(tc.CorruptTileError, match=r"no frame.*astropy_tilecomp\.TileStore"):
        open_refs(references.to_dict(), references.name)[...]


@both_formats
def test_framed_references_in_files(mixed, tmp_path, zarr_format):
    references = tc.tile_references(mixed, tiles_per_chunk=2, framed=True, zarr_format=zarr_format)
    assert tc.TileReferences.from_dict(json.loads(json.dumps(references.to_dict()))) == references
    needs.module("fastparquet")
    references.to_parquet(tmp_path / "refs")
    again = tc.TileReferences.from_parquet(tmp_path / "refs")
    assert again == references
    assert_array_equal(open_store(again)[...], fits.getdata(mixed))


@pytest.mark.parametrize("change", [
    {"tiles": None}, {"tiles": {}}, {"tiles": {"offset": [1], "nbytes": [1], "column": [1]}}, {"url": None}, {"params": 5},
    {"box": [0, 1]}, {"box": [-1, -1]}, {"box": [2, 2]}, {"box": [1]}, {"box": [1000, 1]}, {"box": ["x", 1]}, {"further": 1},
], ids=str)
def test_tiles_that_break_the_format_are_refused(mixed, change):
    refs = tc.tile_references(mixed, framed=True).to_dict()["refs"]
    key = next(key for key in refs if key.endswith("/.ztiles"))
    about = json.loads(refs[key]) | change
    text = json.dumps({name: value for name, value in about.items() if value is not None})
    for damaged in (text, text[:-1]):
        with pytest.raises(tc.HeaderError, match="references to"):
            tc.TileReferences.from_dict({"refs": {key: damaged}})


def test_plain_references_have_no_tiles_to_read(tiled, tmp_path):
    references = tc.tile_references(tiled)
    with pytest.raises(tc.HeaderError, match="opened with fsspec alone"):
        tc.TileReferences.from_dict(references.to_dict())


def test_the_store_pickles_and_moves(mixed, tmp_path):
    references = tc.tile_references(mixed, framed=True)
    store = tc.TileStore(references)
    array = pickle.loads(pickle.dumps(zarr.open_group(store, mode="r")[references.name]))
    assert_array_equal(array[...], fits.getdata(mixed))
    assert pickle.loads(pickle.dumps(store)) == store
    moved = mixed.rename(tmp_path / "moved.fits")
    assert_array_equal(zarr.open_group(tc.TileStore(references, url=moved), mode="r")[references.name][...], fits.getdata(moved))


def test_the_store_as_zarr_uses_it(mixed):
    from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest

    references = tc.tile_references(mixed, framed=True)
    store = tc.TileStore(references)
    key = f"{references.name}/0.0"
    prototype = zarr.core.buffer.default_buffer_prototype()

    async def ask():
        whole = (await store.get(key, prototype)).to_bytes()
        parts = await store.get_partial_values(
            prototype, [(key, RangeByteRequest(2, 7)), (key, OffsetByteRequest(9)), (key, SuffixByteRequest(4))]
        )
        assert [part.to_bytes() for part in parts] == [whole[2:7], whole[9:], whole[-4:]]
        assert await store.get(f"{references.name}/9.0", prototype) is None
        assert await store.get(f"{references.name}/x", prototype) is None
        assert await store.exists(key)
        assert not await store.exists("other/0.0")
        with pytest.raises(tc.UnsupportedError):
            await store.set(key, None)
        with pytest.raises(tc.UnsupportedError):
            await store.delete(key)
        assert [name async for name in store.list_dir("")] == ["zarr.json", references.name]
        return [name async for name in store.list_prefix(references.name + "/")]

    assert len(zarr.core.sync.sync(ask())) == 1 + math.prod(references.chunk_grid)
    assert "framed chunks" in repr(store)
    store.close()


def test_further_columns_ride_along(tmp_path):  # S47
    needs.module("fastparquet")
    made = small_files.gzipped(sample(), (6, 40)).add_column("CRVAL1", [10.5, 11.5, 12.5, 13.5])
    made.add_column("GROUP", [1, 2, 3, 4], "1J", ">i4")
    path = made.write(tmp_path / "a.fits")
    references = tc.tile_references(path, columns=["CRVAL1", "GROUP"])
    references.to_parquet(tmp_path / "refs")
    again = tc.TileReferences.from_parquet(tmp_path / "refs")
    assert again.tiles["CRVAL1"].tolist() == [10.5, 11.5, 12.5, 13.5]
    assert again.tiles["GROUP"].dtype == np.int32
    assert tc.TileReferences.from_dict(references.to_dict()).tiles["CRVAL1"].tolist() == [10.5, 11.5, 12.5, 13.5]
    assert_array_equal(open_refs(tmp_path / "refs", references.name)[...], sample())
    with pytest.raises(tc.HeaderError, match="no column CDELT1"):
        tc.tile_references(path, columns=["CDELT1"])


def test_a_codec_that_is_given_the_chunk_index(mixed):  # S10
    """The full list of scales and zeros in the codec, and the table row as the context that decode needs."""
    references = tc.tile_references(mixed, framed=True)
    params, tiles = references.params, references.tiles
    codec = codecs.Quantize(
        zquantiz=params.zquantiz, zdither0=params.zdither0, zscale=tiles["zscale"], zzero=tiles["zzero"],
        codec=codecs.codec_for(params),
    )
    codec = codecs.from_config(json.loads(json.dumps(codec.get_config())))
    content, image = mixed.read_bytes(), fits.getdata(mixed)
    for row in np.flatnonzero(tiles["column"] == 1).tolist():
        place = np.unravel_index(row, params.grid_shape)
        box = tuple(slice(at * n, at * n + n) for at, n in zip(place, params.tile_shape))
        stream = content[tiles["offset"][row]:][:tiles["nbytes"][row]]
        assert_array_equal(codec.decode(stream, row=row, tile_shape=image[box].shape), image[box])


def test_damaged_frames_are_errors(mixed):
    references = tc.tile_references(mixed, framed=True)
    start, nbytes = int(references.chunk_offset[5]), int(references.chunk_nbytes[5])
    chunk = references.frame(5) + mixed.read_bytes()[start:start + nbytes]
    codec = FramedTiles()
    good = codec.decode(chunk)
    refusals = (tc.TileCompError, ValueError)
    for stop in range(len(chunk)):
        with pytest.raises(refusals):
            codec.decode(chunk[:stop])
    with pytest.raises(tc.TrailingBytesError):
        codec.decode(chunk + b"\0")
    rng = np.random.default_rng(0)
    for _ in range(2000):
        damaged = bytearray(chunk)
        damaged[rng.integers(len(chunk))] ^= 1 << rng.integers(8)
        try:
            codec.decode(damaged)
        except refusals:
            continue
    assert_array_equal(codec.decode(chunk), good)


@pytest.mark.parametrize("change", [
    {"row": [10**6]}, {"row": ["a"]}, {"row": []}, {"column": [9]}, {"nbytes": [-1]}, {"zscale": ["x"]}, {"chunk_shape": [10, 11]},
    {"chunk_shape": [7]}, {"version": 2}, {"params": {}}, {"params": 3}, {"colour": 1}, {"zscale": None},
], ids=str)  # fmt: skip
def test_frames_that_lie(mixed, change):
    references = tc.tile_references(mixed, framed=True)
    start, nbytes = int(references.chunk_offset[5]), int(references.chunk_nbytes[5])
    document = json.loads(references.frame(5)[12:]) | change
    text = json.dumps(document).encode()
    chunk = b"tcframe1" + len(text).to_bytes(4, "little") + text + mixed.read_bytes()[start:start + nbytes]
    with pytest.raises((tc.TileCompError, ValueError)):
        FramedTiles().decode(chunk)


def test_a_frame_cannot_ask_for_all_memory(mixed, monkeypatch):
    frame, _ = TileFrame.from_bytes(tc.tile_references(mixed, framed=True).frame(0))
    large = TileFrame(frame.params, (7 * 10**6, 11 * 10**6), [0], [1], [0], [1.0], [0.0])
    with pytest.raises(tc.UnsupportedError, match="more than is allowed"):
        FramedTiles().decode(large.to_bytes())


def test_types_of_framed_chunks(mixed):
    references = tc.tile_references(mixed, framed=True)
    start, nbytes = int(references.chunk_offset[5]), int(references.chunk_nbytes[5])
    chunk = references.frame(5) + mixed.read_bytes()[start:start + nbytes]
    swapped = FramedTiles(dtype=">f8")
    assert swapped.decode(chunk).dtype == ">f8"
    assert_array_equal(swapped.decode(chunk), FramedTiles().decode(chunk))
    out = np.empty((7, 11), "f4")
    assert FramedTiles().decode(chunk, out) is out
    with pytest.raises((tc.HeaderError, TypeError)):
        FramedTiles(dtype="i2").decode(chunk)
    with pytest.raises(tc.UnsupportedError, match="only reads"):
        swapped.encode(out)


def test_codecs_in_json():  # S3
    box = TileBox(codec=codecs.Rice1(bytepix=2, tile_shape=(6, 10)), box=(2, 3))
    for codec in (box, FramedTiles(dtype="<f4"), FramedTiles()):
        assert type(codec).from_config(json.loads(json.dumps(codec.get_config()))) == codec
        assert pickle.loads(pickle.dumps(codec)) == codec
        with pytest.raises(ValueError, match="unknown keys: colour"):
            type(codec).from_config(codec.get_config() | {"colour": 1})
    image = sample((12, 30))
    assert_array_equal(box.decode(box.encode(image)), image)
    assert_array_equal(box.decode(box.encode(image.tobytes()), np.empty((12, 60), "i2")[:, ::2]), image)
    with pytest.raises(tc.TrailingBytesError):
        box.decode(box.encode(image) + b"\0")
    with pytest.raises(ValueError, match="knows its shape"):
        TileBox(codec=codecs.Rice1(bytepix=2), box=(2, 3))
    with pytest.raises(ValueError, match="box is"):
        TileBox(codec=codecs.Rice1(bytepix=2, tile_shape=(3, 3)), box=(2,))


def test_an_image_of_a_million_tiles(tmp_path, monkeypatch):  # S8, S31
    needs.module("fastparquet")
    pandas = needs.module("pandas")
    opened = []
    read_parquet = pandas.read_parquet
    monkeypatch.setattr(pandas, "read_parquet", lambda *args, **kwargs: opened.append(args) or read_parquet(*args, **kwargs))
    image = np.random.default_rng(0).integers(0, 1000, (1_000_000, 16)).astype("i2")
    path = write(tmp_path / "million.fits", image, tile_shape=(1, 16))
    for n in (1, 8):
        opened.clear()
        references = tc.tile_references(path, tiles_per_chunk=n)
        references.to_parquet(tmp_path / f"refs{n}")
        assert_array_equal(open_refs(tmp_path / f"refs{n}", references.name)[654_321], image[654_321])
        assert 1 <= len(opened) <= 2                         # of the ten that a million take
