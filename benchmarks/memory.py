"""Peak memory of a child process that does one job, less its value after the imports."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from astropy.io import fits
from rich.table import Table

from tests.support.peak import PEAK

from .report import console

__all__ = ["JOBS", "Job", "peak_bytes", "run"]

MIB = 1 << 20
SIZE = 16384

CHILD = PEAK + """
import numpy as np
from astropy.io import fits
import astropy_tilecomp as tc
from astropy_tilecomp.codecs import _kernels
path = {path!r}
before = peak_nbytes()
{statement}
print(peak_nbytes() - before)
"""


@dataclass(frozen=True)
class Job:
    """One job: its title, the type of the image, what the child runs, and how many bytes it may take."""

    title: str
    dtype: str
    statement: str
    allowed: int


WHOLE = SIZE * SIZE * 2
JOBS = [
    Job("read a whole int16 image", "i2", "data = tc.open(path)[1].data", WHOLE + 64 * MIB),
    Job("read a whole uint16 image", "u2", "data = tc.open(path)[1].data", WHOLE + 64 * MIB),
    Job("read_image of a whole int16 image", "i2", "data = tc.read_image(path)", WHOLE + 64 * MIB),
    Job("read 1000 rows", "i2", "data = tc.open(path)[1].section[:1000]", 1000 * SIZE * 2 + 64 * MIB),
    Job("read 200 x 200 pixels", "i2", "data = tc.open(path)[1].section[5000:5200, 5000:5200]", 32 * MIB),
]


def peak_bytes(path, statement):
    """
    Run a statement in a child process.

    Parameters
    ----------
    path : pathlib.Path
        What the statement knows as ``path``.
    statement : str
        Python code.

    Returns
    -------
    int
        How far the peak of the resident memory rose above its value after the imports, in bytes.
    """
    code = CHILD.format(path=str(path), statement=statement)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1])


def make_image(folder, dtype, size=SIZE):
    """Write a compressed image of noise that repeats every 1024 rows, so that making it is quick."""
    path = Path(folder) / f"memory-{dtype}.fits.fz"
    if not path.exists():
        strip = np.random.default_rng(1).normal(1000, 15, (1024, size)).astype(dtype)
        image = np.tile(strip, (size // 1024, 1))
        hdu = fits.CompImageHDU(image, compression_type="RICE_1", tile_shape=(1, size))
        fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(path)
    return path


def run(folder):
    """
    Run all jobs and print what each took.

    Parameters
    ----------
    folder : pathlib.Path
        Where the images go.

    Returns
    -------
    bool
        Whether every job stayed within what it may take.
    """
    table = Table("job", "peak MiB", "allowed MiB", title="peak memory above that of the imports")
    within = True
    for job in JOBS:
        peak = peak_bytes(make_image(folder, job.dtype), job.statement)
        colour = "green" if peak <= job.allowed else "red"
        table.add_row(job.title, f"[{colour}]{peak / MIB:.0f}[/{colour}]", f"{job.allowed / MIB:.0f}")
        within &= peak <= job.allowed
    console.print(table)
    return within
