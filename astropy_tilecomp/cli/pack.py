"""``tilecomp pack``: compress every image of each file."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import click

import astropy_tilecomp as tc

from ..tasks.pack import packed_name
from . import options
from .many import expand, for_each
from .messages import Failure
from .outputs import STANDARD, check_output, delete_input, input_of, output_for, writing

ALGORITHMS = ("RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1", "NOCOMPRESS")


def _algorithm(flags, value, text):
    return click.option(*flags, "algorithm", flag_value=value, help=text)


@click.command(context_settings={"max_content_width": 120})
@click.argument("files", nargs=-1, required=True)
@click.option("-a", "--algorithm", type=click.Choice(ALGORITHMS, case_sensitive=False),
              help="By default RICE_1, and GZIP_2 for what that cannot hold.")
@_algorithm(("-r",), "RICE_1", "RICE_1, as in fpack.")
@_algorithm(("-h",), "HCOMPRESS_1", "HCOMPRESS_1, as in fpack.")
@_algorithm(("-g", "-g1"), "GZIP_1", "GZIP_1, as in fpack.")
@_algorithm(("-g2",), "GZIP_2", "GZIP_2, as in fpack.")
@_algorithm(("-p",), "PLIO_1", "PLIO_1, as in fpack.")
@_algorithm(("-d",), "NOCOMPRESS", "Tiles without compression, as in fpack.")
@click.option("-t", "--tile", metavar="AXES",
              help="Tile sizes with NAXIS1 first, as in fpack: 100,50 for 100 columns and 50 rows; or row, whole.")
@click.option("-w", "--whole", is_flag=True, help="The whole image is one tile.")
@click.option("-q", "--quantize", "level", type=float,
              help="Floats: steps in one standard deviation of the noise; negative for the step itself; 0 for no loss. By default 4.")
@click.option("-qz", "level_zeros", type=float, metavar="FLOAT", help="As -q, and zeros stay zeros (SUBTRACTIVE_DITHER_2).")
@click.option("-q0", "level_plain", type=float, metavar="FLOAT", help="As -q, without dither.")
@click.option("--seed", type=click.IntRange(max=10000), default=0,
              help="Dither seed: 1 to 10000; 0 for any, -1 for one made from the pixels.")
@click.option("-s", "--scale", type=float, default=0, help="HCOMPRESS_1: times the noise if over 0, minus the scale itself if under 0.")
@click.option("--smooth", is_flag=True, help="HCOMPRESS_1: ask readers to smooth.")
@click.option("--lossless", is_flag=True, help="Keep floats to the bit.")
@click.option("-C", "--no-checksum", is_flag=True, help="Write no CHECKSUM and DATASUM.")
@click.option("--verify", is_flag=True, help="Decode what was written, and compare, before it is put in place.")
@click.option("-S", "--stdout", is_flag=True, help="Write to standard output.")
@click.option("-D", "--delete", is_flag=True, help="Delete each file once it is packed.")
@click.option("-Y", "--yes", is_flag=True, help="With -D: also delete files whose packed form is lossy.")
@options.output
@options.force
@options.engine
@options.jobs
@options.quiet
def command(files, output, force, engine, jobs, quiet, stdout, delete, yes, **settings):
    """Compress every image of each FITS file.

    a.fits becomes a.fits.fz. "-" reads standard input and writes standard output.
    """
    if stdout and output is not None:
        raise click.UsageError("--stdout and --output exclude one another")
    if stdout and delete:
        raise click.UsageError("--delete needs a file that holds the data: it cannot be used with --stdout")
    files, output = expand(files), STANDARD if stdout else output
    check_output(files, output, packed_name)
    work = partial(_pack, output=output, force=force, delete=delete, yes=yes, settings=_settings(**settings) | {"engine": engine})
    for report in for_each(files, work, jobs=jobs, quiet=quiet):
        if not quiet:
            click.echo(_line(report), err=report.output == STANDARD)


def _settings(algorithm, tile, whole, level, level_zeros, level_plain, seed, scale, smooth, lossless, no_checksum, verify) -> dict:
    """The options as `pack` takes them."""
    given = [value for value in (level, level_zeros, level_plain) if value is not None]
    if len(given) > 1:
        raise click.UsageError("-q, -qz and -q0 exclude one another")
    method = 2 if level_zeros is not None else -1 if level_plain is not None else 1
    return {
        "algorithm": algorithm and algorithm.upper(), "tile_shape": "whole" if whole else tile_shape(tile), "quantize_method": method,
        "quantize_level": given[0] if given else None, "dither_seed": seed, "hcomp_scale": scale, "hcomp_smooth": smooth,
        "lossless": lossless, "checksum": not no_checksum, "verify": verify,
    }


def tile_shape(text: str | None):
    """A tile shape in C order."""
    if text is None or text.lower() in ("row", "whole"):
        return text and text.lower()
    try:
        sizes = tuple(int(size) for size in reversed(text.split(",")))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1:
        raise click.BadParameter(f"{text!r}: expected sizes such as 100,50, row or whole", param_hint="--tile")
    return sizes


def _pack(name: str, threads: int, tell, *, output, force, delete, yes, settings):
    """Pack one file."""
    target = output_for(name, output, packed_name)
    with writing(target) as path:
        report = tc.pack(input_of(name), path, overwrite=force, threads=threads, on_progress=tell, **settings)
    if delete and not yes and not all(hdu.lossless for hdu in report.hdus):
        raise Failure(f"{target} is written, and {name} is kept: its pixels were packed with loss; --yes deletes it all the same")
    if delete:
        delete_input(name, target)
    return replace(report, path=name, output=target)


def _line(report) -> str:
    """What became of one file, in a line."""
    packed = [hdu for hdu in report.hdus if hdu.action == "packed"]
    names = ", ".join(dict.fromkeys(hdu.algorithm for hdu in packed)) or "nothing to compress"
    loss = "" if all(hdu.lossless for hdu in packed) else ", floats quantized"
    return f"{report.path} -> {report.output}: {len(packed)} of {len(report.hdus)} HDUs packed ({names}{loss}), ratio {report.ratio:.2f}"
