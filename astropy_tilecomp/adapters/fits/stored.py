"""How an HDU is written: the bytes of the file where nothing changed, new tiles where pixels did."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from inspect import signature

import numpy as np
from astropy.io import fits
from astropy.io.fits.verify import _ErrList

from ...encode import NotEncodableError
from ...errors import TileCompError
from ...read.reader import TileReader
from ...tiling.cards import cards_of
from ...tiling.image_sums import image_data_sum
from ...tiling.params import CompressionParams
from ...write.params import params_for
from .errors import with_cfitsio_words
from .lazy import LazyHDU
from .options import LOSSY_SETTINGS
from .original import Original
from .pixels import Storage, choose_storage, has_offset
from .sources import data_unit, forget_source, header_of
from .write import encoded_table, give_rows, stored_sum, with_header, with_image_checksums

__all__ = ["StoredHDU", "prepare_to_write"]

_SETTINGS = {"compression_type", *LOSSY_SETTINGS}
_TAKES_SUMS = "checksum" in signature(fits.BinTableHDU._prewriteto).parameters  # astropy 7.0; later it is an attribute alone


class StoredHDU(LazyHDU):
    """The part of `CompImageHDU` that makes the table which is written."""

    _is_scaling = False
    _is_flushed = False
    _replaced_integers = False  # whether floats took the place of integers that were in memory only

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name in _SETTINGS:
            self._settings_given.add(name)

    @property
    def _settings(self) -> tuple:
        """How the image is to be compressed."""
        return (
            self.compression_type, tuple(self.tile_shape), self.hcomp_scale, self.hcomp_noise_scale, self.hcomp_smooth,
            self.quantize_level, self.quantize_method, self.dither_seed,
        )

    @property
    def _file(self):
        """The file of the table; astropy 7 keeps one for the image besides, which an update would leave behind."""
        table = self.__dict__.get("_bintable")
        return None if table is None else table._file

    @_file.setter
    def _file(self, value):
        table = self.__dict__.get("_bintable")
        if table is not None and value is not None:  # the image's own constructor sets None
            table._file = value

    def _prewriteto(self, checksum=None, inplace=False):
        if checksum is not None:  # astropy 7.0
            self._output_checksum = checksum
        self.__dict__["_is_flushed"] = inplace
        table = self._table_to_write()
        sums = self.__dict__.get("_output_checksum") or (table is not self._bintable and _sums_in(self._bintable))
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
        n_blank = table.header._countblanks()
        table._output_checksum = sums  # where nothing changed, astropy would renew those that it has not verified
        prepare_to_write(table, inplace)
        n_taken = n_blank - table.header._countblanks()  # by checksums, which take the place of blank cards
        for _ in range(n_taken):
            table.header.append()
        if n_taken > 0 and sums is True:
            table.add_checksum(override_datasum=True)

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
            if self._is_flushed and self._bintable._file is not None:
                forget_source(self._bintable._file)

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
        if not view.holds(data, changed, rounded=bool(self._scale_back)):
            return self._encoded_table(data)
        return self._mixed_table(data, view, changed)

    def _original(self) -> TileReader | None:
        """What reads the image in the file; None if there is none."""
        if self._bintable is None or self._is_empty or (self._bintable._file is not None and self._bintable._file.closed):
            return None
        return self._tile_reader

    def _view_of(self, reader: TileReader) -> Original | None:
        """The image in the file as the pixels in memory show it; None where they have another shape or type."""
        stored = self._open_reader(scaled=False)
        reader = stored if self._data_are_stored else reader
        if self.data.shape != reader.shape or self.data.dtype.newbyteorder("=") != reader.result_dtype:
            return None
        read = stored.read if self._data_are_stored else self.section.read_from_file
        source = data_unit(self._bintable)
        return Original(reader, self._table_header, source, read, stored.read, scaled=not self._data_are_stored)

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
        header = with_header(self._bintable.header, self.header, meaning)
        table.header = with_image_checksums(header, image_data_sum(cards_of(self._bintable.header)))
        return table

    def _mixed_table(self, data, view: Original, changed: np.ndarray) -> fits.BinTableHDU:
        """The table of the file with new tiles where pixels changed."""
        header = with_header(self._bintable.header, self.header, self._meaning_of(view))
        params = replace(CompressionParams.from_header(header), hcomp_scale=self._encoder_scale(view))
        return self._encoded(data, params, view.to_stored, table=header, original=view, changed=changed)

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
        return self._encoded(storage.pixels, params, None, image=self.header)

    def _encoded(self, data, params, to_pixels: Callable | None, **how) -> fits.BinTableHDU:
        """The table of encoded pixels; `to_pixels` makes stored pixels of them if they are not."""
        options = {"threads": self._options.threads, "engine": self._options.engine}
        try:
            table = encoded_table(data, params, quantize_level=self.quantize_level, **how, **options)
        except NotEncodableError as error:
            raise with_cfitsio_words(error, self.compression_type) from None
        if not {"ZHECKSUM", "ZDATASUM"}.isdisjoint(table.header):
            table.header = with_image_checksums(table.header, stored_sum(data, params, to_pixels))
        return table

    def _storage(self, data) -> Storage:
        """How all pixels are stored: see `choose_storage`."""
        reader, old = self._original(), None
        if reader is not None and not self._data_are_stored and reader.params.zbitpix > 0 and reader.result_dtype.kind == "f":
            old = reader.params
        return choose_storage(
            data, self.header, self.compression_type, lossless=self._keeps_floats, asked=self._algorithm_is_asked(data),
            are_stored=self._data_are_stored, old=old, rounded=bool(self._scale_back),
        )

    def _algorithm_is_asked(self, data) -> bool:
        """Whether no other algorithm will do: the user chose it, and for floats whether they are quantized as well."""
        if "compression_type" not in self._settings_given:
            return False
        is_new = self._original() is None and not self._replaced_integers
        return data.dtype.kind != "f" or is_new or bool(self._settings_given & LOSSY_SETTINGS.keys())

    @property
    def _keeps_floats(self) -> bool:
        """Whether floats are stored without loss: none were quantized in the file, and nobody asked for it since."""
        reader = self._original()
        if self._settings_given & LOSSY_SETTINGS.keys():
            return self.quantize_level == 0
        if reader is None:
            return self.quantize_level == 0 or self._replaced_integers
        return not reader.params.quantized

    def _seed(self, storage: Storage) -> int:
        """ZDITHER0 for pixels that are dithered."""
        return self._generate_dither_seed(self.dither_seed) if self.quantize_method > 0 and not storage.lossless else 1

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


def prepare_to_write(hdu, inplace: bool) -> None:
    """
    Let an HDU update its header before it is written.

    Parameters
    ----------
    hdu : HDU
        Any HDU of astropy's or of this package.
    inplace : bool
        Whether it goes into the file that it came from.
    """
    sums = (hdu._output_checksum,) if _TAKES_SUMS else ()
    hdu._prewriteto(*sums, inplace=inplace)


def _sums_in(table) -> bool | str:
    """Which sums the table of a file has, as astropy's `checksum` option names them."""
    header = {} if table is None else header_of(table)
    return True if "CHECKSUM" in header else "datasum" if "DATASUM" in header else False
