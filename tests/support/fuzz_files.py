"""
Mutate whole small FITS files and read them in every way: a named error or a result, in bounded time and memory.

A program of its own, so that a crash is seen as one::

    PYTHONPATH=tests python -m support.fuzz_files --files 2000 --seed 1
    PYTHONPATH=tests python -m support.fuzz_files --seconds 60

Each mutant follows from its number and the seed alone; ``--only NUMBER`` reads one again, ``--save PATH`` keeps its file.
"""

import argparse
import faulthandler
import random
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

import astropy_tilecomp as tc
from astropy_tilecomp.codecs import engines
from support.encoded_images import encode_image
from support.peak import peak_nbytes
from support.small_files import BLOCK, PRIMARY, CompressedImage, dither, gzip_1, header_bytes

MAX_SECONDS = 1.0          # of processor time, for one way to read one file
HANG_SECONDS = 60          # of the clock: the process is stopped and tells where it was
MAX_NBYTES = 16 << 20
MAX_GROWTH = 256 << 20     # of the resident memory, over all files but the first
WARM = 50                  # files after which modules are loaded and pools made

NAMED = (tc.TileCompError, ValueError, IndexError, OSError, NotImplementedError)
"""What reading may raise. ValueError and OSError besides ours: astropy's, for what is no FITS file at all."""

NUMBERS = (0, 1, 2, 3, 7, 8, 16, 32, 64, 127, 128, 255, 256, 999, 1000, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32,
           2**62, 2**63 - 1, 2**63, 2**64, 10**19)
VALUES = ("T", "F", "'RICE_1  '", "'GZIP_1  '", "'GZIP_2  '", "'PLIO_1  '", "'HCOMPRESS_1'", "'NOCOMPRESS'", "'        '",
          "''", "'NO_DITHER'", "'SUBTRACTIVE_DITHER_1'", "'SUBTRACTIVE_DITHER_2'", "'NONE'", "1PB", "'1PB(9)'", "'1QB'",
          "'1PI'", "'1PJ'", "'0PB'", "'1D'", "'1J'", "'8A'", "'999999999D'", "NaN", "1E400", "-1E-400", "0.5", "1.5D0",
          "(1, 2)", "", "'", "=", "-0", "1e3", "\x00", "\xff")
KEYWORDS = ("ZBITPIX", "ZNAXIS", "ZNAXIS1", "ZNAXIS2", "ZNAXIS3", "ZTILE1", "ZTILE2", "ZTILE3", "ZCMPTYPE", "ZQUANTIZ",
            "ZDITHER0", "ZBLANK", "BLANK", "ZSCALE", "ZZERO", "ZMASKCMP", "BSCALE", "BZERO", "ZNAME1", "ZVAL1", "ZNAME2",
            "ZVAL2", "THEAP", "PCOUNT", "GCOUNT", "NAXIS", "NAXIS1", "NAXIS2", "BITPIX", "TFIELDS", "TTYPE1", "TFORM1",
            "TTYPE2", "TFORM2", "ZIMAGE", "XTENSION", "EXTNAME", "EXTVER", "TNULL1", "TDIM1", "TSCAL1", "END", "CONTINUE",
            "ZSIMPLE", "ZTENSION", "ZPCOUNT", "ZGCOUNT", "CHECKSUM", "DATASUM")
COLUMNS = (b"COMPRESSED_DATA", b"GZIP_COMPRESSED_DATA", b"UNCOMPRESSED_DATA", b"NULL_PIXEL_MASK", b"ZSCALE", b"ZZERO", b"ZBLANK")


# ---- what is mutated --------------------------------------------------------------------------------------------------


def generated_files():
    """Files of two HDUs of every algorithm and kind of pixel, each tile less than 256 pixels."""
    rng = np.random.default_rng(4)
    for algorithm in ("RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1", "NOCOMPRESS"):
        integers = rng.integers(0, 200, (11, 13))
        for dtype, cards in (("u1", []), ("i2", [("BZERO", 32768)]), ("i4", [("BLANK", 7)]), ("i2", [("BSCALE", 0.5)])):
            if algorithm == "PLIO_1" and cards == [("BZERO", 32768)]:
                continue
            yield hdu_of(encode_image(integers.astype(dtype), (5, 6), algorithm, cards=cards))
        n_tiles = 9
        yield hdu_of(encode_image(
            integers.astype("i4"), (5, 6), algorithm, bitpix=-32, zscale=rng.uniform(1, 2, n_tiles), zzero=np.zeros(n_tiles),
            zblank=np.full(n_tiles, 3), cards=[("ZQUANTIZ", "SUBTRACTIVE_DITHER_2"), ("ZDITHER0", 9999)]))
    yield hdu_of(encode_image(rng.integers(0, 9, (3, 4, 5)).astype("i8"), (2, 3, 2), "GZIP_2"))
    yield hdu_of(encode_image(np.arange(7, dtype="i2"), (3,), "RICE_1"))
    yield masked_and_fallen_back(rng)


def hdu_of(image):
    """The bytes of a compressed HDU."""
    return header_bytes(image.header.items()) + image.data + bytes(-len(image.data) % BLOCK)


def masked_and_fallen_back(rng):
    """Floats with a null mask, two tiles of which fell back to the other columns."""
    values = rng.normal(0, 9, (4, 6)).astype("f4")
    image = CompressedImage((4, 6), (2, 3), -32, "GZIP_1", [("ZMASKCMP", "RICE_1")])
    boxes = image.boxes()
    image.add_tiles([gzip_1(values[box], "i4") if n < 2 else None for n, box in enumerate(boxes)])
    image.add_tiles([gzip_1(values[box], "f4") if n == 2 else None for n, box in enumerate(boxes)],
                    column="GZIP_COMPRESSED_DATA")
    image.add_tiles([values[box].astype(">f4").tobytes() if n == 3 else None for n, box in enumerate(boxes)],
                    column="UNCOMPRESSED_DATA", form="1PE", element=4)
    image.add_tiles([b"\x00\x1f" if n == 0 else None for n in range(4)], column="NULL_PIXEL_MASK")
    image.add_column("ZSCALE", dither(0, 1, 4)).add_column("ZZERO", np.zeros(4))
    return image.hdu_bytes()


def seeds(folder):
    """Small real files, and generated ones with the HDU twice, so that the second is seen behind a broken first."""
    files = [PRIMARY + hdu + hdu for hdu in generated_files()]
    return files + [path.read_bytes() for path in sorted(folder.glob("*.f*")) if path.stat().st_size < 16000]


# ---- mutations: each changes a bytearray -------------------------------------------------------------------------------


def a_number(draw):
    """A number that somebody may have overlooked."""
    number = draw.choice(NUMBERS) if draw.random() < 0.7 else draw.getrandbits(draw.randrange(1, 66))
    return -number if draw.random() < 0.25 else number


def cards_of(data):
    """Where the cards of tables are: the offsets of all 80-byte pieces from XTENSION to END."""
    places, start = [], data.find(b"XTENSION")
    while start >= 0:
        end = data.find(b"END     ", start)
        places += range(start, end if end > 0 else start, 80)
        start = data.find(b"XTENSION", max(end, start + 1))
    return places


def change_value(draw, data):
    """Give a card of a table another value."""
    places = [at for at in cards_of(data) if data[at + 8:at + 10] == b"= "]
    if not places:
        return
    at = draw.choice(places)
    value = str(a_number(draw)) if draw.random() < 0.6 else draw.choice(VALUES)
    data[at + 10:at + 80] = f"{value:>20}".ljust(70).encode("latin-1")[:70]


def change_keyword(draw, data):
    """Give a card another keyword, so that one is missing and one may be double."""
    places = cards_of(data)
    if places:
        at = draw.choice(places)
        data[at:at + 8] = f"{draw.choice(KEYWORDS):<8}".encode()


def swap_cards(draw, data):
    """Let two cards change places."""
    places = cards_of(data)
    if len(places) > 1:
        a, b = draw.sample(places, 2)
        data[a:a + 80], data[b:b + 80] = data[b:b + 80], data[a:a + 80]


def rename_column(draw, data):
    """Call a column something else, if its name is there."""
    old, new = draw.choice(COLUMNS), draw.choice(COLUMNS)
    at = data.find(b"'" + old + b"'")
    if at >= 0:
        data[at:at + len(old) + 2] = (b"'" + new + b"'").ljust(len(old) + 2)[:len(old) + 2]


def change_table(draw, data):
    """Overwrite a word of the data units."""
    at = draw.randrange(BLOCK, len(data)) & ~3
    width = draw.choice((4, 8))
    data[at:at + width] = (a_number(draw) % (1 << 8 * width)).to_bytes(width, "big")


def change_descriptor(draw, data):
    """Overwrite a word of the main table of an HDU, which stands right behind the header."""
    ends = [at for at in range(BLOCK, len(data), BLOCK) if b"END     " in data[max(0, at - BLOCK):at]]
    if ends:
        at = draw.choice(ends) + 4 * draw.randrange(40)
        data[at:at + 4] = (a_number(draw) % (1 << 32)).to_bytes(4, "big")


def flip_bit(draw, data):
    """Turn over a bit."""
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def change_bytes(draw, data):
    """Overwrite some bytes behind the headers."""
    at = draw.randrange(len(data))
    data[at:at + draw.randrange(1, 9)] = draw.randbytes(draw.randrange(1, 9))


def cut(draw, data):
    """Cut the file."""
    del data[draw.randrange(len(data)):]


def leave_out(draw, data):
    """Take bytes out of the middle, often whole cards or blocks."""
    unit = draw.choice((1, 80, BLOCK))
    at = draw.randrange(len(data)) // unit * unit
    del data[at:at + unit * draw.randrange(1, 4)]


def repeat(draw, data):
    """Copy a piece of the file to another place in it."""
    unit = draw.choice((1, 80, BLOCK))
    at = draw.randrange(len(data)) // unit * unit
    to = draw.randrange(len(data)) // unit * unit
    data[to:to] = data[at:at + unit]


MUTATIONS = (change_value, change_value, change_value, change_keyword, swap_cards, rename_column, change_table,
             change_descriptor, change_descriptor, flip_bit, flip_bit, change_bytes, cut, leave_out, repeat)


def mutant(number, seed, originals):
    """The bytes of a mutant."""
    draw = random.Random(f"{seed}-{number}")
    data = bytearray(draw.choice(originals))
    for _ in range(draw.choice((1, 1, 1, 2, 3, 5))):
        if len(data) > BLOCK:
            draw.choice(MUTATIONS)(draw, data)
    return bytes(data)


# ---- every way to read ------------------------------------------------------------------------------------------------


STEPS = (lambda hdu: hdu.section.shape, lambda hdu: hdu.section[..., :3], lambda hdu: hdu.data, lambda hdu: hdu.header)


def through_astropy(path, draw):
    """Open, ask for what is cheap, read a part and the whole."""
    with tc.open(path, max_nbytes=MAX_NBYTES, engine=draw.choice(engines())) as hdul:
        for hdu in hdul:
            if isinstance(hdu, tc.CompImageHDU):
                for step in STEPS:
                    expect_named(step, hdu)


def damaged_tiles_filled(path, draw):
    """Read everything, damaged tiles filled."""
    tc.read_image(path, hdu=draw.choice((None, 1, 2)), on_error="fill", max_nbytes=MAX_NBYTES)


def whole_image(path, draw):
    """Read the first image, by one of the engines."""
    tc.read_image(path, max_nbytes=MAX_NBYTES, threads=1, engine=draw.choice(engines()))


def part_of_it(path, draw):
    """Read a part, from bytes in memory."""
    tc.read_section(path.read_bytes(), (..., slice(None, None, draw.choice((1, 3, -2)))), max_nbytes=MAX_NBYTES)


def references_to_it(path, draw):
    """Index the file."""
    tc.references(str(path))


def unpacked(path, draw):
    """Write the file again, unpacked."""
    tc.unpack(path, path.with_suffix(".unpacked"), overwrite=True)


WAYS = (through_astropy, damaged_tiles_filled, whole_image, part_of_it, references_to_it, unpacked)


class Unexpected(Exception):
    """A way to read that did not end as it has to."""


def expect_named(step, *arguments):
    """Run a step; what it raises has to be a named error, and its time bounded."""
    began = time.process_time()
    try:
        step(*arguments)
    except NAMED:
        pass
    taken = time.process_time() - began
    if taken > MAX_SECONDS:
        raise Unexpected(f"took {taken:.2f} s")


def read_mutant(number, seed, originals, path):
    """Read one mutant in every way; the failures, as text."""
    data = mutant(number, seed, originals)
    path.write_bytes(data)
    failures = []
    for way in WAYS:
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
        draw = random.Random(number)
        try:
            expect_named(way, path, draw)
        except Exception:
            failures.append(f"mutant {number} of seed {seed}, {way.__name__}:\n{traceback.format_exc()}")
        faulthandler.cancel_dump_traceback_later()
    return failures


def main(arguments=None):
    """Run as a program; whether anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", type=int, default=10**9, help="stop after so many mutants")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--only", type=int, help="the number of one mutant")
    parser.add_argument("--save", type=Path, help="where to keep the last mutant")
    options = parser.parse_args(arguments)
    faulthandler.enable()
    warnings.simplefilter("ignore")
    originals = seeds(Path(__file__).parent.parent / "data")
    numbers = range(options.files) if options.only is None else [options.only]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutant.fits"
        n_read, n_failed = read_mutants(numbers, options.seed, originals, path, options.seconds)
        if options.save:
            shutil.copy(path, options.save)
    print(f"{n_read} files, {len(WAYS)} ways each, {n_failed} failures")
    return bool(n_failed)


def read_mutants(numbers, seed, originals, path, seconds):
    """Read many mutants, for so long at most; how many, and how many failed."""
    n_read, n_failed, before, began = 0, 0, None, time.monotonic()
    for number in numbers:
        if time.monotonic() - began > seconds:
            break
        failures = read_mutant(number, seed, originals, path)
        n_read, n_failed = n_read + 1, n_failed + bool(failures)
        print(*failures, sep="\n", end="", flush=True)
        if n_read == WARM:
            before = peak_nbytes()
        elif before is not None and peak_nbytes() - before > MAX_GROWTH:
            print(f"mutant {number} of seed {seed}: the process takes {peak_nbytes() >> 20} MiB")
            n_failed, before = n_failed + 1, peak_nbytes()
    return n_read, n_failed


if __name__ == "__main__":
    sys.exit(main())
