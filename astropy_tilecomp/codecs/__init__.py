"""
Bytes of one tile <-> its pixels: one codec for each algorithm, in the protocol of numcodecs; numpy is all they need.

`codec_for` makes the codec of a tile from the parameters of its image; `finalize` turns what it decodes into pixels of
the image, `prepare` is the inverse.
"""

from .config import Configurable, from_config
from .engine import choose, engines
from .final_pixels import finalize, prepare
from .gzip import Gzip1, Gzip2
from .hcompress import HCompress1
from .plio import PLIO1
from .protocol import TileCodec
from .quantization import NotQuantizableError, PreparedTile, Quantize, dequantize, quantize
from .raw import NoCompress
from .registry import CODECS, codec_for
from .rice import Rice1

__all__ = [
    "CODECS",
    "PLIO1",
    "Configurable",
    "Gzip1",
    "Gzip2",
    "HCompress1",
    "NoCompress",
    "NotQuantizableError",
    "PreparedTile",
    "Quantize",
    "Rice1",
    "TileCodec",
    "choose",
    "codec_for",
    "dequantize",
    "engines",
    "finalize",
    "from_config",
    "prepare",
    "quantize",
]
