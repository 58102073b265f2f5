"""References in folders: fsspec's parquet, and repositories of Icechunk."""

from __future__ import annotations

import glob
import os
from pathlib import Path

from ..extras import extra
from .kerchunk import process_file

__all__ = ["collect_format_2", "write_icechunk", "write_parquet_folder"]

RECORD_SIZE = 10_000
"""References in a file of the parquet form."""


def write_parquet_folder(files: list[str], folder: str, stack_dimension: str, *, hdu=None, storage_options=None) -> None:
    """References in fsspec's lazy form, which holds zarr of format 2: a chunk is a whole image."""
    with extra("kerchunk"):
        from fsspec.implementations.reference import LazyReferenceMapper

    os.mkdir(folder)
    mapper = LazyReferenceMapper.create(folder, record_size=RECORD_SIZE)
    collect_format_2(files, mapper, stack_dimension, hdu=hdu, storage_options=storage_options)
    mapper.flush()
    for path in glob.glob(os.path.join(glob.escape(folder), "*", "*.parq")):
        _drop_empty_places(path)


def collect_format_2(files: list[str], out, stack_dimension: str, *, hdu=None, storage_options=None) -> None:
    """Put the references of format 2 to one file, or to a stack of them, in a mapping."""
    with extra("kerchunk"):
        from kerchunk.combine import MultiZarrToZarr

    if len(files) == 1:
        process_file(files[0], storage_options, hdu, out=out)
        return
    each = [{"version": 1, "refs": process_file(name, storage_options, hdu)} for name in files]
    MultiZarrToZarr(each, coo_map={stack_dimension: "INDEX"}, concat_dims=[stack_dimension], out=out).translate()


def _drop_empty_places(path: str) -> None:
    """Leave URLs out of a file that has none, only values: fsspec would take NaN, which pandas 3 reads for them, for one."""
    import fastparquet

    table = fastparquet.ParquetFile(path).to_pandas()
    if not table["path"].notna().any():
        values = {"object_encoding": "bytes", "has_nulls": True}
        fastparquet.write(path, table[["raw"]], compression="ZSTD", write_index=False, stats=False, **values)


def write_icechunk(files: list[str], folder: str, stack_dimension: str, *, hdu=None, scaled: bool = True) -> None:
    """A repository with virtual chunks."""
    os.environ.setdefault("ICECHUNK_LOG", "error")  # it would warn on standard error that a folder is no object store
    with extra("virtualizarr"):
        import icechunk
        import xarray
        from obspec_utils.registry import ObjectStoreRegistry
        from obstore.store import LocalStore
        from virtualizarr import open_virtual_dataset

    from .virtualizarr import TileCompParser

    registry, parser = ObjectStoreRegistry({"file://": LocalStore()}), TileCompParser(hdu, scaled=scaled)
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
    session.commit(f"references to {len(files)} files")
