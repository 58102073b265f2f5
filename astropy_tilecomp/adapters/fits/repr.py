"""How images and sections show themselves: a line in a shell, a small table in a notebook. No table and no tile is read."""

from __future__ import annotations

from html import escape

from ...errors import TileCompError

__all__ = ["describe", "format_line", "html_of"]

_CELL = "padding: 0 1em 0 0; text-align: left; vertical-align: top"


def describe(hdu) -> dict[str, str]:
    """What the header of a compressed image says, in words."""
    if hdu._bintable is None:
        return _facts_in_memory(hdu)
    try:
        reader = hdu._tile_reader
    except (TileCompError, ValueError) as error:  # the latter for a file that was closed
        return {"problem": str(error)}
    params, nbytes = reader.params, reader.layout.data_nbytes
    quantized = {"quantization": params.zquantiz} if params.quantized else {}
    return {
        "image": f"{_times(params.image_shape)} {reader.result_dtype}", "algorithm": params.zcmptype,
        "tiles": f"{params.n_tiles} tiles of {_times(params.tile_shape)}", **quantized,
        "size": f"{nbytes / 1e6:.3g} MB, ratio {params.n_pixels * params.dtype.itemsize / max(nbytes, 1):.2f}",
    }


def _facts_in_memory(hdu) -> dict[str, str]:
    data = hdu.data
    image = "no pixels" if data is None else f"{_times(data.shape)} {data.dtype} in memory"
    return {"image": image, "algorithm": f"{hdu.compression_type} when it is written"}


def _times(shape) -> str:
    return " x ".join(map(str, shape))


def format_line(hdu, kind: str) -> str:
    """Show an image in a line."""
    return f"<{kind} {hdu.name!r}: {', '.join(describe(hdu).values())}>"


def html_of(hdu, kind: str, more: dict[str, str] | None = None) -> str:
    """Show an image as a table in a notebook."""
    facts = describe(hdu) | (more or {})
    rows = "".join(
        f'<tr><th style="{_CELL}">{escape(name)}</th><td style="{_CELL}">{escape(text)}</td></tr>' for name, text in facts.items()
    )
    return f"<div><code>{escape(kind)} {escape(repr(hdu.name))}</code><table>{rows}</table></div>"
