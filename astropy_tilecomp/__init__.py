"""
Tile-compressed FITS images: read lazily, write, index.

The names below are loaded when they are first used, so that importing this package, or one step of it, costs little
and needs no more than that step.
"""

from importlib import import_module as _import_module

_HOME = {
    "CompImageHDU": "adapters.astropy_hdu",
    "HDUList": "adapters.astropy_open",
    "open": "adapters.astropy_open",
    "enable": "adapters.astropy_enable",
    "disable": "adapters.astropy_enable",
    "enabled": "adapters.astropy_enable",
    "process_file": "adapters.kerchunk",
    "references": "adapters.references",
    "open_references": "adapters.zarr_open",
    "to_asdf": "adapters.asdf_references",
    "from_asdf": "adapters.asdf_references",
    "tile_references": "adapters.tile_references",
    "TileReferences": "adapters.tile_references",
    "TileStore": "adapters.zarr_tile_store",
    "to_dask": "adapters.dask_arrays",
    "write_dask": "adapters.dask_arrays",
    "info": "contents",
    "verify": "verification",
    "salvage": "rescue",
    "advise": "advice",
    "map_tiles": "tile_maps",
    "plot": "adapters.plotting",
    "pack": "whole_files",
    "unpack": "whole_files",
    "repack": "inplace",
    "replace_pixels": "inplace",
    "TileWriter": "write",
    "write_image": "write",
    "NotEncodableError": "encode",
    "TileCompParser": "adapters.virtualizarr",
    "read_image": "files",
    "read_section": "files",
    "RemoteSettings": "remote",
    "cutouts": "cutout",
    "as_source": "sources",
    "CorruptTileError": "errors",
    "HeaderError": "errors",
    "SourceError": "errors",
    "TileCompError": "errors",
    "TileCompWarning": "errors",
    "TrailingBytesError": "errors",
    "TruncatedTileError": "errors",
    "UnsupportedError": "errors",
    "__version__": "_version",
}

__all__ = sorted(_HOME)


def __getattr__(name):
    """Load a name from the module that has it."""
    try:
        home = _HOME[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    try:
        value = getattr(_import_module(f".{home}", __name__), name)
    except ImportError as error:
        return _unavailable(name, error)
    globals()[name] = value
    return value


def _unavailable(name, error):
    """Return what is found under a name whose module lacks an optional package: calling it raises the ImportError."""

    def __new__(cls, *args, **kwargs):
        raise ImportError(str(error), name=error.name) from error

    return type(name, (), {"__new__": __new__, "__doc__": f"Not available: {error}.", "__module__": __name__})


def __dir__():
    return sorted({*globals(), *_HOME})
