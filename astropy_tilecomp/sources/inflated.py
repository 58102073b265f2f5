"""Files that are compressed as a whole (gzip, bz2, xz, zip), inflated once to a temporary file."""

from __future__ import annotations

import io
import os
from collections.abc import Callable

from ..errors import SourceError
from .base import ByteSource
from .file_object import SourceFile
from .local import explaining
from .streams import SpooledSource

__all__ = ["InflatedSource", "inflated", "is_packed", "kind_of_packing"]


class InflatedSource(SpooledSource):
    """
    The content of a file compressed as a whole, inflated once to a temporary file.

    Parameters
    ----------
    origin : ByteSource
        The compressed file; closed with this source.
    kind : {"gzip", "bz2", "xz", "zip"}
        How it is compressed.

    Raises
    ------
    SourceError
        If the compressed file is damaged, or a zip file holds more than one file.
    """

    def __init__(self, origin: ByteSource, kind: str):
        self._origin = origin
        self._kind = kind
        with _open_packed(origin, kind) as plain:
            super().__init__(plain, f"{origin.name} ({kind})")
        self.name = origin.name

    @property
    def is_replaced(self):
        return self._origin.is_replaced

    def close(self):
        super().close()
        self._origin.close()

    def __reduce__(self):
        return InflatedSource, (self._origin, self._kind)


_MAGIC_NBYTES = 6
_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"PK\x03\x04": "zip", b"\xfd7zXZ\x00": "xz"}


def _open_packed(origin: ByteSource, kind: str):
    import bz2
    import gzip
    import lzma

    packed = io.BufferedReader(SourceFile(origin), 1 << 20)
    openers: dict[str, Callable] = {"gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open, "zip": _open_zip}
    return openers[kind](packed)


def _open_zip(packed):
    import zipfile

    try:
        archive = zipfile.ZipFile(packed)
    except zipfile.BadZipFile as error:
        raise SourceError(f"{packed.raw.name} (zip): {error}") from error
    names = archive.namelist()
    if len(names) != 1:
        raise SourceError(f"{packed.raw.name}: a zip file of one file expected, found {len(names)}")
    return archive.open(names[0])


def inflated(source: ByteSource) -> ByteSource:
    """The source itself, or what is in it if the whole of it is compressed."""
    kind = kind_of_packing(bytes(source.read(0, min(_MAGIC_NBYTES, source.nbytes))))
    return source if kind is None else InflatedSource(source, kind)


def kind_of_packing(start: bytes) -> str | None:
    """
    How a file is compressed as a whole.

    Parameters
    ----------
    start : bytes
        Its first 6 bytes.

    Returns
    -------
    {"gzip", "bz2", "zip", "xz"} or None
    """
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)


def is_packed(path) -> bool:
    """
    Whether a local file is compressed as a whole.

    Parameters
    ----------
    path : str or path-like
        The file.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    with explaining(path), open(os.path.expanduser(path), "rb", buffering=0) as file:
        return kind_of_packing(file.read(_MAGIC_NBYTES)) is not None
