"""Print the results as a table, and write them as JSON."""

import csv
import json
import platform
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from .contenders import OURS, OURS_ALONE, n_cores, versions

__all__ = ["describe_machine", "machine", "print_machine", "print_row", "print_summary", "write_csv", "write_json"]

console = Console(width=118)


def machine():
    """What the figures depend on: processor, cores, system, versions."""
    cpuinfo = Path("/proc/cpuinfo")
    models = [line.split(":")[1].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")
              ] if cpuinfo.exists() else [platform.processor()]
    return {
        "date": time.strftime("%Y-%m-%d"),
        "processor": models[0],
        "cores": n_cores(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": versions(),
    }


def describe_machine():
    """In one line, on what the figures were taken."""
    facts = machine()
    versions_here = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    return f"{facts['date']}, {facts['processor']}, {facts['cores']} cores, Python {facts['python']}, {versions_here}"


def print_machine():
    """Print on what the figures were taken."""
    console.print(describe_machine())


def print_row(result):
    """Print one row: the time of each contender, and our ratio to it beside what we want."""
    table = Table(title=result.title, title_justify="left", title_style="bold")
    table.add_column("who")
    for column in ("median ms", "least ms", "we are faster", "of minima", "aim"):
        table.add_column(column, justify="right")
    for name in result.times:
        lines = [c for c in result.comparisons if c.peer == name] or [None]
        for number, comparison in enumerate(lines):
            cells = ["", "", ""] if number else [name, f"{result.median(name):.2f}", f"{result.minimum(name):.2f}"]
            table.add_row(*cells, *describe(comparison))
    console.print(table)


def describe(comparison):
    """The three cells that compare us with a peer."""
    if comparison is None:
        return "", "", ""
    alone = " (1 thread)" if comparison.ours == OURS_ALONE else ""
    aim = comparison.aim and comparison.aim + alone
    colour = {None: "", True: "green", False: "red"}[comparison.is_met]
    standing = comparison.standing(2)
    return f"[{colour}]{standing}[/{colour}]" if colour else standing, f"{comparison.ratio_of_minima:.2f}x", aim


def print_summary(results):
    """Print the aims that were missed, or that there are none."""
    aims = [(result, c) for result in results for c in result.comparisons if c.aim]
    missed = [(result, c) for result, c in aims if not c.is_met]
    console.print(f"{len(aims) - len(missed)} of {len(aims)} aims met")
    for result, c in missed:
        ours = "" if c.ours == OURS else ", 1 thread"
        console.print(f"  missed: {result.title}{ours}: {c.standing(2)} beside {c.peer}, wanted {c.aim}")


def write_json(path, results):
    """
    Write machine, times and ratios.

    Parameters
    ----------
    path : pathlib.Path
        Where to.
    results : list of RowResult
        The rows that were run.
    """
    rows = [
        {
            "key": result.key,
            "title": result.title,
            "seconds": result.times,
            "comparisons": [vars(comparison) | {"is_met": comparison.is_met} for comparison in result.comparisons],
        }
        for result in results
    ]
    path.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")


def write_csv(path, results):
    """
    Write the table of the documentation: one line for each row and contender; beside it, as text, the machine.

    Parameters
    ----------
    path : pathlib.Path
        Where to.
    results : list of RowResult
        The rows that were run.
    """
    path.with_suffix(".txt").write_text(describe_machine() + ".\n")
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["work", "who", "median ms", "we are faster", "aim"])
        for result in results:
            for number, name in enumerate(result.times):
                of_peer = [c for c in result.comparisons if c.peer == name]
                table.writerow([
                    "" if number else result.title,
                    name,
                    f"{float(f'{result.median(name):.3g}'):g}",  # three digits, without an exponent
                    ", ".join(c.standing(1) + (" (1 thread)" if c.ours == OURS_ALONE else "") for c in of_peer),
                    ", ".join(c.aim for c in of_peer if c.aim),
                ])
