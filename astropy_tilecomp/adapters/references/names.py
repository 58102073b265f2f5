"""Names of arrays and axes."""

from __future__ import annotations

from collections import Counter

from .scan import ImageReference

__all__ = ["axis_names", "name_images"]


def name_images(images: list[ImageReference]) -> list[tuple[str, ImageReference, str]]:
    """
    Names of the arrays of a group.

    EXTNAME, else ``hdu<N>``; where that is repeated ``_<EXTVER>`` follows, and where that is repeated too ``_hdu<N>``.
    """
    names = [_as_key(image.name) or f"hdu{image.number}" for image in images]
    for suffix in (lambda image: f"_{image.version}", lambda image: f"_hdu{image.number}"):
        count = Counter(names)
        names = [name + suffix(image) if count[name] > 1 else name for name, image in zip(names, images)]
    same_shape = len({image.shape for image in images}) == 1
    return [(name, image, "" if same_shape else f"{name}_") for name, image in zip(names, images)]


def _as_key(name: str) -> str:
    """A name without what means something in the path of a zarr array."""
    name = name.replace("/", "_").replace("\\", "_")
    return "_" + name[1:] if name.startswith(".") else name


def axis_names(ndim: int) -> list[str]:
    """Names of the axes, C order: x is the fastest, then y and z, then axis4 and so on as FITS counts."""
    names = ["x", "y", "z", *(f"axis{axis}" for axis in range(4, ndim + 1))][:ndim]
    return names[::-1]
