"""Whole files: every compressed image as a plain one, everything else copied."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from math import prod
from typing import BinaryIO

import numpy as np

from ..hdus import FoundHDU, walk
from ..read.reader import TileReader, reader_for
from ..sources.opening import opened
from ..tiling.cards import BLOCK_SIZE, join_cards, keyword_of
from ..tiling.checksum import DataSum, verify_checksums, with_checksums
from ..tiling.header_cards import split_cards
from ..tiling.to_image import primary_extras, table_to_image
from ..write.atomic import replacing_fits
from .reports import SLAB_NBYTES, FileReport, HDUReport, copy_hdu, is_lossless, named_after, telling, warn

__all__ = ["unpack", "unpacked_name"]


def unpack(path, output=None, *, overwrite: bool = False, threads: int | None = None, engine: str | None = None,
           on_error: str = "raise", on_progress: Callable[[int, int], None] | None = None) -> FileReport:
    """
    Restore every compressed image of a FITS file, as funpack does.

    Parameters
    ----------
    path : str, path-like, URL or anything else that `as_source` takes
        The file.
    output : str or path-like, optional
        The new file; by default `path` without its ``.fz``.
    overwrite : bool
        Whether `output` may replace a file.
    threads : int, optional
        Threads to use at most.
    engine : {"kernel", "cfitsio"}, optional
        By default ASTROPY_TILECOMP_ENGINE, else "kernel".
    on_error : {"raise", "fill"}
        What to do about tiles that cannot be decoded.
    on_progress : callable, optional
        Called with the bytes that are done and all bytes.

    Returns
    -------
    FileReport

    Raises
    ------
    FileExistsError
        If `output` exists and may not be replaced.
    HeaderError
        If the file is no FITS file, or the header of an image breaks the format.
    CorruptTileError
        If a tile is damaged, unless `on_error` is "fill"; no file is written.

    Notes
    -----
    A file that was packed without loss comes back byte for byte, with the checksums that it had, right or wrong. Where
    pixels changed, CHECKSUM and DATASUM are made anew.
    """
    options = {"threads": threads, "engine": engine, "on_error": on_error}
    with opened(path) as source:
        output = named_after(source, output, unpacked_name)
        reports: list[HDUReport] = []
        with replacing_fits(output, overwrite=overwrite) as file:
            for primary, found in _with_null_primary(source):
                tell = telling(on_progress, source, found)
                reports += _unpack_hdu(source, found, primary, file, options, tell)
                tell(1.0)
        return FileReport(source.name, os.fspath(output), tuple(reports))


def unpacked_name(name: str) -> str:
    """
    Name of the plain file beside a compressed one.

    Raises
    ------
    ValueError
        If it does not end so.
    """
    if not name.endswith(".fz"):
        raise ValueError(f"{name} does not end in .fz; output= has to name the new file")
    return name.removesuffix(".fz")


def _with_null_primary(source) -> Iterator[tuple[FoundHDU | None, FoundHDU]]:
    """The HDUs of a file; an empty primary HDU comes with the compressed primary image behind it, if there is one."""
    primary = None
    for found in walk(source):
        if found.number == 0 and found.end == found.data_offset:
            primary = found
        elif primary is not None and not (found.is_compressed_image and "ZSIMPLE" in found.header):
            yield None, primary
            yield None, found
            primary = None
        else:
            yield primary, found
            primary = None
    if primary is not None:
        yield None, primary


def _unpack_hdu(source, found: FoundHDU, primary: FoundHDU | None, file: BinaryIO, options: dict,
                tell: Callable[[float], None]) -> list[HDUReport]:
    """Write one HDU, restored or as it is; `primary` is the empty HDU that stood for it."""
    name, before = str(found.header.get("EXTNAME", "")).strip(), found.end - found.header_offset
    if not found.is_compressed_image:
        if found.header.get("ZTABLE") is True:
            warn(f"{source.name}: HDU {found.number} is a compressed table, which is copied as it is")
        return [HDUReport(found.number, name, "copied", nbytes_before=before, nbytes_after=copy_hdu(source, found, file))]
    start = file.tell()
    cards = table_to_image(split_cards(source.read(found.header_offset, found.data_offset)), is_primary=start == 0)
    if primary is not None:
        cards += primary_extras(split_cards(source.read(0, primary.data_offset)))
    reader = reader_for(found, source, scaled=False, cache_bytes=0, **options)
    lossless = is_lossless(reader.params)
    stated = [keyword for keyword in map(keyword_of, cards) if keyword in ("CHECKSUM", "DATASUM")]
    sums = DataSum() if stated else None
    if len(stated) == 1:
        cards = with_checksums(cards, 0)  # the other one comes in, and both are made below
    file.write(join_cards(cards))
    _write_pixels(reader, file, tell, sums)
    if sums is not None and verify_checksums(join_cards(cards), sums.total) != (True, True):
        _renew_sums(file, start, cards, sums.total)
        if lossless and len(stated) == 2:
            warn(f"{source.name}: HDU {found.number}: CHECKSUM or DATASUM of the image were not those of its header and pixels;"
                  " they are renewed")
    return [HDUReport(found.number, name, "unpacked", reader.params.zcmptype, before, file.tell() - start, reader.params.n_tiles,
                      lossless=lossless)]


def _renew_sums(file: BinaryIO, start: int, cards: list[str], data_sum: int) -> None:
    """Write the header of an HDU once more, with the sums that it has to have."""
    end = file.tell()
    file.seek(start)
    file.write(join_cards(with_checksums(cards, data_sum)))
    file.seek(end)


def _write_pixels(reader: TileReader, file: BinaryIO, tell: Callable[[float], None], sums: DataSum | None) -> None:
    """Write the stored pixels with their padding, slab by slab through one array."""
    shape, dtype, rows_of_tile = reader.shape, reader.params.dtype.newbyteorder(">"), reader.chunks[0]
    row_nbytes = prod(shape[1:]) * dtype.itemsize
    step = max(1, SLAB_NBYTES // max(1, row_nbytes * rows_of_tile)) * rows_of_tile
    array = np.empty((min(step, shape[0]), *shape[1:]), dtype)
    for start in range(0, shape[0], step):
        slab = array[: min(step, shape[0] - start)]
        reader.read(slice(start, start + len(slab)), out=slab)
        data = slab.reshape(-1).view(np.uint8)
        file.write(data.data)
        if sums is not None:
            sums.add(data)
        tell((start + len(slab)) / shape[0])
    file.write(bytes(-(row_nbytes * shape[0]) % BLOCK_SIZE))
