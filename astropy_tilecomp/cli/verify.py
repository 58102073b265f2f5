"""``tilecomp verify``: decode every tile of each file by every engine, and add up the checksums."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import partial

import click

import astropy_tilecomp as tc

from . import options
from .many import FAILED, expand, for_each
from .outputs import input_of
from .tables import count_text


@click.command(short_help="Decode every tile, and add up the checksums.")
@click.argument("files", nargs=-1, required=True)
@click.option("--engine", "engines", type=click.Choice(["kernel", "cfitsio"]), multiple=True, help="By default every engine that there is.")
@click.option("--json", "as_json", is_flag=True, help="Write the reports as JSON.")
@options.storage_option
@options.jobs
@options.quiet
@click.pass_context
def command(ctx, files, engines, as_json, storage_option, jobs, quiet):
    """Decode every tile, compare the engines, check CHECKSUM and DATASUM.

    Exits with 0 if every file is good, and with 1 if one is bad or cannot be read.
    """
    work = partial(_verify, engines=engines or None, storage_options=options.storage_options(storage_option))
    reports = for_each(expand(files), work, jobs=jobs, quiet=quiet)
    if as_json:
        click.echo(json.dumps([asdict(report) | {"good": report.good} for report in reports], indent=1))
    elif not quiet:
        for report in reports:
            click.echo("\n".join(_lines(report)))
    if not all(report.good for report in reports):
        ctx.meta[FAILED] = True


def _verify(name: str, threads: int, tell, **how):
    return replace(tc.verify(input_of(name), threads=threads, on_progress=tell, **how), path=name)


def _lines(report):
    """The verdict on a file, and all that is wrong."""
    engines = " and ".join(report.engines)
    n_sums = sum(hdu.checksum is not None or hdu.datasum is not None for hdu in report.hdus)
    facts = f"{count_text(report.n_tiles, 'tile')} decoded by {engines}, checksums of {n_sums} of {len(report.hdus)} HDUs"
    if report.good:
        yield f"{report.path}: good ({facts})"
        return
    yield f"{report.path}: BAD ({facts}; {count_text(len(report.faults), 'bad tile')})"
    for hdu in report.hdus:
        for name, right in (("CHECKSUM", hdu.checksum), ("DATASUM", hdu.datasum)):
            if right is False:
                yield f"  HDU {hdu.number}: {name} is wrong"
        if hdu.problem:
            yield f"  HDU {hdu.number}: {hdu.problem}"
        yield from (f"  {fault}" for fault in hdu.faults)
    if report.problem:
        yield f"  {report.problem}"
