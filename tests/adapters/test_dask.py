"""Dask arrays of compressed images and back: whole tiles in a chunk, pickling, bounded memory."""

import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from support import needs
from support.peak import PEAK
from support.servers import range_server

import astropy_tilecomp as tc

da = needs.module("dask.array")


def sample(shape=(300, 200), dtype="i2"):
    return np.random.default_rng(3).normal(100, 9, shape).astype(dtype)


@pytest.fixture
def tiled(tmp_path):
    path = tmp_path / "tiled.fits"
    tc.write_image(path, sample(), tile_shape=(32, 50))
    return path


@pytest.mark.parametrize(("nbytes", "chunk"), [(1, (32, 50)), (10_000, (32, 150)), (40_000, (96, 200)), (10**9, (300, 200))])
def test_chunks_are_whole_tiles(tiled, nbytes, chunk):
    assert tc.to_dask(tiled, chunk_nbytes=nbytes).chunksize == chunk


def test_equal_to_the_image(tiled):
    array = tc.to_dask(tiled, chunk_nbytes=20_000)
    assert array.dtype == np.int16
    assert_array_equal(array.compute(), sample())
    assert_array_equal(array[::-7, 30:90].compute(), sample()[::-7, 30:90])


def test_of_a_section(tiled):
    with tc.open(tiled) as hdus:
        assert_array_equal(tc.to_dask(hdus[1].section)[5:9].compute(), sample()[5:9])


def test_scaled_images_have_their_own_type(tmp_path):
    image = sample(dtype="u2")
    tc.write_image(tmp_path / "a.fits", image)
    array = tc.to_dask(tmp_path / "a.fits")
    assert array.dtype == np.uint16
    assert_array_equal(array.compute(), image)


def test_in_other_processes(tiled):
    array = tc.to_dask(tiled, chunk_nbytes=20_000)
    assert_array_equal(pickle.loads(pickle.dumps(array)).compute(scheduler="sync"), sample())
    assert_array_equal(array.compute(scheduler="processes", num_workers=2), sample())


@pytest.mark.slow
def test_on_a_cluster(tiled):
    distributed = needs.module("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, distributed.Client(cluster):
        assert_array_equal(tc.to_dask(tiled, chunk_nbytes=20_000).compute(), sample())
        refs = tc.references([tiled] * 3, hdu=1, client=distributed.get_client())
        assert list(refs["refs"])[1:] == ["c/0/0/0", "c/1/0/0", "c/2/0/0"]


@pytest.mark.parametrize("chunks", [(32, 50), (64, 100), (100, 200), (7, 11), (300, 200), ((64, 0, 236), (0, 200))])
def test_write_any_chunks(chunks, tmp_path):
    image = sample()
    calls = []
    tc.write_dask(tmp_path / "a.fits", da.from_array(image, chunks=chunks), {"OBJECT": "M31"}, tile_shape=(32, 50),
                  on_progress=lambda done, total: calls.append((done, total)))
    assert_array_equal(tc.read_image(tmp_path / "a.fits"), image)
    assert calls[-1][0] == calls[-1][1]


def test_what_is_no_dask_array_of_a_known_shape(tmp_path):
    with pytest.raises(TypeError, match="a dask array expected, found ndarray"):
        tc.write_dask(tmp_path / "a.fits", sample())
    array = da.from_array(sample())
    with pytest.raises(ValueError, match=r"compute_chunk_sizes"):
        tc.write_dask(tmp_path / "a.fits", array[array[:, 0] > 100])
    assert list(tmp_path.iterdir()) == []


def test_an_error_while_computing_leaves_nothing(tmp_path):
    def fail(block):
        raise RuntimeError("no pixels")

    array = da.from_array(sample(), chunks=(32, 200)).map_blocks(fail, dtype="i2", meta=np.empty((0, 0), "i2"))
    with pytest.raises(RuntimeError, match="no pixels"):
        tc.write_dask(tmp_path / "a.fits", array)
    assert not os.listdir(tmp_path)


@pytest.mark.slow
def test_an_image_of_20_gb_takes_little_memory(tmp_path):
    """Constant but for some tiles of noise, so that it compresses to little and computes fast."""
    program = PEAK + textwrap.dedent("""
        import sys, numpy as np, dask, dask.array as da, astropy_tilecomp as tc
        from astropy_tilecomp.adapters import dask as dask_arrays
        shape, tile = (102400, 102400), (1024, 1024)
        def block(block_info=None):
            (y0, y1), (x0, x1) = block_info[None]["array-location"]
            out = np.zeros((y1 - y0, x1 - x0), "i2")
            rng = np.random.default_rng(y0 * 7 + x0)
            out[:64, :64] = rng.integers(0, 1000, (64, 64))
            return out
        array = da.map_blocks(block, chunks=((2048,) * 50, (4096,) * 25), dtype="i2", meta=np.empty((0, 0), "i2"))
        before = peak_nbytes()
        tc.write_dask(sys.argv[1], array, tile_shape=tile)
        print((peak_nbytes() - before) / 2**20)
    """)
    path = tmp_path / "large.fits"
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, cwd=needs.REPOSITORY)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 500, "MiB over what the imports take"
    rng = np.random.default_rng(0)
    for y0, x0 in zip(rng.integers(0, 50, 5) * 2048, rng.integers(0, 25, 5) * 4096):
        found = tc.read_section(path, np.s_[y0:y0 + 70, x0:x0 + 70])
        expected = np.zeros((70, 70), "i2")
        expected[:64, :64] = np.random.default_rng(y0 * 7 + x0).integers(0, 1000, (64, 64))
        assert_array_equal(found, expected)


def test_nothing_is_opened_when_a_graph_is_unpickled(tiled):
    with range_server({"tiled.fits": tiled.read_bytes()}) as server:
        parts = [tc.to_dask(f"{server.url}tiled.fits"), tc.to_dask(tiled)]
        pickled = [pickle.dumps(part[:3, :4]) for part in parts]
        server.forget()
        descriptors = len(os.listdir("/proc/self/fd"))
        again = [pickle.loads(part) for part in pickled]
        assert not server.requests and len(os.listdir("/proc/self/fd")) == descriptors
        for part in again:
            assert_array_equal(part.compute(scheduler="sync"), sample()[:3, :4])
        assert 0 < len(server.requests) <= 4


def test_a_file_that_changed_since_it_was_pickled_is_an_error(tiled):
    with range_server({"tiled.fits": tiled.read_bytes()}) as server:
        pickled = [pickle.dumps(tc.to_dask(place)) for place in (f"{server.url}tiled.fits", tiled)]
        tc.write_image(tiled, sample() + 1, tile_shape=(32, 25), overwrite=True)
        server.files["tiled.fits"] = tiled.read_bytes() + bytes(2880)
        for part in pickled:
            with pytest.raises(tc.SourceError, match="changed since"):
                pickle.loads(part).compute(scheduler="sync")


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts the descriptors of Linux")
@pytest.mark.parametrize("how", ["dask", "xarray"])
def test_more_files_than_descriptors(how, tiled, tmp_path):
    if how == "xarray":
        needs.module("xarray")
    program = f"""
        import os, resource, numpy as np, astropy_tilecomp as tc
        names = [{str(tmp_path)!r} + f"/{{n}}.fits" for n in range(150)]
        for name in names:
            os.symlink({str(tiled)!r}, name)
        if {how!r} == "dask":
            import dask.array as da
            resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
            found = da.stack([tc.to_dask(name) for name in names])[:, 5, 7].compute()
        else:
            import xarray as xr
            tc.read_image(names[0])
            resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
            with xr.open_mfdataset(names, combine="nested", concat_dim="t", chunks={{}}, engine="astropy_tilecomp") as dataset:
                found = next(iter(dataset.data_vars.values()))[:, 5, 7].values
        assert found.tolist() == [{int(sample()[5, 7])}] * 150
    """
    subprocess.run([sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)], check=True)
