"""
A plain model of a file under edits: what each HDU must show, as numpy arrays and dictionaries, and how a file is checked against it.

The model knows nothing of compression. Pixels that were assigned come back exactly, or within half a ZSCALE where the image is
quantized and its tile was touched since it was last read from a file.
"""

import warnings
from dataclasses import dataclass, field

import numpy as np
from astropy.io import fits

import astropy_tilecomp as tc
from support import needs

fitsio = needs.module("fitsio")

EXACT = np.longdouble  # holds all 64-bit integers and all doubles
ROUNDING = 1e-4        # of float32 arithmetic on pixels around 1000


class Mismatch(AssertionError):
    """A file or an HDU does not show what the model has."""


@dataclass
class ModelHDU:
    """
    What one HDU must show.

    Attributes
    ----------
    kind : {"packed", "plain", "table"}
    pixels : ndarray or None
        Physical values of an image; the rows of a table.
    cards : dict
        Keyword to value of the cards that were written by the sequence.
    history : list of str
    quantized : bool
        Whether touched pixels may come back within half a ZSCALE.
    touched : ndarray of bool
        Pixels of tiles that were changed since they were read from a file.
    sums : bool
        Whether the HDU has CHECKSUM and DATASUM.
    """

    kind: str
    pixels: np.ndarray | None
    cards: dict = field(default_factory=dict)
    history: list = field(default_factory=list)
    quantized: bool = False
    touched: np.ndarray | None = None
    sums: bool = False

    def __post_init__(self):
        if self.touched is None and self.pixels is not None:
            self.touched = np.ones(self.pixels.shape, bool)

    def copy(self):
        """An independent copy."""
        return ModelHDU(self.kind, self.pixels.copy(), dict(self.cards), list(self.history), self.quantized, self.touched.copy(), self.sums)

    def assign(self, pixels):
        """Replace all pixels."""
        self.pixels, self.touched = pixels.copy(), np.ones(pixels.shape, bool)

    def edit(self, box, value, tile_shape):
        """Set the pixels of a box of an image with tiles of a shape."""
        self.pixels[box] = value
        outer = tuple(
            slice(part.start // size * size, -(-part.stop // size) * size) for part, size in zip(box, tile_shape, strict=True)
        )
        self.touched[outer] = True


def require(condition, what):
    """Raise Mismatch unless a condition holds."""
    if not condition:
        raise Mismatch(what)


def largest_zscale(path, number):
    """The largest ZSCALE of a compressed image; 0 where it is not quantized."""
    with fits.open(path, disable_image_compression=True) as hdul:
        table = hdul[number]
        steps = table.data["ZSCALE"] if "ZSCALE" in table.data.names else table.header.get("ZSCALE", 0)
        return float(np.max(steps, initial=0))


def require_pixels(got, model, step, what):
    """Check pixels that were read: exact where no tile was touched or nothing is quantized, else within half a step."""
    require(got is not None, f"{what}: no pixels")
    require(got.shape == model.pixels.shape, f"{what}: shape {got.shape}, expected {model.pixels.shape}")
    want = model.pixels
    if model.quantized and step:
        near = np.isclose(got.astype("f8"), want.astype("f8"), rtol=0, atol=step * 0.501 + ROUNDING, equal_nan=True)
        exact = (got.astype(EXACT) == want.astype(EXACT)) | (np.isnan(got.astype("f8")) & np.isnan(want.astype("f8")))
        wrong = ~np.where(model.touched, near, exact)
    else:
        wrong = ~((got.astype(EXACT) == want.astype(EXACT)) | (np.isnan(got.astype(EXACT)) & np.isnan(want.astype(EXACT))))
    if wrong.any():
        at = tuple(int(n) for n in np.argwhere(wrong)[0])
        raise Mismatch(f"{what}: {int(wrong.sum())} of {wrong.size} pixels differ; at {at} {got[at]!r}, expected {want[at]!r}"
                       f" ({got.dtype}, model {want.dtype}, step {step})")
    if want.dtype.kind in "iu" and got.dtype.kind in "iu":
        require(got.dtype.newbyteorder("=") == want.dtype.newbyteorder("="), f"{what}: type {got.dtype}, expected {want.dtype}")


def require_cards(header, model, what):
    """Check the cards and the HISTORY of an image; astropy takes some of a compressed one for those of a table."""
    for keyword, value in model.cards.items():
        if keyword.startswith("TUNIT") and model.kind == "packed" and what.startswith("astropy"):
            continue
        require(keyword in header, f"{what}: {keyword} is lost")
        require(header[keyword] == value, f"{what}: {keyword} is {header[keyword]!r}, expected {value!r}")
    found = [str(line) for line in header.get("HISTORY", [])]
    require(found == model.history, f"{what}: HISTORY is {found}, expected {model.history}")


def check_file(path, models):
    """
    Check a file against its model: by this package, astropy and fitsio, and the sums.

    Raises
    ------
    Mismatch
        With what differs.
    """
    steps = [largest_zscale(path, n) if model.kind == "packed" else 0 for n, model in enumerate(models, 1)]
    for name, open_file in (("tc.open", tc.open), ("astropy", fits.open)):
        with open_file(path) as hdul:
            require(len(hdul) == len(models) + 1, f"{name}: {len(hdul)} HDUs, expected {len(models) + 1}")
            for number, (model, step) in enumerate(zip(models, steps, strict=True), 1):
                _check_hdu(hdul[number], model, step, f"{name}, HDU {number}")
    for number, (model, step) in enumerate(zip(models, steps, strict=True), 1):
        if model.kind == "packed":
            require_pixels(tc.read_image(path, hdu=number), model, step, f"read_image, HDU {number}")
    _check_fitsio(path, models, steps)
    _check_sums(path, models)


def _check_hdu(hdu, model, step, what):
    if model.kind == "table":
        require(hdu.data.tobytes() == model.pixels.tobytes(), f"{what}: other rows")
        return
    require(isinstance(hdu, fits.CompImageHDU) == (model.kind == "packed"), f"{what}: is {type(hdu).__name__}")
    require_cards(hdu.header, model, what)
    require_pixels(hdu.data, model, step, what)
    require_cards(hdu.header, model, f"{what}, after data")
    size = [hdu.header[f"NAXIS{axis}"] for axis in range(hdu.header["NAXIS"], 0, -1)]
    require(tuple(size) == model.pixels.shape, f"{what}: NAXISn {size}")


def _check_fitsio(path, models, steps):
    """What fitsio reads; left out is what it does not know: BLANK as NaN, 64-bit and signed 8-bit integers, NOCOMPRESS."""
    with fits.open(path, disable_image_compression=True) as hdul:
        headers = [hdu.header for hdu in hdul][1:]
    with fitsio.FITS(str(path)) as file:
        require(len(file) == len(models) + 1, f"fitsio: {len(file)} HDUs")
        for number, (model, step, raw) in enumerate(zip(models, steps, headers, strict=True), 1):
            if model.kind == "table":
                continue
            header = file[number].read_header()
            for keyword in model.cards:
                require(keyword.upper() in header, f"fitsio, HDU {number}: {keyword} is lost")
            bitpix = raw.get("ZBITPIX", raw["BITPIX"])
            odd = bitpix == 64 or "BLANK" in raw or raw.get("ZCMPTYPE") == "NOCOMPRESS" or model.pixels.dtype == np.int8
            if not odd and model.pixels.size:
                require_pixels(file[number].read(), model, step * 1.001, f"fitsio, HDU {number}")


def _check_sums(path, models):
    """Sums that are there are right, and those that were there still are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with fits.open(path, checksum=True, disable_image_compression=True) as hdul:
            for hdu, model in zip(hdul[1:], models, strict=True):
                stale = hdu._checksum_valid in (0, False) or hdu._datasum_valid in (0, False)
                require(not stale or model.kind == "plain", f"sums: those of {hdu.name} are stale")  # astropy's own of plain ones
            kept = [{"CHECKSUM", "DATASUM"} <= set(hdu.header) for hdu in hdul][1:]
    for number, (model, has_sums) in enumerate(zip(models, kept, strict=True), 1):
        require(has_sums or not model.sums, f"sums of HDU {number} were dropped")
    report = tc.verify(path)
    for model, verdict in zip(models, report.hdus[1:], strict=True):
        require(verdict.good or model.kind == "plain", f"tc.verify: {verdict}")
