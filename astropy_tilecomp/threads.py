"""One pool of threads for the whole process, and the rule of when to use it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

__all__ = ["SMALL_JOB", "pool_size", "run", "thread_count"]

#: Jobs of fewer pixels than this run in the thread that asks.
SMALL_JOB = 65536


def pool_size() -> int:
    """
    Threads that work at once at most: ASTROPY_TILECOMP_THREADS, else the cores this process may use.

    Raises
    ------
    ValueError
        If the variable is not a positive integer.
    """
    raise NotImplementedError


def thread_count(threads: int | None, n_pixels: int) -> int:
    """
    Threads that a job of `n_pixels` gets, of the `threads` its caller allows (None: all of them).

    One for a small job, in a thread of the pool, and under dask, whose workers are threads enough.
    """
    raise NotImplementedError


def run(work: Callable[[object], None], items: Iterable[object], threads: int) -> None:
    """
    Call ``work(item)`` for every item, on `threads` threads of which the caller's is one.

    Items are taken in order. The caller does not wait for a busy pool: whatever no other thread has begun, it does itself.

    Raises
    ------
    Exception
        The first that `work` raised; no further item is begun after it.
    """
    raise NotImplementedError
