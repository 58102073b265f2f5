"""CompressionParams.from_header(): every legal header, and a named error for every other."""

import dataclasses
import warnings

import numpy as np
import pytest
from astropy.io import fits
from conftest import read_manifest
from support import needs

from astropy_tilecomp.errors import HeaderError, UnsupportedError
from astropy_tilecomp.tiling.header_cards import read_cards
from astropy_tilecomp.tiling.params import CompressionParams

INTEGER = {
    "ZIMAGE": True, "ZCMPTYPE": "RICE_1", "ZBITPIX": 16, "ZNAXIS": 2, "ZNAXIS1": 70, "ZNAXIS2": 50, "ZTILE1": 23,
    "ZTILE2": 17, "ZNAME1": "BLOCKSIZE", "ZVAL1": 32, "ZNAME2": "BYTEPIX", "ZVAL2": 2, "NAXIS2": 12, "TFIELDS": 1,
    "TTYPE1": "COMPRESSED_DATA", "TFORM1": "1PB(400)",
}
FLOAT = INTEGER | {
    "ZBITPIX": -32, "ZVAL2": 4, "TFIELDS": 3, "TTYPE2": "ZSCALE", "TFORM2": "1D", "TTYPE3": "ZZERO", "TFORM3": "1D",
    "ZQUANTIZ": "SUBTRACTIVE_DITHER_1", "ZDITHER0": 42,
}
LOSSLESS = INTEGER | {"ZBITPIX": -64, "ZCMPTYPE": "GZIP_2"}
REMOVED = type("Removed", (), {"__repr__": lambda self: "REMOVED"})()


def header(base, **changes):
    """A header with keywords changed or removed."""
    return {keyword: value for keyword, value in (base | changes).items() if value is not REMOVED}


def params_of(base, **changes):
    return CompressionParams.from_header(header(base, **changes))


def test_integer_image():
    params = params_of(INTEGER)
    assert params == CompressionParams("RICE_1", 16, (50, 70), (17, 23), blocksize=32, bytepix=2)
    assert (params.ndim, params.grid_shape, params.n_tiles) == (2, (3, 4), 12)
    assert (params.n_pixels, params.tile_pixels) == (3500, 391)
    assert params.dtype == params.result_dtype == np.int16
    assert not params.quantized
    assert params.dither_method == 0


def test_quantized_image():
    params = params_of(FLOAT, ZBLANK=-2147483647)
    assert params.quantized
    assert (params.zquantiz, params.dither_method, params.zdither0) == ("SUBTRACTIVE_DITHER_1", 1, 42)
    assert (params.zblank, params.blank, params.zscale, params.zzero) == (-2147483647, None, None, None)
    assert params.dtype == params.result_dtype == np.float32


def test_params_are_frozen_and_hashable():
    params = params_of(INTEGER)
    with pytest.raises(dataclasses.FrozenInstanceError):
        params.zbitpix = 8
    assert len({params, params_of(INTEGER)}) == 1


@pytest.mark.parametrize(("changes", "expected"), [
    ({"ZCMPTYPE": "RICE_ONE"}, {"zcmptype": "RICE_1"}),
    ({"ZCMPTYPE": " gzip_1 "}, {"zcmptype": "GZIP_1"}),
    ({"ZCMPTYPE": "NOCOMPRESS"}, {"zcmptype": "NOCOMPRESS"}),
    ({"ZIMAGE": "T"}, {"zcmptype": "RICE_1"}),
    ({"ZIMAGE": np.True_}, {"zcmptype": "RICE_1"}),
    ({"ZTILE1": REMOVED, "ZTILE2": REMOVED, "NAXIS2": 50}, {"tile_shape": (1, 70)}),
    ({"ZTILE1": None, "ZTILE2": None, "NAXIS2": 50}, {"tile_shape": (1, 70)}),
    ({"ZTILE1": 1000, "ZTILE2": 2**40, "NAXIS2": 1}, {"tile_shape": (50, 70)}),
    ({"ZNAME1": REMOVED, "ZNAME2": REMOVED}, {"blocksize": 32, "bytepix": 4}),
    ({"ZNAME1": "NOISEBIT", "ZVAL1": 16, "ZNAME2": REMOVED}, {"blocksize": 32, "bytepix": 4}),
    ({"ZNAME1": "BYTEPIX", "ZVAL1": 1, "ZNAME2": "BLOCKSIZE", "ZVAL2": 16}, {"blocksize": 16, "bytepix": 1}),
    ({"ZNAME2": "NOISEBIT", "ZVAL2": 4.5}, {"blocksize": 32, "bytepix": 4}),
    ({"ZVAL2": -4}, {"bytepix": 4}),  # as rustfits writes for quantized floats
    ({"ZCMPTYPE": "PLIO_1", "ZNAME1": "depth", "ZVAL1": "x"}, {"zcmptype": "PLIO_1"}),
    ({"ZCMPTYPE": "HCOMPRESS_1", "ZNAME1": "SCALE", "ZVAL1": 2.5, "ZNAME2": "SMOOTH", "ZVAL2": 1},
     {"hcomp_scale": 2.5, "smooth": True}),
    ({"ZCMPTYPE": "HCOMPRESS_1", "ZNAME1": REMOVED}, {"hcomp_scale": 0.0, "smooth": False}),
    ({"ZVAL2": 2.0, "ZNAXIS1": np.int16(70)}, {"bytepix": 2, "image_shape": (50, 70)}),
    ({"ZQUANTIZ": "NO_SUCH_METHOD", "ZDITHER0": "x"}, {"zquantiz": None, "zdither0": None}),
    ({"ZNAXIS3": 0}, {"image_shape": (50, 70)}),
    ({"NAXIS2": REMOVED}, {"image_shape": (50, 70)}),
    ({"ZNAXIS1": 0, "NAXIS2": 0}, {"image_shape": (50, 0), "tile_shape": (17, 1)}),
    ({"BSCALE": 2, "BZERO": 0.5}, {"bscale": 2, "bzero": 0.5}),
    ({"BLANK": -32768}, {"blank": -32768, "zblank": None}),
    ({"ZBLANK": -5}, {"blank": -5, "zblank": -5}),
    ({"ZBLANK": -5, "BLANK": 3}, {"blank": 3, "zblank": -5}),
    ({"TFIELDS": 2, "TTYPE2": "zblank"}, {"blank": -32768, "zblank": None}),
    ({"TFIELDS": 2, "TTYPE2": "NULL_PIXEL_MASK", "ZMASKCMP": "RICE_ONE"}, {"zmaskcmp": "RICE_1"}),
    ({"ZMASKCMP": "unused"}, {"zmaskcmp": None}),
], ids=str)
def test_lawful_integer_headers(changes, expected):
    params = params_of(INTEGER, **changes)
    assert {name: getattr(params, name) for name in expected} == expected


@pytest.mark.parametrize(("changes", "expected"), [
    ({"ZQUANTIZ": REMOVED}, {"zquantiz": "NO_DITHER", "zdither0": None}),
    ({"ZQUANTIZ": "NONE"}, {"zquantiz": "NO_DITHER"}),
    ({"ZQUANTIZ": "subtractive_dither_2"}, {"zquantiz": "SUBTRACTIVE_DITHER_2", "zdither0": 42}),
    ({"ZDITHER0": REMOVED}, {"zdither0": 1}),
    ({"ZDITHER0": 0}, {"zdither0": 10000}),
    ({"ZDITHER0": -1}, {"zdither0": 9999}),
    ({"ZDITHER0": 10001}, {"zdither0": 1}),
    ({"ZQUANTIZ": "NO_DITHER", "ZDITHER0": "x"}, {"zdither0": None}),
    ({"BLANK": -7}, {"zblank": -7, "blank": None}),
    ({"BLANK": -7, "ZBLANK": -8}, {"zblank": -8, "blank": None}),
    ({"TTYPE2": "zscale"}, {"quantized": True, "zscale": None}),
    ({"TFIELDS": 1, "ZSCALE": 2, "ZZERO": 0.5}, {"quantized": True, "zscale": 2.0, "zzero": 0.5}),
    ({"TFIELDS": 2, "ZSCALE": 9.0, "ZZERO": 0.5}, {"quantized": True, "zscale": None, "zzero": 0.5}),
    ({"TFIELDS": 1, "ZCMPTYPE": "GZIP_1"}, {"quantized": False, "zquantiz": None, "zdither0": None}),
], ids=str)
def test_lawful_float_headers(changes, expected):
    params = params_of(FLOAT, **changes)
    assert {name: getattr(params, name) for name in expected} == expected


@pytest.mark.parametrize(("base", "changes", "keyword"), [
    (INTEGER, {"ZIMAGE": REMOVED}, "ZIMAGE"),
    (INTEGER, {"ZIMAGE": False}, "ZIMAGE"),
    (INTEGER, {"ZIMAGE": 1}, "ZIMAGE"),
    (INTEGER, {"ZCMPTYPE": REMOVED}, "ZCMPTYPE"),
    (INTEGER, {"ZCMPTYPE": "BZIP2_1"}, "ZCMPTYPE"),
    (INTEGER, {"ZCMPTYPE": 5}, "ZCMPTYPE"),
    (INTEGER, {"ZBITPIX": REMOVED}, "ZBITPIX"),
    (INTEGER, {"ZBITPIX": 17}, "ZBITPIX"),
    (INTEGER, {"ZBITPIX": "16"}, "ZBITPIX"),
    (INTEGER, {"ZBITPIX": True}, "ZBITPIX"),
    (INTEGER, {"ZNAXIS": REMOVED}, "ZNAXIS"),
    (INTEGER, {"ZNAXIS": 0}, "ZNAXIS"),
    (INTEGER, {"ZNAXIS": -1}, "ZNAXIS"),
    (INTEGER, {"ZNAXIS": 10**9}, "ZNAXIS"),
    (INTEGER, {"ZNAXIS": 3}, "ZNAXIS3"),
    (INTEGER, {"ZNAXIS1": -70}, "ZNAXIS1"),
    (INTEGER, {"ZNAXIS2": 50.5}, "ZNAXIS2"),
    (INTEGER, {"ZNAXIS2": float("nan")}, "ZNAXIS2"),
    (INTEGER, {"ZNAXIS2": float("inf")}, "ZNAXIS2"),
    (INTEGER, {"ZNAXIS2": 2**63}, "ZNAXIS2"),
    (INTEGER, {"ZTILE1": 0}, "ZTILE1"),
    (INTEGER, {"ZTILE2": -17}, "ZTILE2"),
    (INTEGER, {"ZTILE2": "17"}, "ZTILE2"),
    (INTEGER, {"ZVAL1": 0}, "BLOCKSIZE"),
    (INTEGER, {"ZVAL1": 2**16 + 1}, "BLOCKSIZE"),
    (INTEGER, {"ZVAL1": "32"}, "ZVAL1"),
    (INTEGER, {"ZVAL1": REMOVED}, "ZVAL1"),
    (INTEGER, {"ZNAME1": 5}, "ZNAME1"),
    (INTEGER, {"ZVAL2": 3}, "BYTEPIX"),
    (INTEGER, {"NAXIS2": 11}, "NAXIS2"),
    (INTEGER, {"TFIELDS": 1000}, "TFIELDS"),
    (INTEGER, {"BSCALE": "1"}, "BSCALE"),
    (INTEGER, {"BZERO": True}, "BZERO"),
    (INTEGER, {"BZERO": float("inf")}, "BZERO"),
    (INTEGER, {"BSCALE": 10**400}, "BSCALE"),
    (INTEGER, {"BLANK": 1.5}, "BLANK"),
    (INTEGER, {"ZBLANK": "x"}, "ZBLANK"),
    (INTEGER, {"TFIELDS": 2, "TTYPE2": "NULL_PIXEL_MASK"}, "ZMASKCMP"),
    (FLOAT, {"ZQUANTIZ": "SUBTRACTIVE_DITHER_3"}, "ZQUANTIZ"),
    (FLOAT, {"ZQUANTIZ": 1}, "ZQUANTIZ"),
    (FLOAT, {"ZDITHER0": "1"}, "ZDITHER0"),
    (FLOAT, {"TFIELDS": 2}, "ZZERO"),
    (FLOAT, {"TFIELDS": 1, "ZZERO": 1.0}, "ZSCALE"),
    (FLOAT, {"TFIELDS": 1, "ZSCALE": "1", "ZZERO": 1.0}, "ZSCALE"),
], ids=str)
def test_faults_name_the_keyword(base, changes, keyword):
    with pytest.raises(HeaderError) as caught:
        params_of(base, **changes)
    assert caught.value.keyword == keyword
    assert caught.value.expected
    assert str(caught.value).startswith(keyword)


def test_floats_need_a_scale_unless_gzipped():
    with pytest.raises(HeaderError, match="needs ZSCALE and ZZERO"):
        params_of(LOSSLESS, ZCMPTYPE="RICE_1")
    assert not params_of(LOSSLESS).quantized


@pytest.mark.parametrize(("changes", "says"), [
    ({"ZNAXIS1": 2**31, "ZNAXIS2": 2**31, "ZTILE1": 2**31, "ZTILE2": 2**31}, "a tile of shape"),
    ({"ZNAXIS1": 2**31, "ZTILE1": 2**31, "ZTILE2": 1}, "a tile of shape"),
    ({"ZNAXIS1": 2**62, "ZNAXIS2": 4}, "more than 2\\*\\*63"),
    ({"ZNAXIS": 999}, "numpy arrays have"),
    ({"ZVAL2": 8}, "BYTEPIX is 8"),
], ids=str)
def test_lawful_but_unsupported(changes, says):
    with pytest.raises(UnsupportedError, match=says):
        params_of(INTEGER, **changes)


def test_a_huge_image_of_small_tiles_is_only_numbers():
    with pytest.raises(HeaderError, match="NAXIS2 is 12, expected 11794593534819640"):
        params_of(INTEGER, ZNAXIS1=2**31, ZNAXIS2=2**31)


@pytest.mark.parametrize("values", [
    {"zcmptype": "RICE_ONE"}, {"zbitpix": 12}, {"image_shape": ()}, {"tile_shape": (0, 1)}, {"tile_shape": (1,)},
    {"blocksize": 0}, {"bytepix": 3}, {"quantized": True, "zquantiz": "NO_DITHER"},
    {"zbitpix": -32, "quantized": True, "zquantiz": None},
    {"zbitpix": -32, "quantized": True, "zquantiz": "SUBTRACTIVE_DITHER_1", "zdither0": 0},
    {"zbitpix": -32, "quantized": True, "zquantiz": "SUBTRACTIVE_DITHER_1"},
], ids=str)
def test_parameters_made_by_hand_are_checked_too(values):
    good = {"zcmptype": "RICE_1", "zbitpix": 16, "image_shape": (4, 5), "tile_shape": (1, 5)}
    CompressionParams(**good)
    with pytest.raises(HeaderError):
        CompressionParams(**good | values)


def test_unsigned_integers_may_be_floats():
    params = CompressionParams("RICE_1", 16, (4, 5), (1, 5), bzero=32768, unsigned=False)
    assert (params.offset_dtype, params.result_dtype) == (None, np.dtype("f4"))


@pytest.mark.parametrize(("bitpix", "bscale", "bzero", "blank", "expected"), [
    (8, 1, 0, None, "u1"), (16, 1, 0, None, "i2"), (32, 1, 0, None, "i4"), (64, 1, 0, None, "i8"),
    (8, 1, -128, None, "i1"), (16, 1, 32768, None, "u2"), (32, 1, 2**31, None, "u4"), (64, 1, 2**63, None, "u8"),
    (16, 1.0, 32768.0, None, "u2"), (16, 1, 32768, 5, "u2"),
    (8, 1, 32768, None, "f4"), (16, 1, -128, None, "f4"), (32, 1, 32768, None, "f8"), (16, 2, 32768, None, "f4"),
    (8, 1, 0, 255, "f4"), (16, 1, 0, 5, "f4"), (32, 1, 0, 5, "f8"), (64, 1, 0, 5, "f8"), (64, 2, 0, None, "f8"),
    (-32, 1, 0, None, "f4"), (-64, 1, 0, None, "f8"), (-32, 10, 11, None, "f4"), (-64, 10, 11, 5, "f8"),
])
def test_result_dtype_equals_astropys(bitpix, bscale, bzero, blank, expected):
    params = CompressionParams("GZIP_1", bitpix, (2, 3), (1, 3), bscale=bscale, bzero=bzero, blank=blank)
    assert params.result_dtype == np.dtype(expected)
    cards = [("SIMPLE", True), ("BITPIX", bitpix), ("NAXIS", 2), ("NAXIS1", 3), ("NAXIS2", 2)]
    cards += [("BSCALE", bscale), ("BZERO", bzero)]
    if blank is not None:
        cards.append(("BLANK", blank))
    stored = np.zeros((2, 3), params.dtype.newbyteorder(">")).tobytes().ljust(2880, b"\0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with fits.HDUList.fromstring(fits.Header(cards).tostring().encode() + stored) as hdul:
            assert hdul[0].data.dtype.newbyteorder("=") == params.result_dtype


def test_plio_offset_is_for_unsigned_16_bit_only():
    assert params_of(INTEGER, ZCMPTYPE="PLIO_1", BZERO=32768).plio_offset
    assert not params_of(INTEGER, ZCMPTYPE="PLIO_1").plio_offset
    assert not params_of(INTEGER, ZCMPTYPE="RICE_1", BZERO=32768).plio_offset
    assert not params_of(INTEGER, ZCMPTYPE="PLIO_1", ZBITPIX=32, BZERO=32768).plio_offset


def check_real_files(folder):
    """Parameters of every compressed HDU, out of astropy's header and out of its bytes, against the manifest."""
    n_hdus = 0
    for entry in read_manifest(folder):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with fits.open(folder / entry["name"], disable_image_compression=True) as hdul:
                headers = {known["index"]: hdul[known["index"]].header for known in entry["compressed_hdus"]}
                for known in entry["compressed_hdus"]:
                    table_header = headers[known["index"]]
                    params = CompressionParams.from_header(table_header)
                    assert CompressionParams.from_header(read_cards(table_header.tostring().encode("latin-1"))) == params
                    check_against_manifest(params, known)
                    n_hdus += 1
    return n_hdus


def check_against_manifest(params, known):
    assert params.zcmptype == known["algorithm"].replace("RICE_ONE", "RICE_1")
    assert params.zbitpix == known["zbitpix"]
    assert (list(params.image_shape), list(params.tile_shape)) == (known["shape"], known["tile_shape"])
    if params.quantized:
        assert params.zquantiz == known.get("zquantiz", "NO_DITHER")
    if "columns" in known:                                  # the manifest of the shipped files is shorter
        check_settings(params, known)


def check_settings(params, known):
    assert params.quantized == (params.zbitpix < 0 and "ZSCALE" in known["columns"])
    if params.zcmptype == "RICE_1":
        assert params.blocksize == known["parameters"].get("BLOCKSIZE", 32)
        assert params.bytepix == known["parameters"].get("BYTEPIX", 4)
    if params.quantized:
        assert params.zblank == known.get("zblank")
        assert params.zdither0 == (known["zdither0"] if params.dither_method else None)


def test_shipped_real_files(shipped):
    assert check_real_files(shipped) >= 40


def test_all_real_files():
    assert check_real_files(needs.shared("data/real")) == 237
