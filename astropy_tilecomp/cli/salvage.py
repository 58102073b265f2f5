"""``tilecomp salvage``: write a sound file with all that is good in a damaged one."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import partial

import click

import astropy_tilecomp as tc

from ..tasks.salvage import salvaged_name
from . import options
from .many import expand, for_each
from .outputs import check_output, input_of, output_for, writing


@click.command(short_help="Keep what is good of a damaged file.")
@click.argument("files", nargs=-1, required=True)
@click.option("--fill-value", type=int, default=0, help="For integers without BLANK; floats become NaN. By default 0.")
@click.option("--json", "as_json", is_flag=True, help="Write the reports as JSON.")
@options.output
@options.force
@options.jobs
@options.quiet
def command(files, fill_value, as_json, output, force, jobs, quiet):
    """Keep the good tiles of each file byte for byte, blank the bad ones, and say what was lost.

    a.fits.fz becomes a.salvaged.fits.fz.
    """
    files = expand(files)
    check_output(files, output, salvaged_name)
    work = partial(_salvage, output=output, force=force, fill_value=fill_value)
    done = for_each(files, work, jobs=jobs, quiet=quiet)
    if as_json:
        click.echo(json.dumps([asdict(report) for report in done], indent=1))
    elif not quiet:
        for report in done:
            click.echo("\n".join(_lines(report)), err=report.output == "-")


def _salvage(name: str, threads: int, tell, *, output, force, fill_value):
    target = output_for(name, output, salvaged_name)
    with writing(target) as path:
        report = tc.salvage(input_of(name), path, overwrite=force, fill_value=fill_value, threads=threads)
    return replace(report, path=name, output=target)


def _verdict(report) -> str:
    if report.intact:
        return "nothing was lost"
    return f"{len(report.lost)} of {report.n_tiles} tiles lost" if report.n_tiles else "what could not be read was left out"


def _lines(report):
    """What was lost."""
    yield f"{report.path} -> {report.output}: {_verdict(report)}"
    for hdu in report.hdus:
        if hdu.problem:
            yield f"  HDU {hdu.number} {hdu.action}: {hdu.problem}"
        yield from (f"  {fault}" for fault in hdu.lost)
    if report.problem:
        yield f"  {report.problem}"
