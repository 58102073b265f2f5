"""enable, disable and enabled: astropy itself reads through this package, and a list keeps what it was opened with."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal

import astropy_tilecomp as tc

IMAGE = np.arange(1200, dtype="i4").reshape(30, 40)
ASTROPYS = fits.CompImageHDU


@pytest.fixture
def path(tmp_path):
    hdus = [fits.PrimaryHDU(), fits.CompImageHDU(IMAGE, name="a"), fits.CompImageHDU(IMAGE + 1, name="b")]
    fits.HDUList(hdus).writeto(tmp_path / "two.fits")
    return tmp_path / "two.fits"


def is_ours(hdu):
    return isinstance(hdu, tc.CompImageHDU)


def test_every_way_to_open_gives_ours(path):
    with tc.enabled():
        with fits.open(path) as hdus:
            assert is_ours(hdus[1])
            assert isinstance(hdus, fits.HDUList)
            assert_array_equal(hdus[1].data, IMAGE)
        with fits.HDUList.fromfile(str(path)) as hdus:
            assert is_ours(hdus["b"])
        assert is_ours(fits.HDUList.fromstring(path.read_bytes())[2])
        assert_array_equal(fits.HDUList.fromstring(path.read_bytes())[2].section[3], IMAGE[3] + 1)
        assert_array_equal(fits.getdata(path, "b"), IMAGE + 1)
        assert is_ours(fits.CompImageHDU(IMAGE))
        assert is_ours(ASTROPYS(IMAGE))
    with fits.open(path) as hdus:
        assert type(hdus[1]) is ASTROPYS
    assert type(fits.CompImageHDU(IMAGE)) is ASTROPYS


@pytest.mark.parametrize(
    ("option", "message"),
    [({"on_error": "ignore"}, "on_error is 'ignore', expected one of raise, fill"),
     ({"engine": "zlib"}, "engine is 'zlib', expected one of"),
     ({"threads": 0}, "threads is 0, expected a number"), ({"threads": "two"}, "threads is 'two', expected a number")],
    ids=str,
)
def test_an_option_that_makes_no_sense_is_told_at_once(path, option, message):
    for call in (lambda: tc.open(path, **option), lambda: tc.enable(**option)):
        with pytest.raises(ValueError, match=message):
            call()
    assert fits.CompImageHDU is ASTROPYS


def test_a_list_keeps_what_it_was_opened_with(path):
    plain = fits.open(path)
    with tc.enabled(threads=1):
        ours = fits.open(path)
        assert type(plain[1]) is ASTROPYS
        assert is_ours(ours[1])
    assert is_ours(ours[2])
    assert ours[2]._options.threads == 1
    with tc.enabled():
        assert type(plain[2]) is ASTROPYS
    plain.close()
    ours.close()


def test_any_compressed_hdu_is_an_instance_of_astropys_class(path):
    plain = fits.open(path)
    hdu = plain[1]
    with tc.enabled(), fits.open(path) as ours:
        assert isinstance(hdu, fits.CompImageHDU)
        assert isinstance(ours[1], fits.CompImageHDU)
        assert isinstance(ours[1], ASTROPYS)
    plain.close()


def test_calls_are_counted():
    tc.enable()
    tc.enable(threads=1)
    with tc.enabled(threads=2):
        assert fits.CompImageHDU(IMAGE)._options.threads == 2
    assert fits.CompImageHDU(IMAGE)._options.threads == 1
    tc.disable()
    assert fits.CompImageHDU(IMAGE)._options.threads is None
    tc.disable()
    assert type(fits.CompImageHDU(IMAGE)) is ASTROPYS
    with pytest.raises(RuntimeError, match="without enable"):
        tc.disable()


def test_an_error_in_the_block_disables():
    with pytest.raises(KeyError), tc.enabled():
        raise KeyError
    assert type(fits.CompImageHDU(IMAGE)) is ASTROPYS


def test_unknown_options_are_refused():
    with pytest.raises(TypeError, match="colour"):
        tc.enable(colour=3)
    assert type(fits.CompImageHDU(IMAGE)) is ASTROPYS


def test_blocks_of_threads_overlap(path):
    def read(number):
        with tc.enabled(threads=1 + number % 3), fits.open(path) as hdus:
            return is_ours(hdus[1]) and is_ours(hdus[2]) and (hdus[2].data == IMAGE + 1).all()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, range(100)))
    assert type(fits.CompImageHDU(IMAGE)) is ASTROPYS


def test_classes_of_users_stay_theirs(path):
    class MyList(fits.HDUList):
        mine = True

    class MyImage(fits.CompImageHDU):
        mine = True

    with tc.enabled():
        with MyList.fromfile(path) as hdus:
            assert isinstance(hdus, MyList)
            assert is_ours(hdus[1])
        assert MyImage(IMAGE).mine
        assert not is_ours(MyImage(IMAGE))


def test_hdus_can_be_chosen_by_type(path):
    with tc.enabled(), fits.open(path) as hdus:
        assert [type(hdu) is fits.CompImageHDU for hdu in hdus] == [False, True, True]
        assert type(fits.CompImageHDU(IMAGE)) is type(ASTROPYS(IMAGE)) is fits.hdu.CompImageHDU is fits.CompImageHDU
        again = pickle.loads(pickle.dumps(hdus[1]))
    assert fits.CompImageHDU is fits.hdu.CompImageHDU is fits.hdu.compressed.CompImageHDU is ASTROPYS
    assert_array_equal(again.data, IMAGE)


def test_every_compressed_image_is_an_instance_of_the_class_in_place():
    plain = ASTROPYS(IMAGE)
    with tc.enabled():
        assert isinstance(plain, fits.CompImageHDU)
        assert issubclass(ASTROPYS, fits.CompImageHDU)
        assert isinstance(tc.CompImageHDU(IMAGE), fits.CompImageHDU)
        assert not isinstance(fits.ImageHDU(IMAGE), fits.CompImageHDU)

        class Mine(fits.CompImageHDU):
            pass

        assert not isinstance(plain, Mine)
        assert is_ours(Mine(IMAGE))
    assert not is_ours(plain)


def test_the_signature_names_the_parameters():
    code = """if True:
        import inspect
        from unittest import mock
        from astropy.io import fits
        import astropy_tilecomp as tc

        astropys = str(inspect.signature(fits.CompImageHDU))
        names = list(inspect.signature(fits.CompImageHDU).parameters)
        with tc.enabled():
            assert list(inspect.signature(fits.CompImageHDU).parameters)[:len(names)] == names
        assert str(inspect.signature(fits.CompImageHDU)) == astropys
        try:
            mock.create_autospec(fits.CompImageHDU)(None, no_such_argument=1)
        except TypeError:
            pass
        else:
            raise AssertionError("taken")
    """
    subprocess.run([sys.executable, "-c", code], check=True)
