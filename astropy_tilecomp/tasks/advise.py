"""Which compression suits an image: candidates tried on its own pixels, and one of them recommended, with reasons."""

from __future__ import annotations

import io
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log1p

import numpy as np

from ..encode import NotEncodableError, encode
from ..errors import HeaderError
from ..hdus import FoundHDU, read_hdu
from ..keywords import DEFAULT_QUANTIZE_LEVEL
from ..read.reader import reader_for
from ..read.table_rows import read_table
from ..sources.base import ByteSource
from ..sources.local import BufferSource
from ..threads import counted
from ..tiling.params import CompressionParams
from ..tiling.table import TileTable
from ..write.cards import image_cards
from ..write.hdu_builder import TileSpool
from ..write.params import params_for
from .cutout_cost import CutoutCost, cutout_cost
from .sample import MAX_PIXELS, sample_of
from .tile_maps import estimate_noise

__all__ = ["Advice", "Candidate", "advise"]

TILE_SHAPES = ("row", (64, 64), (128, 128), (256, 256), (512, 512))
QUANTIZE_LEVELS = (2.0, 4.0, 16.0)
SIZE_TOLERANCE = 1.10
"""A recommended candidate is at most so many times as large as the smallest one that qualifies."""

CUTOUT_TOLERANCE = 1.10
"""Its cutouts cost at most so many times the bytes of the cheapest of these."""

CUTOUT_PLACES = tuple((y, x) for y in (0.07, 0.41, 0.83) for x in (0.07, 0.41, 0.83))
"""Where cutouts are taken to see what they cost, in parts of the image's size."""

N_TIMES = 3
"""Times that writing and reading are timed; the shortest counts."""

MASK_RUNS = 0.5
"""An image of integers may be a mask, which PLIO_1 is for, if more pixels than this part equal their neighbour."""


@dataclass(frozen=True)
class Candidate:
    """
    One way to compress the image, as measured.

    Attributes
    ----------
    algorithm : str
        ZCMPTYPE.
    tile_shape : tuple of int
        C order.
    quantize_level : float or None
        Steps in one standard deviation of the noise; None where nothing is quantized.
    nbytes : int
        Table and heap of the sample.
    ratio, bits_per_pixel : float
        How many times as large the sample is, and bits for each of its pixels.
    write_speed, read_speed : float
        Megabytes of pixels in a second.
    cutout : CutoutCost or None
        What a box of 200 x 200 pixels costs, the mean of nine places; None for images of one axis.
    rms_error, max_error : float
        How far pixels that are read are from those that were written.
    loss : float
        `rms_error` in standard deviations of the noise; NaN where the noise is not known and pixels changed.
    """

    algorithm: str
    tile_shape: tuple[int, ...]
    quantize_level: float | None
    nbytes: int
    ratio: float
    bits_per_pixel: float
    write_speed: float
    read_speed: float
    cutout: CutoutCost | None
    rms_error: float
    max_error: float
    loss: float

    @property
    def lossless(self) -> bool:
        """Whether every pixel came back."""
        return self.max_error == 0

    @property
    def settings(self) -> dict:
        """What `write_image` and `pack` take to do the same."""
        level = {"lossless": True} if self.quantize_level is None else {"quantize_level": self.quantize_level}
        return {"algorithm": self.algorithm, "tile_shape": self.tile_shape} | level


@dataclass(frozen=True)
class Advice:
    """
    What was tried, and what is best.

    Attributes
    ----------
    name : str
        What the image is called.
    shape, sample_shape : tuple of int
        Of the image, and of the part of it that was compressed.
    dtype : str
        Type of the pixels.
    noise : float
        Standard deviation of the noise of the sample; NaN if it cannot be told.
    candidates : tuple of Candidate
        In the order in which they were tried.
    refused : tuple of str
        What could not be tried, and why.
    best : Candidate
        The recommended one.
    reason : str
        Why.
    """

    name: str
    shape: tuple[int, ...]
    sample_shape: tuple[int, ...]
    dtype: str
    noise: float
    candidates: tuple[Candidate, ...]
    refused: tuple[str, ...]
    best: Candidate
    reason: str

    @property
    def loses(self) -> str:
        """What the recommended candidate loses, in words."""
        best = self.best
        if best.lossless:
            return "nothing: every pixel comes back to the bit"
        growth = 100 * np.expm1(0.5 * log1p(best.loss**2))
        return (
            f"pixels change by {best.rms_error:.3g} (rms) and {best.max_error:.3g} at most, which is {best.loss:.3f} of the"
            f" noise of {self.noise:.3g} and makes it {growth:.2f} % larger"
        )


def advise(image, *, hdu=None, algorithms: Sequence[str] | None = None, tile_shapes: Sequence | None = None,
           quantize_levels: Sequence[float] | None = None, max_loss: float = 0.1, max_pixels: int = MAX_PIXELS,
           threads: int | None = None, on_progress: Callable[[int, int], None] | None = None) -> Advice:
    """
    Try compressions on an image and recommend one.

    Parameters
    ----------
    image : ndarray, path, URL, file object or anything else that `as_source` takes
        The pixels, or a FITS file with a plain or compressed image.
    hdu : int, str or (str, int), optional
        Which HDU of a file; by default the first with an image.
    algorithms : sequence of str, optional
        By default RICE_1, HCOMPRESS_1 and GZIP_2, and PLIO_1 for what may be a mask.
    tile_shapes : sequence of tuple of int or "row", optional
        C order; by default rows, and squares of 64 to 512 pixels.
    quantize_levels : sequence of float, optional
        For floats; by default 2, 4 and 16 steps in one standard deviation of the noise. GZIP_2 is tried without loss besides.
    max_loss : float
        What may be recommended changes pixels by no more than so many standard deviations of the noise (rms); 0 for nothing.
    max_pixels, threads : int, optional
        Pixels to try it on, from the middle of the image; threads to use at most.
    on_progress : callable, optional
        Called with the candidates that are done and all of them.

    Returns
    -------
    Advice

    Raises
    ------
    HeaderError, CorruptTileError
        If the file has no such image, nothing that was asked for can hold it, or a tile of it is damaged.

    Notes
    -----
    Of the candidates that lose little enough, those are kept that are at most a tenth larger than the smallest; of these
    those whose cutouts cost at most a tenth more than the cheapest; the one of them that is read fastest is recommended.

    Examples
    --------
    >>> import astropy_tilecomp as tc
    >>> advice = tc.advise("panoptes_solved.fits.fz", algorithms=["RICE_1"])
    >>> len(advice.candidates), advice.best.lossless
    (5, True)
    """
    name, shape, sample = sample_of(image, hdu, max_pixels)
    noise = estimate_noise(sample)
    todo = _plans(sample, algorithms, tile_shapes, quantize_levels)
    candidates: list[Candidate] = []
    refused: list[str] = []
    for found in counted((_try(sample, plan, noise, threads) for plan in todo), len(todo), on_progress):
        if isinstance(found, str):
            refused.append(found)
        elif not any(_same_way(found, other) for other in candidates):
            candidates.append(found)
    if not candidates:
        raise HeaderError(f"{name}: nothing that was tried can hold this image: " + "; ".join(dict.fromkeys(refused)))
    best, reason = _recommend(candidates, max_loss)
    return Advice(name, shape, sample.shape, str(sample.dtype), noise, tuple(candidates), tuple(refused), best, reason)


def _try(sample: np.ndarray, plan: tuple, noise: float, threads) -> Candidate | str:
    """What an algorithm makes of the sample, or why it cannot hold it."""
    algorithm, tile_shape, level = plan
    try:
        return _measure(sample, algorithm, tile_shape, level, noise, threads)
    except (HeaderError, NotEncodableError) as error:
        return f"{algorithm}, tiles {tile_shape}: {error}"


def _same_way(one: Candidate, other: Candidate) -> bool:
    """Whether two tile shapes came out as the same one, clipped to the image."""
    keys = ("algorithm", "tile_shape", "quantize_level")
    return all(getattr(one, key) == getattr(other, key) for key in keys)


def _plans(sample: np.ndarray, algorithms, tile_shapes, levels) -> list[tuple]:
    """Algorithm, tile shape and level of everything to try."""
    is_float = sample.dtype.kind == "f"
    if algorithms is None:
        algorithms = ["RICE_1", "HCOMPRESS_1", "GZIP_2"] if sample.ndim > 1 else ["RICE_1", "GZIP_2"]
        if sample.dtype.itemsize == 8 and not is_float:
            algorithms = ["GZIP_2"]
        elif not is_float and _may_be_mask(sample):
            algorithms.append("PLIO_1")
    shapes = TILE_SHAPES if tile_shapes is None else tile_shapes
    if not is_float:
        return list(itertools.product(algorithms, shapes, [None]))
    levels = QUANTIZE_LEVELS if levels is None else levels
    plans = [(name, shape, level) for name in algorithms for shape in shapes for level in levels if name[:4] != "GZIP" or level is None]
    return plans + [(name, shape, None) for name in algorithms if name[:4] == "GZIP" for shape in shapes]


def _may_be_mask(sample: np.ndarray) -> bool:
    """Whether PLIO_1 can hold the pixels, and most of them equal their neighbour."""
    holds = sample.min() >= 0 and sample.max() < 1 << 24
    return bool(holds and sample.shape[-1] > 1 and np.mean(sample[..., 1:] == sample[..., :-1]) > MASK_RUNS)


def _measure(sample: np.ndarray, algorithm: str, tile_shape, level: float | None, noise: float, threads) -> Candidate:
    """Compress the sample, read it back, and see what that took and what is left."""
    params = params_for(sample.shape, sample.dtype, algorithm=algorithm, tile_shape=_full_shape(tile_shape, sample.ndim),
                        lossless=level is None)
    step = DEFAULT_QUANTIZE_LEVEL if level is None else level  # without quantization it does not count
    pieces, write_time = _timed(lambda: list(encode(sample, params, threads=threads, quantize_level=step)))
    source, found = _as_file(sample, params, pieces)
    params, table = read_table(source, found)
    reader = reader_for(found, source, cache_bytes=0, threads=threads)
    out = np.zeros(sample.shape, reader.result_dtype)
    _, read_time = _timed(lambda: reader.read(out=out))
    rms, largest = _errors(sample, out)
    nbytes, megabytes = table.layout.data_nbytes, sample.nbytes / 1e6
    return Candidate(
        algorithm, params.tile_shape, level, nbytes, sample.nbytes / nbytes, 8 * nbytes / sample.size, megabytes / write_time,
        megabytes / read_time, _mean_cost(params, table) if sample.ndim > 1 else None, rms, largest,
        rms / noise if noise > 0 else 0.0 if rms == 0 else float("nan"),
    )


def _timed(work: Callable):
    """What some work gives, and the seconds that it takes."""
    times = []
    for _ in range(N_TIMES):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return result, min(times)


def _mean_cost(params: CompressionParams, table: TileTable) -> CutoutCost:
    """The cost of a cutout, the mean of some places."""
    costs = [cutout_cost(params, table, place=place) for place in CUTOUT_PLACES]
    means = (round(sum(getattr(cost, name) for cost in costs) / len(costs)) for name in ("n_tiles", "nbytes", "n_requests"))
    return CutoutCost(costs[0].shape, *means)


def _full_shape(tile_shape, ndim: int) -> tuple[int, ...] | None:
    """A tile shape for all axes of an image; None where it is the usual one of the algorithm."""
    if isinstance(tile_shape, str):
        if tile_shape != "row":
            raise ValueError(f"a tile shape is {tile_shape!r}, expected 'row' or a tuple")
        return None
    return (*(1,) * (ndim - len(tile_shape)), *tile_shape)[-ndim:]


def _as_file(sample: np.ndarray, params: CompressionParams, pieces) -> tuple[ByteSource, FoundHDU]:
    """The HDU that the tiles make, in memory."""
    spool, file = TileSpool(params), io.BytesIO()
    for piece in pieces:
        spool.add(piece)
    spool.write_hdu(file, image_cards(None, params))
    spool.close()
    source = BufferSource(file.getvalue())
    return source, read_hdu(source)


def _errors(sample: np.ndarray, out: np.ndarray) -> tuple[float, float]:
    """Root mean square and largest of the differences; pixels that are undefined on both sides do not differ."""
    if out.tobytes() == sample.tobytes():
        return 0.0, 0.0
    with np.errstate(invalid="ignore"):
        difference = np.abs(out.astype("f8") - sample.astype("f8"))
    difference[(np.isnan(out) & np.isnan(sample)) | (out == sample)] = 0
    return float(np.sqrt(np.mean(difference**2))), float(difference.max())


def _recommend(candidates: list[Candidate], max_loss: float) -> tuple[Candidate, str]:
    """The best candidate, and why."""
    fit = [each for each in candidates if each.lossless or each.loss <= max_loss]
    if not fit:
        best = min(candidates, key=lambda each: each.rms_error)
        return best, f"nothing that was tried loses {max_loss} of the noise or less; this loses least"
    smallest = min(each.nbytes for each in fit)
    small = [each for each in fit if each.nbytes <= SIZE_TOLERANCE * smallest]
    cheapest = min(_cutout_nbytes(each) for each in small)
    cheap = [each for each in small if _cutout_nbytes(each) <= CUTOUT_TOLERANCE * cheapest]
    best = max(cheap, key=lambda each: each.read_speed)
    return best, (
        f"{len(fit)} of {len(candidates)} lose {max_loss} of the noise or less; {len(small)} of these are at most"
        f" {SIZE_TOLERANCE} times as large as the smallest; {len(cheap)} of these have cutouts that cost at most"
        f" {CUTOUT_TOLERANCE} times the bytes of the cheapest; this one is read fastest"
    )


def _cutout_nbytes(candidate: Candidate) -> int:
    return candidate.cutout.nbytes if candidate.cutout is not None else 0
