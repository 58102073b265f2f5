"""Writing through the HDU: what was not changed keeps its bytes, everything else reads back."""

import io
import signal
import subprocess
import sys
import textwrap
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal
from support import needs

import astropy_tilecomp as tc

SHAPE, TILE = (70, 90), (16, 20)
SKY = np.random.default_rng(0).normal(500, 50, SHAPE)


def saved(hdu, **options):
    """Bytes of a file with the HDU behind an empty primary one."""
    target = io.BytesIO()
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(target, **options)
    return target.getvalue()


def raw_table(content):
    """The table of HDU 1 as it is in the file: header, descriptors, heap."""
    with fits.open(io.BytesIO(content), disable_image_compression=True) as hdus:
        table = hdus[1]
        return table.header, content[table._data_offset : table._data_offset + table._data_size]


def read_by_astropy(content, **options):
    with fits.open(io.BytesIO(content), **options) as hdus:
        return hdus[1].data


def read_by_us(content, **options):
    with tc.open(content, **options) as hdus:
        return hdus[1].data


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", ">i2", "u2", "i4", "u4", "f4", ">f4", "f8"])
@pytest.mark.parametrize("algorithm", ["RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1", "NOCOMPRESS"])
def test_what_is_written_reads_back_here_and_with_astropy(algorithm, dtype):
    if algorithm == "PLIO_1" and np.dtype(dtype).kind != "i" and dtype != "u1":
        pytest.skip("PLIO_1 holds no such pixels")
    image = (SKY / 8).astype(dtype) if np.dtype(dtype).itemsize == 1 else SKY.astype(dtype)
    content = saved(tc.CompImageHDU(image, compression_type=algorithm, tile_shape=TILE))
    ours, theirs = read_by_us(content), read_by_astropy(content)
    assert_array_equal(ours, theirs)
    assert ours.dtype == theirs.dtype == image.dtype.newbyteorder("=")
    if image.dtype.kind == "f":
        assert abs(ours - image).max() < 50 / 16
    if image.dtype.kind != "f" or algorithm == "NOCOMPRESS":
        assert_array_equal(ours, image)


@pytest.mark.parametrize("method", [-1, 1, 2])
def test_quantized_floats_with_nan_and_zero(method):
    image = SKY.astype("f4")
    image[3, 4], image[20:40, 30:50] = np.nan, 0
    content = saved(tc.CompImageHDU(image, tile_shape=TILE, quantize_method=method, dither_seed=5))
    header, _ = raw_table(content)
    assert header["ZBLANK"] == -2147483648
    assert ("ZQUANTIZ" in header) == (method > 0)
    ours = read_by_us(content)
    assert_array_equal(ours, read_by_astropy(content))
    assert_array_equal(np.isnan(ours), np.isnan(image))
    if method == 2:
        assert not ours[image == 0].any()


def test_infinite_pixels_are_kept():
    image = SKY.astype("f4")
    image[3, 4], image[5, 6] = np.inf, -np.inf
    ours = read_by_us(saved(tc.CompImageHDU(image, tile_shape=TILE)))
    assert_array_equal(ours[:16, :20], image[:16, :20])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_lossless_floats(dtype):
    image = SKY.astype(dtype)
    image[3, 4], image[5, 6], image[7, 8] = np.nan, np.inf, -0.0
    hdu = tc.CompImageHDU(image, lossless=True)
    assert hdu.compression_type == "GZIP_2"
    content = saved(hdu)
    assert "ZSCALE" not in str(raw_table(content)[0])
    assert read_by_us(content).tobytes() == image.tobytes()
    assert read_by_astropy(content).tobytes() == image.tobytes()
    assert tc.CompImageHDU(SKY.astype("i2"), lossless=True).compression_type == "RICE_1"


@pytest.mark.parametrize("options", [{"lossless": True}, {"quantize_level": 0}], ids=str)
@pytest.mark.parametrize("algorithm", ["RICE_1", "HCOMPRESS_1"])
def test_lossless_floats_are_refused_where_they_would_lose(algorithm, options):
    with pytest.raises(tc.HeaderError, match="holds no floats without loss"):
        saved(tc.CompImageHDU(SKY.astype("f4"), compression_type=algorithm, tile_shape=TILE, **options))


def test_lossless_and_a_lossy_scale_is_a_contradiction():
    with pytest.raises(ValueError, match="choose one"):
        tc.CompImageHDU(SKY.astype("i2"), compression_type="HCOMPRESS_1", lossless=True, hcomp_scale=2)


def test_64_bit_integers():
    image = SKY.astype("i8") << 40
    assert_array_equal(read_by_us(saved(tc.CompImageHDU(image, compression_type="GZIP_2"))), image)
    assert_array_equal(read_by_us(saved(tc.CompImageHDU(image.astype("u8"), compression_type="GZIP_1"))), image)
    with pytest.raises(ValueError, match="cannot be converted to 32 bits"):
        saved(tc.CompImageHDU(image, compression_type="RICE_1"))
    with pytest.warns(tc.TileCompWarning, match="converted to 32 bits"):
        content = saved(tc.CompImageHDU(SKY.astype("i8"), compression_type="RICE_1"))
    assert_array_equal(read_by_us(content), SKY.astype("i8"))


def test_the_two_scales_of_hcompress():
    image = SKY.astype("i4")
    absolute = read_by_us(saved(tc.CompImageHDU(image, compression_type="HCOMPRESS_1", tile_shape=TILE, hcomp_scale=30)))
    with fits.open(io.BytesIO(saved(fits.CompImageHDU(image, compression_type="HCOMPRESS_1", tile_shape=TILE, hcomp_scale=30)))) as hdus:
        assert_array_equal(absolute, hdus[1].data)
    content = saved(tc.CompImageHDU(image, compression_type="HCOMPRESS_1", tile_shape=TILE, hcomp_noise_scale=2.0))
    assert raw_table(content)[0]["ZVAL1"] == 2.0
    assert 0 < abs(read_by_us(content) - image).max() < 1000
    assert len(content) < len(saved(tc.CompImageHDU(image, compression_type="HCOMPRESS_1", tile_shape=TILE)))


def test_a_warning_says_once_what_hcomp_scale_means():
    from astropy_tilecomp.adapters.fits.options import warn_of_absolute_scale

    warn_of_absolute_scale.cache_clear()
    with pytest.warns(tc.TileCompWarning, match="hcomp_scale is the scale itself"):
        tc.CompImageHDU(SKY.astype("i4"), compression_type="HCOMPRESS_1", tile_shape=TILE, hcomp_scale=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tc.CompImageHDU(SKY.astype("i4"), compression_type="HCOMPRESS_1", tile_shape=TILE, hcomp_scale=3)


def test_checksums_of_the_image_are_renewed(tmp_path):
    fits.PrimaryHDU(SKY.astype("i2")).writeto(tmp_path / "plain.fits", checksum=True)
    with fits.open(tmp_path / "plain.fits") as hdus:
        content = saved(tc.CompImageHDU(hdus[0].data, hdus[0].header, tile_shape=TILE))
        assert raw_table(content)[0]["ZDATASUM"] == hdus[0].header["DATASUM"]
    with tc.open(content) as hdus:
        hdus[1].header["OBJECT"] = "M 31"
        edited = saved(hdus[1])
        assert raw_table(edited)[0]["ZDATASUM"] == raw_table(content)[0]["ZDATASUM"]
        assert raw_table(edited)[0]["ZHECKSUM"] != raw_table(content)[0]["ZHECKSUM"]
    with tc.open(content) as hdus:
        hdus[1].data[0, 0] += 1
        changed = saved(hdus[1])
        assert raw_table(changed)[0]["ZDATASUM"] != raw_table(content)[0]["ZDATASUM"]
    for number, after in enumerate((edited, changed)):
        packed, restored = tmp_path / f"{number}.fits.fz", tmp_path / f"{number}.fits"
        packed.write_bytes(after)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # unpack warns of stale sums
            tc.unpack(packed, restored)


def test_the_header_is_the_one_astropy_writes():
    header = fits.Header([("OBJECT", "M 31", "what"), ("HIERARCH ESO DET ID", 7), ("COMMENT", "one"), ("HISTORY", "two")])
    header["LONG"] = "x" * 150
    for image, options in ((SKY.astype("i2"), {}), (SKY.astype("f4"), {"quantize_method": 1, "dither_seed": 3}),
                           (SKY.astype("u2"), {"compression_type": "GZIP_2"}),
                           (SKY.astype("i2"), {"compression_type": "HCOMPRESS_1", "tile_shape": TILE})):
        ours, _ = raw_table(saved(tc.CompImageHDU(image, header.copy(), name="SCI", **options)))
        theirs, _ = raw_table(saved(fits.CompImageHDU(image, header.copy(), name="SCI", **options)))
        assert sorted(ours) == sorted(theirs)  # astropy puts BZERO before BSCALE, whatever the order of the image
        for mine, other in zip(*(sorted(header.cards, key=lambda card: card.keyword) for header in (ours, theirs))):
            if mine.keyword == "EXTNAME":  # astropy drops its comment
                assert mine.value == other.value
            elif mine.keyword[:5] not in ("PCOUN", "TFORM"):  # sizes differ a little
                assert str(mine) == str(other)


def test_checksums_are_right():
    content = saved(tc.CompImageHDU(SKY.astype("f4"), tile_shape=TILE), checksum=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with fits.open(io.BytesIO(content), checksum=True, disable_image_compression=True) as hdus:
            assert "CHECKSUM" in hdus[1].header
            assert hdus[1].verify_checksum() == 1 and hdus[1].verify_datasum() == 1


def test_verify_finds_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with fits.open(io.BytesIO(saved(tc.CompImageHDU(SKY.astype("f4"), tile_shape=TILE)))) as hdus:
            hdus.verify("exception")


def test_eight_threads_write_hcompress_files_at_once():
    images = [SKY.astype("i2") + number for number in range(16)]

    def written(image):
        return read_by_us(saved(tc.CompImageHDU(image, compression_type="HCOMPRESS_1", tile_shape=TILE)))

    with ThreadPoolExecutor(8) as pool:
        for image, back in zip(images, pool.map(written, images)):
            assert_array_equal(back, image)


def test_the_same_bytes_with_any_number_of_threads():
    image = np.tile(SKY.astype("f4"), (8, 8))
    contents = {saved(tc.CompImageHDU(image, quantize_method=1, dither_seed=1, threads=threads)) for threads in (1, 2, None)}
    assert len(contents) == 1


# What is kept.


def original(**options):
    header = fits.Header([("OBJECT", "M 31", "what"), ("COMMENT", "one")])
    image = options.pop("image", SKY.astype("f4"))
    return saved(fits.CompImageHDU(image, header, tile_shape=TILE, **options))


LOSSY = {"quantize_method": 1, "dither_seed": 7}


def test_a_header_edit_keeps_the_bytes_of_a_lossy_image():
    content = original(**LOSSY)
    with tc.open(content) as hdus:
        hdus[1].header["OBJECT"] = "M 33"
        hdus[1].header["NEW"] = (1, "added")
        edited = saved(hdus[1])
    assert raw_table(edited)[1] == raw_table(content)[1]
    assert_array_equal(read_by_us(edited), read_by_us(content))
    with tc.open(edited) as hdus:
        assert (hdus[1].header["OBJECT"], hdus[1].header["NEW"]) == ("M 33", 1)
        assert hdus[1].header.comments["OBJECT"] == "what"
        assert str(hdus[1].header["COMMENT"]) == "one"


def test_looking_at_the_data_changes_nothing():
    content = original(**LOSSY)
    with tc.open(content) as hdus:
        assert hdus[1].data is not None
        assert hdus[1].header is not None
        copied = saved(hdus[1])
    assert raw_table(copied)[1] == raw_table(content)[1]
    assert str(raw_table(copied)[0]) == str(raw_table(content)[0])


@pytest.mark.parametrize("dtype", ["i2", "u2", "f4"])
def test_tiles_that_did_not_change_keep_their_bytes(dtype):
    content = original(image=SKY.astype(dtype), **(LOSSY if dtype == "f4" else {}))
    before = read_by_us(content)
    with tc.open(content) as hdus:
        hdus[1].data[20, 30] = 7
        written = saved(hdus[1])
    after, expected = read_by_us(written), before.copy()
    expected[16:32, 20:40] = after[16:32, 20:40]
    assert_array_equal(after, expected)
    assert abs(after[20, 30] - 7) < 4
    assert_array_equal(read_by_astropy(written), after)
    with fits.open(io.BytesIO(content)) as old, fits.open(io.BytesIO(written)) as new:
        for name in old[1]._bintable.columns.names[2:]:
            column = old[1]._bintable.data[name] == new[1]._bintable.data[name]
            assert column[:6].all() and column[7:].all()


def test_other_pixels_of_another_type_or_shape():
    for image in (SKY.astype("i4"), SKY[:30].astype("f4"), SKY.astype("f8")):
        with tc.open(original()) as hdus:
            hdus[1].data = image
            written = saved(hdus[1])
        assert abs(read_by_us(written) - image).max() < 4
        assert read_by_us(written).dtype == image.dtype


@pytest.mark.parametrize("from_file", [False, True])
def test_masked_pixels_are_refused(from_file):
    """Also where the pixels under the mask are those in the file."""
    image = SKY.astype("i2")
    with tc.open(original(image=image)) as hdus:
        hdu = hdus[1] if from_file else tc.CompImageHDU(name="NEW")
        hdu.data = np.ma.masked_where(np.arange(image.size).reshape(image.shape) < 7, image)
        with pytest.raises(ValueError, match=r"7 of .* pixels are masked"):
            saved(hdu)


@pytest.mark.parametrize("dtype", ["bool", "complex64", "float16"])
def test_types_that_no_image_has(dtype):
    with pytest.raises(TypeError, match=f"FITS has no image of type {dtype}"):
        tc.CompImageHDU(np.ones((3, 3), dtype))


@pytest.mark.parametrize("loaded", [False, True])
def test_other_settings_encode_again(loaded):
    content = original(image=SKY.astype("i2"))
    with tc.open(content) as hdus:
        if loaded:
            assert hdus[1].data is not None
        hdus[1].compression_type = "GZIP_2"
        hdus[1].tile_shape = (30, 30)
        written = saved(hdus[1])
    header, _ = raw_table(written)
    assert (header["ZCMPTYPE"], header["ZTILE1"]) == ("GZIP_2", 30)
    assert_array_equal(read_by_us(written), SKY.astype("i2"))


def test_settings_changed_for_a_copy_count_for_the_next_copy_too():
    with tc.open(original(image=SKY.astype("i2"))) as hdus:
        hdus[1].compression_type = "GZIP_2"
        for _ in range(2):
            assert raw_table(saved(hdus[1]))[0]["ZCMPTYPE"] == "GZIP_2"


def test_a_damaged_image_can_be_replaced():
    content = bytearray(original(image=SKY.astype("i2")))
    with fits.open(io.BytesIO(content), disable_image_compression=True) as hdus:
        at = hdus[1]._data_offset
    content[at : at + 4] = (3).to_bytes(4, "big")
    with tc.open(bytes(content)) as hdus:
        with pytest.raises(tc.CorruptTileError):
            hdus[1].section[0, 0]
        hdus[1].data = SKY.astype("i2")
        assert_array_equal(read_by_us(saved(hdus[1])), SKY.astype("i2"))
    with tc.open(bytes(content), on_error="fill", fill_value=-1) as hdus:
        assert (hdus[1].data[:16, :20] == -1).all()
        hdus[1].header["NOTE"] = "still damaged"
        with tc.open(saved(hdus[1])) as again, pytest.raises(tc.CorruptTileError):
            again[1].data


def scaled(blank=None):
    hdu = fits.CompImageHDU(SKY.astype("i2"), tile_shape=TILE)
    hdu.header["BSCALE"], hdu.header["BZERO"] = 0.5, 10.0
    if blank is not None:
        hdu.header["BLANK"] = blank
    return saved(hdu)


@pytest.mark.parametrize("look", [False, True])
def test_scaled_integers_stay_scaled_integers(tmp_path, look):
    (tmp_path / "a.fits").write_bytes(scaled(int(SKY.astype("i2")[0, 0])))
    before = (tmp_path / "a.fits").read_bytes()
    expected = read_by_us(before)
    for number in range(3):
        with tc.open(tmp_path / "a.fits", mode="update") as hdus:
            if look:
                assert hdus[1].data.dtype == np.dtype("f4")
            hdus[1].header["EXPTIME"] = number
    after = (tmp_path / "a.fits").read_bytes()
    assert raw_table(after)[1] == raw_table(before)[1]
    assert_array_equal(read_by_us(after), expected)
    with tc.open(after) as hdus:
        assert (hdus[1].header["EXPTIME"], hdus[1].header["BSCALE"], hdus[1].header["BITPIX"]) == (2, 0.5, 16)


def test_reading_scaled_data_in_update_mode_changes_nothing(tmp_path):
    (tmp_path / "a.fits").write_bytes(scaled())
    with tc.open(tmp_path / "a.fits", mode="update") as hdus:
        assert hdus[1].data.dtype == np.dtype("f4")
    assert (tmp_path / "a.fits").read_bytes() == scaled()


@pytest.mark.parametrize("dtype", ["i1", "u2", "u4"])
@pytest.mark.parametrize("assign", [False, True])
def test_unsigned_integers_are_not_scaled_back(tmp_path, dtype, assign):
    image = (SKY / 8).astype(dtype)
    (tmp_path / "a.fits").write_bytes(original(image=image))
    with tc.open(tmp_path / "a.fits", mode="update", scale_back=True) as hdus:
        assert_array_equal(hdus[1].data, image)
        if assign:
            hdus[1].data = hdus[1].data[:, :80].copy()
    found = fits.getdata(tmp_path / "a.fits", 1)
    assert_array_equal(found, image[:, :80] if assign else image)
    assert found.dtype == image.dtype


def test_scale_back(tmp_path):
    (tmp_path / "a.fits").write_bytes(scaled())
    with tc.open(tmp_path / "a.fits", mode="update", scale_back=True) as hdus:
        hdus[1].data[0, 0] += 5
    after = (tmp_path / "a.fits").read_bytes()
    stored = SKY.astype("i2")
    stored[0, 0] += 10
    assert_array_equal(read_by_us(after, do_not_scale_image_data=True), stored)


def test_an_integer_scale_of_hcompress_is_kept():
    content = original(image=SKY.astype("i4"), compression_type="HCOMPRESS_1", hcomp_scale=12)
    before = read_by_us(content)
    with tc.open(content) as hdus:
        hdus[1].data[0, 0] += 1
        written = saved(hdus[1])
    _, data = raw_table(written)
    scales = [int.from_bytes(data[at + 10 : at + 14], "big") for at in range(len(data)) if data[at : at + 2] == b"\xdd\x99"]
    assert set(scales) == {12}
    assert_array_equal(read_by_us(written)[16:], before[16:])


# Files.


def test_update_mode_with_other_hdus(tmp_path):
    path = tmp_path / "a.fits"
    images = [SKY.astype("i2") + number for number in range(3)]
    fits.HDUList([fits.PrimaryHDU(), *[fits.CompImageHDU(image, tile_shape=TILE) for image in images]]).writeto(path)
    with tc.open(path, mode="update") as hdus:
        hdus[2].data[:] = np.random.default_rng(1).integers(-30000, 30000, SHAPE)
        expected = hdus[2].data.copy()
        hdus[1].header["NOTE"] = "x" * 60
        hdus.append(tc.CompImageHDU(images[0] * 2, name="NEW"))
        hdus.flush()
        assert_array_equal(hdus[3].section[3:5], images[2][3:5])
        assert hdus[2].section[0, 0] == expected[0, 0]
        hdus[2].data[0, 0] = 5
    with fits.open(path) as hdus:
        assert_array_equal(hdus[1].data, images[0])
        assert hdus[1].header["NOTE"] == "x" * 60
        expected[0, 0] = 5
        assert_array_equal(hdus[2].data, expected)
        assert_array_equal(hdus[3].data, images[2])
        assert_array_equal(hdus["NEW"].data, images[0] * 2)


def test_an_update_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.fits"
    path.write_bytes(original(image=SKY.astype("i2")))
    before = path.read_bytes()
    hdus = tc.open(path, mode="update")
    hdus[1].data[...] = 3
    monkeypatch.setattr("os.fsync", lambda descriptor: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        hdus.close()
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.fits"]


@pytest.mark.slow
def test_killed_at_any_moment_of_an_update(tmp_path):
    """kill -9 at random moments of updates through the list: the file is the old one or the new one."""
    program = textwrap.dedent("""
        import sys, numpy as np, astropy_tilecomp as tc
        with tc.open(sys.argv[1], mode="update") as hdus:
            assert hdus[1].data is not None
            print("ready", flush=True)
            for n in range(10**6):
                hdus[1].data[...] = n % 1000
                hdus[1].header["N"] = n % 1000
                hdus.flush()
    """)
    path = tmp_path / "a.fits"
    hdu = tc.CompImageHDU(np.full(SHAPE, 999, "i2"), tile_shape=TILE)
    hdu.header["N"] = 999
    hdu.writeto(path)
    rng = np.random.default_rng(1)
    for _ in range(15):
        with subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE, cwd=needs.REPOSITORY) as writer:
            writer.stdout.readline()
            try:
                writer.wait(rng.uniform(0.005, 0.1))
            except subprocess.TimeoutExpired:
                writer.send_signal(signal.SIGKILL)
        with fits.open(path) as hdus:
            hdus.verify("exception")
            assert (hdus[1].data == hdus[1].header["N"]).all()


def test_update_keeps_permissions_and_plain_hdus(tmp_path):
    path = tmp_path / "a.fits"
    table = fits.BinTableHDU.from_columns([fits.Column("a", "J", array=np.arange(5))])
    fits.HDUList([fits.PrimaryHDU(SKY), fits.CompImageHDU(SKY.astype("i2")), table]).writeto(path)
    path.chmod(0o640)
    with tc.open(path, mode="update") as hdus:
        hdus[0].data[0, 0] = 9
        hdus[1].data[0, 0] = 10
        hdus[2].data["a"][0] = 11
    assert path.stat().st_mode & 0o777 == 0o640
    with fits.open(path) as hdus:
        assert (hdus[0].data[0, 0], hdus[1].data[0, 0], hdus[2].data["a"][0]) == (9, 10, 11)
        assert_array_equal(hdus[0].data[1:], SKY[1:])
        assert_array_equal(hdus[1].data[1:], SKY.astype("i2")[1:])


def test_nothing_is_written_where_nothing_changed(tmp_path):
    path = tmp_path / "a.fits"
    path.write_bytes(original(**LOSSY))
    inode = path.stat().st_ino
    with tc.open(path, mode="update") as hdus:
        assert hdus[1].data is not None
        hdus.flush()
    assert path.stat().st_ino == inode


def test_looking_at_a_header_with_two_names_changes_nothing(tmp_path):
    path = tmp_path / "a.fits"
    content = bytearray(original(name="SCI"))
    at = content.index(b"COMMENT one")
    content[at : at + 80] = b"EXTNAME = 'COMPRESSED_IMAGE'".ljust(80)
    path.write_bytes(content)
    with tc.open(path, mode="update") as hdus:
        assert hdus[1].header["EXTNAME"] == "SCI" == hdus[1].name
        assert hdus[1].header.count("EXTNAME") == 1
    assert path.read_bytes() == content


def test_a_broken_hdu_does_not_hinder_an_update_of_others(tmp_path):
    path = tmp_path / "a.fits"
    fits.HDUList([fits.PrimaryHDU(), *[fits.CompImageHDU(SKY.astype("i2"), name=name) for name in "ab"]]).writeto(path)
    content = bytearray(path.read_bytes())
    at = content.index(b"ZCMPTYPE=")
    content[at : at + 80] = b"ZCMPTYPE= 'NONSENSE'".ljust(80)
    path.write_bytes(content)
    with tc.open(path, mode="update") as hdus:
        hdus["b"].data[0, 0] = 5
    with tc.open(path) as hdus:
        assert hdus["b"].data[0, 0] == 5
        with pytest.raises(tc.HeaderError):
            hdus["a"].data
    assert path.read_bytes()[at : at + 20] == b"ZCMPTYPE= 'NONSENSE'"


def three_images(path):
    images = [SKY.astype("i2") + number for number in range(3)]
    hdus = [fits.CompImageHDU(image, tile_shape=TILE, name=name) for image, name in zip(images, "abc")]
    fits.HDUList([fits.PrimaryHDU(), *hdus]).writeto(path)
    return images


@pytest.mark.parametrize("number", [1, 2, 3])
def test_assigning_to_a_section_writes_its_tiles_at_once(tmp_path, number):
    path = tmp_path / "a.fits"
    images = three_images(path)
    noise = np.random.default_rng(2).integers(-30000, 30000, (20, 30)).astype("i2")
    with tc.open(path, mode="update") as hdus:
        if number != 2:
            assert len(hdus) == 4
        assert_array_equal(hdus[number].section[5], images[number - 1][5])
        hdus[number].section[10:30, 40:70] = noise
        images[number - 1][10:30, 40:70] = noise
        assert_array_equal(tc.read_image(path, hdu=number), images[number - 1])
        for at in (1, 2, 3):
            assert_array_equal(hdus[at].section[...], images[at - 1])
        hdus[number].section[0, 0] = 7
        images[number - 1][0, 0] = 7
        hdus[1].header["NOTE"] = "edited"
        before = path.stat().st_size
        hdus[number].repack()
        assert path.stat().st_size <= before
    with fits.open(path) as hdus:
        assert hdus[1].header["NOTE"] == "edited"
        for at in (1, 2, 3):
            assert_array_equal(hdus[at].data, images[at - 1])


@pytest.mark.parametrize("cards", [{"BZERO": 32768}, {"BSCALE": 2.0, "BZERO": 7.0}], ids=str)
def test_stored_pixels_are_assigned_as_they_are(tmp_path, cards):
    path = tmp_path / "a.fits"
    hdu = fits.CompImageHDU(SKY.astype("i2"), tile_shape=TILE)
    hdu.header.update(cards)
    hdu.writeto(path)
    with tc.open(path, mode="update", do_not_scale_image_data=True) as hdus:
        hdus[1].section[3:40, 5] = hdus[1].section[3:40, 60]
    with fits.open(path, do_not_scale_image_data=True) as hdus:
        expected = SKY.astype("i2")
        expected[3:40, 5] = expected[3:40, 60]
        assert_array_equal(hdus[1].data, expected)


def test_assigning_to_a_section_of_loaded_data(tmp_path):
    path = tmp_path / "a.fits"
    three_images(path)
    with tc.open(path, mode="update") as hdus:
        assert hdus[2].data is not None
        hdus[2].section[3, 4] = -1
        assert hdus[2].data[3, 4] == -1
        assert tc.read_section(path, (3, 4), hdu=2) != -1
    assert tc.read_section(path, (3, 4), hdu=2) == -1


def test_pixels_on_disk_are_only_replaced_in_update_mode(tmp_path):
    path = tmp_path / "a.fits"
    three_images(path)
    with tc.open(path) as hdus, pytest.raises(ValueError, match='mode="update"'):
        hdus[1].section[0] = 1
    with tc.open(path.read_bytes()) as hdus, pytest.raises(ValueError, match='mode="update"'):
        hdus[1].repack()
    with tc.enabled(), fits.open(path, mode="update") as hdus, pytest.raises(ValueError, match='mode="update"'):
        hdus[1].section[0] = 1


def test_append_mode(tmp_path):
    path = tmp_path / "a.fits"
    path.write_bytes(original())
    with tc.open(path, mode="append") as hdus:
        hdus.append(tc.CompImageHDU(SKY.astype("i2"), name="MORE"))
    with tc.open(path) as hdus:
        assert len(hdus) == 3
        assert_array_equal(hdus["MORE"].data, SKY.astype("i2"))
        assert_array_equal(hdus[1].data, read_by_us(original()))


def test_checksums_that_were_asked_for_are_written_with_a_changed_header(tmp_path):
    path = tmp_path / "a.fits"
    path.write_bytes(original())
    with tc.open(path, mode="update", checksum=True) as hdus:
        hdus[1].header["OBJECT"] = "M 31"
    with warnings.catch_warnings(), fits.open(path, disable_image_compression=True, checksum=True) as hdus:
        warnings.simplefilter("error")
        assert {"CHECKSUM", "DATASUM"} <= set(hdus[1].header)


@pytest.mark.parametrize("data", [None, np.zeros((0, 5), "i2")], ids=["None", "no pixels"])
def test_data_may_be_taken_out(tmp_path, data):
    path = tmp_path / "a.fits"
    path.write_bytes(original())
    with tc.open(path, mode="update") as hdus:
        hdus[1].data = data
        hdus[1].writeto(tmp_path / "b.fits")
        hdus.append(fits.ImageHDU(SKY))
    for name in ("a.fits", "b.fits"):
        with tc.open(tmp_path / name) as hdus:
            assert hdus[1].section.shape == np.shape(data)
            assert_array_equal(hdus[1].data, data)
            assert hdus[1]._bintable.header["PCOUNT"] == 0
    assert_array_equal(fits.getdata(path, 2), SKY)


def test_after_writing_elsewhere_the_hdu_still_reads_its_file(tmp_path):
    with tc.open(original(image=SKY.astype("i2"))) as hdus:
        hdus[1].data[...] = 0
        hdus[1].compression_type = "GZIP_1"
        hdus[1].writeto(tmp_path / "b.fits")
        del hdus[1].data
        assert_array_equal(hdus[1].section[5], SKY.astype("i2")[5])
    assert not tc.read_image(tmp_path / "b.fits").any()


def test_writing_after_close(tmp_path):
    (tmp_path / "a.fits").write_bytes(original(image=SKY.astype("i2")))
    with tc.open(tmp_path / "a.fits") as hdus:
        hdu = hdus[1]
        assert hdu.data is not None
    assert_array_equal(read_by_us(saved(hdu)), SKY.astype("i2"))


def test_dask_arrays():
    da = pytest.importorskip("dask.array")
    content = saved(tc.CompImageHDU(da.from_array(SKY.astype("i2"), chunks=(30, 40)), tile_shape=TILE))
    assert_array_equal(read_by_us(content), SKY.astype("i2"))


@pytest.mark.parametrize("algorithm", ["RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "NOCOMPRESS"])
@pytest.mark.parametrize("shape", [(0,), (4, 0), (0, 4), (3, 0, 5)])
def test_images_without_pixels_are_written_and_read(tmp_path, shape, algorithm):
    path = tmp_path / "empty.fits"
    tc.CompImageHDU(np.zeros(shape, "i2"), compression_type=algorithm).writeto(path, checksum=True)
    with tc.open(path, mode="update") as hdus:
        hdus[1].header["OBJECT"] = "nothing"
    with tc.open(path) as hdus, fits.open(path, checksum=True) as theirs:
        assert hdus[1].shape == hdus[1].data.shape == hdus[1].section[...].shape == shape
        assert hdus[1].header["OBJECT"] == "nothing"
        assert theirs[1].shape == shape
    assert tc.verify(path).good


@pytest.mark.parametrize("shape", [(0, 4), (3, 0, 5)])
def test_rows_that_astropy_writes_for_images_without_pixels_are_passed_over(tmp_path, shape):
    path = tmp_path / "empty.fits"
    fits.CompImageHDU(np.zeros(shape, "f4")).writeto(path)
    assert tc.read_image(path, hdu=1).shape == shape
