"""``tilecomp info``: what is in each file, how its images are compressed, and what reading them costs."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import partial

import click

import astropy_tilecomp as tc

from . import options
from .many import expand, for_each
from .outputs import input_of
from .tables import count_text, size_text


@click.command(short_help="Say how images are compressed, and what a cutout costs.")
@click.argument("files", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Write everything as JSON, a list with an entry for each file.")
@options.storage_option
def command(files, as_json, storage_option):
    """Say what is in each file, how its images are compressed, and what a cutout costs.

    Only headers and tables are read.
    """
    read = partial(_info, storage_options=options.storage_options(storage_option))
    reports = for_each(expand(files), read, quiet=True)
    if as_json:
        click.echo(json.dumps([asdict(report) for report in reports], indent=1))
        return
    for report in reports:
        click.echo("\n".join(_lines(report)))


def _info(name: str, threads: int, tell, **how):
    return replace(tc.info(input_of(name), **how), path=name)


def _lines(report):
    """All that is known of a file."""
    yield f"{report.path}: {size_text(report.nbytes)}, {count_text(len(report.hdus), 'HDU')}"
    for hdu in report.hdus:
        name = f" {hdu.name}" if hdu.name else ""
        shape = f" {' x '.join(map(str, hdu.shape))}" if hdu.shape else ""
        yield f"  HDU {hdu.number}{name}: {hdu.kind}{shape}, {size_text(hdu.header_nbytes + hdu.data_nbytes)}"
        if hdu.missing_nbytes:
            yield f"    the file ends {hdu.missing_nbytes} bytes before the data do"
        if hdu.problem:
            yield f"    {hdu.problem}"
        if hdu.image is not None:
            yield from (f"    {key:<13}{text}" for key, text in _facts(hdu.image) if text)
    if report.problem:
        yield f"  {report.problem}"


def _facts(image):
    """Names and values of what is known of a compressed image."""
    settings = ", ".join(f"{key} {value}" for key, value in image.settings.items())
    yield "algorithm", image.algorithm + (f" ({settings})" if settings else "")
    yield "pixels", image.dtype
    yield "tiles", f"{' x '.join(map(str, image.grid_shape))} of {' x '.join(map(str, image.tile_shape))} pixels"
    yield "size", f"{image.ratio:.2f} times smaller, {image.bits_per_pixel:.2f} bits per pixel"
    if image.quantization:
        steps = f", steps of {image.zscale[0]:.4g} to {image.zscale[1]:.4g}" if image.zscale else ""
        seed = f", seed {image.zdither0}" if image.zdither0 is not None else ""
        yield "quantization", image.quantization + seed + steps
    others = ((image.n_gzip, "gzipped without loss"), (image.n_raw, "not compressed"), (image.n_unusable, "WITHOUT USABLE BYTES"))
    yield "fallback", ", ".join(f"{count_text(n, 'tile')} {words}" for n, words in others if n)
    heap = image.heap
    order = "contiguous, in row order" if heap.contiguous else "in row order" if heap.in_order else "not in row order"
    gaps = f", {count_text(heap.n_gaps, 'gap')} of {size_text(heap.gap_nbytes)}" if heap.n_gaps else ""
    yield "heap", f"{size_text(heap.nbytes)}, {order}{gaps}; a tile has {heap.smallest} to {heap.largest} bytes"
    if image.cutout is not None:
        cost = image.cutout
        yield "cutout", (f"{' x '.join(map(str, cost.shape))} pixels cost {size_text(cost.nbytes)} in "
                         f"{count_text(cost.n_requests, 'request')} ({count_text(cost.n_tiles, 'tile')})")
