"""``tilecomp refs``: references to compressed images in place, for zarr, fsspec and Icechunk."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import click

import astropy_tilecomp as tc

from ..adapters.references.folders import collect_format_2, write_icechunk, write_parquet_folder
from ..write.atomic import replacing
from . import options
from .many import expand, is_url
from .messages import Failure
from .outputs import STANDARD
from .progress import bars
from .tables import count_text

FORMATS = {".json": "json", ".parquet": "parquet", ".parq": "parquet", ".icechunk": "icechunk"}


@click.command(short_help="Make references for zarr, kerchunk and Icechunk.")
@click.argument("files", nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice(["json", "parquet", "icechunk"]),
              help="By default what the name of the output says, else json.")
@click.option("--zarr-format", type=click.Choice(["2", "3"]),
              help="Format of the arrays in JSON: 3 by default; 2 for xarray's engine kerchunk, which asks for that. Parquet has format 2.")
@click.option("--stored", is_flag=True, help="Arrays of the stored pixels, without BSCALE, BZERO and BLANK.")
@click.option("--stack-dimension", default="file", show_default=True, help="Name of the axis along which many files are stacked.")
@options.hdu
@options.output
@options.force
@options.storage_option
@options.quiet
def command(files, form, zarr_format, stored, stack_dimension, hdu, output, force, storage_option, quiet):
    """Make zarr references to the compressed images of a file, or of many that become one array.

    a.fits.fz gives a.fits.fz.json. Nothing is copied: readers fetch the tiles that they need from the files. A file that
    is named twice counts once.
    """
    files = expand(files)
    if STANDARD in files:
        raise click.UsageError("references name files, and standard input is none")
    if output is None and len(files) > 1:
        raise click.UsageError("--output has to name the references to many files")
    if output is None:
        output = os.path.basename(files[0]) if is_url(files[0]) else files[0]
        output += f".{form or 'json'}"
    form = form or _format_of(output)
    if os.path.realpath(output) in map(os.path.realpath, files):
        raise Failure(f"{output} is one of the files")
    if form != "json" and os.path.exists(output) and not force:
        raise FileExistsError(f"{output} exists already; --force replaces it")
    if form != "json" and os.path.isdir(output) and not _holds_references(output):
        raise Failure(f"{output} is a folder with something else in it, which is not replaced")
    if (form, zarr_format) in (("parquet", "3"), ("icechunk", "2")):
        raise click.UsageError(f"--zarr-format {zarr_format} is not for {form}")
    if stored and (form == "parquet" or zarr_format == "2"):
        raise click.UsageError("--stored is not for parquet and zarr format 2, whose codec applies BSCALE and BZERO")
    if form == "icechunk" and any(map(is_url, files)):
        raise click.UsageError("--format icechunk takes local files; for others see the documentation of TileCompParser")
    where = {"hdu": options.hdu_of(hdu), "storage_options": options.storage_options(storage_option)}
    if form == "json" and zarr_format == "2":
        refs: dict = {}
        collect_format_2(files, refs, stack_dimension, **where)
        refs = {key: value.decode() if isinstance(value, bytes) else value for key, value in refs.items()}
        _write_json({"version": 1, "refs": refs}, output, force)
    elif form == "json":
        with bars(quiet) as shown, shown.bar("scanning") as tell:
            refs = tc.references(files[0] if len(files) == 1 else files, stack_dimension=stack_dimension, scaled=not stored,
                                 on_progress=tell, **where)
        _write_json(refs, output, force)
    else:
        with _folder(os.path.normpath(output)) as folder:
            if form == "parquet":
                write_parquet_folder(files, folder, stack_dimension, **where)
            else:
                write_icechunk(files, folder, stack_dimension, hdu=where["hdu"], scaled=not stored)
    if not quiet:
        click.echo(f"{count_text(len(files), 'file')} -> {output} ({form})")
        if form != "icechunk":
            click.echo(f'open them by astropy_tilecomp.open_references("{output}")', err=True)


def _format_of(output: str) -> str:
    """The format that the name of the output ends in."""
    for ending, form in FORMATS.items():
        if output.endswith(ending):
            return form
    raise click.BadParameter(
        f"{output}: expected a name that ends in {', '.join(FORMATS)}, or --format", param_hint="--output"
    )


def _holds_references(folder: str) -> bool:
    """Whether a folder is empty, or an earlier output of this command: in parquet, or a repository of Icechunk."""
    names = set(os.listdir(folder))
    return not names or ".zmetadata" in names or ("snapshots" in names and not names.isdisjoint({"refs", "repo"}))


@contextmanager
def _folder(output: str) -> Iterator[str]:
    """A folder beside that takes the place of the output once it is complete, and leaves no trace if it is not."""
    beside = f"{output}.part"
    shutil.rmtree(beside, ignore_errors=True)
    try:
        yield beside
        if os.path.isdir(output) and not os.path.islink(output):
            shutil.rmtree(output)
        elif os.path.lexists(output):
            os.unlink(output)
        os.rename(beside, output)
    except BaseException as error:
        shutil.rmtree(beside, ignore_errors=True)
        if isinstance(error, OSError) and error.filename == beside:
            raise OSError(error.errno, error.strerror, output) from None
        raise


def _write_json(refs: dict, output: str, force: bool) -> None:
    with replacing(output, overwrite=force) as file:
        file.write(json.dumps(refs, indent=1).encode())
