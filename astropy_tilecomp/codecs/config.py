"""Settings of codecs as plain dictionaries, as numcodecs has them."""

from __future__ import annotations

from dataclasses import fields
from math import prod
from typing import Any, ClassVar

import numpy as np

from ..errors import UnsupportedError

__all__ = ["Configurable", "fields_of", "from_config", "register"]

CONFIG_VERSION = 1
MAX_TILE_PIXELS = 2**31 - 1


class Configurable:
    """
    What numcodecs asks of a codec besides encode and decode, from the fields of a frozen dataclass.

    A config is JSON: `id`, `version` and the settings. Configs end up in other people's files, so unknown keys and other
    versions are refused rather than passed over.
    """

    codec_id: ClassVar[str]
    other_ids: ClassVar[tuple[str, ...]] = ()

    def get_config(self) -> dict[str, Any]:
        """
        Describe the codec in JSON.

        Returns
        -------
        dict
            `id`, `version` and the settings.
        """
        return {"id": self.codec_id, "version": CONFIG_VERSION, **self._settings()}

    def _settings(self) -> dict[str, Any]:
        return {name: _to_json(getattr(self, name)) for name, stored in fields_of(self).items() if stored}

    @classmethod
    def from_config(cls, config: dict[str, Any]):
        """
        Make a codec from its config.

        Parameters
        ----------
        config : dict
            As `get_config` gives; `id` and `version` may be missing. The ids of astropy's codecs are taken as well.

        Returns
        -------
        Configurable
            A codec equal to the one that gave the config.

        Raises
        ------
        ValueError
            If the config is one of another codec or has keys that this one does not know.
        UnsupportedError
            If its version is newer than this package.
        """
        settings = dict(config)
        found = settings.pop("id", cls.codec_id)
        if found not in (cls.codec_id, *cls.other_ids):
            raise ValueError(f"the config is one of codec {found!r}, expected {cls.codec_id!r}")
        version = settings.pop("version", CONFIG_VERSION)
        if version != CONFIG_VERSION:
            raise UnsupportedError(f"config of {cls.codec_id} has version {version!r}, this package reads {CONFIG_VERSION}")
        unknown = settings.keys() - fields_of(cls).keys()
        if unknown:
            raise ValueError(f"config of {cls.codec_id} has unknown keys: {', '.join(sorted(map(str, unknown)))}")
        return cls(**settings)

    def __eq__(self, other):
        return isinstance(other, Configurable) and self.get_config() == other.get_config()

    def __hash__(self):
        return hash(repr(self.get_config()))

    def __repr__(self):
        values = {name: getattr(self, name) for name in self._settings()}
        shown = {name: value.str if isinstance(value, np.dtype) else value for name, value in values.items()}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in shown.items() if v is not None)})"


_REGISTERED: list[type[Configurable]] = []


def register(*codecs: type[Configurable]) -> None:
    """Make codecs known to `from_config`."""
    _REGISTERED.extend(codecs)


def from_config(config: dict) -> Configurable:
    """
    Make the codec that a config describes.

    Parameters
    ----------
    config : dict
        As `get_config` of a codec gives; ids of astropy's codecs (FITS_RICE1, ...) are taken too.

    Returns
    -------
    TileCodec or Quantize
        The codec.

    Raises
    ------
    ValueError
        If no codec has that id, or its settings are wrong.
    """
    for codec in _REGISTERED:
        if config.get("id") in (codec.codec_id, *codec.other_ids):
            return codec.from_config(config)
    raise ValueError(f"the config has id {config.get('id')!r}, expected one of {', '.join(c.codec_id for c in _REGISTERED)}")


def fields_of(codec: Any) -> dict[str, bool]:
    """Names of the settings, and whether a config has them."""
    return {field.name: field.metadata.get("stored", True) for field in fields(codec)}


def _to_json(value):
    """A setting as JSON has it."""
    if isinstance(value, np.dtype):
        return value.str
    if isinstance(value, np.generic):
        return value.item()
    return list(value) if isinstance(value, tuple) else value


def checked_shape(shape) -> tuple[int, ...]:
    """A tile shape as a tuple of integers, if the format allows it."""
    sizes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if not all(isinstance(size, (int, np.integer)) for size in sizes):
        raise ValueError(f"the shape of a tile is {shape!r}, expected integers")
    shape = tuple(map(int, sizes))
    if any(size < 1 for size in shape):
        raise ValueError(f"a tile of shape {shape} has no pixels")
    if prod(shape) > MAX_TILE_PIXELS:
        raise UnsupportedError(f"a tile of shape {shape} has more than 2**31 - 1 pixels")
    return shape


def require_integer(value, name: str, allowed: tuple[int, ...] | range) -> None:
    """Raise ValueError unless a setting is one of the integers allowed."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value not in allowed:
        words = f"{allowed.start} to {allowed.stop - 1}" if isinstance(allowed, range) else ", ".join(map(str, allowed))
        raise ValueError(f"{name} is {value!r}, expected {words}")
