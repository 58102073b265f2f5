"""``tilecomp plot``: the image with its tiles, and maps of what they hold, to a file or in a window."""

from __future__ import annotations

import io
import os

import click

import astropy_tilecomp as tc

from ..adapters.plotting import show
from ..write.atomic import replacing
from . import options
from .outputs import input_of, output_for

FORMATS = (".png", ".pdf", ".svg", ".jpg", ".jpeg")


@click.command()
@click.argument("file")
@click.option("--map", "maps", type=click.Choice(["bits_per_pixel", "ratio", "noise", "zscale", "column", "damaged"]), multiple=True,
              help="Draw this map; repeatable; by default all that the image has.")
@click.option("--plane", metavar="I,J,...", help="Which plane of an image of more than two axes; by default the first.")
@click.option("--window", is_flag=True, help="Show a window instead of writing a file.")
@click.option("--dpi", type=click.IntRange(min=20, max=1200), default=110, show_default=True, help="Dots per inch.")
@options.hdu
@options.output
@options.force
@options.storage_option
@options.quiet
def command(file, maps, plane, window, dpi, hdu, output, force, storage_option, quiet):
    """Draw an image with its tile grid, and maps of its tiles.

    a.fits.fz gives a.fits.fz.png; the name of the output may end in .png, .pdf, .svg or .jpg.
    """
    drawing = {
        "hdu": options.hdu_of(hdu), "maps": maps or None, "plane": _plane(plane), "dpi": dpi,
        "storage_options": options.storage_options(storage_option),
    }
    if window:
        _show(file, drawing)
        return
    output = output or output_for(file, None, lambda path: path + ".png")
    ending = os.path.splitext(output)[1].lower()
    if ending not in FORMATS:
        raise click.BadParameter(f"{output}: expected a name that ends in {', '.join(FORMATS)}", param_hint="--output")
    if os.path.exists(output) and not force:
        raise FileExistsError(f"{output} exists already; --force replaces it")
    picture = io.BytesIO()
    tc.plot(input_of(file), output=picture, format=ending[1:], **drawing)
    with replacing(output, overwrite=force) as target:
        target.write(picture.getvalue())
    if not quiet:
        click.echo(f"{file} -> {output}")


def _plane(text: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(number) for number in text.split(",")) if text else ()
    except ValueError:
        raise click.BadParameter(f"{text!r}: expected whole numbers", param_hint="--plane") from None


def _show(file: str, drawing: dict) -> None:
    """Draw in a window, and wait until it is closed."""
    tc.plot(input_of(file), **drawing)
    show()
