"""``tilecomp list``: one line for each HDU of each file."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import click

import astropy_tilecomp as tc

from . import options
from .many import expand, for_each
from .messages import say
from .outputs import input_of
from .tables import show_table, size_text

COLUMNS = ("file", ">HDU", "name", "kind", "shape", "type", "algorithm", "tiles", ">ratio", ">size")


@click.command()
@click.argument("files", nargs=-1, required=True)
@options.storage_option
def command(files, storage_option):
    """List the HDUs of each file, a line for each."""
    read = partial(_info, storage_options=options.storage_options(storage_option))
    reports = for_each(expand(files), read, quiet=True)
    rows = [row for report in reports for row in _rows(report)]
    if rows:
        show_table(COLUMNS, rows)
    for report in reports:
        for hdu in report.hdus:
            if hdu.missing_nbytes:
                say(f"{report.path}: HDU {hdu.number}: the file ends {hdu.missing_nbytes} bytes before the data do")
            if hdu.problem:
                say(f"{report.path}: HDU {hdu.number}: {hdu.problem}")
        if report.problem:
            say(f"{report.path}: {report.problem}")


def _info(name: str, threads: int, tell, **how):
    return replace(tc.info(input_of(name), **how), path=name)


def _rows(report):
    for hdu in report.hdus:
        shape = " x ".join(map(str, hdu.shape))
        size = size_text(hdu.header_nbytes + hdu.data_nbytes)
        cells = ("", "", "", "") if hdu.image is None else (
            hdu.image.dtype, hdu.image.algorithm, " x ".join(map(str, hdu.image.tile_shape)), f"{hdu.image.ratio:.2f}")
        yield (report.path, hdu.number, hdu.name, hdu.kind, shape, *cells, size)
