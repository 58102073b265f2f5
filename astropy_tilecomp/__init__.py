"""
Tile-compressed FITS images: read lazily, write, index.

The names below are loaded when they are first used, so that importing this package, or one step of it, costs little
and needs no more than that step.
"""

from importlib import import_module as _import_module

_HOME = {
    "CompImageHDU": "adapters.fits.hdu",
    "HDUList": "adapters.fits.hdulist",
    "open": "adapters.fits.open",
    "enable": "adapters.fits.enable",
    "disable": "adapters.fits.enable",
    "enabled": "adapters.fits.enable",
    "process_file": "adapters.references.kerchunk",
    "references": "adapters.references.hdus",
    "open_references": "adapters.references.open",
    "to_asdf": "adapters.references.asdf",
    "from_asdf": "adapters.references.asdf",
    "tile_references": "adapters.references.tile_scan",
    "TileReferences": "adapters.references.tiles",
    "TileStore": "adapters.references.tile_store",
    "to_dask": "adapters.dask",
    "write_dask": "adapters.dask",
    "info": "tasks.info",
    "verify": "tasks.verify",
    "salvage": "tasks.salvage",
    "advise": "tasks.advise",
    "map_tiles": "tasks.tile_maps",
    "plot": "adapters.plotting",
    "pack": "tasks.pack",
    "unpack": "tasks.unpack",
    "repack": "tasks.edit",
    "replace_pixels": "tasks.edit",
    "TileWriter": "write.writer",
    "write_image": "write.writer",
    "NotEncodableError": "encode",
    "TileCompParser": "adapters.references.virtualizarr",
    "read_image": "read.sections",
    "read_section": "read.sections",
    "RemoteSettings": "sources.remote_settings",
    "cutouts": "tasks.cutouts",
    "as_source": "sources.opening",
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
