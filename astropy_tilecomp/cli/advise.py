"""``tilecomp advise``: try compressions on an image, and recommend one."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from shlex import quote

import click

import astropy_tilecomp as tc

from . import options
from .outputs import input_of
from .pack import ALGORITHMS, tile_shape
from .progress import bars
from .tables import show_table, size_text

COLUMNS = ("algorithm", ">tile", ">q", ">ratio", ">bits/pixel", ">write MB/s", ">read MB/s", ">cutout", ">requests", ">loss/noise")


@click.command(short_help="Try compressions on an image, and recommend one.")
@click.argument("file")
@click.option("-a", "--algorithm", "algorithms", type=click.Choice(ALGORITHMS, case_sensitive=False), multiple=True,
              help="Try this one; repeatable.")
@click.option("-t", "--tile", "tiles", metavar="AXES", multiple=True, help="Try these sizes, NAXIS1 first, or row; repeatable.")
@click.option("-q", "--quantize", "levels", type=float, multiple=True, help="Floats: try this level; repeatable.")
@click.option("--max-loss", type=click.FloatRange(min=0), default=0.1, show_default=True,
              help="What may be recommended changes pixels by so much of the noise (rms); 0 for nothing.")
@click.option("--json", "as_json", is_flag=True, help="Write everything as JSON.")
@options.hdu
@options.jobs
@options.quiet
def command(file, algorithms, tiles, levels, max_loss, as_json, hdu, jobs, quiet):
    """Measure ratio, speed, cutout cost and loss of compressions on the image itself, and recommend one."""
    with bars(quiet) as shown, shown.bar("trying") as tell:
        advice = tc.advise(
            input_of(file), hdu=options.hdu_of(hdu), algorithms=[name.upper() for name in algorithms] or None,
            tile_shapes=[tile_shape(text) for text in tiles] or None, quantize_levels=levels or None, max_loss=max_loss,
            threads=jobs, on_progress=tell,
        )
    if as_json:
        click.echo(json.dumps(asdict(advice) | {"loses": advice.loses}, indent=1))
        return
    sample = " x ".join(map(str, advice.sample_shape))
    show_table(
        COLUMNS, map(_row, advice.candidates), bold_row=advice.candidates.index(advice.best),
        title=f"{advice.name}: {' x '.join(map(str, advice.shape))} {advice.dtype}, tried on {sample} pixels, noise {advice.noise:.4g}",
    )
    click.echo(f"recommended: {_words(advice.best)}")
    click.echo(f"  {command_for(file, advice.best)}")
    click.echo(f"why: {advice.reason}")
    click.echo(f"what it loses: {advice.loses}")
    for refusal in advice.refused if not quiet else ():
        click.echo(f"not tried: {refusal}")


def _row(candidate):
    cost = candidate.cutout
    return (
        candidate.algorithm, " x ".join(map(str, candidate.tile_shape)),
        "" if candidate.quantize_level is None else f"{candidate.quantize_level:g}", f"{candidate.ratio:.2f}",
        f"{candidate.bits_per_pixel:.2f}", f"{candidate.write_speed:.0f}", f"{candidate.read_speed:.0f}",
        size_text(cost.nbytes) if cost else "", cost.n_requests if cost else "", "0" if candidate.lossless else f"{candidate.loss:.3f}",
    )


def _words(best) -> str:
    level = "" if best.quantize_level is None else f", quantization level {best.quantize_level:g}"
    cutout = f", a cutout of 200 x 200 pixels costs {size_text(best.cutout.nbytes)}" if best.cutout else ""
    return f"{best.algorithm}, tiles of {' x '.join(map(str, best.tile_shape))}{level}: ratio {best.ratio:.2f}{cutout}"


def command_for(file: str, best) -> str:
    """The command that compresses a file as the candidate does; one that is compressed already is unpacked before."""
    level = "--lossless" if best.quantize_level is None else f"-q {best.quantize_level:g}"
    tile = ",".join(str(size) for size in reversed(best.tile_shape))
    pack = f"tilecomp pack -a {best.algorithm} -t {tile} {level}"
    if not file.endswith(".fz"):
        return f"{pack} {quote(file)}"
    stem, ending = os.path.splitext(file.removesuffix(".fz"))
    return f"tilecomp unpack -S {quote(file)} | {pack} - -o {quote(f'{stem}.repacked{ending}.fz')}"
