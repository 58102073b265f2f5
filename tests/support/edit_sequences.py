"""
Random sequences of what users do to a file, applied to this package's HDUs and to a plain model, which must agree.

A program of its own for long runs; a sequence follows from its seed alone, and a failure is reduced to few steps::

    PYTHONPATH=tests python -m support.edit_sequences --sequences 2000 --seed 1
    PYTHONPATH=tests python -m support.edit_sequences --only 17
"""

import argparse
import contextlib
import io
import pickle
import random
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np
from astropy.io import fits

import astropy_tilecomp as tc
from support.edit_model import ModelHDU, check_file, largest_zscale, require, require_cards, require_pixels

MAX_STEPS = 9
KINDS = ("u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "f4 quantized", "f8 quantized")
CARDS = (("OBJECT", "M31"), ("EXPTIME", 30.5), ("NCOMBINE", 7), ("FLAG", True), ("LONGTEXT", "words " * 20 + "end"),
         ("HIERARCH ESO DET ID", 3), ("TUNIT3", "adu"), ("EXTVER", 5))
OPTIONS = ({}, {}, {}, {"uint": False}, {"scale_back": True}, {"do_not_scale_image_data": True}, {"lazy_load_hdus": False})


# ---- random material --------------------------------------------------------------------------------------------------


def random_pixels(rng, kind, shape):
    """Pixels of a type: up to its limits for integers, with NaN now and then for floats."""
    seeded = np.random.default_rng(rng.getrandbits(32))
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        pixels = seeded.normal(100, 5, shape).astype(dtype)
        if rng.random() < 0.3:
            pixels[tuple(rng.randrange(n) for n in shape)] = np.nan
        return pixels
    limits = np.iinfo(dtype)
    if rng.random() < 0.5:
        return seeded.integers(0, 100, shape).astype(dtype)
    return seeded.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def random_shape(rng):
    """A small shape of one to three axes."""
    return tuple(rng.choice((1, 4, 5, 7, 12, 16)) for _ in range(rng.choice((1, 2, 2, 2, 3))))


def random_tile_shape(rng, shape):
    """The shape of tiles that cover it."""
    return tuple(rng.randint(max(1, n // 3), n) for n in shape)


def algorithm_for(rng, kind, shape):
    """An algorithm that holds such pixels."""
    dtype = np.dtype(kind.split()[0])
    fitting = ["GZIP_1", "GZIP_2", "NOCOMPRESS"]
    if "quantized" in kind or (dtype.itemsize < 8 and dtype.kind != "f"):
        fitting += ["RICE_1", "RICE_1", "RICE_1"]
        if len(shape) == 2 and min(shape) >= 4:
            fitting += ["HCOMPRESS_1"]
    if "quantized" in kind:
        fitting = [name for name in fitting if name != "NOCOMPRESS"]
    return rng.choice(fitting)


def new_hdu(rng):
    """A new HDU and its model."""
    shape, what = random_shape(rng), rng.random()
    if what < 0.1:
        rows = np.array([(n, n * 0.5) for n in range(rng.randint(1, 5))], dtype=[("N", ">i4"), ("X", ">f8")])
        return fits.BinTableHDU(rows), ModelHDU("table", rows)
    if what < 0.25:
        pixels = random_pixels(rng, rng.choice(("u1", "i2", "i4", "f4")), shape)
        return fits.ImageHDU(pixels), ModelHDU("plain", pixels)
    kind = rng.choice(KINDS)
    pixels = random_pixels(rng, kind.split()[0], shape)
    algorithm = algorithm_for(rng, kind, shape)
    tile_shape = shape if algorithm == "HCOMPRESS_1" else random_tile_shape(rng, shape)
    options = {"lossless": True} if pixels.dtype.kind == "f" and "quantized" not in kind else {}
    if "quantized" in kind:
        options["quantize_method"] = rng.choice((-1, 1, 2))
        options["dither_seed"] = 3
    hdu = tc.CompImageHDU(pixels.copy(), compression_type=algorithm, tile_shape=tile_shape, **options)
    return hdu, ModelHDU("packed", pixels, quantized="quantized" in kind)


def write_first_file(rng, path):
    """A file of some HDUs, a part of them with scaled or blank integers, and its model."""
    pairs = [new_hdu(rng) for _ in range(rng.randint(1, 4))]
    sums = rng.random() < 0.3
    fits.HDUList([fits.PrimaryHDU(), *(hdu for hdu, _ in pairs)]).writeto(path, checksum=sums)
    models = [model for _, model in pairs]
    for number, model in enumerate(models, 1):
        model.sums = sums
        if model.kind == "packed" and model.pixels.dtype.name in ("int16", "int32", "uint8") and rng.random() < 0.5:
            add_scale(rng, path, number, model, sums)
    settle(path, models)
    return models


def add_scale(rng, path, number, model, sums):
    """Give stored integers a BSCALE, BZERO or BLANK in the file."""
    cards = rng.choice(({"BSCALE": 0.5, "BZERO": 10.0}, {"BSCALE": 0.1, "BZERO": 5.0, "BLANK": 7}, {"BLANK": 7}, {"BZERO": 3.0}))
    with fits.open(path, mode="update", disable_image_compression=True, checksum=sums) as hdul:
        hdul[number].header.update(cards)
    with fits.open(path) as hdul:
        model.pixels = np.array(hdul[number].data)


def settle(path, models):
    """Take quantized pixels as they are in the file; from now on they have to stay like that."""
    for number, model in enumerate(models, 1):
        if model.quantized:
            with fits.open(path) as hdul:
                got = np.array(hdul[number].data)
            require_pixels(got, model, largest_zscale(path, number), f"HDU {number} as written")
            model.pixels, model.touched = got, np.zeros(got.shape, bool)
            model.quantized = got.dtype.kind == "f"
        elif model.touched is not None:
            model.touched[...] = False


# ---- a session --------------------------------------------------------------------------------------------------------


class Session:
    """
    A file, the list of HDUs that is open on it, and the models of both.

    Parameters
    ----------
    rng : random.Random
    folder : pathlib.Path
    """

    def __init__(self, rng, folder):
        self.folder, self.n_files = folder, 0
        self.path = self.next_path()
        self.disk = write_first_file(rng, self.path)
        self.hdul = None
        self.open(rng)

    def next_path(self):
        """A path that is not used yet."""
        self.n_files += 1
        return self.folder / f"{self.n_files}.fits.fz"

    def open(self, rng):
        """Open the file in a random mode by one of the faces."""
        self.mode = rng.choice(("readonly", "update", "update"))
        self.options = rng.choice(OPTIONS)
        if rng.random() < 0.7:
            self.face = "tc.open"
            self.hdul = tc.open(self.path, mode=self.mode, **self.options)
        else:
            self.face = "enabled"
            with tc.enabled():
                self.hdul = fits.open(self.path, mode=self.mode, **self.options)
        self.models = [model.copy() for model in self.disk]

    @property
    def is_scaled(self):
        """Whether pixels in memory are those of the model; else only looking, copying and headers are tried."""
        return "do_not_scale_image_data" not in self.options

    def is_edited(self, model):
        """Whether edits of an image come back as the model has them: neither rounded by scale_back nor by a float64."""
        rounds = "uint" in self.options and model.pixels.dtype.kind in "iu" and model.pixels.dtype.itemsize == 8
        return self.is_scaled and "scale_back" not in self.options and not rounds

    def close(self):
        """Close the list, which writes it in update mode, and check the file."""
        self.hdul.close(output_verify="silentfix")
        if self.mode == "update":
            self.disk = self.models
        check_file(self.path, self.disk)
        settle(self.path, self.disk)

    def pick(self, rng, kinds=("packed",)):
        """A random HDU: its number, itself, its model; None if there is none of these kinds."""
        numbers = [number for number, model in enumerate(self.models, 1) if model.kind in kinds]
        if not numbers:
            return None
        number = rng.choice(numbers)
        return number, self.hdul[number], self.models[number - 1]

    def require_view(self, pixels, model, what):
        """Check pixels that an open HDU shows."""
        rounds = "uint" in self.options and model.pixels.dtype.kind == "u" and model.pixels.dtype.itemsize == 8
        if self.is_scaled and not rounds:
            step = np.inf if model.quantized and self.mode == "update" else 0  # touched tiles may be on disk already
            require_pixels(pixels, model, step, what)


def box_in(rng, shape):
    """Random slices of a shape."""
    starts = [rng.randrange(n) for n in shape]
    return tuple(slice(start, rng.randint(start + 1, n)) for start, n in zip(starts, shape, strict=True))


# Each step takes the session and a generator of its own; it does nothing where it does not apply.


def read_section(session, rng):
    """Look at a part."""
    if found := session.pick(rng):
        number, hdu, model = found
        box = box_in(rng, model.pixels.shape)
        part = ModelHDU("packed", model.pixels[box], touched=model.touched[box])
        session.require_view(np.asarray(hdu.section[box]), part, f"section of HDU {number}")


def read_data(session, rng):
    """Look at all pixels."""
    if found := session.pick(rng, ("packed", "plain")):
        number, hdu, model = found
        session.require_view(hdu.data, model, f"data of HDU {number}")


def read_header(session, rng):
    """Look at the header."""
    if found := session.pick(rng, ("packed", "plain")):
        number, hdu, model = found
        require_cards(hdu.header, model, f"header of HDU {number}")
        require(tuple(hdu.shape) == model.pixels.shape, f"shape of HDU {number}")


def edit_data(session, rng):
    """Change some pixels of the array in memory."""
    if (found := session.pick(rng)) and session.is_edited(found[2]):
        number, hdu, model = found
        session.require_view(hdu.data, model, f"data of HDU {number}")
        box, dtype = box_in(rng, model.pixels.shape), hdu.data.dtype
        value = new_value(rng, dtype)
        hdu.data[box] = value
        model.pixels = model.pixels.astype(dtype)
        model.edit(box, value, hdu.tile_shape)


def new_value(rng, dtype):
    """A pixel for an array of a type: one that scaled integers hold, or not."""
    if dtype.kind == "f":
        return dtype.type(rng.choice((20.0, 10.5, 3.0, 77.125, np.nan, 99.3)))
    return dtype.type(rng.choice((0, 5, 100, np.iinfo(dtype).max)))


def assign_data(session, rng):
    """Give an HDU another array, of any type and sometimes another shape."""
    if (found := session.pick(rng)) and session.is_edited(found[2]):
        _, hdu, model = found
        kind = rng.choice(("u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "same"))
        shape = model.pixels.shape if rng.random() < 0.6 else random_shape(rng)
        pixels = random_pixels(rng, model.pixels.dtype if kind == "same" else kind, shape)
        hdu.data = pixels.copy()
        model.assign(pixels)


def assign_equal(session, rng):
    """Give an HDU its own pixels back."""
    if (found := session.pick(rng)) and session.is_edited(found[2]):
        number, hdu, model = found
        hdu.data = hdu.data.copy() if rng.random() < 0.5 else hdu.data
        session.require_view(hdu.data, model, f"data of HDU {number}")


def assign_stamp(session, rng):
    """Cut a stamp out of an image and put it in its place."""
    if (found := session.pick(rng)) and session.is_edited(found[2]):
        _, hdu, model = found
        box = box_in(rng, model.pixels.shape)
        part = hdu.section[box] if rng.random() < 0.5 else hdu.data[box].copy()
        hdu.data = np.asarray(part)
        model.assign(model.pixels[box])


def assign_section(session, rng):
    """Assign to a section: to the file in update mode, to the array if that was loaded."""
    if (found := session.pick(rng)) and session.is_edited(found[2]):
        number, hdu, model = found
        box = box_in(rng, model.pixels.shape)
        if rng.random() < 0.2:
            value = model.pixels[box].copy()
        else:
            value = new_value(rng, hdu.section.result_dtype)
        tile_shape = hdu.tile_shape
        try:
            hdu.section[box] = value
        except (ValueError, tc.UnsupportedError):
            return          # pixels on disk in a mode that does not write, or that the stored type cannot hold: nothing happened
        got = np.asarray(hdu.section[...])
        model.pixels = model.pixels.astype(got.dtype)
        model.edit(box, value, tile_shape)
        if not model.quantized:
            session.require_view(got, model, f"section of HDU {number} after assignment")
        else:
            model.pixels = got


def edit_header(session, rng):
    """Set, delete or add cards."""
    if found := session.pick(rng, ("packed", "plain")):
        _, hdu, model = found
        choice = rng.random()
        if choice < 0.6:
            keyword, value = rng.choice(CARDS)
            value = value + rng.randint(1, 9) if type(value) is int else value
            hdu.header[keyword] = value
            model.cards[keyword.removeprefix("HIERARCH ")] = value
        elif choice < 0.8 and model.cards:
            keyword = rng.choice(sorted(model.cards))
            del hdu.header[keyword]
            del model.cards[keyword]
        else:
            line = f"step {rng.randint(1, 1000)}"
            hdu.header.add_history(line)
            model.history.append(line)


def rename(session, rng):
    """Give an HDU a name."""
    if found := session.pick(rng):
        _, hdu, model = found
        hdu.name = name = f"NAME{rng.randint(1, 9)}"
        model.cards["EXTNAME"] = name


def insert(session, rng):
    """Put a new HDU somewhere behind the primary one."""
    hdu, model = new_hdu(rng)
    at = rng.randint(1, len(session.models) + 1)
    if at == len(session.models) + 1 and rng.random() < 0.5:
        session.hdul.append(hdu)
    else:
        session.hdul.insert(at, hdu)
    session.models.insert(at - 1, model)


def remove(session, rng):
    """Take an HDU out."""
    if len(session.models) > 1:
        at = rng.randint(1, len(session.models))
        del session.hdul[at]
        del session.models[at - 1]


def replace_by_copy(session, rng):
    """Put a copy of an HDU in its own or another place."""
    if found := session.pick(rng):
        _, hdu, model = found
        at = rng.randint(1, len(session.models))
        session.hdul[at] = hdu.copy()
        copied = model.copy()
        copied.sums = False
        session.models[at - 1] = copied


def replace_by_pickle(session, rng):
    """Send an HDU through pickle."""
    if session.mode == "readonly" and (found := session.pick(rng)):
        number, hdu, model = found
        session.hdul[number] = pickle.loads(pickle.dumps(hdu))
        model.sums = False


def flush(session, rng):
    """Write the file in update mode."""
    if session.mode == "update":
        session.hdul.flush(output_verify="silentfix")
        check_file(session.path, session.models)


def write_elsewhere(session, rng):
    """Write another file; go on with the list, or with the new file."""
    path, sums = session.next_path(), rng.random() < 0.3
    session.hdul.writeto(path, checksum=sums, output_verify="silentfix")
    models = [model.copy() for model in session.models]
    for model in models:
        model.sums = sums
    check_file(path, models)
    if rng.random() < 0.4:
        session.close()
        settle(path, models)
        session.path, session.disk = path, models
        session.open(rng)


def write_to_buffer(session, rng):
    """Write to memory and read it again."""
    target = io.BytesIO()
    session.hdul.writeto(target, output_verify="silentfix")
    path = session.next_path()
    path.write_bytes(target.getvalue())
    models = [model.copy() for model in session.models]
    for model in models:
        model.sums = False
    check_file(path, models)


def reopen(session, rng):
    """Close and open again."""
    session.close()
    session.open(rng)


STEPS = (read_section, read_data, read_header, edit_data, edit_data, assign_data, assign_data, assign_equal, assign_stamp,
         assign_section, assign_section, edit_header, edit_header, rename, insert, remove, replace_by_copy, replace_by_pickle, flush, flush,
         write_elsewhere, write_to_buffer, reopen)


# ---- running ----------------------------------------------------------------------------------------------------------


def plan_of(seed):
    """The steps of a sequence: the seed of the first file, then (step, seed of the step)."""
    rng = random.Random(seed)
    first = rng.getrandbits(32)
    return first, [(rng.choice(STEPS), rng.getrandbits(32)) for _ in range(rng.randint(1, MAX_STEPS))]


def run(first, steps):
    """
    Apply a sequence.

    Raises
    ------
    Exception
        Whatever goes wrong; Mismatch where the file is not what the model has.
    """
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = Session(random.Random(first), Path(folder))
        try:
            for step, seed in steps:
                step(session, random.Random(seed))
            session.close()
        except BaseException:
            with contextlib.suppress(Exception):
                session.hdul.close(output_verify="ignore")
            raise


def fault_of(first, steps):
    """The error of a sequence, or None."""
    try:
        run(first, steps)
    except Exception as error:
        return error
    return None


def reduced(first, steps, error):
    """The sequence without the steps that the same kind of error does not need."""
    at = 0
    while at < len(steps):
        fewer = steps[:at] + steps[at + 1:]
        found = fault_of(first, fewer)
        if type(found) is type(error):
            steps, error = fewer, found
        else:
            at += 1
    return steps, error


def describe(first, steps):
    """A sequence in words."""
    return f"first file {first}: " + " -> ".join(f"{step.__name__}[{seed}]" for step, seed in steps)


def report_of(number, first, steps, error):
    """What went wrong in a sequence, and in which."""
    return f"sequence {number}: {type(error).__name__}: {str(error)[:300]}\n    {describe(first, steps)}"


def main(arguments=None):
    """Run as a program; whether anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="number of the first sequence")
    parser.add_argument("--sequences", type=int, default=2000)
    parser.add_argument("--only", type=int, help="one sequence, with the traceback of its reduced form")
    options = parser.parse_args(arguments)
    numbers = range(options.seed, options.seed + options.sequences) if options.only is None else [options.only]
    n_failed = 0
    for number in numbers:
        first, steps = plan_of(number)
        error = fault_of(first, steps)
        if error is None:
            continue
        n_failed += 1
        steps, error = reduced(first, steps, error)
        print(report_of(number, first, steps, error), flush=True)
        if options.only is not None:
            traceback.print_exception(error)
    print(f"{len(numbers)} sequences, {n_failed} failures")
    return bool(n_failed)


if __name__ == "__main__":
    sys.exit(main())
