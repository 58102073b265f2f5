"""Tables on standard output: coloured on a terminal, plain in a pipe, and of full width in both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..extras import extra

__all__ = ["count_text", "show_table", "size_text"]

WIDTH = 1 << 16
"""Columns of text, more than any table has: no cell is ever cut, and a terminal wraps what is too long for it."""

_UNITS = ("B", "kB", "MB", "GB", "TB")


def show_table(columns: Sequence[str], rows: Iterable[Sequence], *, title: str = "", bold_row: int | None = None) -> None:
    """
    Print a table.

    Parameters
    ----------
    columns : sequence of str
        Headings; columns of numbers begin with ">" and are set to the right.
    rows : iterable of sequence
        The cells, turned into text.
    title : str
        A line above.
    bold_row : int, optional
        Which row stands out.
    """
    with extra("cli"):
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

    console = Console(width=WIDTH, highlight=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(Text(name.lstrip(">")), justify="right" if name.startswith(">") else "left", no_wrap=True)
    for number, row in enumerate(rows):
        table.add_row(*(Text(str(cell)) for cell in row), style="bold green" if number == bold_row else None)
    if title:
        console.print(Text(title), soft_wrap=True)
    console.print(table)


def count_text(n: int, noun: str) -> str:
    """A number of things: 1 tile, 2 tiles."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def size_text(nbytes: float) -> str:
    """A number of bytes in a unit that suits it."""
    power = next(power for power in range(len(_UNITS)) if nbytes < 1000 ** (power + 1) or power == len(_UNITS) - 1)
    number = f"{nbytes / 1000**power:.3g}" if nbytes >= 1000 else f"{nbytes:.0f}"
    return f"{number} {_UNITS[power]}"
