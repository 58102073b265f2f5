"""``CompImageHDU``: astropy's HDU of a compressed image, read lazily through the steps of this package."""

from __future__ import annotations

import threading
import weakref
from dataclasses import asdict, dataclass

import numpy as np
from astropy.io import fits
from astropy.io.fits.hdu.base import DELAYED

from ..errors import HeaderError, TileCompError
from ..read import DEFAULT_CACHE_BYTES, TileReader
from ..sources import ByteSource
from ..tiling.cards import CARD_SIZE, read_cards
from .astropy_files import data_unit, open_table, rewritten, whole_file
from .astropy_section import TileSection

__all__ = ["CompImageHDU", "ReadOptions"]

_DITHER_NUMBERS = {"SUBTRACTIVE_DITHER_1": 1, "SUBTRACTIVE_DITHER_2": 2}
_NO_DITHER = -1


@dataclass(frozen=True)
class ReadOptions:
    """How an HDU reads: see `CompImageHDU`."""

    threads: int | None = None
    engine: str | None = None
    on_error: str = "raise"
    fill_value: float = 0
    cache_bytes: int = DEFAULT_CACHE_BYTES
    max_nbytes: int | None = None


@dataclass(frozen=True)
class _Opening:
    """What an HDU from a file was opened with, until its header is converted."""

    name: str | None
    do_not_scale_image_data: bool
    uint: bool
    scale_back: bool | None


class CompImageHDU(fits.CompImageHDU):
    """
    A compressed image.

    Parameters
    ----------
    data, header, name, compression_type, tile_shape, hcomp_scale, hcomp_smooth, quantize_level, quantize_method, \
dither_seed, do_not_scale_image_data, uint, scale_back, bintable
        As in `astropy.io.fits.CompImageHDU`.
    threads : int, optional
        Threads to read with at most; by default as many as there are cores.
    engine : {"kernel", "cfitsio"}, optional
        What decodes; by default ASTROPY_TILECOMP_ENGINE, else "kernel".
    on_error : {"raise", "fill"}
        What to do about damaged tiles: raise, or fill them and list them in `damaged_tiles`.
    fill_value : int
        What fills the damaged tiles of integer images without BLANK; elsewhere it is NaN, or BLANK.
    cache_bytes : int
        Size of the cache of decoded tiles; 0 turns it off.
    max_nbytes : int, optional
        Largest array to allocate; by default ASTROPY_TILECOMP_MAX_NBYTES, else half of the memory.

    Notes
    -----
    The header of an HDU from a file is converted to that of an image when `header`, or anything that depends on it, is
    asked for the first time; `name`, `ver`, `shape`, `section` and `data` do without.  A header that breaks the format
    raises `HeaderError` then, not when the file is opened.
    """

    _opening = None  # an _Opening as long as astropy's own attributes are missing

    def __init__(
        self, data=None, header=None, name=None, compression_type="RICE_1", tile_shape=None, hcomp_scale=0,
        hcomp_smooth=0, quantize_level=16.0, quantize_method=_NO_DITHER, dither_seed=0, do_not_scale_image_data=False,
        uint=True, scale_back=None, bintable=None, *, threads=None, engine=None, on_error="raise",
        fill_value=0, cache_bytes=DEFAULT_CACHE_BYTES, max_nbytes=None,
    ):
        self.__dict__.update(
            _lock=threading.RLock(),
            _options=self.__dict__.get("_options")
            or ReadOptions(threads, engine, on_error, fill_value, cache_bytes, max_nbytes),
            _scaling=(do_not_scale_image_data, uint),
            _bintable=bintable,
            _reader=None,
            _section=None,
        )
        if bintable is None:
            super().__init__(
                data, header, name, compression_type, tile_shape, hcomp_scale, hcomp_smooth, quantize_level,
                quantize_method, dither_seed, do_not_scale_image_data, uint, scale_back,
            )
            return
        if bintable._file is None and bintable._buffer is None:
            bintable = self.__dict__["_bintable"] = rewritten(bintable)
        _leave_heap_alone(bintable)
        self.__dict__["_opening"] = _Opening(name, do_not_scale_image_data, uint, scale_back)

    # Astropy's own attributes come into being when the first of them is read or set.

    def __getattr__(self, name):
        if name.startswith("__") or "_lock" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        with self._lock:  # waits for another thread that is converting
            if self._opening is not None:
                self._convert()
            return object.__getattribute__(self, name)

    def __setattr__(self, name, value):
        if self._opening is not None and name not in self.__dict__:
            self._convert()
        super().__setattr__(name, value)

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
            self._tile_reader  # noqa: B018  (says in our words what is wrong with the header, if anything is)
        header = self._bintable_to_image_header()
        header._modified = False
        for card in header._cards:
            card._modified = False
        fits.ImageHDU.__init__(
            self, DELAYED, header, opening.name, opening.do_not_scale_image_data, opening.uint, opening.scale_back
        )
        table = self._bintable.header
        self.compression_type = table["ZCMPTYPE"]
        self.tile_shape = tuple(
            table.get(f"ZTILE{axis}", table[f"ZNAXIS{axis}"] if axis == 1 else 1) for axis in range(table["ZNAXIS"], 0, -1)
        )
        self.hcomp_scale = int(_setting(table, "SCALE", 0))
        self.hcomp_smooth = _setting(table, "SMOOTH", 0)
        self.quantize_level = _setting(table, "NOISEBIT", 16.0)
        self.quantize_method = _DITHER_NUMBERS.get(table.get("ZQUANTIZ"), _NO_DITHER)
        self.dither_seed = table.get("ZDITHER0", 0)
        if "data" in self.__dict__:
            self._update_header_scale_info(self.__dict__["data"].dtype)

    # What can be told without it.

    @property
    def _table_header(self):
        """Keyword to value of the table; parsed by astropy only where somebody already made it do so."""
        text = self._bintable.__dict__.get("_header_str")
        return self._bintable.header if text is None else read_cards(text.encode("latin-1"))

    @property
    def name(self):
        """EXTNAME, or COMPRESSED_IMAGE."""
        if self._opening is None or self._opening.name:
            return fits.CompImageHDU.name.fget(self)
        text = self._bintable.__dict__.get("_header_str")
        if text is None or _n_cards(text, "EXTNAME") > 1:  # astropy decides which one counts
            return fits.CompImageHDU.name.fget(self)
        return str(self._table_header.get("EXTNAME", self._default_name))

    @name.setter
    def name(self, value):
        fits.CompImageHDU.name.fset(self, value)

    @property
    def ver(self):
        """EXTVER, or 1."""
        return fits.CompImageHDU.ver.fget(self) if self._opening is None else self._table_header.get("EXTVER", 1)

    @ver.setter
    def ver(self, value):
        fits.CompImageHDU.ver.fset(self, value)

    @property
    def is_image(self):
        return True

    @property
    def shape(self):
        """Shape of the image, C order."""
        if self._opening is None:
            return fits.CompImageHDU.shape.fget(self)
        return () if self._is_empty else self._tile_reader.shape

    @property
    def _is_empty(self) -> bool:
        """Whether the HDU has no image at all, as astropy writes it for data=None."""
        return self._table_header.get("ZNAXIS") == 0

    # Reading.

    @property
    def _tile_reader(self) -> TileReader:
        """What reads the tiles of the file."""
        file = self._bintable._file
        if file is not None and file.closed:
            raise ValueError(f"{file.name}: read of a closed file")
        reader = self._reader
        if reader is None:
            with self._lock:
                reader = self.__dict__["_reader"] = self._reader or self._open_reader()
        return reader

    def _open_reader(self):
        do_not_scale, uint = self._scaling
        return TileReader(
            data_unit(self._bintable), self._table_header, scaled=uint and not do_not_scale, **asdict(self._options)
        )

    def _drop_reader(self):
        self.__dict__["_reader"] = None

    @property
    def _scaled_by_astropy(self) -> bool:
        """Whether astropy's code scales what the reader gives: only where uint=False makes floats of integers."""
        do_not_scale, uint = self._scaling
        return not do_not_scale and not uint

    @property
    def section(self) -> TileSection:
        """
        The image as something to index: reads the tiles that are needed, and no others.

        Returns
        -------
        TileSection
            The same object as long as somebody has it.
        """
        section = self._section and self._section()
        if section is None:
            section = TileSection(self)
            self.__dict__["_section"] = weakref.ref(section)
        return section

    @property
    def damaged_tiles(self) -> list:
        """The tiles that were filled because they could not be decoded, with their places and reasons."""
        return [] if self._bintable is None else self._tile_reader.damaged_tiles

    @property
    def data(self) -> np.ndarray | None:
        """
        The whole image, decoded when it is first asked for and kept.

        Raises
        ------
        HeaderError, CorruptTileError
            As `section`.
        """
        if "data" in self.__dict__:
            return self.__dict__["data"]
        if self._bintable is None or self._is_empty:
            return None
        with self._lock:
            if "data" not in self.__dict__:
                data = self.section.read()
                self.__dict__["data"] = data
                if self._opening is None or self._tile_reader.params.scaled:
                    self._update_header_scale_info(data.dtype)
        return self.__dict__["data"]

    @data.setter
    def data(self, data):
        if self._opening is not None:
            self._convert()
        fits.CompImageHDU.data.fset(self, data)

    def _postwriteto(self):
        super()._postwriteto()
        self._drop_reader()

    def _close(self, closed=True):
        self._drop_reader()
        return super()._close(closed=closed)

    # Pickling: the file is opened again from its source, whatever astropy made of the HDU goes along.

    def __reduce__(self):
        state = {name: value for name, value in self.__dict__.items() if name not in _OF_THIS_PROCESS}
        if self._bintable is None:
            return _restore, (type(self), state, None, 0)
        return _restore, (type(self), state, whole_file(self._bintable), self._bintable._header_offset)


_OF_THIS_PROCESS = {"_lock", "_reader", "_section", "_bintable", "_tmp_bintable"}


def _restore(cls, state: dict, source: ByteSource | None, header_offset: int) -> CompImageHDU:
    """Rebuild a pickled HDU."""
    hdu = cls.__new__(cls)
    table = None if source is None else open_table(source, header_offset)
    hdu.__dict__.update(state, _lock=threading.RLock(), _reader=None, _section=None, _bintable=table, _tmp_bintable=None)
    if table is not None:
        _leave_heap_alone(table)
    return hdu


def _leave_heap_alone(bintable) -> None:
    """Keep astropy from loading the tiles of a table, or moving them, when it writes it."""
    bintable._load_variable_length_data = False
    bintable._manages_own_heap = True
    bintable._new = False


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
