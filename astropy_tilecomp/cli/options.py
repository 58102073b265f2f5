"""Options that several commands have."""

from __future__ import annotations

import click

__all__ = ["engine", "force", "hdu", "hdu_of", "jobs", "output", "quiet", "storage_option", "storage_options"]

jobs = click.option("-j", "--jobs", type=click.IntRange(min=1), help="Threads to use at most; by default one for each core.")
quiet = click.option("--quiet", is_flag=True, help="Show no progress bars and no reports.")
force = click.option("-f", "--force", is_flag=True, help="Replace output files that exist.")
output = click.option("-o", "-O", "--output", metavar="FILE", help="Name of the output; a folder for many files.")
engine = click.option("--engine", type=click.Choice(["kernel", "cfitsio"]), help="What decodes and encodes.")
hdu = click.option("--hdu", metavar="HDU", help="Number, EXTNAME, or EXTNAME,EXTVER; by default the first image.")
storage_option = click.option(
    "--storage-option", "storage_option", metavar="KEY=VALUE", multiple=True, help="For the file system of a URL; repeatable."
)


def hdu_of(text: str | None):
    """An HDU as the functions of the package take it."""
    if text is None:
        return None
    name, comma, version = text.rpartition(",")
    if comma and version.strip().isdecimal():
        return name.strip(), int(version)
    return int(text) if text.isdecimal() else text


def storage_options(pairs) -> dict | None:
    """The pairs as fsspec takes them."""
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise click.BadParameter(f"{pair!r}: expected KEY=VALUE", param_hint="--storage-option")
        found[key] = {"true": True, "false": False}.get(value.lower(), value)
    return found or None
