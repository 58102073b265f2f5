"""encode(): bytes equal to fpack's, pixels that every reader gives back, any strides, threads, slabs and engines."""

import io

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal
from support import needs
from support.reference_files import OPTION_OF, compressed_file, fpack, joined, params_for, section_of, star_field, table_of

from astropy_tilecomp import encode as encode_module
from astropy_tilecomp.encode import NotEncodableError, encode
from astropy_tilecomp.errors import HeaderError

# ---- equal to fpack ----


def check_equal_to_fpack(folder, image, params, options, same_bytes=True, **settings):
    tile = ",".join(map(str, reversed(params.tile_shape)))
    theirs = fpack(folder, image, [OPTION_OF[params.zcmptype], "-t", tile, *options])
    streams, column, zscale, zzero, has_null = joined(encode(image, params, **settings))
    assert len(streams) == len(theirs.data)
    for row, stream in enumerate(streams):
        name = ("COMPRESSED_DATA", "GZIP_COMPRESSED_DATA")[column[row] - 1]
        expected = theirs.data[name][row]
        expected = expected.astype(expected.dtype.newbyteorder(">")).tobytes()
        if same_bytes and column[row] == 1:
            assert stream == expected, f"row {row}"
        else:
            assert (len(stream) == 0) == (len(expected) == 0)
    if params.quantized:
        assert_array_equal(zscale, theirs.data["ZSCALE"])
        assert_array_equal(zzero, theirs.data["ZZERO"])
        assert has_null.any() == ("ZBLANK" in theirs.header)
    return column


SHAPES = [((12, 300), (1, 300)), ((70, 90), (32, 40)), ((5, 33, 41), (2, 16, 20)), ((400,), (90,)), ((20, 7), (1, 7))]


@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "u2", "u4"])
@pytest.mark.parametrize(("shape", "tile"), SHAPES, ids=str)
def test_rice_integers_equal_fpack(tmp_path, dtype, shape, tile):
    image = star_field(shape, dtype)
    check_equal_to_fpack(tmp_path, image, params_for(image, "RICE_1", tile), [])


METHODS = {"NO_DITHER": "-q0", "SUBTRACTIVE_DITHER_1": "-q7", "SUBTRACTIVE_DITHER_2": "-qz7"}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("shape", "tile"), SHAPES, ids=str)
def test_quantized_floats_equal_fpack(tmp_path, dtype, method, shape, tile):
    image = star_field(shape, dtype)
    image[np.random.default_rng(1).random(shape) < 0.05] = 0.0
    image[..., 3] = np.nan
    params = params_for(image, "RICE_1", tile, zquantiz=method, zdither0=None if method == "NO_DITHER" else 7)
    for level in (4, 0.5, -2.5):
        check_equal_to_fpack(tmp_path, image, params, [METHODS[method], str(level)], quantize_level=level)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_integers_in_floats_equal_fpack(tmp_path, dtype):
    """Equal neighbours, which leave no difference, make CFITSIO's median of second order depend on former rows."""
    image = np.round(star_field((120, 130), dtype, noise=1.5))
    image[:, 60:70] = 7
    for tile in ((1, 130), (50, 60), (120, 130)):
        check_equal_to_fpack(tmp_path, image, params_for(image, "RICE_1", tile), ["-q1", "4"], quantize_level=4)


def test_tiles_that_cannot_be_quantized_equal_fpack(tmp_path):
    image = star_field((8, 200), "f4")
    image[2] = 5
    image[3] = np.nan
    image[5, ::2] = 1e12
    image[6, :100] = 3
    params = params_for(image, "RICE_1", (1, 200))
    column = check_equal_to_fpack(tmp_path, image, params, ["-q1", "4"], quantize_level=4)
    assert 2 in column and 1 in column


@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "f4"])
@pytest.mark.parametrize("scale", [0, 1, 2.5, -1, -40])
@pytest.mark.parametrize(("shape", "tile"), [((40, 60), (16, 60)), ((37, 53), (16, 20)), ((2, 36, 44), (1, 16, 20))],
                         ids=str)
def test_hcompress_equals_fpack(tmp_path, dtype, scale, shape, tile):
    image = star_field(shape, dtype)
    params = params_for(image, "HCOMPRESS_1", tile, hcomp_scale=float(scale))
    options = ["-s", str(scale), *(["-q1", "4"] if image.dtype.kind == "f" else [])]
    check_equal_to_fpack(tmp_path, image, params, options)


@pytest.mark.parametrize("dtype", ["u1", "i2", "u2"])
def test_plio_equals_fpack(tmp_path, dtype):
    image = (star_field((30, 200), "i4") // 50 * 10).clip(0, 200).astype(dtype)
    for tile in ((1, 200), (10, 64)):
        check_equal_to_fpack(tmp_path, image, params_for(image, "PLIO_1", tile), [])


@pytest.mark.parametrize("zcmptype", ["GZIP_1", "GZIP_2"])
@pytest.mark.parametrize("dtype", ["i2", "i4", "f4"])
def test_gzip_is_no_larger_than_fpacks(tmp_path, zcmptype, dtype):
    image = star_field((40, 4096), dtype)
    params = params_for(image, zcmptype, (1, 4096))
    options = ["-q1", "4"] if dtype == "f4" else []
    theirs = fpack(tmp_path, image, [OPTION_OF[zcmptype], *options])
    ours = sum(map(len, joined(encode(image, params))[0]))
    assert ours <= 1.02 * theirs.header["PCOUNT"]


# ---- every reader gives the pixels back ----

CASES = [
    ("RICE_1", "u1"), ("RICE_1", "i1"), ("RICE_1", "i2"), ("RICE_1", "u2"), ("RICE_1", "i4"), ("RICE_1", "u4"),
    ("GZIP_1", "i2"), ("GZIP_1", "i8"), ("GZIP_2", "u1"), ("GZIP_2", "u2"), ("GZIP_2", "i4"), ("GZIP_2", "u8"),
    ("PLIO_1", "u1"), ("PLIO_1", "i4"), ("HCOMPRESS_1", "u1"), ("HCOMPRESS_1", "i2"), ("HCOMPRESS_1", "i4"),
]


@pytest.mark.parametrize(("zcmptype", "dtype"), CASES)
@pytest.mark.parametrize(("shape", "tile"), [((24, 50), (1, 50)), ((30, 41), (12, 16)), ((3, 20, 24), (2, 8, 8))], ids=str)
def test_integers_come_back(tmp_path, zcmptype, dtype, shape, tile):
    if zcmptype == "HCOMPRESS_1" and (tile[-2] < 4 or len(shape) == 3):
        tile = (*(1 for _ in shape[:-2]), 10, 12)  # astropy and cfitsio: two axes, both of 4 pixels or more
    image = star_field(shape, dtype)
    content = compressed_file(image, params_for(image, zcmptype, tile))
    assert_array_equal(section_of(content), image)
    if zcmptype != "HCOMPRESS_1" or len(shape) == 2:
        assert_array_equal(fits.open(io.BytesIO(content))[1].data, image)
    if image.dtype.itemsize < 8:  # cfitsio has no 64-bit tiles
        path = tmp_path / "image.fits"
        path.write_bytes(content)
        assert_array_equal(needs.module("fitsio").read(str(path), ext=1), image)


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"])
def test_raw_tiles_come_back(dtype):
    image = star_field((20, 33), dtype)
    content = compressed_file(image, params_for(image, "NOCOMPRESS", (8, 9)))
    assert_array_equal(section_of(content), image)


@pytest.mark.parametrize("zcmptype", ["GZIP_1", "GZIP_2"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_lossless_floats_keep_every_bit(zcmptype, dtype):
    image = star_field((20, 33), dtype)
    image.flat[:6] = [np.nan, np.inf, -np.inf, -0.0, np.finfo(dtype).tiny / 4, np.finfo(dtype).max]
    content = compressed_file(image, params_for(image, zcmptype, (4, 33), quantized=False))
    assert section_of(content).tobytes() == image.tobytes()


@pytest.mark.parametrize("zcmptype", ["RICE_1", "GZIP_1", "GZIP_2", "HCOMPRESS_1"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_quantized_floats_come_back_within_half_a_step(tmp_path, zcmptype, method, dtype):
    image = star_field((24, 60), dtype)
    image[3, 5:9] = 0
    image[7, 20] = np.nan
    seed = None if method == "NO_DITHER" else 4321
    params = params_for(image, zcmptype, (8, 30), zquantiz=method, zdither0=seed)
    content = compressed_file(image, params)
    found = section_of(content)
    step = np.repeat(np.repeat(table_of(content).data["ZSCALE"].reshape(3, 2), 8, 0), 30, 1)
    valid = ~np.isnan(image)
    assert_array_equal(np.isnan(found), ~valid)
    assert np.all(np.abs(found - image)[valid] <= 0.5001 * step[valid])
    if method == "SUBTRACTIVE_DITHER_2":
        assert np.all(found[3, 5:9] == 0)
    assert_array_equal(fits.open(io.BytesIO(content))[1].data, found)
    path = tmp_path / "image.fits"
    path.write_bytes(content)
    assert_array_equal(needs.module("fitsio").read(str(path), ext=1), found)


def test_infinite_pixels_keep_their_tile_lossless():
    image = star_field((6, 100), "f4")
    image[2, 7], image[4, 9], image[4, 10] = np.inf, -np.inf, np.nan
    params = params_for(image, "RICE_1", (1, 100))
    _, column, zscale, zzero, has_null = joined(encode(image, params))
    assert_array_equal(column, [1, 1, 2, 1, 2, 1])
    assert_array_equal(has_null, [False, False, False, False, True, False])
    assert zscale[2] == zzero[2] == 0
    found = section_of(compressed_file(image, params))
    assert found[[2, 4]].tobytes() == image[[2, 4]].tobytes()


def test_undefined_pixels_outlive_lossy_hcompress():
    image = star_field((32, 40), "f4")
    image[5, 6] = np.nan
    content = compressed_file(image, params_for(image, "HCOMPRESS_1", (16, 20), hcomp_scale=4.0))
    assert_array_equal(np.isnan(section_of(content)), np.isnan(image))


# ---- the array may lie in memory as it likes ----

@pytest.mark.parametrize("dtype", ["u1", "i2", "u2", "i4", "f4", "f8"])
def test_strides_and_byte_order_do_not_matter(dtype):
    image = star_field((40, 52), dtype)
    params = params_for(image, "RICE_1", (16, 20))
    expected = joined(encode(image, params))[0]
    padded = np.zeros((80, 110), dtype)
    padded[::2, 3:107:2] = image
    unaligned = np.frombuffer(b"\0" + image.tobytes(), np.uint8)[1:].view(dtype).reshape(image.shape)
    swapped, backwards = image.astype(image.dtype.newbyteorder(">")), image[::-1, ::-1].copy()[::-1, ::-1]
    for other in (swapped, backwards, np.asfortranarray(image), padded[::2, 3:107:2], unaligned):
        assert_array_equal(other, image)
        assert joined(encode(other, params))[0] == expected


def test_read_only_and_empty_arrays():
    image = star_field((8, 16), "i2")
    image.flags.writeable = False
    assert len(joined(encode(image, params_for(image, "RICE_1", (1, 16))))[0]) == 8
    empty = np.zeros((0, 16), "i2")
    assert list(encode(empty, params_for(empty, "RICE_1", (1, 16)))) == []


@pytest.mark.parametrize("zcmptype", ["RICE_1", "GZIP_2", "HCOMPRESS_1", "PLIO_1"])
def test_threads_runs_and_slabs_change_nothing(monkeypatch, zcmptype):
    image = star_field((300, 400), "i2").clip(0)
    params = params_for(image, zcmptype, (16, 90))
    expected = joined(encode(image, params, threads=1))[0]
    monkeypatch.setattr(encode_module, "RUN_PIXELS", 3000)
    monkeypatch.setattr(encode_module, "RUNS_AHEAD", 2)
    assert joined(encode(image, params, threads=2))[0] == expected
    rows = [piece.row for piece in encode(image, params, threads=2)]
    assert rows == sorted(rows) and len(rows) > 8
    slabs = [piece for start in range(0, 300, 48) for piece in encode(image[start : start + 48], params, start=start)]
    assert joined(slabs)[0] == expected


def test_large_tiles_are_not_hoarded(monkeypatch):
    image = star_field((640, 64), "i2")
    params = params_for(image, "RICE_1", (20, 64))
    monkeypatch.setattr(encode_module, "RUN_PIXELS", 100)
    counts = []
    run = encode_module.pool.run

    def counted(work, items, threads):
        counts.append(len(items))
        run(work, items, threads)

    monkeypatch.setattr(encode_module.pool, "run", counted)
    assert len(list(encode(image, params, threads=1))) == 32
    assert counts == [2] * 16


def test_slabs_of_dithered_floats_keep_their_place_in_the_sequence():
    image = star_field((40, 64), "f4")
    params = params_for(image, "RICE_1", (4, 32), zdither0=9999)
    expected = joined(encode(image, params))
    bounds = ((0, 12), (12, 32), (32, 40))
    slabs = [piece for start, stop in bounds for piece in encode(image[start:stop], params, start=start)]
    assert joined(slabs)[0] == expected[0]


@pytest.mark.parametrize(("zcmptype", "dtype"), [("RICE_1", "u1"), ("RICE_1", "i2"), ("RICE_1", "f4"), ("PLIO_1", "u2"),
                                                 ("HCOMPRESS_1", "i2"), ("GZIP_1", "i4")])
def test_engines_agree(zcmptype, dtype):
    image = star_field((40, 60), dtype)
    params = params_for(image, zcmptype, (16, 25))
    assert joined(encode(image, params, engine="cfitsio"))[0] == joined(encode(image, params, engine="kernel"))[0]


def test_rice_of_narrow_pixels_as_wide_ones():
    """BYTEPIX may be larger than the pixels."""
    image = star_field((10, 40), "i2")
    content = compressed_file(image, params_for(image, "RICE_1", (1, 40), bytepix=4))
    assert_array_equal(section_of(content), image)


# ---- what is refused ----

def test_pixels_that_plio_cannot_hold():
    image = star_field((8, 16), "i4")
    image[5, 3] = -1
    with pytest.raises(NotEncodableError, match=r"tile \(5, 0\), row 5") as caught:
        list(encode(image, params_for(image, "PLIO_1", (1, 16))))
    assert caught.value.row == 5 and caught.value.tile == (5, 0)


@pytest.mark.parametrize("dtype", ["i4", "u2", "c8", "O", "?"])
def test_other_types(dtype):
    params = params_for(np.zeros((4, 8), "i2"), "RICE_1", (1, 8))
    with pytest.raises(TypeError, match="int16"):
        encode(np.zeros((4, 8), dtype), params)


@pytest.mark.parametrize(("shape", "start"), [((4, 9), 0), ((4,), 0), ((4, 8), 1), ((3, 8), 0), ((12, 8), 0), ((4, 8), 8),
                                              ((4, 8), -4)])
def test_other_shapes(shape, start):
    params = params_for(np.zeros((10, 8), "i2"), "RICE_1", (4, 8))
    with pytest.raises(ValueError, match=r"slab"):
        encode(np.zeros(shape, "i2"), params, start=start)


@pytest.mark.parametrize("settings", [{"quantize_level": np.nan}, {"quantize_level": np.inf}, {"gzip_level": 13},
                                      {"gzip_level": -1}, {"threads": 0}, {"engine": "zlib"}])
def test_settings_out_of_range(settings):
    image = np.zeros((4, 8), "f4")
    with pytest.raises(ValueError):
        encode(image, params_for(image, "RICE_1", (1, 8)), **settings)


def test_zeros_that_lossy_hcompress_would_move():
    image = star_field((16, 16), "f4")
    params = params_for(image, "HCOMPRESS_1", (16, 16), zquantiz="SUBTRACTIVE_DITHER_2", zdither0=1, hcomp_scale=2.0)
    with pytest.raises(HeaderError, match="SUBTRACTIVE_DITHER_2"):
        encode(image, params)


def test_encoded_tiles_keep_little_more_memory_than_they_need():
    image = np.zeros((1024, 1024), "i2")
    (tiles,) = encode(image, params_for(image, "RICE_1", image.shape))
    owner = tiles.heap.obj
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    assert owner.nbytes <= encode_module.MAX_KEPT * len(tiles.heap)
