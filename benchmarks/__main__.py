"""
Measure this package beside its peers, in turn, in one run, on generated images.

    python -m benchmarks                        every row
    python -m benchmarks --rows read            the rows whose key contains "read"
    python -m benchmarks --json result.json     write the times too
    python -m benchmarks --memory               peak memory of child processes instead
"""

import argparse
import sys
import tempfile
from pathlib import Path

from . import memory, report
from .measure import measure
from .rows import ROWS, Workspace


def parse_arguments():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[1])
    parser.add_argument("--rows", nargs="+", metavar="KEY", default=[""], help="only rows whose key contains one of these")
    parser.add_argument("--list", action="store_true", help="list the keys of the rows")
    parser.add_argument("--size", type=int, default=4096, help="pixels on each side (default: 4096)")
    parser.add_argument("--rounds", type=int, default=7, help="least number of runs of each contender (default: 7)")
    parser.add_argument("--seconds", type=float, default=3, help="go on with a row for at least this long (default: 3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all times to this file")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the table of the documentation to this file")
    parser.add_argument("--folder", type=Path, help="keep the generated files here (default: a temporary folder)")
    parser.add_argument("--memory", action="store_true", help="measure peak memory instead of time")
    return parser.parse_args()


def run_rows(rows, workspace, options):
    """Measure and print the rows one by one; a row that cannot run says why."""
    results = []
    for row in rows:
        try:
            result = measure(row, workspace, rounds=options.rounds, seconds=options.seconds)
        except (AttributeError, ImportError, AssertionError) as error:
            report.console.print(f"[red]{row.title}: not measured: {error}[/red]\n")
            continue
        report.print_row(result)
        results.append(result)
    return results


def main():
    options = parse_arguments()
    if options.list:
        print(*(f"{row.key:24}{row.title}" for row in ROWS), sep="\n")
        return
    report.print_machine()
    with tempfile.TemporaryDirectory(prefix="tilecomp-bench-") as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if options.memory:
            sys.exit(not memory.run(folder))
        chosen = [row for row in ROWS if any(part in row.key for part in options.rows)]
        results = run_rows(chosen, Workspace(folder, options.size), options)
    report.print_summary(results)
    if options.json:
        report.write_json(options.json, results)
    if options.csv:
        report.write_csv(options.csv, results)
    if len(results) < len(chosen):
        sys.exit(1)


if __name__ == "__main__":
    main()
