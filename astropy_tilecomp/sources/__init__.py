"""
Where bytes come from: one small protocol over memory, files and object stores.

`as_source` makes a `ByteSource` of whatever the user has: bytes, a path, an open file, an mmap, an fsspec URL, file or
file system, an obstore store.
"""

from .base import ByteSource, SourcePart
from .file_object import SourceFile
from .inflated import InflatedSource, is_packed, kind_of_packing
from .local import BufferSource, FileSource, MmapSource, ReopenedFile, opened_for_each_read
from .opening import as_source, decompresses, opened
from .remote_settings import RemoteSettings
from .streams import LockedSource, SpooledSource

__all__ = [
    "BufferSource",
    "ByteSource",
    "FileSource",
    "InflatedSource",
    "LockedSource",
    "MmapSource",
    "RemoteSettings",
    "ReopenedFile",
    "SourceFile",
    "SourcePart",
    "SpooledSource",
    "as_source",
    "decompresses",
    "is_packed",
    "kind_of_packing",
    "opened",
    "opened_for_each_read",
]
