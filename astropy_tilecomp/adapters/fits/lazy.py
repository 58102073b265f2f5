"""An HDU whose header is converted to that of an image when it is asked for; until then it knows what the table says."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from astropy.io import fits
from astropy.io.fits.hdu.base import DELAYED

from ...errors import HeaderError, TileCompError, header_errors_at
from ...keywords import DEFAULT_QUANTIZE_LEVEL
from ...read.reader import TileReader
from ...tiling.cards import CARD_SIZE, cards_of
from ...tiling.params import CompressionParams
from ...tiling.to_image import table_to_image
from ...tiling.values import HeaderValues
from .sources import data_unit, header_of, whole_file

__all__ = ["NO_DITHER", "LazyHDU", "Opening", "count_as_unchanged"]

_ASTROPY_HDU: Any = fits.CompImageHDU  # whatever is in its place later
_DITHER_NUMBERS = {"SUBTRACTIVE_DITHER_1": 1, "SUBTRACTIVE_DITHER_2": 2}
_TOLD_BY_THE_LIST = ("_new", "_output_checksum")
_TAKEN_FOR_THE_TABLE = re.compile(r"ZMASKCMP|T(UNIT|NULL|DISP|BCOL|DIM|CTYP|CUNI|CRPX|CRVL|CDLT|RPOS)\d+")
NO_DITHER = -1


@dataclass(frozen=True)
class Opening:
    """What an HDU from a file was opened with, until its header is converted."""

    name: str | None
    do_not_scale_image_data: bool
    uint: bool
    scale_back: bool | None


class LazyHDU(_ASTROPY_HDU):
    """The part of `CompImageHDU` that makes astropy's attributes when the first of them is read or set, and reads the file."""

    _opening = None  # an Opening as long as astropy's own attributes are missing

    def __getattr__(self, name):
        if name.startswith("__") or "_lock" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        with self._lock:  # waits for another thread that is converting
            if self._opening is not None:
                self._convert()
            return object.__getattribute__(self, name)

    def __setattr__(self, name, value):
        if self._opening is not None and name not in self.__dict__ and name != "_file":  # that one belongs to the table
            self._convert()
        super().__setattr__(name, value)

    def __dir__(self):
        if self._opening is not None:
            with suppress(TileCompError):  # of a header that breaks the format: without the names that astropy adds
                self._convert()
        return super().__dir__()

    def _convert(self):
        """Make this the HDU that astropy knows, with the header of the image; if that fails, nothing has happened."""
        with self._lock:
            opening, before = self._opening, set(self.__dict__)
            if opening is None:
                return
            self.__dict__["_opening"] = None
            try:
                self._become_image_hdu(opening)
            except BaseException as error:
                for name in set(self.__dict__) - before:
                    del self.__dict__[name]
                self.__dict__["_opening"] = opening
                if isinstance(error, Exception) and not isinstance(error, TileCompError):
                    raise HeaderError(f"the header of the image cannot be made: {error!r}") from error
                raise

    def _become_image_hdu(self, opening):
        if not self._is_empty:
            CompressionParams.from_header(self._table_header)  # says in our words what is wrong with it, if anything is
        header = self._bintable_to_image_header()
        count_as_unchanged(header)
        told = {name: self.__dict__[name] for name in _TOLD_BY_THE_LIST if name in self.__dict__}
        fits.ImageHDU.__init__(
            self, DELAYED, header, opening.name, opening.do_not_scale_image_data, opening.uint, opening.scale_back
        )
        self.__dict__.update({"_output_checksum": False} | told)  # the CHECKSUM of the image does not ask for one of the table
        if self._ignore_blank:
            self._blank = None
        table = self._bintable.header
        self.compression_type = table["ZCMPTYPE"]
        self.tile_shape = tuple(
            table.get(f"ZTILE{axis}", table[f"ZNAXIS{axis}"] if axis == 1 else 1) for axis in range(table["ZNAXIS"], 0, -1)
        )
        self.hcomp_scale = int(_setting(table, "SCALE", 0))
        self.hcomp_smooth = _setting(table, "SMOOTH", 0)
        self.quantize_level = _setting(table, "NOISEBIT", DEFAULT_QUANTIZE_LEVEL)
        self.quantize_method = _DITHER_NUMBERS.get(table.get("ZQUANTIZ"), NO_DITHER)
        self.dither_seed = table.get("ZDITHER0", 0)
        self.__dict__["_settings_read"] = self._settings
        self._settings_given.clear()
        if "data" in self.__dict__:
            self._take_scale_out()

    def _bintable_to_image_header(self):
        """The header of the image as astropy has it, with the cards that astropy takes for those of the table."""
        table = self._bintable.header
        if "EXTNAME" in table and table.count("EXTNAME") > 1:
            self._bintable.header = table.copy()  # astropy takes the needless names out of it
        try:
            header = super()._bintable_to_image_header()
        finally:
            self._bintable.header = table
        if any(map(_TAKEN_FOR_THE_TABLE.fullmatch, table)):
            _give_back(header, table_to_image(cards_of(table)))
        return header

    # What can be told without it.

    @property
    def _table_header(self):
        """Keyword to value of the table."""
        return header_of(self._bintable)

    @property
    def name(self):
        """EXTNAME, or COMPRESSED_IMAGE."""
        if self._opening is None or self._opening.name:
            return _ASTROPY_HDU.name.fget(self)
        text = self._bintable.__dict__.get("_header_str")
        if text is None or _n_cards(text, "EXTNAME") > 1:  # astropy decides which one counts
            return _ASTROPY_HDU.name.fget(self)
        return str(self._table_header.get("EXTNAME", self._default_name))

    @name.setter
    def name(self, value):
        _ASTROPY_HDU.name.fset(self, value)

    @property
    def ver(self):
        """EXTVER, or 1."""
        return _ASTROPY_HDU.ver.fget(self) if self._opening is None else self._table_header.get("EXTVER", 1)

    @ver.setter
    def ver(self, value):
        _ASTROPY_HDU.ver.fset(self, value)

    @property
    def is_image(self):
        return True

    @property
    def shape(self):
        """Shape of the image, C order."""
        if self._opening is None:
            return _ASTROPY_HDU.shape.fget(self)
        return () if self._is_empty else self._tile_reader.shape

    @property
    def _is_empty(self) -> bool:
        """Whether the HDU has no image at all, as astropy writes it for data=None."""
        return HeaderValues(self._table_header).integer("ZNAXIS", 1) == 0

    # Reading.

    @property
    def _tile_reader(self) -> TileReader:
        """What reads the tiles of the file."""
        file = self._bintable._file
        if file is not None and file.closed:
            raise ValueError(f"{file.name}: read of a closed file")
        reader = self._reader
        if reader is None or self._source_is_forgotten:
            with self._lock:
                if self._reader is None or self._source_is_forgotten:
                    self.__dict__.update(_reader=self._open_reader(), _source_read=whole_file(self._bintable))
                reader = self._reader
        return reader

    @property
    def _source_is_forgotten(self) -> bool:
        """Whether the file was written to since the reader was made."""
        file = self._bintable._file
        return file is not None and file.__dict__.get("_tilecomp_source") is not self._source_read

    def _open_reader(self, scaled=None):
        do_not_scale, uint = self._scaling
        scaled = not do_not_scale if scaled is None else scaled
        source, header = data_unit(self._bintable), self._table_header
        with header_errors_at(source.name, header.get("EXTNAME", f"at byte {self._bintable._header_offset}")):
            return TileReader(
                source, header, scaled=scaled, unsigned=uint, ignore_blank=self._ignore_blank, **vars(self._options)
            )

    def _drop_reader(self):
        self.__dict__["_reader"] = None

    def _forget_tiles(self):
        """Give up the decoded tiles that are kept; they are decoded again when they are needed."""
        if self._reader is not None:
            self._reader.drop_cache()


def _give_back(header: fits.Header, image_cards: list[str]) -> None:
    """Put cards of the image, which astropy took for those of the table, where they stood."""
    before = None
    for card in map(fits.Card.fromstring, image_cards):
        if card.keyword not in header and _TAKEN_FOR_THE_TABLE.fullmatch(card.keyword):
            place: dict[str, str] = {} if before is None or before not in header else {"after": before}
            header.set(card.keyword, card.value, card.comment, **place)
        before = card.keyword


def count_as_unchanged(header: fits.Header) -> None:
    """Take what a header says by now for what it always said."""
    header._modified = False
    for card in header._cards:
        if card._modified:
            str(card)  # makes its text anew, which is not done once it does not count as modified
            card._modified = False


def _setting(header, name, default):
    """The value beside the ZNAMEi that is `name`."""
    number = 1
    while f"ZNAME{number}" in header:
        if str(header[f"ZNAME{number}"]).upper() == name:
            return header.get(f"ZVAL{number}", default)
        number += 1
    return default


def _n_cards(text: str, keyword: str) -> int:
    """How many cards of a header have a keyword."""
    start, count = f"{keyword:8}=", 0
    at = text.find(start)
    while at >= 0:
        count += at % CARD_SIZE == 0
        at = text.find(start, at + 1)
    return count
