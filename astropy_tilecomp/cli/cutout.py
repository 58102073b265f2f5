"""``tilecomp cutout``: cut the same part out of each file, by pixels or by a position on the sky."""

from __future__ import annotations

import os
import re
from functools import partial

import click

import astropy_tilecomp as tc

from ..adapters.plotting import save_picture
from ..tasks.cutout_place import length, sky_position
from . import options
from .many import FAILED, expand
from .messages import say_of
from .outputs import check_output, input_of, output_for, writing
from .progress import bars
from .stepped import stepped
from .tables import count_text


@click.command(short_help="Cut a part out of each file, local or remote.")
@click.argument("files", nargs=-1, required=True)
@click.option("--index", metavar="Y0:Y1,X0:X1", help="Pixels as numpy has them: from 0, rows first, the end not included.")
@click.option("--section", metavar="X1:X2,Y1:Y2", help="Pixels as FITS has them: from 1, NAXIS1 first, the end included.")
@click.option("--at", metavar="X,Y", help="Centre in pixels, from 0; with --size.")
@click.option("--sky", metavar="'RA DEC'", help="Centre on the sky, such as '210.80 54.35' or '14h03m12s +54d20m57s'; with --size.")
@click.option("--size", metavar="SIZE", help="Width and height: 200, '300,200' or '2 arcmin'.")
@click.option("--mode", type=click.Choice(["trim", "partial", "strict"]), default="trim",
              help="Over the edge of the image: keep what is inside, fill with NaN, or refuse.")
@click.option("--fill", is_flag=True, help="Fill damaged tiles (NaN, BLANK or 0) instead of giving up.")
@click.option("--compress", is_flag=True, help="Tile-compress the cutout, without loss; so does a name that ends in .fz.")
@click.option("--png", is_flag=True, help="Draw a PNG; so does a name that ends in .png.")
@options.hdu
@options.output
@options.force
@options.storage_option
@options.quiet
@click.pass_context
def command(ctx, files, index, section, at, sky, size, mode, fill, compress, png, hdu, output, force, storage_option, quiet):
    """Cut a part out of each file, local or remote; only the tiles under it are read.

    a.fits.fz gives a.cutout.fits, whose WCS is that of the cutout. A name that ends in .fz is compressed, one that ends
    in .png is a picture.
    """
    files, ending = expand(files), ".png" if png else ".fits.fz" if compress else ".fits"
    rename = partial(_name, ending=ending)
    check_output(files, output, rename)
    position, size, steps = _place(index, section, at, sky, size)
    with bars(quiet) as shown, shown.bar("cutouts") as tell:
        found = tc.cutouts(
            [input_of(name) for name in files], position, size, hdu=options.hdu_of(hdu), mode=mode,
            on_error="fill" if fill else "raise", storage_options=options.storage_options(storage_option), on_progress=tell,
        )
    for name, cutout in zip(files, found):
        try:
            if cutout.error is not None:
                raise cutout.error
            cutout = stepped(cutout, steps)
            target = output_for(name, output, rename)
            with writing(target) as path:
                _write(cutout, path, ending if target == "-" else _ending(target, ending), force)
        except (tc.TileCompError, OSError, ValueError, IndexError, KeyError) as error:
            say_of(name, error)
            ctx.meta[FAILED] = True
            continue
        if not quiet:
            cost = cutout.stats
            shape = " x ".join(map(str, cutout.pixels.shape))
            spent = f"{count_text(cost.n_tiles, 'tile')}, {cost.nbytes} bytes in {count_text(cost.n_requests, 'request')}"
            filled = f", {count_text(len(cutout.damaged_tiles), 'damaged tile')} filled" if cutout.damaged_tiles else ""
            click.echo(f"{name} -> {target}: {shape} pixels, {spent}{filled}", err=target == "-")


def _place(index, section, at, sky, size):
    """Position and size as `cutouts` takes them, and the steps of --index."""
    given = [name for name, value in (("--index", index), ("--section", section), ("--at", at), ("--sky", sky)) if value]
    if len(given) != 1:
        raise click.UsageError("give one of --index, --section, --at and --sky")
    if (size is None) != (given[0] in ("--index", "--section")):
        raise click.UsageError("--size belongs to --at and --sky, which need it")
    if index:
        parts = [_numpy_slice(part) for part in index.strip().strip("[]").split(",")]
        return tuple(slice(part.start, part.stop) for part in parts), None, tuple(part.step or 1 for part in parts)
    if section:
        return tuple(reversed(_fits_slices(section))), None, ()
    return (_pixel(at) if at else _sky_position(sky)), _size(size), ()


def _numpy_slice(text: str) -> slice:
    """One entry of an index as numpy has it: an integer, which keeps its axis, or a slice that does not run backwards."""
    match = re.fullmatch(r"\s*(-?\d+)\s*|\s*(-?\d+)?\s*:\s*(-?\d+)?\s*(?::\s*([1-9]\d*)?\s*)?", text)
    if match is None:
        raise click.BadParameter(f"{text!r}: expected a range such as 100:200, -50: or ::2, or a number", param_hint="--index")
    if match[1]:
        return slice(int(match[1]), int(match[1]) + 1 or None)
    return slice(*(part and int(part) for part in match.groups()[1:]))


def _fits_slices(text: str) -> tuple[slice, ...]:
    """Ranges of pixels that count from 1, whose ends are included."""
    ranges = []
    for part in text.strip().strip("[]").split(","):
        match = re.fullmatch(r"\s*(\d+)\s*:\s*(\d+)\s*", part)
        if part.strip() == "*":
            ranges.append(slice(None))
        elif match is None or int(match[1]) < 1 or int(match[2]) < int(match[1]):
            message = f"{part!r}: expected a range such as 101:200, which counts from 1 and includes its end, or *"
            raise click.BadParameter(message, param_hint="--section")
        else:
            ranges.append(slice(int(match[1]) - 1, int(match[2])))
    return tuple(ranges)


def _pixel(text: str) -> tuple[float, float]:
    try:
        x, y = (float(number) for number in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r}: expected X,Y", param_hint="--at") from None
    return x, y


def _sky_position(text: str):
    try:
        return sky_position(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r}: {error}", param_hint="--sky") from None


def _size(text: str):
    """Height and width, in pixels or as an angle."""
    try:
        sizes = [length(part) for part in text.split(",")]
    except (ValueError, TypeError) as error:
        raise click.BadParameter(f"{text!r}: {error}", param_hint="--size") from None
    if len(sizes) > 2:
        raise click.BadParameter(f"{text!r}: expected one or two numbers", param_hint="--size")
    return tuple(reversed(sizes)) if len(sizes) == 2 else sizes[0]


def _name(path: str, ending: str) -> str:
    """``a.cutout.fits`` for ``a.fits.fz``."""
    folder, base = os.path.split(path)
    return os.path.join(folder, re.sub(r"(\.(fits|fit|fts|fz|gz))+$", "", base) + ".cutout" + ending)


def _ending(target: str, ending: str) -> str:
    """What the name of the output asks for, else what the options do."""
    return next((known for known in (".png", ".fz") if target.endswith(known)), ending)


def _write(cutout, path: str, ending: str, force: bool) -> None:
    if ending == ".png":
        save_picture(cutout.pixels, path, overwrite=force)
    else:
        cutout.write(path, compress=ending.endswith(".fz"), overwrite=force)
