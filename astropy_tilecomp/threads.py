"""Threads for the whole process, the rule of when to use them, and what a fork must not leave locked."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral
from operator import length_hint
from types import FrameType
from typing import Any, ClassVar, Generic, TypeVar, overload

__all__ = ["SMALL_JOB", "ForkSafeLock", "computed_once", "counted", "end_idle_threads", "pool_size", "run", "thread_count", "waiting_pool"]

SMALL_JOB = 65536
"""Jobs of fewer pixels than this run in the thread that asks."""

N_WAITING = 32
"""Reads that may wait for a network at once on behalf of asynchronous callers."""

VARIABLE = "ASTROPY_TILECOMP_THREADS"
_NAME = "astropy_tilecomp"

_NO_MORE = object()

Item = TypeVar("Item")

_pool: ThreadPoolExecutor | None = None
_waiting_pool: ThreadPoolExecutor | None = None
_thread = threading.local()


class ForkSafeLock:
    """A re-entrant lock that a forked child finds open, whichever thread of its parent held it."""

    _all: ClassVar[weakref.WeakSet[ForkSafeLock]] = weakref.WeakSet()

    def __init__(self):
        self._renew()
        self._all.add(self)

    def _renew(self):
        self._lock = threading.RLock()

    def __enter__(self):
        self._lock.acquire()

    def __exit__(self, *exc_info):
        self._lock.release()


_pool_lock = ForkSafeLock()


def pool_size() -> int:
    """
    Threads that work at once at most.

    Returns
    -------
    int
        ASTROPY_TILECOMP_THREADS, else the number of cores that this process may use.

    Raises
    ------
    ValueError
        If the variable is not a positive integer.
    """
    wish = os.environ.get(VARIABLE)
    if wish:
        if not wish.isdecimal() or int(wish) < 1:
            raise ValueError(f"{VARIABLE} is {wish!r}, expected a positive integer")
        return int(wish)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count(threads: int | None, n_pixels: int) -> int:
    """
    Threads that a job gets.

    Parameters
    ----------
    threads : int or None
        Threads that the caller allows; None: as many as there are.
    n_pixels : int
        Pixels to decode or encode.

    Returns
    -------
    int
        One for a small job, in a thread of the pool, and in a worker of dask, which has threads enough; else `threads`,
        but not more than the pool has.

    Raises
    ------
    ValueError
        If `threads` is no integer, or less than 1.
    """
    if threads is not None and (not isinstance(threads, Integral) or threads < 1):
        raise ValueError(f"threads is {threads!r}, expected a number of 1 or more")
    if threads == 1 or n_pixels < SMALL_JOB or _in_pool() or _in_dask_worker():
        return 1
    return pool_size() if threads is None else min(threads, pool_size())


def run(work: Callable, items: Iterable, threads: int) -> None:
    """
    Do some work on every item, the caller helping.

    Parameters
    ----------
    work : callable
        Called as ``work(item)``.
    items : iterable
        Begun in this order, each taken from it when a thread is free.
    threads : int
        How many threads, the caller's among them; 1 needs no pool.

    Raises
    ------
    Exception
        The first that `work` raised; no item is begun after it.

    Notes
    -----
    Nobody waits for a busy pool: what no other thread has begun, the caller does itself.
    """
    if threads == 1:
        for item in items:
            work(item)
        return
    todo: Any = work
    left: Any = iter(items)
    turn = threading.Lock()
    failures: list[BaseException] = []

    def drain():
        while not failures:
            try:
                with turn:
                    item = next(left, _NO_MORE)
                if item is _NO_MORE:
                    return
                todo(item)
            except BaseException as failure:
                failures.append(failure)

    n_helpers = min(threads, length_hint(items, threads)) - 1
    helpers = [future for _ in range(n_helpers) if (future := _submit(drain)) is not None]
    drain()
    for helper in helpers:
        if not helper.cancel():
            helper.result()
    todo = left = None  # what was cancelled may wait in the queue for a while, and must not keep the result alive
    if failures:
        raise failures[0]


def _submit(task: Callable):
    """Give a task to the pool; None where it takes no more because the interpreter is going down."""
    global _pool
    with _pool_lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(pool_size(), _NAME, initializer=_mark_thread)
        pool = _pool
    try:
        return pool.submit(task)
    except RuntimeError:
        return None


def end_idle_threads() -> None:
    """
    End the threads of the pool if only they run beside the main thread, which calls this; the next job starts new ones.

    Notes
    -----
    Astropy delays a KeyboardInterrupt until a flush is complete, but only if no other thread is alive.
    """
    global _pool
    main = threading.main_thread()
    with _pool_lock:
        others = [thread for thread in threading.enumerate() if thread is not main]
        if _pool is not None and threading.current_thread() is main and all(other.name.startswith(f"{_NAME}_") for other in others):
            _pool.shutdown()
            _pool = None


def counted(results: Iterable[Item], total: int, on_progress: Callable[[int, int], None] | None) -> Iterator[Item]:
    """
    Pass results on, and report how many did.

    Parameters
    ----------
    results : iterable
        Of jobs that are done one after the other, or side by side.
    total : int
        How many there are.
    on_progress : callable, optional
        Called with the number of results so far, and with `total`.

    Yields
    ------
    object
    """
    for done, result in enumerate(results, 1):
        if on_progress is not None:
            on_progress(done, total)
        yield result


def waiting_pool() -> ThreadPoolExecutor:
    """
    Threads that mostly wait for a network, for callers who do not want to wait themselves.

    Returns
    -------
    ThreadPoolExecutor
        One for the process, made on first use; what runs in it may use `run`.
    """
    global _waiting_pool
    with _pool_lock:
        if _waiting_pool is None:
            _waiting_pool = ThreadPoolExecutor(N_WAITING, "astropy_tilecomp-waiting")
    return _waiting_pool


def _mark_thread() -> None:
    _thread.in_pool = True


def _in_pool() -> bool:
    return getattr(_thread, "in_pool", False)


def _in_dask_worker() -> bool:
    """Whether this thread does a task for dask's scheduler of threads, or is a worker of dask.distributed."""
    current = threading.current_thread()
    if current.name.startswith("Dask-"):
        return True
    if "dask.local" not in sys.modules or current is threading.main_thread():
        return False
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") != "dask.local":
        frame = frame.f_back
    return frame is not None


def _forget_threads() -> None:
    """In a forked child none of the other threads exists: neither those of the pools nor those that hold locks."""
    global _pool, _waiting_pool, _thread
    _pool, _waiting_pool, _thread = None, None, threading.local()
    for lock in ForkSafeLock._all:
        lock._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


T = TypeVar("T")


class computed_once(Generic[T]):  # noqa: N801  (used as a decorator)
    """
    A property whose value is computed once and kept in the instance.

    Parameters
    ----------
    compute : callable
        The method; threads that read at the same time may all call it, and get the same value.

    Notes
    -----
    `functools.cached_property` of Python 3.11 holds a lock while it computes.  A child that is forked meanwhile never gets it.
    """

    def __init__(self, compute: Callable[[Any], T]):
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> computed_once[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance, owner):
        if instance is None:
            return self
        return instance.__dict__.setdefault(self._name, self._compute(instance))
