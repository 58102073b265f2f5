"""Every line of docs/differences.csv has its test here: what other readers do otherwise, and what this package does."""

import csv
import gzip
import io
import warnings

import numpy as np
import pytest
from astropy.io import fits
from astropy.io.fits.hdu.compressed._compression import CfitsioException
from numpy.testing import assert_array_equal
from support.needs import REPOSITORY

import astropy_tilecomp as tc
from astropy_tilecomp.codecs import HCompress1, codec_for, dequantize, finalize
from astropy_tilecomp.encode import encode
from astropy_tilecomp.tiling.columns import COLUMN_NAMES
from astropy_tilecomp.tiling.params import CompressionParams

IMAGE = np.random.default_rng(3).normal(500, 50, (30, 40)).astype("i2")


def compressed(image=IMAGE, **options):
    """Bytes of a file with a compressed image in HDU 1, written by astropy."""
    target = io.BytesIO()
    fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(image, **{"tile_shape": (10, 40), **options})]).writeto(target)
    return bytearray(target.getvalue())


def replace_card(content, keyword, card):
    """Overwrite a card of the compressed image."""
    at = content.index(f"{keyword:8}=".encode(), 2880)
    content[at : at + 80] = card.ljust(80).encode()
    return bytes(content)


def table(columns, rows, heap, *cards):
    """Bytes of a file with a table of one row for each tile, all of them in one heap."""
    head = [("XTENSION", "BINTABLE"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", rows.dtype.itemsize), ("NAXIS2", len(rows)),
            ("PCOUNT", len(heap)), ("GCOUNT", 1), ("TFIELDS", len(columns)), ("ZIMAGE", True)]
    for number, (name, form) in enumerate(columns, 1):
        head += [(f"TTYPE{number}", name), (f"TFORM{number}", form)]
    body = rows.tobytes() + heap
    text = fits.PrimaryHDU().header.tostring() + fits.Header([*head, *cards]).tostring()
    return text.encode() + body + bytes(-len(body) % 2880)


def shape_cards(bitpix, shape, algorithm):
    axes = [(f"ZNAXIS{axis}", size) for axis, size in enumerate(reversed(shape), 1)]
    return [("ZBITPIX", bitpix), ("ZNAXIS", len(shape)), *axes, ("ZCMPTYPE", algorithm)]


def data_of(content):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tc.open(content) as hdus:
            return hdus[1].data


def test_header_faults_wait():
    content = replace_card(compressed(), "ZBITPIX", "ZBITPIX =                    7")
    content += bytes(compressed(IMAGE + 1))[2880:]
    with tc.open(content) as hdus:
        with pytest.raises(tc.HeaderError, match="ZBITPIX is 7"):
            hdus[1].data
        assert_array_equal(hdus[2].data, IMAGE + 1)


def test_missing_ztile_means_rows():
    content = compressed(tile_shape=(1, 40))
    content = replace_card(content, "ZTILE1", "COMMENT")
    content = replace_card(bytearray(content), "ZTILE2", "COMMENT")
    with tc.open(content) as hdus:
        assert hdus[1].section.chunks == (1, 40)
        assert hdus[1].tile_shape == (1, 40)
        assert_array_equal(hdus[1].data, IMAGE)


def test_missing_seed_is_one():
    image = IMAGE.astype("f4")
    content = compressed(image, quantize_method=1, dither_seed=1)
    expected = data_of(bytes(content))
    assert_array_equal(data_of(replace_card(content, "ZDITHER0", "COMMENT")), expected)


def test_unknown_zquantiz_is_an_error():
    content = replace_card(compressed(IMAGE.astype("f4"), quantize_method=1), "ZQUANTIZ", "ZQUANTIZ= 'GUESSED'")
    with tc.open(content) as hdus, pytest.raises(tc.HeaderError, match="ZQUANTIZ is 'GUESSED'"):
        hdus[1].data


def test_zscale_keywords_count():
    stored = np.arange(12, dtype=">i4").reshape(3, 4)
    heap = gzip.compress(stored.tobytes())
    rows = np.array([(len(heap), 0)], ">i4,>i4")
    cards = [*shape_cards(-32, (3, 4), "GZIP_1"), ("ZTILE1", 4), ("ZTILE2", 3), ("ZSCALE", 0.5), ("ZZERO", 10.0)]
    content = table([("COMPRESSED_DATA", "1PB")], rows, heap, *cards)
    assert_array_equal(data_of(content), stored * np.float32(0.5) + 10)


@pytest.mark.parametrize("filled", ["GZIP_COMPRESSED_DATA", "UNCOMPRESSED_DATA"])
def test_either_fallback_column_is_taken(filled):
    pixels = np.linspace(0, 1, 12, dtype=">f4").reshape(3, 4)
    heap = gzip.compress(pixels.tobytes()) if filled.startswith("GZIP") else pixels.tobytes()
    count = len(heap) if filled.startswith("GZIP") else 12
    counts = {"GZIP_COMPRESSED_DATA": 0, "UNCOMPRESSED_DATA": 0, filled: count}
    row = (0, 0, counts["GZIP_COMPRESSED_DATA"], 0, counts["UNCOMPRESSED_DATA"], 0, 0.0, 0.0)
    rows = np.array([row], ">i4,>i4,>i4,>i4,>i4,>i4,>f8,>f8")
    columns = [("COMPRESSED_DATA", "1PB"), ("GZIP_COMPRESSED_DATA", "1PB"), ("UNCOMPRESSED_DATA", "1PE"),
               ("ZSCALE", "1D"), ("ZZERO", "1D")]
    content = table(columns, rows, heap, *shape_cards(-32, (3, 4), "RICE_1"), ("ZTILE1", 4), ("ZTILE2", 3))
    assert_array_equal(data_of(content), pixels)


def test_plio_of_cfitsio_is_unsigned():
    words = np.array([0, 7, -100, 9, 0, 0, 0, 0x4002, 0x5002], ">i2")  # 1 1 0 1, as cfitsio codes unsigned pixels
    rows = np.array([(words.size, 0)], ">i4,>i4")
    cards = [*shape_cards(16, (1, 4), "PLIO_1"), ("BZERO", 32768)]
    assert_array_equal(data_of(table([("COMPRESSED_DATA", "1PI")], rows, words.tobytes(), *cards)), [[1, 1, 0, 1]])


def test_blank_zero_is_blank():
    hdu = fits.CompImageHDU(np.array([[0, 1], [2, 0]], "i2"))
    hdu.header["BLANK"] = 0
    target = io.BytesIO()
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(target)
    assert_array_equal(data_of(target.getvalue()), np.array([[np.nan, 1], [2, np.nan]], "f4"))


def test_sections_take_arrays():
    with tc.open(bytes(compressed())) as hdus:
        assert_array_equal(hdus[1].section[[7, 2], 3:9], IMAGE[[7, 2], 3:9])
        assert_array_equal(hdus[1].section[::4, IMAGE[0] > 500], IMAGE[::4, IMAGE[0] > 500])


def test_section_dtype_is_that_of_values():
    with tc.open(bytes(compressed(IMAGE.astype("u2")))) as hdus:
        assert hdus[1].section.dtype == np.dtype("u2") == hdus[1].section[0].dtype


def test_sections_see_loaded_data():
    with tc.open(bytes(compressed())) as hdus:
        hdus[1].data[0, 0] = -3
        assert hdus[1].section[0, 0] == -3


def test_trailing_bytes_warn():
    content = compressed()
    with fits.open(io.BytesIO(content), disable_image_compression=True) as hdus:
        at = hdus[1]._data_offset
    content[at : at + 4] = (int.from_bytes(content[at : at + 4], "big") + 5).to_bytes(4, "big")
    with tc.open(bytes(content)) as hdus:
        with pytest.warns(tc.TileCompWarning, match="unused bytes"):
            assert_array_equal(hdus[1].section[:5], IMAGE[:5])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert_array_equal(hdus[1].data, IMAGE)


def test_many_unused_bytes_are_damage():
    content = compressed()
    with fits.open(io.BytesIO(content), disable_image_compression=True) as hdus:
        at = hdus[1]._data_offset
    content[at : at + 4] = (int.from_bytes(content[at : at + 4], "big") + 17).to_bytes(4, "big")
    with tc.open(bytes(content)) as hdus, pytest.raises(tc.TrailingBytesError):
        hdus[1].data


def test_both_markers_of_zero():
    settings = {"zscale": 0.5, "zzero": 10, "row": 0, "zquantiz": "SUBTRACTIVE_DITHER_2", "zdither0": 5}
    integers = np.array([-2147483647, -2147483646, -2147483648, 4], "i4")
    assert_array_equal(dequantize(integers, **settings)[:2], 0)
    assert dequantize(integers, **settings)[2] < -1e9
    for zblank in integers[:3].tolist():
        pixels = dequantize(integers, zblank=zblank, **settings)
        assert_array_equal(np.isnan(pixels), integers == zblank)


def test_damage_says_where():
    content = compressed()
    with fits.open(io.BytesIO(content), disable_image_compression=True) as hdus:
        at = hdus[1]._data_offset
    content[at + 8 : at + 12] = (5).to_bytes(4, "big")
    fault = r"tile \(1, 0\), row 1, RICE_1 in COMPRESSED_DATA: .* file offset"
    with tc.open(bytes(content)) as hdus, pytest.raises(CfitsioException, match=fault) as caught:
        hdus[1].data
    assert isinstance(caught.value, tc.TruncatedTileError)


def test_closed_files_stay_closed(tmp_path):
    (tmp_path / "a.fits").write_bytes(compressed())
    hdus = tc.open(tmp_path / "a.fits")
    section = hdus[1].section
    hdus.close()
    with pytest.raises(ValueError, match="closed"):
        section[0]


def test_huge_images_are_refused():
    content = compressed(np.zeros((30, 40), "u1"), compression_type="GZIP_1", tile_shape=(30, 40))
    for keyword, value in (("ZNAXIS1", 2**20), ("ZTILE1", 2**20), ("ZNAXIS2", 2**11), ("ZTILE2", 2**11 - 1)):
        content = bytearray(replace_card(content, keyword, f"{keyword:8}= {value:20}"))
    content = replace_card(content, "NAXIS2", "NAXIS2  =                    2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tc.open(content, max_nbytes=1 << 30) as hdus, pytest.raises((tc.UnsupportedError, tc.HeaderError)):
            hdus[1].data


def encoded_and_decoded(image, **settings):
    """Pixels of a quantized image after one round trip, tile by tile."""
    params = CompressionParams(image_shape=image.shape, zbitpix=-32, quantized=True, zquantiz="NO_DITHER", **settings)
    tiles = []
    for piece in encode(image, params):
        stop = np.cumsum(piece.nbytes)
        for n, (row, end) in enumerate(zip(range(piece.row, piece.row + len(piece)), stop)):
            column = COLUMN_NAMES[piece.column[n]]
            pixels = codec_for(params, row=row, column=column).decode(piece.heap[end - piece.nbytes[n] : end])
            scale = {"zscale": piece.zscale[n], "zzero": piece.zzero[n], "zblank": -(2**31) + 1}
            tiles.append(finalize(pixels, params, row=row, column=column, **scale))
    return np.concatenate(tiles)


def test_infinite_pixels_stay():
    image = np.random.default_rng(1).normal(10, 1, (4, 50)).astype("f4")
    image[2, 7], image[2, 8] = np.inf, -np.inf
    found = encoded_and_decoded(image, zcmptype="RICE_1", tile_shape=(1, 50))
    assert_array_equal(found[2], image[2])
    assert_array_equal(np.isinf(found), np.isinf(image))


def test_undefined_pixels_outlive_lossy_hcompress():
    image = np.random.default_rng(1).normal(10, 1, (32, 50)).astype("f4")
    image[3, 7] = np.nan
    found = encoded_and_decoded(image, zcmptype="HCOMPRESS_1", tile_shape=(16, 50), hcomp_scale=3.0)
    assert_array_equal(np.isnan(found), np.isnan(image))


def test_integers_of_lossy_hcompress_do_not_wrap():
    pixels = (-2147483648 + np.random.default_rng(1).integers(0, 20, (8, 8))).astype("i4")
    lossy = HCompress1(scale=8, dtype="i4", tile_shape=(8, 8))
    found = lossy.decode(lossy.encode(pixels))
    assert found.min() == -2147483648
    assert found.max() < -2147483600


def stored_bytes(content):
    with fits.open(io.BytesIO(content), disable_image_compression=True) as hdus:
        return content[hdus[1]._data_offset : hdus[1]._data_offset + hdus[1]._data_size]


def written(hdu):
    target = io.BytesIO()
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(target)
    return target.getvalue()


def test_header_edits_keep_bytes():
    content = bytes(compressed(IMAGE.astype("f4"), quantize_method=1))
    with tc.open(content) as hdus:
        hdus[1].header["OBJECT"] = "M 31"
        assert stored_bytes(written(hdus[1])) == stored_bytes(content)


def test_unchanged_tiles_keep_bytes():
    content = bytes(compressed(IMAGE.astype("f4")))
    before = data_of(content)
    with tc.open(content) as hdus:
        hdus[1].data[0, 0] += 300
        after = data_of(written(hdus[1]))
    assert_array_equal(after[10:], before[10:])
    assert after[0, 0] != before[0, 0]


def test_looking_is_not_changing(tmp_path):
    hdu = fits.CompImageHDU(IMAGE)
    hdu.header["BSCALE"] = 0.5
    (tmp_path / "a.fits").write_bytes(written(hdu))
    before = (tmp_path / "a.fits").read_bytes()
    with tc.open(tmp_path / "a.fits", mode="update") as hdus:
        assert hdus[1].data.dtype == np.dtype("f4")
    assert (tmp_path / "a.fits").read_bytes() == before


def test_lossless_floats_are_refused_by_integer_codecs():
    with pytest.raises(tc.HeaderError, match="holds no floats without loss"):
        written(tc.CompImageHDU(IMAGE.astype("f4"), compression_type="RICE_1", quantize_level=0))
    with pytest.warns(tc.TileCompWarning, match="GZIP_2 is used instead"):
        assert_array_equal(data_of(written(tc.CompImageHDU(IMAGE / 3, quantize_level=0))), IMAGE / 3)
    assert_array_equal(data_of(written(tc.CompImageHDU(IMAGE / 3, lossless=True))), IMAGE / 3)


def test_nocompress_floats_are_exact():
    assert_array_equal(data_of(written(tc.CompImageHDU(IMAGE / 3, compression_type="NOCOMPRESS"))), IMAGE / 3)


def test_appended_images_survive_a_second_flush(tmp_path):
    noise = np.random.default_rng(1).integers(-30000, 30000, IMAGE.shape).astype("i2")
    hdus = [fits.PrimaryHDU(), *[fits.CompImageHDU(image) for image in (IMAGE, noise, IMAGE + 2)]]
    fits.HDUList(hdus).writeto(tmp_path / "a.fits")
    with tc.open(tmp_path / "a.fits", mode="update") as hdus:
        hdus.append(tc.CompImageHDU(IMAGE * 2))
        hdus.flush()
        hdus[2].data[0, 0] = 5  # noise is stored plain: the size does not change, so that nothing is moved
        hdus.flush()
    with fits.open(tmp_path / "a.fits") as hdus:
        assert hdus[2].data[0, 0] == 5
        for number, image in ((1, IMAGE), (3, IMAGE + 2), (4, IMAGE * 2)):
            assert_array_equal(hdus[number].data, image)


def test_masked_pixels_are_refused(tmp_path):
    masked = np.ma.array(IMAGE, mask=np.indices(IMAGE.shape).sum(axis=0) == 7)
    hdu = tc.CompImageHDU(IMAGE)
    for write in (lambda: written(tc.CompImageHDU(masked)), lambda: tc.write_image(tmp_path / "a.fits", masked),
                  lambda: setattr(hdu, "data", masked) or written(hdu)):
        with pytest.raises(ValueError, match="pixels are masked"):
            write()
    assert_array_equal(data_of(written(tc.CompImageHDU(np.ma.array(IMAGE)))), IMAGE)
    assert data_of(written(fits.CompImageHDU(masked)))[3, 4] == np.array(999999).astype("i2")


def test_missing_primary_is_read():
    content = bytes(compressed()[2880:])
    with pytest.warns(tc.TileCompWarning, match="primary HDU is missing"):
        assert_array_equal(tc.open(content)[0].data, IMAGE)
    with tc.enabled(), pytest.raises(OSError, match="No SIMPLE card"):
        fits.open(io.BytesIO(content))


def test_cut_files_are_not_changed(tmp_path):
    path = tmp_path / "a.fits"
    path.write_bytes(content := bytes(compressed()[:-100]))
    with warnings.catch_warnings(action="ignore"):
        hdul = tc.open(path, mode="update")
        hdul[0].header["CARD"] = 1
        with pytest.raises(tc.HeaderError, match="salvage"):
            hdul.close()
    assert path.read_bytes() == content


def test_buffers_are_updated():
    buffer = io.BytesIO(compressed())
    hdul = tc.open(buffer, mode="update")
    hdul[0].header.extend([(f"KEY{number}", number) for number in range(60)])
    hdul.close(closed=False)
    buffer.seek(0)
    with fits.open(buffer) as found:
        assert found[0].header["KEY59"] == 59
        assert_array_equal(found[1].data, IMAGE)


def test_blank_can_be_ignored():
    content = bytes(compressed(header=fits.Header([("BLANK", int(IMAGE[3, 4]))])))
    with tc.open(content, ignore_blank=True) as hdul:
        assert_array_equal(hdul[1].data, IMAGE)
        assert hdul[1].data.dtype == IMAGE.dtype
    assert np.isnan(tc.open(content)[1].data[3, 4])


def scaled_file(path):
    """A file of integers with BSCALE and BZERO, and its pixels."""
    hdu = fits.CompImageHDU(IMAGE)
    hdu.header["BSCALE"], hdu.header["BZERO"] = 0.5, 7.0
    path.write_bytes(written(hdu))
    return tc.read_image(path)


def test_assigned_pixels_are_read_back(tmp_path):
    scaled_file(tmp_path / "a.fits")
    with tc.open(tmp_path / "a.fits", mode="update") as hdus:
        hdus[1].data = IMAGE + 1
    assert_array_equal(tc.read_image(tmp_path / "a.fits"), IMAGE + 1)


def test_lossless_floats_stay_lossless(tmp_path):
    tc.write_image(tmp_path / "a.fits", IMAGE / 3, lossless=True)
    with tc.open(tmp_path / "a.fits", mode="update") as hdus:
        hdus[1].data = hdus[1].data[5:, 5:]
    assert_array_equal(tc.read_image(tmp_path / "a.fits"), (IMAGE / 3)[5:, 5:])


def test_hcompress_default_tiles_fit():
    image = np.arange(220, dtype="i2").reshape(22, 10)
    with pytest.raises(ValueError):
        written(fits.CompImageHDU(image, compression_type="HCOMPRESS_1"))
    assert_array_equal(data_of(written(tc.CompImageHDU(image, compression_type="HCOMPRESS_1"))), image)


def test_scale_back_twice_is_the_same(tmp_path):
    want = scaled_file(tmp_path / "a.fits")
    with tc.open(tmp_path / "a.fits", mode="update", scale_back=True) as hdus:
        want[0, 0] = hdus[1].data[0, 0] = 20
        hdus.flush()
        hdus.flush()
    assert_array_equal(tc.read_image(tmp_path / "a.fits"), want)


def test_every_line_has_a_test():
    with open(REPOSITORY / "docs" / "differences.csv", newline="") as file:
        names = [line["test"] for line in csv.DictReader(file)]
    here = [name.removeprefix("test_") for name in globals() if name.startswith("test_")]
    assert sorted([*names, "every_line_has_a_test"]) == sorted(here)
