"""References in ASDF trees, as a data set of many FITS files would have them."""

import json
import shutil

import numpy as np
import pytest
from astropy.io import fits
from numpy.testing import assert_array_equal
from support import needs
from support.servers import range_server

import astropy_tilecomp as tc
from astropy_tilecomp.adapters.references.asdf import from_asdf, references_from_asdf, to_asdf

asdf = needs.module("asdf")
needs.module("zarr")
needs.module("fsspec")


@pytest.fixture
def data_set(tmp_path):
    """A folder of four images, as DKIST has them: one frame in each file."""
    (tmp_path / "here").mkdir()
    images = np.random.default_rng(3).normal(0, 1, (4, 20, 30)).astype("f4")
    paths = [tmp_path / "here" / f"frame{n}.fits" for n in range(4)]
    for path, image in zip(paths, images):
        hdu = fits.CompImageHDU(image, compression_type="RICE_1", tile_shape=(8, 30), quantize_method=1, dither_seed=5)
        fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(path)
    return paths, np.stack([fits.getdata(path) for path in paths])


@pytest.mark.parametrize("lazy", [False, True])
def test_written_and_read(data_set, tmp_path, lazy):  # S11
    paths, expected = data_set
    refs = tc.references(paths, hdu=1)
    asdf.AsdfFile({"data": {"references": to_asdf(refs)}}).write_to(tmp_path / "set.asdf")
    with asdf.open(tmp_path / "set.asdf", lazy_tree=lazy) as file:
        array = from_asdf(file["data"]["references"])
    assert_array_equal(array[...], expected)
    assert_array_equal(array[2, 5:9, ::4], expected[2, 5:9, ::4])
    with asdf.open(tmp_path / "set.asdf", lazy_tree=lazy) as file:
        assert references_from_asdf(file["data"]["references"]) == json.loads(json.dumps(refs))


def test_files_that_move(data_set, tmp_path):  # S11
    paths, expected = data_set
    node = to_asdf(tc.references(paths, hdu=1))
    assert node["templates"] == {"base": str(tmp_path / "here")}
    assert node["refs"]["c/0/0/0"][0] == "{{base}}/frame0.fits"
    asdf.AsdfFile({"refs": node}).write_to(tmp_path / "set.asdf")
    (tmp_path / "here").rename(tmp_path / "there")
    with asdf.open(tmp_path / "set.asdf") as file:
        for base in (tmp_path / "there", f"{tmp_path}/there/"):
            assert_array_equal(from_asdf(file["refs"], base)[:, 3:5], expected[:, 3:5])
    files = {f"there/{path.name}": (tmp_path / "there" / path.name).read_bytes() for path in paths}
    shutil.rmtree(tmp_path / "there")
    with range_server(files) as server, asdf.open(tmp_path / "set.asdf") as file:
        assert_array_equal(from_asdf(file["refs"], server.url + "there")[1, 3:5], expected[1, 3:5])


@pytest.mark.parametrize("urls", [
    ["s3://one/a.fits", "s3://two/a.fits"], ["file:///x/a.fits", "file:///y/a.fits"], ["/x/a.fits", "/y/a.fits"],
    ["https://host/x y/a.fits", "https://host/x z/a.fits"], ["memory://a.fits", "memory://b.fits"],
], ids=str)
def test_urls_come_back_whatever_they_share(urls):
    fsspec = needs.module("fsspec")
    refs = {f"c/{number}/0": [url, 0, 10] for number, url in enumerate(urls)}
    node = to_asdf({"version": 1, "refs": refs})
    assert references_from_asdf(node)["refs"] == refs
    by_fsspec = fsspec.filesystem("reference", fo=node, simple_templates=True, asynchronous=True, remote_protocol="memory")
    assert by_fsspec.references == refs


def test_fsspec_reads_the_node_too(data_set):
    """What stands in the tree is what fsspec calls templates."""
    fsspec, zarr = needs.module("fsspec"), needs.module("zarr")
    paths, expected = data_set
    node = to_asdf(tc.references(paths, hdu=1)) | {"version": 1}
    fs = fsspec.filesystem(
        "reference", fo=node, asynchronous=True, template_overrides={"base": str(paths[0].parent)}, simple_templates=True
    )
    assert_array_equal(zarr.open_array(zarr.storage.FsspecStore(fs, read_only=True), mode="r")[...], expected)


def test_many_references_are_one_text(tmp_path):
    image = np.arange(2000 * 8, dtype="i2").reshape(2000, 8)
    tc.write_image(tmp_path / "tiles.fits", image, tile_shape=(1, 8))
    node = to_asdf(tc.tile_references(tmp_path / "tiles.fits").to_dict())
    assert isinstance(node["refs"], str)
    asdf.AsdfFile({"refs": node}).write_to(tmp_path / "set.asdf")
    with asdf.open(tmp_path / "set.asdf", lazy_tree=True) as file:
        group = from_asdf(file["refs"])
    (array,) = (array for _, array in group.arrays())
    assert_array_equal(array[77:80], image[77:80])


def test_what_is_refused(data_set, tmp_path):
    refs = tc.references(data_set[0], hdu=1)
    with pytest.raises(ValueError, match="does not lie under the base"):
        to_asdf(refs, tmp_path / "elsewhere")
    with pytest.raises(tc.HeaderError, match="holds no references"):
        from_asdf({"data": 3})
    with pytest.raises(tc.UnsupportedError, match="version 2"):
        from_asdf(to_asdf(refs) | {"version": 2})
    with pytest.raises(tc.HeaderError, match="give base"):
        from_asdf(to_asdf(refs) | {"templates": {}})
