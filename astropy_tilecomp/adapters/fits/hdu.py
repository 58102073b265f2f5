"""``CompImageHDU``: astropy's HDU of a compressed image, read lazily through the steps of this package."""

from __future__ import annotations

import copy
import weakref
from typing import Any

import numpy as np

from ...codecs.buffers import unmasked
from ...keywords import DEFAULT_QUANTIZE_LEVEL
from ...read.cache import DEFAULT_CACHE_BYTES
from ...sources.base import ByteSource
from ...threads import ForkSafeLock
from .lazy import NO_DITHER, Opening, count_as_unchanged
from .options import (
    ReadOptions,
    checked_tile_shape,
    fitting_tile_shape,
    given_settings,
    is_float,
    lossless_level,
    tile_shape_for,
    warn_of_absolute_scale,
)
from .pixels import exactly_stored, has_offset, nearest_stored, of_type
from .repr import format_line, html_of
from .section import TileSection
from .sources import list_of, open_table, portable_table, rewritten
from .stored import StoredHDU

__all__ = ["CompImageHDU", "ReadOptions"]


class CompImageHDU(StoredHDU):
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
    ignore_blank : bool
        Leave integers that are equal to BLANK as they are; by default such images become floats with NaN.

    Notes
    -----
    Written to a file, an image whose pixels did not change keeps its compressed bytes, whatever was done to its header; of
    one that changed in places, the other tiles keep theirs.  Encoding is done in `threads` by `engine`.

    The header of an HDU from a file is converted to that of an image when `header`, or anything that depends on it, is
    asked for the first time; `name`, `ver`, `shape`, `section` and `data` do without.  A header that breaks the format
    raises `HeaderError` then, not when the file is opened.
    """

    def __init__(
        self, data=None, header=None, name=None, compression_type=None, tile_shape=None, hcomp_scale=0,
        hcomp_smooth=0, quantize_level=DEFAULT_QUANTIZE_LEVEL, quantize_method=NO_DITHER, dither_seed=0, do_not_scale_image_data=False,
        uint=True, scale_back=None, bintable=None, *, threads=None, engine=None, on_error="raise",
        fill_value=0, cache_bytes=DEFAULT_CACHE_BYTES, max_nbytes=None,
        lossless=False, hcomp_noise_scale=None, ignore_blank=False,
    ):
        self.__dict__.update(
            _lock=ForkSafeLock(),
            _options=self.__dict__.get("_options")
            or ReadOptions(threads, engine, on_error, fill_value, cache_bytes, max_nbytes),
            _scaling=(do_not_scale_image_data, uint),
            _ignore_blank=ignore_blank,
            _bintable=bintable,
            _reader=None,
            _section=None,
            _settings_read=None,
            _tmp_bintable=None,
            _tile_shape_asked=checked_tile_shape(tile_shape),
            _settings_given=set(),
            _data_are_stored=False,
            hcomp_noise_scale=hcomp_noise_scale,
        )
        if bintable is None:
            if hcomp_scale > 0:
                warn_of_absolute_scale()
            if lossless:
                quantize_level = lossless_level(hcomp_scale, hcomp_noise_scale)
            given = given_settings(
                compression_type, quantize_level=quantize_level, quantize_method=quantize_method, dither_seed=dither_seed,
                hcomp_scale=hcomp_scale, hcomp_noise_scale=hcomp_noise_scale,
            )
            if compression_type is None:
                compression_type = "GZIP_2" if lossless and is_float(data) else "RICE_1"
            without_shape = "RICE_1" if data is None else compression_type  # astropy asks for the axes that HCOMPRESS_1 is to have
            super().__init__(
                data, header, name, without_shape, tile_shape_for(data, tile_shape, compression_type), hcomp_scale,
                hcomp_smooth, quantize_level, quantize_method, dither_seed, do_not_scale_image_data, uint, scale_back,
            )
            self.__dict__["_data_are_stored"] = do_not_scale_image_data
            self.compression_type = compression_type
            self.__dict__["_settings_given"] = given
            if data is None and tile_shape is not None:
                self.tile_shape = self._tile_shape_asked
            return
        if bintable._file is None and bintable._buffer is None:
            bintable = self.__dict__["_bintable"] = rewritten(bintable)
        _leave_heap_alone(bintable)
        self.__dict__["_opening"] = Opening(name, do_not_scale_image_data, uint, scale_back)

    # Reading.

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
    def data(self) -> Any:
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
        old = self.__dict__.get("data")
        replaces = self._bintable is not None or old is not None
        if self._bintable is None and old is not None and old.dtype.kind in "iu" and not self._is_scaling:
            self.__dict__["_replaced_integers"] = True
        self._fit_tiles(np.shape(data))
        try:
            StoredHDU.data.fset(self, data)
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
        """Give new pixels the tile shape that was asked for, or one that the algorithm can have."""
        if shape and hasattr(self, "tile_shape"):
            known = self.tile_shape if self._bintable is not None else None
            self.tile_shape = fitting_tile_shape(shape, self._tile_shape_asked, known, self.compression_type)

    def _take_scale_out(self):
        """Make the header that of the scaled data, as astropy does; it does not count as changed by that."""
        was_changed = self.header._modified
        self._update_header_scale_info(self.__dict__["data"].dtype)
        if not was_changed:
            count_as_unchanged(self.header)

    # Showing.

    def __repr__(self):
        return format_line(self, "CompImageHDU")

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
            If the pixels are on disk, and not in a local file that `open` has open with mode "update"; if they are integers
            that cannot be the new ones.
        NotEncodableError
            If the algorithm cannot hold the pixels.

        Notes
        -----
        Once `data` was loaded, it is changed in memory; so it is where scaled pixels cannot hold the values.  Else the tiles
        that hold the pixels, and no others, are encoded and written at once; the file is valid at every moment.  Replaced tiles
        leave gaps, which `repack` closes.
        """
        from ...tasks.edit import replace_pixels

        if self._bintable is None or "data" in self.__dict__ or not self._stays_as_stored(values):
            self.data[index] = of_type(values, self.data.dtype, rounded=bool(self._scale_back))
            return
        same = self._opening is not None or self._settings == self._settings_read
        level = None if same else self.quantize_level
        do_not_scale, _ = self._scaling
        options = {"quantize_level": level, "threads": self._options.threads, "engine": self._options.engine}
        options |= {"scaled": not do_not_scale, "rounded": bool(self._scale_back)}
        self._edit_file(lambda path, number: replace_pixels(path, index, values, hdu=number, **options))

    def _stays_as_stored(self, values) -> bool:
        """Whether values can be written to the file as pixels of the type that is stored there."""
        list_of(self)  # raises where nothing can be written
        params = self._tile_reader.params
        if self._scaling[0] or params.result_dtype.kind != "f":
            return True
        stored = nearest_stored if self._scale_back else exactly_stored
        return stored(unmasked(values).astype(params.result_dtype), params) is not None

    def repack(self) -> None:
        """
        Close the gaps that replaced tiles left in the file.

        Raises
        ------
        ValueError
            As `replace_pixels`.
        """
        from ...tasks.edit import repack

        self._edit_file(lambda path, number: repack(path, hdu=number))

    def _edit_file(self, change) -> None:
        list_of(self).edit(self, change)

    def _take_table(self, table) -> None:
        """Go on with what stands in the file now."""
        _leave_heap_alone(table)
        self.__dict__["_bintable"] = table
        self._drop_reader()

    def copy(self) -> CompImageHDU:
        """A copy of the HDU with a header and pixels of its own, which is written as this one is."""
        return copy.deepcopy(self)

    def _close(self, closed=True):
        self._drop_reader()
        return super()._close(closed=closed)

    # Pickling: the file is opened again from its source, whatever astropy made of the HDU goes along.

    def __reduce__(self):
        state = {name: value for name, value in self.__dict__.items() if name not in _OF_THIS_PROCESS}
        was_edited = "_header" in state and state["_header"]._modified  # which copies of a header do not know
        if self._bintable is None:
            return _restore, (type(self), state, None, 0, was_edited)
        return _restore, (type(self), state, *portable_table(self._bintable), was_edited)


_OF_THIS_PROCESS = {"_lock", "_reader", "_section", "_source_read", "_bintable", "_tmp_bintable"}


def _restore(cls, state: dict, source: ByteSource | None, header_offset: int, was_edited: bool) -> CompImageHDU:
    """Rebuild a pickled HDU."""
    hdu = cls.__new__(cls)
    table = None if source is None else open_table(source, header_offset)
    hdu.__dict__.update(state, _lock=ForkSafeLock(), _reader=None, _section=None, _bintable=table, _tmp_bintable=None)
    if table is not None:
        _leave_heap_alone(table)
    if was_edited:
        hdu._header._modified = True
    return hdu


def _leave_heap_alone(bintable) -> None:
    """Keep astropy from loading the tiles of a table, or moving them, when it writes it."""
    bintable._load_variable_length_data = False
    bintable._manages_own_heap = True
    bintable._new = False
