"""The same cutout from many files: right pixels, right WCS, and every error told."""

import numpy as np
import pytest
from astropy import units
from astropy.coordinates import SkyCoord
from astropy.io import fits
from astropy.nddata import Cutout2D
from astropy.wcs import WCS
from numpy.testing import assert_allclose, assert_array_equal
from support import needs
from support.servers import all_together, range_server

import astropy_tilecomp as tc
from astropy_tilecomp.tasks.cutout_results import Cutouts
from astropy_tilecomp.tasks.cutouts import _Recipe

SHAPE = (120, 150)


def sky_header(crpix=(60.0, 50.0), **more):
    """Coordinates near the pole, rotated, so that nothing is symmetric."""
    wcs = WCS(naxis=2)
    wcs.wcs.ctype = "RA---TAN", "DEC--TAN"
    wcs.wcs.crpix, wcs.wcs.crval = crpix, (210.0, 75.0)
    wcs.wcs.cd = np.array([[-0.9, 0.3], [0.3, 0.9]]) / 3600
    header = wcs.to_header()
    header.update(more)
    return header


def image_of(number, dtype="i2"):
    return np.random.default_rng(number).normal(1000, 50, SHAPE).astype(dtype)


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Six files, each pointing a little elsewhere."""
    folder = tmp_path_factory.mktemp("cutouts")
    for number in range(6):
        header = sky_header((60.0 + number, 50.0 - number), OBJECT=f"field {number}")
        tc.write_image(folder / f"{number}.fits.fz", image_of(number), header, tile_shape=(32, 32), name="SCI")
    return sorted(folder.iterdir())


CENTRES = [((70, 40), 20), ((70.4, 40.6), (21, 33)), ((3, 118), (20, 30))]


@pytest.mark.parametrize(("position", "size"), CENTRES, ids=str)
def test_pixels_and_wcs_are_those_of_cutout2d(paths, position, size):
    for number, found in enumerate(tc.cutouts(paths, position, size)):
        header = sky_header((60.0 + number, 50.0 - number))
        expected = Cutout2D(image_of(number), position, size, wcs=WCS(header))
        assert_array_equal(found.pixels, expected.data)
        assert found.wcs.wcs.compare(expected.wcs.wcs, tolerance=1e-9)
        assert found.header["OBJECT"] == f"field {number}"
        assert found.origin == tuple(reversed(expected.origin_original))


@pytest.mark.parametrize("size", [(15, 25), 20 * units.arcsec, (15 * units.arcsec, 0.5 * units.arcmin)], ids=str)
def test_a_place_on_the_sky(paths, size):
    place = SkyCoord(210.001, 75.002, unit="deg")
    for number, found in enumerate(tc.cutouts(paths, place, size)):
        wcs = WCS(sky_header((60.0 + number, 50.0 - number)))
        expected = Cutout2D(image_of(number), place, size, wcs=wcs)
        assert_array_equal(found.pixels, expected.data)
        assert_allclose(found.wcs.pixel_to_world_values(3, 4), expected.wcs.pixel_to_world_values(3, 4), rtol=1e-12)


@pytest.mark.parametrize("index", [np.s_[10:30, 40:90], np.s_[..., :20], np.s_[100:], np.s_[-5:, 2:4]], ids=str)
def test_slices(paths, index):
    found = tc.cutouts(paths, index, hdu="SCI")
    found.raise_errors()
    for number, pixels in enumerate(found.arrays):
        assert_array_equal(pixels, image_of(number)[index])


def test_over_the_edge(paths):
    position, size = (2, 3), (20, 10)
    for found in tc.cutouts(paths[:1], position, size, mode="partial", fill_value=-1):
        expected = Cutout2D(image_of(0), position, size, mode="partial", fill_value=-1, wcs=WCS(sky_header()))
        assert_array_equal(found.pixels, expected.data)
        assert found.wcs.wcs.compare(expected.wcs.wcs, tolerance=1e-9)
        assert found.origin == (-7, -3)
    errors = {
        "strict": tc.cutouts(paths[:1], position, size, mode="strict")[0].error,
        "no overlap": tc.cutouts(paths[:1], (-500, 3), size)[0].error,
        "integers": tc.cutouts(paths[:1], position, size, mode="partial")[0].error,
        "slices": tc.cutouts(paths[:1], np.s_[100:200], mode="strict")[0].error,
        "empty": tc.cutouts(paths[:1], np.s_[200:300])[0].error,
        "axes": tc.cutouts(paths[:1], np.s_[:5, :5, :5])[0].error,
    }
    assert all(isinstance(error, ValueError | IndexError) for error in errors.values()), errors


def test_a_cube_is_cut_in_its_last_two_axes(tmp_path):
    cube = np.arange(3 * 40 * 50, dtype="i4").reshape(3, 40, 50)
    header = sky_header((20.0, 10.0), CTYPE3="FREQ", CRPIX3=1.0, CRVAL3=1e9, CDELT3=1e6)
    tc.write_image(tmp_path / "cube.fits", cube, header, tile_shape=(1, 10, 10))
    (found,) = tc.cutouts([tmp_path / "cube.fits"], (30, 20), (7, 9))
    assert_array_equal(found.pixels, cube[:, 17:24, 26:35])
    assert found.wcs.wcs.crpix.tolist() == [20 - 26, 10 - 17, 1]


def test_every_coordinate_system_moves(tmp_path):
    header = fits.Header({"CTYPE1": "X", "CRVAL1": 5.0, "CTYPE2A": "Y", "CRPIX2A": 7.0, "CRVAL2A": 1.0, "LTV1": 3.0})
    tc.write_image(tmp_path / "a.fits", image_of(0), header)
    (found,) = tc.cutouts([tmp_path / "a.fits"], np.s_[10:20, 30:50])
    moved = found.header
    assert (moved["CRPIX1"], moved["CRPIX2A"], moved["LTV1"]) == (-30, -3, -27)
    assert (moved["NAXIS1"], moved["NAXIS2"]) == (20, 10)


def test_a_coordinate_system_of_defaults_moves_too(tmp_path):
    """CRPIX and CRVAL are 0 where they are absent, so a CTYPE or CDELT alone makes coordinates."""
    header = fits.Header({"CTYPE1": "LINEAR", "CDELT1": 2.0, "CDELT2": 3.0})
    tc.write_image(tmp_path / "a.fits", np.zeros((40, 50), "int16"), header)
    (found,) = tc.cutouts([tmp_path / "a.fits"], np.s_[10:20, 30:40])
    assert found.header.count("CRPIX1") == 1
    assert_allclose(found.wcs.pixel_to_world_values(0, 0), WCS(header).pixel_to_world_values(30, 10))


@pytest.mark.parametrize("compress", [True, False], ids=["compressed", "plain"])
@pytest.mark.parametrize("dtype", ["u2", "i4", "f4"])
def test_small_files(tmp_path, dtype, compress):
    image = image_of(3, dtype)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        tc.write_image(tmp_path / folder / "same.fits.fz", image, sky_header(), lossless=True)
    files = [tmp_path / "a" / "same.fits.fz", tmp_path / "b" / "same.fits.fz"]
    found = tc.cutouts(files, (50, 60), (20, 30), folder=tmp_path / "out", compress=compress)
    found.raise_errors()
    assert len({each.path for each in found}) == 2
    for each in found:
        assert each.pixels is None
        with fits.open(each.path) as hdus:
            hdu = hdus[1 if compress else 0]
            expected = Cutout2D(image, (50, 60), (20, 30), wcs=WCS(sky_header()))
            assert_array_equal(hdu.data, expected.data)
            assert hdu.data.dtype.newbyteorder("=") == np.dtype(dtype)
            assert WCS(hdu.header).wcs.compare(expected.wcs.wcs, tolerance=1e-9)
    again = tc.cutouts(files, (50, 60), (20, 30), folder=tmp_path / "out", compress=compress)
    assert [type(error) for _, error in again.errors] == [FileExistsError] * 2


def test_a_numbered_file_does_not_replace_one_that_is_called_so(tmp_path):
    """Of two files of one name the second becomes night_1, which is what another file is called by itself."""
    files = [tmp_path / folder / name for folder, name in [("a", "night_1.fits"), ("b", "night.fits"), ("c", "night.fits")]]
    for number, file in enumerate(files):
        file.parent.mkdir()
        tc.write_image(file, np.full((8, 8), number, "i2"))
    found = tc.cutouts(files, np.s_[2:5, 2:5], folder=tmp_path / "out", overwrite=True)
    found.raise_errors()
    assert [int(tc.read_image(each.path)[0, 0]) for each in found] == [0, 1, 2]


def test_a_table_of_results(paths, tmp_path):
    table = tc.cutouts(paths, (70, 40), (8, 9)).table()
    assert table["pixels"].shape == (6, 8, 9)
    assert table["shape"][0] == "8, 9"
    table = tc.cutouts([*paths, tmp_path / "missing.fits"], (70, 40), (8, 9)).table()
    assert "pixels" not in table.colnames
    assert table["error"][-1].startswith("FileNotFoundError: ")
    assert not any(table["error"][:-1])


def test_no_credential_is_shown():
    (found,) = tc.cutouts(["http://127.0.0.1:9/a.fits?token=hidden"], (5, 5), 3, remote={"retries": 0},
                          storage_options={"headers": {"Authorization": "hidden"}})
    shown = f"{found} {found.error} {Cutouts([found]).table()}"
    assert "127.0.0.1" in shown
    assert "hidden" not in shown
    assert "hidden" not in repr(_Recipe(None, None, "trim", None, True, False, {"key": "hidden"}, None, {}))


def test_errors_are_collected(paths, tmp_path):
    corrupt = tmp_path / "corrupt.fits"
    content = bytearray(paths[0].read_bytes())
    content[6 * 2880 :] = bytes(len(content) - 6 * 2880)
    corrupt.write_bytes(content)
    (tmp_path / "text.fits").write_text("no FITS")
    files = [paths[0], tmp_path / "missing.fits", paths[1], corrupt, tmp_path / "text.fits"]
    found = tc.cutouts(files, np.s_[:, 100:])
    assert repr(found) == "<Cutouts of 5 files, 3 with errors>"
    assert [pixels is not None for pixels in found.arrays] == [True, False, True, False, False]
    assert [(file, type(error)) for file, error in found.errors[::2]] == [
        (files[1], FileNotFoundError), (files[4], tc.HeaderError)]
    assert isinstance(found.errors[1][1], tc.CorruptTileError)
    with pytest.raises(ExceptionGroup, match="3 of 5 cutouts failed"):
        found.raise_errors()
    with pytest.raises(ValueError, match="there is no cutout to write"):
        found[1].write(tmp_path / "none.fits")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((5, 5),), "a position needs a size"),
        ((np.s_[:5, :5], 3), "leave size out"),
        ((np.s_[::2, :5],), "slices of step 1"),
        (((5, 5), (1, 2, 3)), "height and width"),
        (((5, 5), 0), "size is 0, expected whole numbers of pixels from 1 on"), (((5, 5), (3, -1)), r"size is \(3, -1\)"),
        (((5, 5), 2.7), "size is 2.7"), (((5, 5), float("inf")), "size is inf"), (((5, 5), 0 * units.deg), "angles over 0"),
        (((5, 5, 5), 3), r"\(x, y\), a SkyCoord or slices expected"),
    ],
)
def test_what_makes_no_sense_for_any_file_is_raised(paths, arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        tc.cutouts(paths, *arguments)


def test_a_place_on_the_sky_needs_coordinates(tmp_path):
    tc.write_image(tmp_path / "plain.fits", image_of(0))
    (found,) = tc.cutouts([tmp_path / "plain.fits"], SkyCoord(1, 2, unit="deg"), 10)
    assert isinstance(found.error, tc.HeaderError)
    assert "no celestial coordinates" in str(found.error)


def test_options_that_make_no_sense_are_raised(paths):
    with pytest.raises(TypeError, match="a list of files expected"):
        tc.cutouts("sky.fits", (5, 5), 3)
    with pytest.raises(ValueError, match="mode is 'wrap'"):
        tc.cutouts(paths, (5, 5), 3, mode="wrap")
    with pytest.raises(ValueError, match="concurrency is 0"):
        tc.cutouts(paths, (5, 5), 3, concurrency=0)


def test_progress(paths):
    seen = []
    tc.cutouts(paths, (5, 5), 3, on_progress=lambda done, total: seen.append((done, total)))
    assert seen == [(n, 6) for n in range(1, 7)]


def test_remote_files_are_read_at_once(paths):
    needs.module("aiohttp")
    with range_server({path.name: path.read_bytes() for path in paths}) as server:
        urls = [server.url + path.name for path in paths]
        tc.cutouts(urls[:1], (70, 40), 20)
        server.forget()
        server.fault = all_together(5)
        found = tc.cutouts(urls, (70, 40), 20)
        assert_array_equal(found.arrays, tc.cutouts(paths, (70, 40), 20).arrays)
        assert len(server.requests) <= 3 * len(urls)
        assert found[0].stats.n_tiles == 4


def test_faults_of_servers_are_got_over(paths, monkeypatch):
    needs.module("aiohttp")
    monkeypatch.setattr("astropy_tilecomp.sources.remote.FIRST_PAUSE", 0.01)
    rng = np.random.default_rng(4)
    kinds, is_faulty = rng.choice(["500", "cut", "short", "drop"], 2000), rng.random(2000) < 0.05
    with range_server({f"{number}.fits": paths[number % 6].read_bytes() for number in range(300)}) as server:
        server.fault = lambda number: kinds[number] if is_faulty[number] else None
        found = tc.cutouts([f"{server.url}{number}.fits" for number in range(300)], np.s_[:30, 100:])
    found.raise_errors()
    for number, pixels in enumerate(found.arrays):
        assert_array_equal(pixels, image_of(number % 6)[:30, 100:])


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_cluster_gives_what_one_process_gives(paths, tmp_path):
    needs.module("aiohttp")
    distributed = needs.module("distributed")
    files = {f"{number}.fits": paths[number % 6].read_bytes() for number in range(1000)}
    del files["417.fits"]
    files["800.fits"] = files["800.fits"][: 4 * 2880] + bytes(len(files["800.fits"]) - 4 * 2880)
    with (
        range_server(files) as server,
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=tmp_path
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        urls = [f"{server.url}{number}.fits" for number in range(1000)]
        found = tc.cutouts(urls, (70, 40), (30, 40), client=client)
        serial = tc.cutouts(urls, (70, 40), (30, 40), concurrency=1)
        written = tc.cutouts(urls[:20], (70, 40), (30, 40), client=client, folder=tmp_path / "out")
    assert [each.file for each in found] == urls
    assert [file for file, _ in found.errors] == [urls[417], urls[800]]
    assert isinstance(found[417].error, FileNotFoundError)
    assert isinstance(found[800].error, tc.TileCompError)
    assert [str(error) for _, error in found.errors] == [str(error) for _, error in serial.errors]
    for number, (one, other) in enumerate(zip(found.arrays, serial.arrays)):
        if number not in (417, 800):
            assert_array_equal(one, other)
            assert_array_equal(one, image_of(number % 6)[25:55, 50:90])
    written.raise_errors()
    assert_array_equal(tc.read_image(written[7].path), image_of(1)[25:55, 50:90])
