"""Show what lazy reading is on a real file: what is in it, and what a section of it costs."""

import sys
from pathlib import Path

import numpy as np

import astropy_tilecomp as tc

FILE = Path(__file__).resolve().parent.parent / "tests" / "data" / "panoptes_solved.fits.fz"
SECTION = np.s_[300:400, 200:300]


def main(path=FILE):
    """
    Print what a file holds, then read one section and say what that took.

    Parameters
    ----------
    path : path-like
        A FITS file whose HDU 1 is a tile-compressed image.
    """
    with tc.open(path) as hdul:
        print(f"{Path(path).name}: {Path(path).stat().st_size} bytes\n")
        hdul.info()
        image = hdul[1]
        section = image.section
        n_tiles = int(np.prod([-(-length // size) for length, size in zip(section.shape, section.chunks, strict=True)]))
        print(f"\nHDU 1: {image.header.get('FIELD', 'image')}, {image.header.get('DATE-OBS', 'no date')}, "
              f"{section.shape} pixels of {section.dtype} in {n_tiles} tiles of {section.chunks}")
        pixels = section[SECTION]
        print(f"\nhdul[1].section[300:400, 200:300]\n{pixels}\n"
              f"{pixels.shape} pixels of {pixels.dtype}, median {np.median(pixels):.0f}, brightest {pixels.max()}")
        print(f"That took {section.stats.n_tiles} of {n_tiles} tiles and {section.stats.nbytes} of "
              f"{Path(path).stat().st_size} bytes.")


if __name__ == "__main__":
    main(*sys.argv[1:])
