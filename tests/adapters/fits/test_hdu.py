"""The HDU face: astropy's interface, lazy headers, sections, errors, threads."""

import io
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from astropy.io import fits
from astropy.io.fits.hdu.compressed._compression import CfitsioException
from astropy.nddata import Cutout2D
from numpy.testing import assert_array_equal

import astropy_tilecomp as tc

ALGORITHMS = ["RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1", "NOCOMPRESS"]
SHAPE, TILE = (70, 90), (16, 20)


def image_of(dtype, seed=0):
    """An image of any type that every algorithm takes."""
    image = np.random.default_rng(seed).normal(500, 50, SHAPE)
    return image.astype(dtype)


def write(path, image, **options):
    """A file with a compressed image in HDU 1, written by astropy."""
    fits.CompImageHDU(image, **{"tile_shape": TILE, **options}).writeto(path)
    return path


def read_by_astropy(path, **options):
    with fits.open(path, **options) as hdus:
        return hdus[1].data


@pytest.fixture
def rice(tmp_path):
    return write(tmp_path / "rice.fits", image_of("i2"))


def change_card(path, keyword, value):
    """Overwrite the value of a card of HDU 1 in the file."""
    content = bytearray(path.read_bytes())
    at = content.index(f"{keyword:8}=".encode())
    content[at : at + 80] = f"{keyword:8}= {value:>20}".ljust(80).encode()
    path.write_bytes(content)
    return path


# What is asked for before the header is touched.


def test_nothing_before_header_converts_the_header(rice, monkeypatch):
    def fail(*args):
        raise AssertionError("the header was converted")

    with tc.open(rice) as hdus:
        hdu = hdus[1]
        monkeypatch.setattr(type(hdu), "_convert", fail)
        assert (hdu.name, hdu.ver, hdu.shape, hdu.is_image) == ("COMPRESSED_IMAGE", 1, SHAPE, True)
        assert (hdu.section.shape, hdu.section.dtype, hdu.section.chunks) == (SHAPE, np.dtype("i2"), TILE)
        assert hdu.section[3, 4] == image_of("i2")[3, 4]
        assert_array_equal(hdu.data, image_of("i2"))
        assert hdus["compressed_image"] is hdu
        assert hdu.damaged_tiles == []
        monkeypatch.undo()
        assert hdu.header["NAXIS1"] == SHAPE[1]


def test_the_header_and_settings_are_those_astropy_gives(shipped):
    names = ["astropy_m13_rice.fits", "astropy_m13_hcomp.fits", "galsim_test_multiS.fits.fz", "panoptes_solved.fits.fz"]
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with tc.open(shipped / name) as ours, fits.open(shipped / name) as theirs:
                for mine, other in zip(ours, theirs, strict=True):
                    assert repr(mine.header) == repr(other.header)
                    assert mine._summary() == other._summary()
                    for setting in ("compression_type", "tile_shape", "hcomp_scale", "quantize_method", "dither_seed"):
                        assert getattr(mine, setting, None) == getattr(other, setting, None)


@pytest.mark.parametrize("names", [["REAL"], ["COMPRESSED_IMAGE", "REAL"], ["COMPRESSED_IMAGE"] * 2, ["a", "b"]], ids=str)
def test_name_is_the_one_astropy_chooses(tmp_path, names):
    path = write(tmp_path / "a.fits", image_of("i2"))
    content = bytearray(path.read_bytes())
    end = content.index(b"END" + b" " * 77, 2880)
    at = content.index(b"EXTNAME ") if b"EXTNAME " in content else end
    cards = b"".join(f"EXTNAME = '{name:8}'".ljust(80).encode() for name in names)
    rest = content[at + (at != end) * 80 : end + 80]
    content[at : at + len(cards) + len(rest)] = cards + rest
    path.write_bytes(content)
    with tc.open(path) as ours, fits.open(path) as theirs:
        assert ours[1].name == theirs[1].name
        assert ours[1].ver == theirs[1].ver


def test_what_is_set_before_the_header_is_read_stays(rice):
    with tc.open(rice) as hdus:
        hdus[1].compression_type = "GZIP_1"
        hdus[1].tile_shape = (10, 10)
        hdus[1].name = "mine"
        assert hdus[1].header["EXTNAME"] == "MINE"
        assert (hdus[1].compression_type, hdus[1].tile_shape) == ("GZIP_1", (10, 10))


def test_a_missing_attribute_is_an_attribute_error(rice):
    with tc.open(rice) as hdus, pytest.raises(AttributeError, match="no_such_thing"):
        hdus[1].no_such_thing


# Pixels.


@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "f4", "f8", "u2", "u4", "i1"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_type_reads_as_with_astropy(tmp_path, algorithm, dtype):
    if algorithm == "PLIO_1" and dtype in ("f4", "f8", "u2", "u4", "i1"):
        pytest.skip("astropy does not write this with PLIO_1")
    image = (image_of("f8") / 8).astype(dtype) if dtype in ("u1", "i1") else image_of(dtype)
    path = write(tmp_path / "a.fits", image, compression_type=algorithm)
    expected = read_by_astropy(path)
    with tc.open(path) as hdus:
        section = hdus[1].section
        assert section.result_dtype == expected.dtype == section.dtype
        assert_array_equal(section[5:60:7, 70:3:-2], expected[5:60:7, 70:3:-2])
        assert_array_equal(np.asarray(section), expected)
        assert_array_equal(hdus[1].data, expected)
        assert hdus[1].data.dtype == expected.dtype


@pytest.mark.parametrize("options", [{"uint": False}, {"do_not_scale_image_data": True}, {}], ids=str)
@pytest.mark.parametrize("dtype", ["i1", "i2", "u2", "u4", "f4"])
def test_unsigned_integers_follow_the_options_of_astropy(tmp_path, dtype, options):
    path = write(tmp_path / "a.fits", image_of(dtype))
    expected = read_by_astropy(path, **options)
    with tc.open(path, **options) as hdus:
        part = hdus[1].section[10:20]
        assert (part.dtype, hdus[1].section.result_dtype) == (expected.dtype, expected.dtype)
        assert_array_equal(part, expected[10:20])
        assert_array_equal(hdus[1].data, expected)


def test_scaled_integers_with_blank_are_floats_with_nan(tmp_path):
    hdu = fits.CompImageHDU(image_of("i2"), tile_shape=TILE)
    hdu.header["BSCALE"], hdu.header["BZERO"], hdu.header["BLANK"] = 0.5, 10.0, int(image_of("i2")[2, 3])
    hdu.writeto(tmp_path / "a.fits")
    expected = read_by_astropy(tmp_path / "a.fits")
    assert np.isnan(expected[2, 3])
    with tc.open(tmp_path / "a.fits") as hdus:
        assert_array_equal(hdus[1].section[:10], expected[:10])
        assert_array_equal(hdus[1].data, expected)
        assert "BSCALE" not in hdus[1].header
        assert str(hdus[1].header.cards["BITPIX"]).split()[2] == "-32"


@pytest.mark.parametrize("card", ["BSCALE = 0.5", "bscale  = 0.5"])
def test_cards_out_of_place_count_whether_the_header_was_read_or_not(tmp_path, card):
    hdu = fits.CompImageHDU(image_of("i2"), tile_shape=TILE)
    hdu.header["BSCALE"] = 2.0
    hdu.writeto(tmp_path / "a.fits")
    content = (tmp_path / "a.fits").read_bytes()
    at = content.index(b"BSCALE  =")
    content = content[:at] + card.ljust(80).encode() + content[at + 80:]
    assert_array_equal(tc.read_image(content), image_of("i2") / 2)
    for names in (("data",), ("header", "data")):
        with tc.open(content) as hdus:
            assert_array_equal([getattr(hdus[1], name) for name in names][-1], image_of("i2") / 2)


def test_an_empty_hdu_has_no_data(tmp_path):
    fits.CompImageHDU().writeto(tmp_path / "empty.fits")
    with tc.open(tmp_path / "empty.fits") as hdus:
        assert hdus[1].data is None
        assert hdus[1].shape == ()
        assert hdus[1].header["NAXIS"] == 0
        for hdu in (hdus[1], tc.CompImageHDU()):
            assert hdu.section.shape == ()
            with pytest.raises(tc.HeaderError, match="NAXIS is 0"):
                hdu.section[...]
            with pytest.raises(tc.HeaderError, match="NAXIS is 0"):
                hdu.section.dtype


# Sections.


def test_a_section_is_one_object_that_behaves_like_an_array(rice):
    image = image_of("i2")
    with tc.open(rice) as hdus:
        section = hdus[1].section
        assert hdus[1].section is section
        assert (section.ndim, section.size, section.nbytes, len(section)) == (2, image.size, image.nbytes, SHAPE[0])
        assert isinstance(section[3, 4], np.int16)
        assert_array_equal(section[..., -1], image[..., -1])
        assert_array_equal(section[[5, 3, 60], 2:9], image[[5, 3, 60], 2:9])
        assert_array_equal(section[:, image[0] > 500], image[:, image[0] > 500])
        assert_array_equal(Cutout2D(section, (40, 30), (9, 11)).data, Cutout2D(image, (40, 30), (9, 11)).data)
        assert np.asarray(section, dtype="f8").dtype == np.dtype("f8")
        with pytest.raises(IndexError):
            section[70, 0]
        assert "70 x 90 int16, RICE_1, 25 tiles of 16 x 20" in repr(section)


@pytest.mark.parametrize("options", [{}, {"uint": False}])
@pytest.mark.parametrize("loaded", [False, True])
def test_out_is_taken_and_refused_alike_before_and_after_data_was_loaded(tmp_path, options, loaded):
    path = write(tmp_path / "a.fits", image_of("u2"))
    with tc.open(path, **options) as hdus:
        expected = hdus[1].section[3:13]
        assert not loaded or hdus[1].data is not None
        read = hdus[1].section.read
        swapped = np.zeros(expected.shape, expected.dtype.newbyteorder("S"))
        for out in (swapped, swapped.T.copy().T, memoryview(np.zeros_like(expected))):
            assert read(np.s_[3:13], out=out) is out
            assert_array_equal(np.asarray(out), expected)
        for out, error in ((np.zeros(3, expected.dtype), ValueError), (np.zeros(expected.shape, "i8"), TypeError),
                           (expected.tolist(), TypeError), (np.broadcast_to(expected[0], expected.shape), ValueError)):
            with pytest.raises(error, match="out "):
                read(np.s_[3:13], out=out)


def test_read_into_an_array_of_the_caller(rice):
    image = image_of("i2")
    target = np.zeros((20, 100), "i2")
    with tc.open(rice) as hdus:
        section = hdus[1].section
        out = target[::2, 5:95]
        assert section.read(np.s_[3:13], out=out) is out
        assert_array_equal(target[::2, 5:95], image[3:13])
        assert not target[1::2].any()
        hdus[1].data
        assert_array_equal(section.read(np.s_[0:10], out=out), image[0:10])
        with pytest.raises(ValueError, match="out has the shape"):
            section.read(np.s_[0:9], out=out)


def test_a_section_reads_the_array_in_memory_once_data_was_loaded(rice):
    with tc.open(rice) as hdus:
        hdus[1].data[3, 4] = -7
        assert hdus[1].section[3, 4] == -7
        part = hdus[1].section[:5]
        part[...] = 0
        assert hdus[1].data[3, 4] == -7
    assert hdus[1].section[3, 4] == -7


def test_a_section_of_an_hdu_made_in_memory():
    hdu = tc.CompImageHDU(image_of("f4"), tile_shape=TILE)
    assert_array_equal(hdu.section[3:9], image_of("f4")[3:9])
    assert (hdu.section.dtype, hdu.section.chunks, hdu.damaged_tiles) == (np.dtype("f4"), TILE, [])


def test_deleting_data_reads_the_file_again(rice):
    with tc.open(rice) as hdus:
        hdus[1].data[3, 4] = -7
        del hdus[1].data
        assert hdus[1].data[3, 4] == image_of("i2")[3, 4]


def test_assigning_data_counts_for_sections(rice):
    with tc.open(rice) as hdus:
        assert hdus[1].section[0, 0] == image_of("i2")[0, 0]
        hdus[1].data = np.full((5, 6), 9, "f4")
        assert (hdus[1].shape, hdus[1].section[4, 5]) == ((5, 6), 9)


def test_stats_count_tiles_and_cache_hits(rice):
    with tc.open(rice) as hdus:
        section = hdus[1].section
        section[0:3, 0:5]
        assert (section.stats.n_tiles, section.stats.n_hits) == (1, 0)
        section[5:9, 3:8]
        assert (section.stats.n_tiles, section.stats.n_hits) == (1, 1)
        section[14:18, 3:8]
        assert (section.stats.n_tiles, section.stats.n_hits) == (2, 2)


def test_reading_after_close_raises_value_error(rice):
    with tc.open(rice) as hdus:
        hdu, section = hdus[1], hdus[1].section
        section[0, 0]
    with pytest.raises(ValueError, match="closed"):
        section[0, 0]
    with pytest.raises(ValueError, match="closed"):
        hdu.data


# Where the file comes from.


def test_files_compressed_as_a_whole_and_file_objects(rice, tmp_path):
    import bz2
    import gzip

    packed = {"a.fits.gz": gzip.compress, "a.fits.bz2": bz2.compress}
    for name, compress in packed.items():
        (tmp_path / name).write_bytes(compress(rice.read_bytes()))
    with open(rice, "rb") as file:
        for source in (*[tmp_path / name for name in packed], io.BytesIO(rice.read_bytes()), file, rice.read_bytes()):
            with tc.open(source) as hdus:
                assert_array_equal(hdus[1].section[5:20, 30:50], image_of("i2")[5:20, 30:50])
                assert_array_equal(hdus[1].data, image_of("i2"))


def test_plain_images_and_tables_beside_it_are_astropys(tmp_path):
    table = fits.BinTableHDU.from_columns([fits.Column("a", "J", array=np.arange(5))])
    hdus = [fits.PrimaryHDU(image_of("i2")), fits.CompImageHDU(image_of("i4"), tile_shape=TILE), table]
    fits.HDUList(hdus).writeto(tmp_path / "mixed.fits")
    for source in (tmp_path / "mixed.fits", io.BytesIO((tmp_path / "mixed.fits").read_bytes())):
        with tc.open(source) as opened:
            assert [type(hdu) for hdu in opened] == [fits.PrimaryHDU, tc.CompImageHDU, fits.BinTableHDU]
            assert_array_equal(opened[0].data, image_of("i2"))
            assert_array_equal(opened[0].section[3:5], image_of("i2")[3:5])
            assert_array_equal(opened[1].data, image_of("i4"))
            assert_array_equal(opened[2].data["a"], np.arange(5))


def test_urls_as_astropy_takes_them(rice):
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").pipe_file("/rice.fits", rice.read_bytes())
    for options in ({}, {"use_fsspec": True}, {"use_fsspec": True, "fsspec_kwargs": {}}, {"storage_options": {}}):
        with tc.open("memory://rice.fits", **options) as hdus:
            assert_array_equal(hdus[1].section[5:20, 30:50], image_of("i2")[5:20, 30:50])


def test_a_compressed_table_stays_as_it_is_with_a_warning(tmp_path):
    table = fits.BinTableHDU.from_columns([fits.Column("COMPRESSED", "PB()", array=np.array([[1, 2], [3]], object))])
    table.header["ZTABLE"] = True
    table.writeto(tmp_path / "table.fits")
    with tc.open(tmp_path / "table.fits") as hdus, pytest.warns(tc.TileCompWarning, match="HDU 1 is a compressed table"):
        assert type(hdus[1]) is fits.BinTableHDU


def test_disable_image_compression_gives_the_table(rice):
    with tc.open(rice, disable_image_compression=True) as hdus:
        assert type(hdus[1]) is fits.BinTableHDU
        hdu = tc.CompImageHDU(bintable=hdus[1])
        assert_array_equal(hdu.data, image_of("i2"))


def test_an_hdu_of_a_table_in_memory(rice):
    with fits.open(rice, disable_image_compression=True) as hdus:
        table = fits.BinTableHDU(hdus[1].data, hdus[1].header)
        table.data
    assert_array_equal(tc.CompImageHDU(bintable=table).data, image_of("i2"))


def test_the_same_file_read_by_path_without_hdus(rice):
    assert_array_equal(tc.read_image(rice), image_of("i2"))
    assert_array_equal(tc.read_section(rice, np.s_[4:9, ::-3], hdu=1), image_of("i2")[4:9, ::-3])
    assert_array_equal(tc.read_section(rice.read_bytes(), np.s_[4:9], hdu="compressed_image"), image_of("i2")[4:9])
    with pytest.raises(tc.HeaderError, match="HDU 0 is no compressed image"):
        tc.read_image(rice, hdu=0)
    with pytest.raises(tc.HeaderError, match=r"no HDU 5 found; there are 0, 1 COMPRESSED_IMAGE$"):
        tc.read_image(rice, hdu=5)
    with pytest.raises(tc.HeaderError, match="not a FITS file"):
        tc.read_image(b"This is no FITS file".ljust(2880))


def test_a_header_longer_than_the_first_read(tmp_path):
    hdu = fits.CompImageHDU(image_of("i2"), tile_shape=TILE)
    for n in range(600):
        hdu.header[f"KEY{n}"] = n
    hdu.writeto(tmp_path / "long.fits")
    assert_array_equal(tc.read_image(tmp_path / "long.fits"), image_of("i2"))
    whole = (tmp_path / "long.fits").read_bytes()
    with pytest.raises(tc.HeaderError, match="no END card"):
        tc.read_image(whole[:20_000])


# Bad input.


BAD_CARDS = [("ZCMPTYPE", "'UNKNOWN'"), ("ZNAXIS1", "-5"), ("ZTILE1", "0"), ("ZBITPIX", "7"), ("NAXIS2", "3"), ("ZNAXIS", "1000")]


@pytest.mark.parametrize(("keyword", "value"), BAD_CARDS)
def test_a_bad_header_is_an_error_where_pixels_are_asked_for(rice, keyword, value):
    if keyword == "NAXIS2":
        content = rice.read_bytes()
        at = content.index(b"NAXIS2  =", 2880)
        rice.write_bytes(content[:at] + b"NAXIS2  =                    3" + content[at + 30 :])
    else:
        change_card(rice, keyword, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tc.open(rice) as hdus:
            hdu = hdus[1]
            assert hdu.name == "COMPRESSED_IMAGE"
            for ask in (lambda: hdu.shape, lambda: hdu.section.shape, lambda: hdu.section[0], lambda: hdu.data):
                with pytest.raises(tc.HeaderError, match=keyword):
                    ask()


def test_a_bad_header_in_hdu_2_of_5_leaves_3_to_5_readable(tmp_path):
    images = [image_of("i2", seed) for seed in range(5)]
    content = bytearray()
    for number, image in enumerate(images, 1):
        target = io.BytesIO()
        fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(image, tile_shape=TILE, name=f"IMAGE{number}")]).writeto(target)
        piece = bytearray(target.getvalue())
        if number == 2:
            at = piece.index(b"ZCMPTYPE=")
            piece[at : at + 80] = b"ZCMPTYPE= 'NONSENSE'".ljust(80)
        content += piece if number == 1 else piece[2880:]
    (tmp_path / "five.fits").write_bytes(content)
    with tc.open(tmp_path / "five.fits") as hdus:
        assert [hdu.name for hdu in hdus[1:]] == [f"IMAGE{number}" for number in range(1, 6)]
        for number in (1, 3, 4, 5):
            assert_array_equal(hdus[number].data, images[number - 1])
        with pytest.raises(tc.HeaderError, match="ZCMPTYPE is 'NONSENSE'"):
            hdus[2].data
        with pytest.raises(tc.HeaderError, match="ZCMPTYPE is 'NONSENSE'"):
            hdus[2].header


def damage(path):
    """Overwrite the first bytes of every stream after the first with ones."""
    with fits.open(path, disable_image_compression=True) as hdus:
        table, header = hdus[1], hdus[1].header
        heap = table._data_offset + header["NAXIS1"] * header["NAXIS2"]
    content = bytearray(path.read_bytes())
    row = header["NAXIS1"]
    start = int.from_bytes(content[heap - 3 * row + 4 : heap - 3 * row + 8], "big")
    content[heap - 3 * row : heap - 3 * row + 4] = (3).to_bytes(4, "big")
    path.write_bytes(content)
    return start


def test_a_damaged_tile_is_an_error_that_astropys_users_catch_too(rice):
    damage(rice)
    with tc.open(rice) as hdus:
        with pytest.raises(tc.TruncatedTileError, match=r"tile \(4, 2\), row 22, RICE_1 in COMPRESSED_DATA.*; cfitsio: "
                           "decompression error: hit end of compressed byte stream$") as caught:
            hdus[1].data
        assert isinstance(caught.value, CfitsioException)
        assert (caught.value.row, caught.value.tile) == (22, (4, 2))
        with pytest.raises(CfitsioException):
            hdus[1].section[64:, 40:60]
        assert_array_equal(hdus[1].section[:64], image_of("i2")[:64])


def test_damaged_tiles_are_filled_on_request(rice):
    damage(rice)
    with tc.open(rice, on_error="fill") as hdus:
        data = hdus[1].section[...]
        assert_array_equal(data[:64], image_of("i2")[:64])
        assert not data[64:, 40:60].any()
        assert_array_equal(data[64:, :40], image_of("i2")[64:, :40])
        assert [bad.row for bad in hdus[1].damaged_tiles] == [22]
    with tc.open(rice) as hdus:
        hdus[1].section.read(np.s_[64:], on_error="fill")
        with pytest.raises(tc.CorruptTileError):
            hdus[1].section.read(np.s_[64:])


def test_damaged_tiles_are_nan_where_integers_are_read_as_floats(tmp_path):
    hdu = fits.CompImageHDU(image_of("u2"), tile_shape=TILE)
    hdu.writeto(tmp_path / "a.fits")
    content = bytearray((tmp_path / "a.fits").read_bytes())
    with fits.open(tmp_path / "a.fits", disable_image_compression=True) as hdus:
        at = hdus[1]._data_offset
    content[at : at + 4] = (3).to_bytes(4, "big")
    with tc.open(bytes(content), uint=False, on_error="fill") as hdus:
        assert np.isnan(hdus[1].section[:16, :20]).all()
        assert_array_equal(hdus[1].section[16:], image_of("u2")[16:])
        assert [tile.row for tile in hdus[1].damaged_tiles] == [0]


def test_a_file_cut_anywhere_gives_right_pixels_or_an_error(rice, tmp_path):
    content, image = rice.read_bytes(), image_of("i2")
    cut = tmp_path / "cut.fits"
    for nbytes in range(len(content) - 1, 2880, -1234):
        cut.write_bytes(content[:nbytes])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                with tc.open(cut) as hdus:
                    data = hdus[1].data
            except (tc.TileCompError, OSError, IndexError):
                continue
        assert_array_equal(data, image)


# Threads.


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_eight_threads_read_200_sections_of_one_open_file(tmp_path, algorithm):
    image = image_of("i2")
    path = write(tmp_path / "a.fits", image, compression_type=algorithm)
    rng = np.random.default_rng(5)
    boxes = [tuple(slice(*sorted(rng.integers(0, size + 1, 2).tolist())) for size in SHAPE) for _ in range(200)]
    with tc.open(path, cache_bytes=5000) as hdus, ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda box: hdus[1].section[box], boxes))
    for box, part in zip(boxes, parts):
        assert_array_equal(part, image[box])


def test_eight_threads_open_hdus_and_headers_of_one_file(tmp_path):
    hdus = [fits.PrimaryHDU()] + [fits.CompImageHDU(image_of("i2", seed), name=f"I{seed}") for seed in range(1, 9)]
    fits.HDUList(hdus).writeto(tmp_path / "many.fits")
    for _ in range(5):
        with tc.open(tmp_path / "many.fits") as opened, ThreadPoolExecutor(8) as pool:
            numbers = [1, 2, 3, 4, 5, 6, 7, 8] * 4
            names = list(pool.map(lambda number: (opened[number].header["EXTNAME"], len(opened)), numbers))
            assert names == [(f"I{number}", 9) for number in numbers]
            data = list(pool.map(lambda number: opened[number].data, numbers))
        for number, pixels in zip(numbers, data):
            assert_array_equal(pixels, image_of("i2", number))


def test_update_mode_changes_nothing_by_reading(rice):
    before = rice.read_bytes()
    with tc.open(rice, mode="update") as hdus:
        hdus[1].section[3:5]
        assert hdus[1].header["NAXIS"] == 2
    assert rice.read_bytes() == before


def test_sections_see_what_was_written_in_update_mode(rice):
    with tc.open(rice, mode="update") as hdus:
        assert hdus[1].section[0, 0] == image_of("i2")[0, 0]
        hdus[1].data[...] = 5
        hdus.flush()
        del hdus[1].data
        assert hdus[1].section[0, 0] == 5
    assert (read_by_astropy(rice) == 5).all()
