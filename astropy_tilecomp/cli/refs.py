"""``tilecomp refs``: references to compressed images in place, for zarr, fsspec and Icechunk."""

from __future__ import annotations

import glob
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

import astropy_tilecomp as tc

from ..adapters.extras import extra
from ..write.atomic import replacing
from . import options
from .many import expand, is_url
from .messages import Failure
from .outputs import STANDARD
from .progress import bars
from .tables import count_text

FORMATS = {".json": "json", ".parquet": "parquet", ".parq": "parquet", ".icechunk": "icechunk"}

RECORD_SIZE = 10_000
"""References in a file of the parquet form."""


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
    how = {"hdu": options.hdu_of(hdu), "scaled": not stored, "storage_options": options.storage_options(storage_option)}
    if form == "json" and zarr_format == "2":
        refs: dict = {}
        _collect_format_2(files, refs, stack_dimension, **how)
        refs = {key: value.decode() if isinstance(value, bytes) else value for key, value in refs.items()}
        _write_json({"version": 1, "refs": refs}, output, force)
    elif form == "json":
        with bars(quiet) as shown, shown.bar("scanning") as tell:
            refs = tc.references(files[0] if len(files) == 1 else files, stack_dimension=stack_dimension, on_progress=tell, **how)
        _write_json(refs, output, force)
    else:
        with _folder(os.path.normpath(output)) as folder:
            (_write_parquet if form == "parquet" else _write_icechunk)(files, folder, stack_dimension, **how)
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


def _write_parquet(files: list[str], folder: str, stack_dimension: str, *, hdu, scaled: bool, storage_options) -> None:
    """References in fsspec's lazy form, which holds zarr of format 2: a chunk is a whole image."""
    with extra("kerchunk"):
        from fsspec.implementations.reference import LazyReferenceMapper

    os.mkdir(folder)
    mapper = LazyReferenceMapper.create(folder, record_size=RECORD_SIZE)
    _collect_format_2(files, mapper, stack_dimension, hdu=hdu, scaled=scaled, storage_options=storage_options)
    mapper.flush()
    for path in glob.glob(os.path.join(glob.escape(folder), "*", "*.parq")):
        _drop_empty_places(path)


def _collect_format_2(files: list[str], out, stack_dimension: str, *, hdu, scaled: bool, storage_options) -> None:
    """Put the references of format 2 to one file, or to a stack of them, in a mapping."""
    if not scaled:
        raise click.UsageError("--stored is not for parquet and zarr format 2, whose codec applies BSCALE and BZERO")
    with extra("kerchunk"):
        from kerchunk.combine import MultiZarrToZarr

    if len(files) == 1:
        tc.process_file(files[0], storage_options, hdu, out=out)
        return
    each = [{"version": 1, "refs": tc.process_file(name, storage_options, hdu)} for name in files]
    MultiZarrToZarr(each, coo_map={stack_dimension: "INDEX"}, concat_dims=[stack_dimension], out=out).translate()


def _drop_empty_places(path: str) -> None:
    """Leave URLs out of a file that has none, only values: fsspec would take NaN, which pandas 3 reads for them, for one."""
    import fastparquet

    table = fastparquet.ParquetFile(path).to_pandas()
    if not table["path"].notna().any():
        values = {"object_encoding": "bytes", "has_nulls": True}
        fastparquet.write(path, table[["raw"]], compression="ZSTD", write_index=False, stats=False, **values)


def _write_icechunk(files: list[str], folder: str, stack_dimension: str, *, hdu, scaled: bool, storage_options) -> None:
    """A repository with virtual chunks."""
    if any(map(is_url, files)):
        raise click.UsageError("--format icechunk takes local files; for others see the documentation of TileCompParser")
    os.environ.setdefault("ICECHUNK_LOG", "error")  # it would warn on standard error that a folder is no object store
    with extra("virtualizarr"):
        import icechunk
        import xarray
        from obspec_utils.registry import ObjectStoreRegistry
        from obstore.store import LocalStore
        from virtualizarr import open_virtual_dataset

    registry, parser = ObjectStoreRegistry({"file://": LocalStore()}), tc.TileCompParser(hdu, scaled=scaled)
    paths = [Path(name).resolve() for name in files]
    virtual = [open_virtual_dataset(path.as_uri(), registry=registry, parser=parser) for path in paths]
    together = virtual[0] if len(virtual) == 1 else xarray.concat(virtual, dim=stack_dimension, combine_attrs="drop_conflicts")
    config = icechunk.RepositoryConfig.default()
    for prefix in {f"{path.parent.as_uri()}/" for path in paths}:
        container = icechunk.VirtualChunkContainer(prefix, icechunk.local_filesystem_store(prefix.removeprefix("file://")))
        config.set_virtual_chunk_container(container)
    repository = icechunk.Repository.create(icechunk.local_filesystem_storage(folder), config)
    session = repository.writable_session("main")
    together.vz.to_icechunk(session.store)
    session.commit(f"references to {count_text(len(files), 'file')}")
