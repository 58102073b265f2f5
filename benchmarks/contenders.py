"""How each package reads and writes: one short function for each job, all with the same arguments."""

import os
import shutil
import subprocess
import sys
import weakref
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from astropy.io import fits

import astropy_tilecomp as tc

__all__ = ["COMMANDS", "CUTTERS", "OURS", "READERS", "WRITERS", "available", "versions"]

OURS, OURS_ALONE = "tilecomp", "tilecomp, 1 thread"
FPACK_FLAGS = {"RICE_1": "-r", "HCOMPRESS_1": "-h", "GZIP_1": "-g1", "GZIP_2": "-g2", "PLIO_1": "-p"}


def available(name):
    """Whether a contender can run here: an installed Python package or a program."""
    if name in (OURS, OURS_ALONE):
        return True
    if name in ("fpack", "funpack"):
        return shutil.which(name) is not None
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def versions():
    """The versions of every contender that is here, as a dict."""
    names = ["astropy", "fitsio", "rustfits", "imagecodecs", "numpy"]
    found = {"astropy_tilecomp": tc.__version__} | {name: version(name) for name in names if available(name)}
    if available("fpack"):
        words = subprocess.run(["fpack", "-V"], capture_output=True, text=True, check=False).stdout.split()
        found["fpack"] = f"{words[0]} of CFITSIO {words[-1]}"
    return found


# --- reading a whole image -----------------------------------------------------------------------------------------


def read_ours(path):
    with tc.open(path) as hdul:
        return hdul[1].data


def read_ours_alone(path):
    with tc.open(path, threads=1) as hdul:
        return hdul[1].data


def read_astropy(path):
    with fits.open(path) as hdul:
        return hdul[1].data


def read_fitsio(path):
    import fitsio

    return fitsio.read(str(path), ext=1)


def read_rustfits(path):
    import rustfits

    return rustfits.read(path, ext=1)


def read_funpack(path):
    """Unpack to the standard output, which nobody reads; so there are no pixels to compare."""
    subprocess.run(["funpack", "-S", str(path)], stdout=subprocess.DEVNULL, check=True)


READERS = {
    OURS: read_ours, OURS_ALONE: read_ours_alone, "astropy": read_astropy, "fitsio": read_fitsio,
    "rustfits": read_rustfits, "funpack": read_funpack,
}


# --- opening a file and reading a small part of it -----------------------------------------------------------------


def cut_ours(path, index):
    with tc.open(path) as hdul:
        return hdul[1].section[index]


def cut_ours_directly(path, index):
    return tc.read_section(path, index, hdu=1)


def cut_astropy(path, index):
    with fits.open(path) as hdul:
        return hdul[1].section[index]


def cut_astropy_remote(url, index, block_nbytes):
    with fits.open(url, use_fsspec=True, fsspec_kwargs={"block_size": block_nbytes}) as hdul:
        return hdul[1].section[index]


def cut_fitsio(path, index):
    import fitsio

    with fitsio.FITS(str(path)) as file:
        return file[1][index]


def cut_rustfits(path, index):
    import rustfits

    with rustfits.FITS(path) as file:
        return file[1][index]


CUTTERS = {
    OURS: cut_ours, "tilecomp read_section": cut_ours_directly, "astropy": cut_astropy, "fitsio": cut_fitsio,
    "rustfits": cut_rustfits,
}


# --- writing -------------------------------------------------------------------------------------------------------
# Settings are those of astropy's CompImageHDU: compression_type, tile_shape, quantize_level, quantize_method,
# dither_seed.  Every writer gives the path of the file it made.


def write_ours(plain, image, settings, target, threads=None):
    ours = {("algorithm" if name == "compression_type" else name): value for name, value in settings.items()}
    tc.write_image(target, image, overwrite=True, threads=threads, **ours)
    return target


def write_ours_alone(plain, image, settings, target):
    return write_ours(plain, image, settings, target, threads=1)


def write_astropy(plain, image, settings, target):
    hdu = fits.CompImageHDU(image, **settings)
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(target, overwrite=True)
    return target


def write_fpack(plain, image, settings, target):
    target.unlink(missing_ok=True)
    tile = ",".join(str(length) for length in reversed(settings["tile_shape"]))
    level = ["-q", str(settings["quantize_level"])] if image.dtype.kind == "f" else []
    flag = FPACK_FLAGS[settings["compression_type"]]
    subprocess.run(["fpack", flag, "-t", tile, *level, "-C", "-O", str(target), str(plain)], check=True)
    return target


class NewFiles(list):
    """Paths of files that a command wrote into a folder; it is removed with the list, which is dropped outside of the time."""

    def __init__(self, paths, folder):
        super().__init__(paths)
        weakref.finalize(self, shutil.rmtree, folder)


def run_on_files(words, files, folder):
    """Run a command on copies by name of some files, in an empty folder; gives the files that are new there.

    The copies are links: what is timed is the command, with its start, and not the making of its input. Python may keep the
    byte code of this package, as it has that of an installed one.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    names = [f"{number:02}{''.join(path.suffixes)}" for number, path in enumerate(files)]
    for path, name in zip(files, names):
        os.link(path, folder / name)
    command = [word for each in words for word in (names if each == "FILES" else [each])]
    repository = Path(__file__).resolve().parent.parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(repository), os.environ.get("PYTHONPATH", "")])}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run(command, cwd=folder, check=True, env=environment, stdout=subprocess.DEVNULL)
    return NewFiles(sorted(path for path in folder.iterdir() if path.name not in names), folder)


COMMANDS = {
    "pack": {
        OURS: [sys.executable, "-m", "astropy_tilecomp", "pack", "-j2", "-C", "--quiet", "FILES"],
        "fpack": ["fpack", "-r", "-C", "FILES"],
    },
    "unpack": {
        OURS: [sys.executable, "-m", "astropy_tilecomp", "unpack", "-j2", "--quiet", "FILES"],
        "funpack": ["funpack", "-C", "FILES"],
    },
}
"""What packs and unpacks files in a shell; FILES stands for their names."""


def write_fitsio(plain, image, settings, target):
    import fitsio

    name = {"RICE_1": "RICE", "HCOMPRESS_1": "HCOMPRESS", "GZIP_1": "GZIP", "GZIP_2": "GZIP_2", "PLIO_1": "PLIO"}
    quantized = {}
    if image.dtype.kind == "f":
        quantized = {"qlevel": settings["quantize_level"], "qmethod": "SUBTRACTIVE_DITHER_1"}
    fitsio.write(str(target), image, compress=name[settings["compression_type"]], clobber=True,
                 tile_dims=list(settings["tile_shape"]), **quantized)
    return target


def write_rustfits(plain, image, settings, target):
    import rustfits

    makers = {"RICE_1": rustfits.Rice1, "HCOMPRESS_1": rustfits.Hcompress1, "GZIP_1": rustfits.Gzip1,
              "GZIP_2": rustfits.Gzip2}
    codec = makers[settings["compression_type"]](tile_shape=settings["tile_shape"])
    quantized = {}
    if image.dtype.kind == "f":
        quantized = {"quantize": rustfits.Quantize(level=settings["quantize_level"], method="dither1", seed=1)}
    with rustfits.FITS(target, "w+") as file:
        file.write_image(image, compress=codec, **quantized)
    return target


WRITERS = {
    OURS: write_ours, OURS_ALONE: write_ours_alone, "astropy": write_astropy, "fpack": write_fpack,
    "fitsio": write_fitsio, "rustfits": write_rustfits,
}


def pixels_agree(one, other):
    """Whether two images are equal, NaN where NaN, whatever their byte order."""
    equal_nan = one.dtype.kind == "f"
    return one.shape == other.shape and np.array_equal(one, other, equal_nan=equal_nan)


def n_cores():
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
