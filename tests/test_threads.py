"""The pool of threads."""

import multiprocessing
import os
import subprocess
import sys
import threading
import time

import pytest

from astropy_tilecomp import threads as pool


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_item_is_worked_on_once(threads):
    done = []
    pool.run(done.append, range(1000), threads)
    assert sorted(done) == list(range(1000))


def test_one_thread_works_in_order_in_the_caller():
    seen = []
    pool.run(lambda item: seen.append((item, threading.get_ident())), range(5), 1)
    assert seen == [(item, threading.get_ident()) for item in range(5)]


def test_several_threads_take_part(monkeypatch):
    monkeypatch.setattr(pool, "_pool", None)
    monkeypatch.setenv(pool.VARIABLE, "3")
    both_here = threading.Barrier(3, timeout=20)
    pool.run(lambda _: both_here.wait(), range(3), 3)


def test_the_first_failure_is_raised_and_nothing_begun_after_it():
    done = []

    def work(item):
        if item == 3:
            raise KeyError("three")
        done.append(item)

    with pytest.raises(KeyError, match="three"):
        pool.run(work, range(100000), 1)
    assert done == [0, 1, 2]
    with pytest.raises(KeyError, match="three"):
        pool.run(work, range(100000), 2)
    assert len(done) < 100000


def test_a_busy_pool_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(pool, "_pool", None)
    monkeypatch.setenv(pool.VARIABLE, "1")
    go = threading.Event()
    started = threading.Event()

    def occupy(_):
        started.set()
        go.wait(20)

    blocker = threading.Thread(target=pool.run, args=(occupy, range(2), 2))     # takes the only thread of the pool
    blocker.start()
    assert started.wait(20)
    time.sleep(0.05)
    done = []
    pool.run(done.append, range(10), 2)
    assert sorted(done) == list(range(10))
    assert not go.is_set()
    go.set()
    blocker.join()


@pytest.mark.parametrize("threads, n_pixels, expected", [
    (None, pool.SMALL_JOB, 4), (2, pool.SMALL_JOB, 2), (9, pool.SMALL_JOB, 4), (1, 10**9, 1), (None, pool.SMALL_JOB - 1, 1),
])
def test_thread_count(monkeypatch, threads, n_pixels, expected):
    monkeypatch.setenv(pool.VARIABLE, "4")
    assert pool.thread_count(threads, n_pixels) == expected


def test_work_in_the_pool_gets_one_thread():
    counts = {}
    both_here = threading.Barrier(2, timeout=60)

    def work(_):
        both_here.wait()
        counts[threading.get_ident()] = pool.thread_count(None, 10**9)

    pool.run(work, range(2), 2)
    del counts[threading.get_ident()]
    assert list(counts.values()) == [1]


def test_workers_of_dask_get_one_thread(monkeypatch):
    dask = pytest.importorskip("dask")
    monkeypatch.setenv(pool.VARIABLE, "4")
    count = dask.delayed(pool.thread_count)(None, 10**9)
    assert dask.compute(count, count + 0, scheduler="threads", num_workers=2) == (1, 1)
    assert dask.compute(count, scheduler="threads") == (1,)
    assert pool.thread_count(None, 10**9) == 4


@pytest.mark.parametrize("wish", ["0", "-1", "two", "1.5"])
def test_wrong_settings(monkeypatch, wish):
    monkeypatch.setenv(pool.VARIABLE, wish)
    with pytest.raises(ValueError, match=f"{pool.VARIABLE} is '{wish}'"):
        pool.pool_size()


def test_threads_must_be_positive():
    with pytest.raises(ValueError, match="threads is 0"):
        pool.thread_count(0, 1)


def test_size_is_the_number_of_usable_cores(monkeypatch):
    monkeypatch.delenv(pool.VARIABLE, raising=False)
    assert pool.pool_size() == len(os.sched_getaffinity(0))


def test_one_thread_makes_no_pool():
    code = "from astropy_tilecomp import threads as t; t.run(print, [1, 2], 1); assert t._pool is None"
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def _sum_in_child(queue):
    done = []
    pool.run(done.append, range(100), 2)
    queue.put(sum(done))


def test_a_forked_child_makes_its_own_pool():
    pool.run(lambda item: time.sleep(0.001), range(4), 2)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_sum_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=30) == sum(range(100))
    child.join(30)
    assert child.exitcode == 0
