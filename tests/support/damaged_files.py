"""Compressed images with broken tiles, for tests of what is done about them."""

import numpy as np

import astropy_tilecomp as tc
from astropy_tilecomp.hdus import find_image
from astropy_tilecomp.read.table_rows import read_table
from astropy_tilecomp.sources import FileSource

BROKEN_ROWS = (3, 77, 200)


def star_image(dtype="i2", shape=(256, 256)):
    """Noise around 1000, within what every algorithm can hold."""
    return np.clip(np.random.default_rng(1).normal(1000, 10, shape), 0, 4000).astype(dtype)


def streams_of(path, hdu=None):
    """The bytes of each tile of an image, and where they begin in the file."""
    with FileSource(path) as source:
        found = find_image(source, hdu)
        _, table = read_table(source, found)
        starts = (found.data_offset + table.offset).tolist()
        return [bytes(source.read(start, start + n)) for start, n in zip(starts, table.nbytes.tolist())], starts


def break_tiles(path, rows=BROKEN_ROWS):
    """Overwrite the streams of some tiles with ones, which no algorithm can decode."""
    streams, starts = streams_of(path)
    with open(path, "r+b") as file:
        for row in rows:
            file.seek(starts[row])
            file.write(b"\xff" * len(streams[row]))


def write_broken(path, dtype="i2", **options):
    """An image of 256 tiles, three of which are broken; gives what it was."""
    image = star_image(dtype)
    tc.write_image(path, image, tile_shape=(16, 16), checksum=True, **options)
    good = tc.read_image(path)
    break_tiles(path)
    return good


def pixels_of(faults, shape):
    """A mask of the pixels of some tiles."""
    mask = np.zeros(shape, bool)
    for fault in faults:
        mask[tuple(slice(*edge) for edge in fault.box)] = True
    return mask
