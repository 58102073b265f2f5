"""Bars for long work: on standard error, only where that is a terminal, and never with ``--quiet``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

__all__ = ["Bars", "bars"]


class Bars:
    """
    Bars of the files that are being worked on.

    Parameters
    ----------
    progress : rich.progress.Progress or None
        Where they are drawn; None for nowhere.
    """

    def __init__(self, progress=None):
        self._progress = progress

    @contextmanager
    def bar(self, name: str) -> Iterator[Callable[[int, int], None]]:
        """Show a bar while a file is worked on."""
        if self._progress is None:
            yield lambda done, total: None
            return
        task = self._progress.add_task(name, total=None)

        def tell(done: int, total: int) -> None:
            self._progress.update(task, completed=done, total=total)

        try:
            yield tell
        finally:
            self._progress.remove_task(task)


@contextmanager
def bars(quiet: bool) -> Iterator[Bars]:
    """Draw bars inside a block."""
    if quiet or not sys.stderr.isatty() or find_spec("rich") is None:
        yield Bars()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield Bars(progress)
