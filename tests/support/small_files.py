"""
Small compressed images made byte by byte, without this package: what a writer could have written, legal or not.

The encoders are the simplest that the format allows, not good ones.
"""

import gzip
import itertools
from dataclasses import dataclass, field

import numpy as np

BLOCK = 2880


def tile_boxes(shape, tile):
    """The slices of every tile, in the order of the table: the last axis runs fastest."""
    starts = itertools.product(*(range(0, length, size) for length, size in zip(shape, tile, strict=True)))
    return [tuple(slice(a, min(a + t, n)) for a, t, n in zip(at, tile, shape, strict=True)) for at in starts]


def card(keyword, value):
    """One header card of 80 bytes; long strings go on in CONTINUE cards, None makes a commentary card."""
    if isinstance(value, bool):
        text = f"{'T' if value else 'F':>20}"
    elif isinstance(value, str):
        if len(value) > 68:
            return card(keyword, value[:67] + "&") + f"CONTINUE  '{value[67:]:<8}'".ljust(80)
        text = f"'{value:<8}'"
    else:
        text = f"{value!r:>20}"
    if keyword in ("COMMENT", "HISTORY"):
        return f"{keyword} {value}".ljust(80)
    if len(keyword) > 8:
        return f"HIERARCH {keyword} = {text.strip()}".ljust(80)
    return f"{keyword:<8}= {text}".ljust(80)


def header_bytes(cards):
    """A header of whole blocks from (keyword, value) pairs."""
    text = "".join(card(*pair) for pair in cards) + "END"
    return text.ljust(-(-len(text) // BLOCK) * BLOCK).encode()


PRIMARY = header_bytes([("SIMPLE", True), ("BITPIX", 8), ("NAXIS", 0), ("EXTEND", True)])


def gzip_1(pixels, dtype):
    """GZIP_1: the big-endian pixels in one gzip member."""
    return gzip.compress(np.ascontiguousarray(pixels, np.dtype(dtype).newbyteorder(">")).tobytes(), mtime=0)


def rice_1(pixels, bytepix, blocksize=32):
    """RICE_1 in which every block is stored plainly: the code after the largest, then the folded differences."""
    code_bits, code, width = {1: (3, 7, 8), 2: (4, 15, 16), 4: (5, 26, 32)}[bytepix]
    values = [int(value) % (1 << width) for value in np.ravel(pixels)]
    bits = f"{values[0]:0{width}b}"
    for start in range(0, len(values), blocksize):
        bits += f"{code:0{code_bits}b}"
        for n in range(start, min(start + blocksize, len(values))):
            difference = (values[n] - values[max(n - 1, 0)]) % (1 << width)
            is_negative = difference >= 1 << (width - 1)
            folded = 2 * ((1 << width) - difference) - 1 if is_negative else 2 * difference
            bits += f"{folded:0{width}b}"
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


def plio_1(pixels):
    """PLIO_1 with one or three words for each pixel: a zero, or "set the level" and one pixel of it."""
    words = []
    for value in map(int, np.ravel(pixels)):
        words += [0x1000 | value & 0xFFF, value >> 12, 0x4001] if value else [0x0001]
    length = 7 + len(words)
    return np.array([0, 7, -100 % 65536, length % 32768, length // 32768, 0, 0, *words], ">u2").tobytes()


def dither(row, zdither0, n_pixels):
    """The random numbers of the standard (appendix I) for one tile; rows count from 0."""
    randoms, seed = [], 1
    for _ in range(10000):
        seed = 16807 * seed % 2147483647
        randoms.append(seed / 2147483647)
    randoms = np.array(randoms, "f4")
    first = (row + zdither0 - 1) % 10000
    at, numbers = int(randoms[first] * np.float32(500)), []
    for _ in range(n_pixels):
        numbers.append(randoms[at])
        at += 1
        if at == 10000:
            first = (first + 1) % 10000
            at = int(randoms[first] * np.float32(500))
    return np.array(numbers, "f8")


@dataclass
class CompressedImage:
    """
    The parts of a compressed image, to be changed before it is written.

    Parameters
    ----------
    shape, tile : tuple of int
        In C order.
    bitpix : int
        ZBITPIX.
    algorithm : str
        ZCMPTYPE.
    cards : list of (str, value)
        More cards, behind those that describe the image.
    """

    shape: tuple
    tile: tuple
    bitpix: int
    algorithm: str
    cards: list = field(default_factory=list)
    columns: dict = field(default_factory=dict)
    heap: bytes = b""
    gap: int = 0
    heap_nbytes: int | None = None
    n_rows: int | None = None

    def boxes(self):
        """The slices of every tile."""
        return tile_boxes(self.shape, self.tile)

    def add_tiles(self, streams, *, column="COMPRESSED_DATA", form="1PB", element=1):
        """Append streams to the heap and their descriptors to a column; None leaves a tile's descriptor empty."""
        descriptors = []
        for stream in streams:
            descriptors.append((len(stream) // element, len(self.heap)) if stream is not None else (0, 0))
            self.heap += stream or b""
        self.set_descriptors(descriptors, column=column, form=form)
        return self

    def set_descriptors(self, descriptors, *, column="COMPRESSED_DATA", form="1PB"):
        """Set (count, offset) pairs of a column outright."""
        kind = ">i8" if "Q" in form else ">u4" if np.max(descriptors, initial=0) > 2**31 else ">i4"
        self.columns[column] = form, np.array(descriptors, kind).reshape(-1, 2)
        return self

    def add_column(self, name, values, form="1D", kind=">f8"):
        """Add a column with one number for each tile."""
        self.columns[name] = form, np.array(values, kind).reshape(-1, 1)
        return self

    def table_bytes(self):
        """The rows of the main table."""
        return b"".join(
            b"".join(values[row].tobytes() for _, values in self.columns.values())
            for row in range(len(next(iter(self.columns.values()))[1]))
        )

    def header_cards(self):
        """All cards of the table's header."""
        table = self.table_bytes()
        n_rows = len(next(iter(self.columns.values()))[1])
        width = sum(values[:1].nbytes or 8 for _, values in self.columns.values())
        axes = range(1, len(self.shape) + 1)
        return [
            ("XTENSION", "BINTABLE"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", width),
            ("NAXIS2", n_rows if self.n_rows is None else self.n_rows),
            ("PCOUNT", self.gap + (len(self.heap) if self.heap_nbytes is None else self.heap_nbytes)),
            ("GCOUNT", 1), ("TFIELDS", len(self.columns)),
            *itertools.chain.from_iterable(
                ((f"TTYPE{n}", name), (f"TFORM{n}", form)) for n, (name, (form, _)) in enumerate(self.columns.items(), 1)
            ),
            *([("THEAP", len(table) + self.gap)] if self.gap else []),
            ("ZIMAGE", True), ("ZCMPTYPE", self.algorithm), ("ZBITPIX", self.bitpix), ("ZNAXIS", len(self.shape)),
            *((f"ZNAXIS{n}", self.shape[-n]) for n in axes),
            *((f"ZTILE{n}", self.tile[-n]) for n in axes),
            *self.cards,
        ]

    def hdu_bytes(self, leave_out=()):
        """The whole extension; cards whose keyword starts with one of `leave_out` are left out."""
        cards = [pair for pair in self.header_cards() if not pair[0].startswith(tuple(leave_out) or "\n")]
        data = self.table_bytes() + bytes(self.gap) + self.heap
        return header_bytes(cards) + data + bytes(-len(data) % BLOCK)

    def write(self, path, leave_out=()):
        """Write an empty primary HDU and this extension; gives the path."""
        path.write_bytes(PRIMARY + self.hdu_bytes(leave_out))
        return path


def gzipped(pixels, tile, *, bitpix=None, cards=()):
    """A `CompressedImage` in which every tile of an array is a GZIP_1 stream."""
    bitpix = bitpix or {"u1": 8, "i2": 16, "i4": 32, "f4": -32, "f8": -64}[pixels.dtype.str[1:]]
    image = CompressedImage(pixels.shape, tile, bitpix, "GZIP_1", list(cards))
    return image.add_tiles([gzip_1(pixels[box], pixels.dtype) for box in image.boxes()])


def rice_cards(bytepix, blocksize=32):
    """The parameters of RICE_1."""
    return [("ZNAME1", "BLOCKSIZE"), ("ZVAL1", blocksize), ("ZNAME2", "BYTEPIX"), ("ZVAL2", bytepix)]
