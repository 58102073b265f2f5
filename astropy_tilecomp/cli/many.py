"""One piece of work for each of many files: names and patterns, jobs side by side, errors told file by file."""

from __future__ import annotations

import glob
import os
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import click

from ..errors import TileCompError
from ..threads import pool_size
from .messages import Failure, say_of
from .progress import Bars, bars

__all__ = ["FAILED", "expand", "for_each", "is_url"]

FAILED = "astropy_tilecomp.failed"
"""What `click.Context.meta` has once a file had an error."""

_ERRORS = (TileCompError, OSError, ValueError, IndexError, MemoryError)


def is_url(name: str) -> bool:
    """Whether a name is a URL."""
    return "://" in name or "::" in name


def expand(names: Sequence[str]) -> list[str]:
    """
    Put the files in the place of patterns.

    Raises
    ------
    Failure
        If no file fits a pattern.
    """
    files: dict[str, None] = {}
    for name in names:
        found = [name]
        if glob.has_magic(name) and not is_url(name) and not os.path.exists(name):
            found = sorted(glob.glob(name, recursive=True))
            extended = re.fullmatch(r"(.+)\[([^\[\]]+)\]", name)
            if not found and extended and os.path.exists(extended[1]):
                raise Failure(f"{name}: name the HDU by an option: {extended[1]} --hdu {extended[2]}")
            if not found:
                raise Failure(f"{name}: no file fits this pattern")
        files |= dict.fromkeys(found)
    return list(files)


def for_each(files: Sequence[str], work: Callable, *, jobs: int | None = None, quiet: bool = False) -> list:
    """Do the same with each of many files; an error of one does not keep the others from it."""
    jobs = jobs or pool_size()
    with bars(quiet) as shown:
        if len(files) == 1 or jobs == 1:
            results = [_attempt(work, file, jobs, shown) for file in files]
        else:
            results = _side_by_side(files, work, jobs, shown)
    if any(failed for failed, _ in results):
        click.get_current_context().meta[FAILED] = True
    return [result for failed, result in results if not failed]


def _attempt(work: Callable, file: str, threads: int, shown: Bars, stop: threading.Event | None = None) -> tuple[bool, object]:
    """Whether an error was told, and else the result."""
    try:
        with shown.bar(os.path.basename(file)) as tell:
            return False, work(file, threads, _until(stop, tell))
    except BrokenPipeError:
        raise
    except _ERRORS as error:
        say_of(file, error)
        return True, None


def _until(stop: threading.Event | None, tell: Callable) -> Callable:
    """What tells how far the work is, and ends it once the user wants to stop."""

    def tell_or_stop(done: int, total: int) -> None:
        if stop is not None and stop.is_set():
            raise KeyboardInterrupt
        tell(done, total)

    return tell_or_stop


def _side_by_side(files: Sequence[str], work: Callable, jobs: int, shown: Bars) -> list[tuple[bool, object]]:
    """Several files at once; threads that are left over go to each of them."""
    at_once, stop = min(jobs, len(files)), threading.Event()
    with ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(_attempt, work, file, jobs // at_once, shown, stop) for file in files]
        try:
            return [future.result() for future in futures]
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
