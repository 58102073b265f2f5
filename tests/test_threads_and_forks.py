"""Many threads on images of every algorithm, and children of a process that has read before."""

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from encoded_images import INTEGER_ALGORITHMS, encode_image
from fuzz_files import hdu_of
from numpy.testing import assert_array_equal
from small_files import PRIMARY

import astropy_tilecomp as tc
from astropy_tilecomp.codecs import engines

N_THREADS = 8
SHAPE, TILE = (300, 400), (32, 50)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A file with an image of each algorithm and one of quantized floats, and the pixels of each HDU from 1 on."""
    path = tmp_path_factory.mktemp("mixed") / "mixed.fits"
    rng = np.random.default_rng(8)
    hdus, pixels = [], []
    for algorithm in INTEGER_ALGORITHMS:
        pixels.append(rng.poisson(150, SHAPE).astype("i2"))
        hdus.append(encode_image(pixels[-1], TILE, algorithm))
    n_tiles = 10 * 8
    hdus.append(encode_image(rng.poisson(150, SHAPE).astype("i4"), TILE, "RICE_1", bitpix=-32, zscale=rng.uniform(1, 2, n_tiles),
                             zzero=np.zeros(n_tiles), cards=[("ZQUANTIZ", "SUBTRACTIVE_DITHER_1"), ("ZDITHER0", 7)]))
    path.write_bytes(PRIMARY + b"".join(hdu_of(hdu) for hdu in hdus))
    pixels.append(tc.read_image(path, hdu=len(hdus), threads=1))
    return path, pixels


@pytest.mark.parametrize("engine", engines())
@pytest.mark.parametrize("cache_bytes", [0, 1 << 20])
def test_sections_from_eight_threads(mixed, engine, cache_bytes):
    """200 sections of one open file, every algorithm in turn, all threads let go at once: what a serial read gives."""
    path, pixels = mixed
    rng = np.random.default_rng(9)
    jobs = []
    for n in range(200):
        (top, bottom), (left, right) = (sorted(rng.integers(0, size + 1, 2).tolist()) for size in SHAPE)
        jobs.append((n % len(pixels), np.s_[top:bottom:1 + n % 3, left:right]))
    start = threading.Barrier(N_THREADS)

    def work(thread):
        start.wait(30)
        return [hdul[1 + image].section[index] for image, index in jobs[thread::N_THREADS]]

    with tc.open(path, engine=engine, cache_bytes=cache_bytes) as hdul, ThreadPoolExecutor(N_THREADS) as pool:
        found = list(pool.map(work, range(N_THREADS)))
    for thread, parts in enumerate(found):
        for (image, index), part in zip(jobs[thread::N_THREADS], parts, strict=True):
            assert_array_equal(part, pixels[image][index])


def test_whole_images_from_eight_threads(mixed):
    """Reads that go through the pool, started from threads that are not of it."""
    path, pixels = mixed
    with ThreadPoolExecutor(N_THREADS) as pool:
        images = list(pool.map(lambda n: (n, tc.read_image(path, hdu=1 + n % len(pixels))), range(5 * len(pixels))))
    for n, image in images:
        assert_array_equal(image, pixels[n % len(pixels)])


def read_all(path, hdul, queue):
    """In a child: every image through the list of its parent and through a file of its own, by several threads."""
    inherited = [np.array(hdul[n].section[...]) for n in range(1, len(hdul))]
    queue.put([inherited, [tc.read_image(path, hdu=n, threads=2) for n in range(1, len(hdul))]])


def test_a_forked_child_decodes(mixed, monkeypatch):
    """The parent has a pool with threads, an open file and tiles in its cache; the child inherits none of the threads."""
    monkeypatch.setenv("ASTROPY_TILECOMP_THREADS", "2")
    path, pixels = mixed
    context = multiprocessing.get_context("fork")
    with tc.open(path) as hdul:
        assert_array_equal(hdul[1].section[...], pixels[0])
        assert_array_equal(hdul[2].section[:5, :5], pixels[1][:5, :5])
        len(hdul)
        queue = context.Queue()
        children = [context.Process(target=read_all, args=(path, hdul, queue)) for _ in range(2)]
        for child in children:
            child.start()
        answers = [queue.get(timeout=60) for _ in children]
        for child in children:
            child.join(30)
            assert child.exitcode == 0
        assert_array_equal(hdul[1].section[...], pixels[0])
    for inherited, anew in answers:
        for one, other, expected in zip(inherited, anew, pixels, strict=True):
            assert_array_equal(one, expected)
            assert_array_equal(other, expected)
