"""``CompImageHDU``: astropy's HDU of a compressed image, read lazily through the steps of this package."""

from __future__ import annotations

import copy
import functools
import operator
import warnings
import weakref
from dataclasses import dataclass, replace

import numpy as np
from astropy.io import fits
from astropy.io.fits.hdu.base import DELAYED
from astropy.io.fits.verify import _ErrList

from ..codecs import engine as engines
from ..encode import NotEncodableError
from ..errors import HeaderError, TileCompError, TileCompWarning
from ..read import DEFAULT_CACHE_BYTES, TileReader, checked_on_error
from ..sources import ByteSource
from ..threads import ForkSafeLock, thread_count
from ..tiling.cards import CARD_SIZE
from ..tiling.params import CompressionParams
from ..tiling.shapes import default_tile_shape
from ..tiling.values import HeaderValues
from ..write import params_for
from .astropy_errors import with_cfitsio_words
from .astropy_files import data_unit, header_of, open_table, portable_table, rewritten
from .astropy_pixels import Storage, choose_storage, has_offset, scale_in
from .astropy_repr import html_of, line_of
from .astropy_section import TileSection
from .astropy_write import Original, encoded_table, give_rows, with_header

__all__ = ["CompImageHDU", "ReadOptions"]

_ASTROPY_HDU = fits.CompImageHDU  # whatever is in its place later
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

    def __post_init__(self):
        checked_on_error(self.on_error)
        thread_count(self.threads, 0)
        if self.engine is not None:
            engines.choose(self.engine)


@dataclass(frozen=True)
class _Opening:
    """What an HDU from a file was opened with, until its header is converted."""

    name: str | None
    do_not_scale_image_data: bool
    uint: bool
    scale_back: bool | None


class CompImageHDU(_ASTROPY_HDU):
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
    lossless : bool
        Keep floats to the bit; by default they are quantized.  Without a `compression_type` they then go through GZIP_2.
    hcomp_noise_scale : float, optional
        HCOMPRESS_1: scale as a multiple of the noise in each tile, as cfitsio has it.  `hcomp_scale` is the scale itself.

    Notes
    -----
    Written to a file, an image whose pixels did not change keeps its compressed bytes, whatever was done to its header; of
    one that changed in places, the other tiles keep theirs.  Encoding is done in `threads` by `engine`.

    The header of an HDU from a file is converted to that of an image when `header`, or anything that depends on it, is
    asked for the first time; `name`, `ver`, `shape`, `section` and `data` do without.  A header that breaks the format
    raises `HeaderError` then, not when the file is opened.
    """

    _opening = None  # an _Opening as long as astropy's own attributes are missing
    _is_scaling = False

    def __init__(
        self, data=None, header=None, name=None, compression_type=None, tile_shape=None, hcomp_scale=0,
        hcomp_smooth=0, quantize_level=16.0, quantize_method=_NO_DITHER, dither_seed=0, do_not_scale_image_data=False,
        uint=True, scale_back=None, bintable=None, *, threads=None, engine=None, on_error="raise",
        fill_value=0, cache_bytes=DEFAULT_CACHE_BYTES, max_nbytes=None,
        lossless=False, hcomp_noise_scale=None,
    ):
        self.__dict__.update(
            _lock=ForkSafeLock(),
            _options=self.__dict__.get("_options")
            or ReadOptions(threads, engine, on_error, fill_value, cache_bytes, max_nbytes),
            _scaling=(do_not_scale_image_data, uint),
            _bintable=bintable,
            _reader=None,
            _section=None,
            _settings_read=None,
            _tmp_bintable=None,
            _tile_shape_asked=_checked_tile_shape(tile_shape),
            _algorithm_asked=compression_type is not None,
            _data_are_stored=False,
            hcomp_noise_scale=hcomp_noise_scale,
        )
        if bintable is None:
            if hcomp_scale > 0:
                _warn_of_absolute_scale()
            if lossless:
                quantize_level = _lossless_level(hcomp_scale, hcomp_noise_scale)
            if compression_type is None:
                compression_type = "GZIP_2" if lossless and _is_float(data) else "RICE_1"
            without_shape = "RICE_1" if data is None else compression_type  # astropy asks for the axes that HCOMPRESS_1 is to have
            super().__init__(
                data, header, name, without_shape, _tile_shape_for(data, tile_shape, compression_type), hcomp_scale,
                hcomp_smooth, quantize_level, quantize_method, dither_seed, do_not_scale_image_data, uint, scale_back,
            )
            self.__dict__["_data_are_stored"] = do_not_scale_image_data
            self.compression_type = compression_type
            if data is None and tile_shape is not None:
                self.tile_shape = self._tile_shape_asked
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
        if self._opening is not None and name not in self.__dict__ and name != "_file":  # that one belongs to the table
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
            CompressionParams.from_header(self._table_header)  # says in our words what is wrong with it, if anything is
        header = self._bintable_to_image_header()
        _count_as_unchanged(header)
        told = {name: self.__dict__[name] for name in _TOLD_BY_THE_LIST if name in self.__dict__}
        fits.ImageHDU.__init__(
            self, DELAYED, header, opening.name, opening.do_not_scale_image_data, opening.uint, opening.scale_back
        )
        self.__dict__.update(told)
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
        self.__dict__["_settings_read"] = self._settings
        if "data" in self.__dict__:
            self._take_scale_out()

    def _bintable_to_image_header(self):
        header = self._bintable.header
        if "EXTNAME" not in header or header.count("EXTNAME") < 2:
            return super()._bintable_to_image_header()
        self._bintable.header = header.copy()  # astropy takes the needless names out of it
        try:
            return super()._bintable_to_image_header()
        finally:
            self._bintable.header = header

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
        if reader is None:
            with self._lock:
                reader = self.__dict__["_reader"] = self._reader or self._open_reader()
        return reader

    def _open_reader(self, scaled=None):
        do_not_scale, uint = self._scaling
        scaled = not do_not_scale if scaled is None else scaled
        return TileReader(data_unit(self._bintable), self._table_header, scaled=scaled, unsigned=uint, **vars(self._options))

    def _drop_reader(self):
        self.__dict__["_reader"] = None

    def _forget_tiles(self):
        """Give up the decoded tiles that are kept; they are decoded again when they are needed."""
        if self._reader is not None:
            self._reader.drop_cache()

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
                self.__dict__["_data_are_stored"] = self._scaling[0]
                if self._opening is None or self._tile_reader.params.scaled:
                    self._take_scale_out()
        return self.__dict__["data"]

    @data.setter
    def data(self, data):
        if self._opening is not None:
            self._convert()
        if data is not None and self.__dict__.get("data") is data:
            return
        replaces = self._bintable is not None or self.__dict__.get("data") is not None
        self._fit_tiles(np.shape(data))
        try:
            _ASTROPY_HDU.data.fset(self, data)
        except KeyError as error:  # astropy looks for its BITPIX
            raise TypeError(f"FITS has no image of type {error.args[0]}") from None
        original = self._original() if self._scaling[0] and data is not None else None
        self.__dict__["_data_are_stored"] = original is not None and self.data.dtype.newbyteorder("=") == original.dtype
        if replaces and not self._data_are_stored and not self._is_scaling:
            self._forget_scale()

    def _forget_scale(self):
        """Take the cards of the pixels that were replaced out of the header."""
        offset = self.data is not None and has_offset(self.data.dtype)
        for keyword in ("BLANK", *(() if offset else ("BSCALE", "BZERO"))):
            self.header.remove(keyword, ignore_missing=True, remove_all=True)

    def _fit_tiles(self, shape: tuple[int, ...]) -> None:
        """Give new pixels the tile shape that was asked for, or one that HCOMPRESS_1 can have."""
        if not shape or not hasattr(self, "tile_shape"):
            return
        if self._tile_shape_asked is not None and len(self._tile_shape_asked) == len(shape):
            self.tile_shape = self._tile_shape_asked
        elif self._bintable is None and self.compression_type == "HCOMPRESS_1" and len(shape) > 1:
            self.tile_shape = default_tile_shape(shape, self.compression_type)

    def _take_scale_out(self):
        """Make the header that of the scaled data, as astropy does; it does not count as changed by that."""
        was_changed = self.header._modified
        self._update_header_scale_info(self.__dict__["data"].dtype)
        if not was_changed:
            _count_as_unchanged(self.header)

    # Showing.

    def __repr__(self):
        return line_of(self, "CompImageHDU")

    def _repr_html_(self):
        return html_of(self, "CompImageHDU")

    # Writing.

    def replace_pixels(self, index, values) -> None:
        """
        Replace pixels; what ``section[index] = values`` does.

        Parameters
        ----------
        index : numpy index
            As of a section.
        values : array_like
            The new pixels, of the type that a section returns; they broadcast against it.

        Raises
        ------
        ValueError
            If the pixels are on disk, and not in a local file that `open` has open with mode "update".
        NotEncodableError
            If the algorithm cannot hold the pixels.

        Notes
        -----
        Once `data` was loaded, it is changed in memory.  Else the tiles that hold the pixels, and no others, are encoded and
        written at once; the file is valid at every moment.  Replaced tiles leave gaps, which `repack` closes.
        """
        if self._bintable is None or "data" in self.__dict__:
            self.data[index] = values
            return
        from ..inplace import replace_pixels

        same = self._opening is not None or self._settings == self._settings_read
        level = None if same else self.quantize_level
        do_not_scale, _ = self._scaling
        options = {"quantize_level": level, "threads": self._options.threads, "engine": self._options.engine}
        options["scaled"] = not do_not_scale
        self._edit_file(lambda path, number: replace_pixels(path, index, values, hdu=number, **options))

    def repack(self) -> None:
        """
        Close the gaps that replaced tiles left in the file.

        Raises
        ------
        ValueError
            As `replace_pixels`.
        """
        from ..inplace import repack

        self._edit_file(lambda path, number: repack(path, hdu=number))

    def _edit_file(self, change) -> None:
        from .astropy_update import list_of

        list_of(self).edit(self, change)

    def _take_table(self, table) -> None:
        """Go on with what stands in the file now."""
        _leave_heap_alone(table)
        self.__dict__["_bintable"] = table
        self._drop_reader()

    @property
    def _settings(self) -> tuple:
        """How the image is to be compressed."""
        return (
            self.compression_type, tuple(self.tile_shape), self.hcomp_scale, self.hcomp_noise_scale, self.hcomp_smooth,
            self.quantize_level, self.quantize_method, self.dither_seed,
        )

    def _prewriteto(self, inplace=False):
        table = self._table_to_write()
        if inplace and self._bintable is None and "data" in table.__dict__:
            self.__dict__["_bintable"] = table  # from now on this HDU is in the file that is updated
        elif inplace and self._bintable is not None and table is not self._bintable:
            if "data" in table.__dict__ or not table.header["NAXIS2"]:
                give_rows(self._bintable, table.header, table.__dict__.get("data"))
            else:
                self._bintable.header = table.header
            table = self._bintable
        if inplace and self._opening is None:
            self.__dict__["_settings_read"] = self._settings
        self.__dict__["_tmp_bintable"] = table
        if "_output_checksum" in self.__dict__:
            table._output_checksum = self._output_checksum
        n_blank = table.header._countblanks()
        table._prewriteto(inplace=inplace)
        for _ in range(n_blank - table.header._countblanks()):  # checksums have taken the place of blank cards
            table.header.append()

    def _verify(self, option="warn"):
        try:
            self._convert()
        except TileCompError:  # told to those who ask for the pixels or the header
            return _ErrList([], unit="Card")
        return super()._verify(option)

    def _writeto(self, fileobj, inplace=False, copy=False):
        return self._tmp_bintable._writeto(fileobj, inplace=inplace, copy=copy)

    def _postwriteto(self):
        super()._postwriteto()
        self._drop_reader()
        if self._bintable is not None:
            self._bintable._new = False

    def _table_to_write(self) -> fits.BinTableHDU:
        """The table to write: that of the file, if only its header changed; with new tiles where pixels changed."""
        if self._opening is not None and not self._data_loaded:
            return self._bintable
        data, original = self.__dict__.get("data", self), self._original()
        if self._bintable is None or data is None:
            return self._encoded_table(self.data)
        if original is None or self._settings != self._settings_read:
            return self._encoded_table(self._stored_pixels() if data is self else data)
        if data is self:
            return self._with_edited_header(None) if self.header._modified else self._bintable
        view = self._view_of(original)
        if view is None:
            return self._encoded_table(data)
        changed = view.changed_tiles(data)
        if not changed.any():
            return self._with_edited_header(self._meaning_of(view)) if self.header._modified else self._bintable
        if not view.holds(data, changed) or self._scale_back:
            return self._encoded_table(data)
        return self._mixed_table(data, view, changed)

    def _original(self) -> TileReader | None:
        """What reads the image in the file; None if there is none."""
        if self._bintable is None or self._is_empty or (self._bintable._file is not None and self._bintable._file.closed):
            return None
        return self._tile_reader

    def _view_of(self, reader: TileReader) -> Original | None:
        """The image in the file as the pixels in memory show it; None where they have another shape or type."""
        reader = self._open_reader(scaled=False) if self._data_are_stored else reader
        if self.data.shape != reader.shape or self.data.dtype.newbyteorder("=") != reader.result_dtype:
            return None
        read = reader.read if self._data_are_stored else self.section.read_from_file
        return Original(reader, self._table_header, data_unit(self._bintable), read, scaled=not self._data_are_stored)

    def _meaning_of(self, view: Original) -> CompressionParams | None:
        """What stored pixels mean; None where the cards of the header tell, which loading the data takes out of it."""
        cards_tell = self._data_are_stored or (self.data.dtype.kind in "iu" and not has_offset(self.data.dtype))
        return None if cards_tell else view.params

    def _stored_pixels(self) -> np.ndarray | None:
        """The pixels in the file, to be stored with other settings under the same scale."""
        if self._is_empty:
            return None
        self.__dict__["_data_are_stored"] = True
        return self._open_reader(scaled=False).read()

    def _with_edited_header(self, meaning: CompressionParams | None) -> fits.BinTableHDU:
        """The table of the file under the header that the image has now."""
        table = copy.copy(self._bintable)
        table.header = with_header(self._bintable.header, self.header, meaning)
        return table

    def _mixed_table(self, data, view: Original, changed: np.ndarray) -> fits.BinTableHDU:
        """The table of the file with new tiles where pixels changed."""
        header = with_header(self._bintable.header, self.header, self._meaning_of(view))
        params = replace(CompressionParams.from_header(header), hcomp_scale=self._encoder_scale(view))
        return self._encoded(data, params, table=self._without_stale_sums(header), original=view, changed=changed)

    def _encoded_table(self, data) -> fits.BinTableHDU:
        """The table of all pixels, encoded; of an HDU without data, its header alone."""
        if data is None:
            return self._get_bintable_without_data()
        storage = self._storage(data)
        params = params_for(
            np.shape(data), storage.pixels.dtype, algorithm=storage.algorithm, tile_shape=self.tile_shape,
            lossless=storage.lossless and storage.pixels.dtype.kind == "f", quantize_method=self.quantize_method,
            dither_seed=self._seed(storage), hcomp_scale=self._encoder_scale(None), hcomp_smooth=self.hcomp_smooth, style="astropy",
        )
        if params.offset_dtype is None:
            params = replace(params, bscale=storage.bscale, bzero=storage.bzero)
        params = replace(params, blank=storage.blank)
        return self._encoded(storage.pixels, params, image=self._without_stale_sums(self.header))

    def _encoded(self, data, params, **how) -> fits.BinTableHDU:
        options = {"threads": self._options.threads, "engine": self._options.engine}
        try:
            return encoded_table(data, params, quantize_level=self.quantize_level, **how, **options)
        except NotEncodableError as error:
            raise with_cfitsio_words(error, self.compression_type) from None

    def _storage(self, data) -> Storage:
        """How all pixels are stored: see `choose_storage`."""
        if self._data_are_stored:
            return Storage(data, self.compression_type, data.dtype.kind != "f" or self._keeps_floats, **scale_in(self.header, data.dtype))
        reader, old = self._original(), None
        if reader is not None and reader.params.zbitpix > 0 and reader.result_dtype.kind == "f":
            old = reader.params
        asked = self._algorithm_asked if reader is None else self._settings != self._settings_read
        return choose_storage(
            data, self.header, self.compression_type, lossless=self._keeps_floats, asked=asked, old=old,
            rounded=bool(self._scale_back) and old is not None,
        )

    @property
    def _keeps_floats(self) -> bool:
        """Whether floats are stored without loss: none were quantized in the file, and nobody asked for it since."""
        reader = self._original()
        if reader is None or self._settings_read is None or self._settings != self._settings_read:
            return self.quantize_level == 0
        return not reader.params.quantized

    def _seed(self, storage: Storage) -> int:
        """ZDITHER0 for pixels that are dithered."""
        return self._generate_dither_seed(self.dither_seed) if self.quantize_method > 0 and not storage.lossless else 1

    def _without_stale_sums(self, header: fits.Header) -> fits.Header:
        """The header without the sums of pixels that are not its own any more."""
        name, other = ("ZDATASUM", "ZHECKSUM") if "ZDATASUM" in header else ("DATASUM", "CHECKSUM")
        if name in header and str(header[name]).strip() != str(self._calculate_datasum()):
            header = header.copy()
            del header[name]
            header.remove(other, ignore_missing=True)
        return header

    def _encoder_scale(self, original) -> float:
        """The scale of HCOMPRESS_1 as the encoder counts it: times the noise, or minus the scale itself."""
        if self.compression_type != "HCOMPRESS_1":
            return 0.0
        if self.hcomp_noise_scale is not None:
            return float(self.hcomp_noise_scale)
        return -float(max(0, int(self.hcomp_scale) if original is None else original.hcompress_scale()))

    def _scale_internal(self, *arguments, **options):
        self.__dict__["_is_scaling"] = True  # astropy assigns the array several times while it sets the cards
        try:
            super()._scale_internal(*arguments, **options)
        finally:
            self.__dict__["_is_scaling"] = False
        self.__dict__["_data_are_stored"] = True

    def copy(self) -> CompImageHDU:
        """A copy of the HDU with a header and pixels of its own, which is written as this one is."""
        return copy.deepcopy(self)

    def _close(self, closed=True):
        self._drop_reader()
        return super()._close(closed=closed)

    # Pickling: the file is opened again from its source, whatever astropy made of the HDU goes along.

    def __reduce__(self):
        state = {name: value for name, value in self.__dict__.items() if name not in _OF_THIS_PROCESS}
        if self._bintable is None:
            return _restore, (type(self), state, None, 0)
        return _restore, (type(self), state, *portable_table(self._bintable))


_TOLD_BY_THE_LIST = ("_new", "_output_checksum")
_OF_THIS_PROCESS = {"_lock", "_reader", "_section", "_bintable", "_tmp_bintable"}


def _restore(cls, state: dict, source: ByteSource | None, header_offset: int) -> CompImageHDU:
    """Rebuild a pickled HDU."""
    hdu = cls.__new__(cls)
    table = None if source is None else open_table(source, header_offset)
    hdu.__dict__.update(state, _lock=ForkSafeLock(), _reader=None, _section=None, _bintable=table, _tmp_bintable=None)
    if table is not None:
        _leave_heap_alone(table)
    return hdu


def _count_as_unchanged(header: fits.Header) -> None:
    """Take what a header says by now for what it always said."""
    header._modified = False
    for card in header._cards:
        if card._modified:
            str(card)  # makes its text anew, which is not done once it does not count as modified
            card._modified = False


def _leave_heap_alone(bintable) -> None:
    """Keep astropy from loading the tiles of a table, or moving them, when it writes it."""
    bintable._load_variable_length_data = False
    bintable._manages_own_heap = True
    bintable._new = False


def _checked_tile_shape(tile_shape) -> tuple[int, ...] | None:
    """The tile shape that was asked for, as integers."""
    return None if tile_shape is None else tuple(operator.index(size) for size in tile_shape)


def _tile_shape_for(data, tile_shape, algorithm: str):
    """The tile shape to hand to astropy, whose own defaults fail for axes of no pixels and for some of HCOMPRESS_1."""
    if data is None:
        return None  # it would hold the one that was asked for against no axes
    shape = np.shape(data)
    if tile_shape is not None or not shape or not (0 in shape or algorithm == "HCOMPRESS_1"):
        return tile_shape
    return default_tile_shape(shape, algorithm)


def _is_float(data) -> bool:
    return data is not None and getattr(data, "dtype", np.dtype("f8")).kind == "f"


@functools.cache  # once is enough
def _warn_of_absolute_scale() -> None:
    message = (
        "hcomp_scale is the scale itself, as astropy has always taken it, though its documentation says times the noise; "
        "for that there is hcomp_noise_scale"
    )
    warnings.warn(message, TileCompWarning, stacklevel=4)


def _lossless_level(hcomp_scale, hcomp_noise_scale) -> float:
    """The quantize_level that means lossless."""
    if hcomp_scale > 0 or hcomp_noise_scale:
        raise ValueError("lossless, and an HCOMPRESS scale, which is lossy: choose one")
    return 0.0


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
