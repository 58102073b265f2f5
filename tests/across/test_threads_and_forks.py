"""Many threads on images of every algorithm, and children of a process that has read before."""

import contextlib
import functools
import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from support.encoded_images import INTEGER_ALGORITHMS, encode_image
from support.fuzz_files import hdu_of
from support.small_files import PRIMARY

import astropy_tilecomp as tc
from astropy_tilecomp.codecs import engines
from astropy_tilecomp.threads import ForkSafeLock

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


def test_no_read_reaches_a_cached_property_with_a_lock(mixed, monkeypatch):
    """The one of Python 3.11 holds a lock: a child that is forked meanwhile would wait for it for ever."""
    path, pixels = mixed
    reached = []

    def get(self, instance, owner=None):
        reached.append(self.func)
        return self.func(instance)

    monkeypatch.setattr(functools.cached_property, "__get__", get)
    for number, image in enumerate(pixels, 1):
        assert_array_equal(tc.read_section(path, np.s_[10:90, 10:50], hdu=number), image[10:90, 10:50])
        assert_array_equal(tc.read_image(path, hdu=number), image)
    with tc.open(path) as hdul:
        for hdu, image in zip(hdul[1:], pixels, strict=True):
            assert_array_equal(hdu.section[3], image[3])
            assert_array_equal(hdu.data, image)
    assert not reached


def _use_package(path):
    """End with 0 if everything that takes a lock still works."""
    with tc.enabled(), tc.open(path) as hdul:
        hdul[1].data, hdul[1].section[3], hdul[1].header
    tc.read_image(path)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
def test_a_child_is_not_stopped_by_locks_of_its_parent(mixed):
    """Another thread of the parent holds every lock of the package while the child is made."""
    path, _ = mixed
    held, done = threading.Event(), threading.Event()
    with tc.open(path) as hdul:
        hdul[1].section[3]

        def hold():
            with contextlib.ExitStack() as stack:
                for lock in list(ForkSafeLock._all):
                    stack.enter_context(lock)
                held.set()
                done.wait(60)

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait(60)
        child = multiprocessing.get_context("fork").Process(
            target=lambda: (_use_package(path), hdul[1].section[3], hdul[1].data, hdul[2].data))
        child.start()
        child.join(60)
        code = child.exitcode
        child.kill()
        done.set()
        thread.join()
    assert code == 0
