"""Tables on standard output, of full width everywhere: a terminal wraps what is too long for it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import click

__all__ = ["count_text", "show_table", "size_text"]

_GAP = "   "
_WITHOUT_COLOUR = (None, "", "dumb", "unknown")
_UNITS = ("B", "kB", "MB", "GB", "TB")


def show_table(columns: Sequence[str], rows: Iterable[Sequence], *, title: str = "", bold_row: int | None = None) -> None:
    """Print a table."""
    names = [name.lstrip(">") for name in columns]
    cells = [names, *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[number]) for row in cells) for number in range(len(columns))]
    lines = [_GAP.join(_set(cell, width, name) for cell, width, name in zip(row, widths, columns)).rstrip() for row in cells]
    if title:
        click.echo(title)
    for number, line in enumerate([lines[0], "─" * (sum(widths) + len(_GAP) * (len(widths) - 1)), *lines[1:]], -2):
        stands_out = number == bold_row and os.environ.get("TERM") not in _WITHOUT_COLOUR
        click.echo(click.style(line, fg="green", bold=True) if stands_out else line)


def _set(cell: str, width: int, name: str) -> str:
    """A cell as wide as its column."""
    return cell.rjust(width) if name.startswith(">") else cell.ljust(width)


def count_text(n: int, noun: str) -> str:
    """A number of things: 1 tile, 2 tiles."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def size_text(nbytes: float) -> str:
    """A number of bytes in a unit that suits it."""
    power = next(power for power in range(len(_UNITS)) if nbytes < 1000 ** (power + 1) or power == len(_UNITS) - 1)
    number = f"{nbytes / 1000**power:.3g}" if nbytes >= 1000 else f"{nbytes:.0f}"
    return f"{number} {_UNITS[power]}"
