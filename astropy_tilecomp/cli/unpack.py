"""``tilecomp unpack``: restore every compressed image of each file."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import click

import astropy_tilecomp as tc

from ..tasks.unpack import unpacked_name
from . import options
from .many import expand, for_each
from .outputs import STANDARD, check_output, delete_input, input_of, output_for, writing


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--fill", is_flag=True, help="Fill damaged tiles (NaN, BLANK or 0) instead of giving up on the file.")
@click.option("-S", "--stdout", is_flag=True, help="Write to standard output.")
@click.option("-D", "--delete", is_flag=True, help="Delete each file once it is unpacked.")
@options.output
@options.force
@options.engine
@options.jobs
@options.quiet
def command(files, fill, stdout, delete, output, force, engine, jobs, quiet):
    """Restore every compressed image of each FITS file.

    a.fits.fz becomes a.fits. "-" reads standard input and writes standard output.
    """
    if stdout and output is not None:
        raise click.UsageError("--stdout and --output exclude one another")
    if stdout and delete:
        raise click.UsageError("--delete needs a file that holds the data: it cannot be used with --stdout")
    if fill and delete:
        raise click.UsageError("--fill and --delete exclude one another: the damaged file is the only one that shows what was lost")
    files, output = expand(files), STANDARD if stdout else output
    check_output(files, output, unpacked_name)
    how = {"engine": engine, "on_error": "fill" if fill else "raise"}
    work = partial(_unpack, output=output, force=force, delete=delete, how=how)
    for report in for_each(files, work, jobs=jobs, quiet=quiet):
        if not quiet:
            n_unpacked = sum(hdu.action == "unpacked" for hdu in report.hdus)
            click.echo(f"{report.path} -> {report.output}: {n_unpacked} of {len(report.hdus)} HDUs unpacked", err=report.output == STANDARD)


def _unpack(name: str, threads: int, tell, *, output, force, delete, how):
    """Unpack one file."""
    target = output_for(name, output, unpacked_name)
    with writing(target) as path:
        report = tc.unpack(input_of(name), path, overwrite=force, threads=threads, on_progress=tell, **how)
    if delete:
        delete_input(name, target)
    return replace(report, path=name, output=target)
