"""Both engines give the same streams and the same pixels: drawn images of every kind, through the writer and the reader."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from support.reference_files import compressed_file, joined, params_for, table_of
from support.strategies import basic_indices, tile_grids

from astropy_tilecomp import read
from astropy_tilecomp.codecs import engines
from astropy_tilecomp.encode import NotEncodableError, encode
from astropy_tilecomp.errors import HeaderError
from astropy_tilecomp.sources import BufferSource

INTEGERS = ("u1", "i1", "i2", "u2", "i4", "u4")
FLOATS = ("f4", "f8")
SEEDS = st.integers(0, 2**32 - 1)
METHODS = ("NO_DITHER", "SUBTRACTIVE_DITHER_1", "SUBTRACTIVE_DITHER_2")

pytestmark = pytest.mark.skipif(len(engines()) < 2, reason="needs a build with libcfitsio")


@st.composite
def integer_images(draw, shape, dtype, most=None):
    """Noise of any spread on any level, some runs of one value, some extremes."""
    info = np.iinfo(dtype)
    low, high = (0, most) if most is not None else (info.min, info.max)
    rng = np.random.default_rng(draw(SEEDS))
    spread = draw(st.integers(0, (high - low).bit_length()))
    level = draw(st.integers(low, high))
    noise = rng.integers(0, 1 << spread, shape, dtype=np.uint64).astype("i8")
    image = np.clip(level + noise, low, high)
    if draw(st.booleans()):
        image = np.where(rng.random(shape) < draw(st.sampled_from((0.1, 0.9))), level, image)
    for value in draw(st.lists(st.sampled_from((low, high)), max_size=2)):
        image.flat[draw(st.integers(0, image.size - 1))] = value
    return image.astype(dtype)


@st.composite
def float_images(draw, shape, dtype):
    """Noise on a level, with zeros, undefined pixels here and there or in whole tiles, constant parts, jumps, infinities."""
    rng = np.random.default_rng(draw(SEEDS))
    image = rng.normal(draw(st.sampled_from((0, 100, -3e4))), draw(st.sampled_from((1e-3, 1, 300))), shape).astype(dtype)
    image[rng.random(shape) < draw(st.sampled_from((0, 0, 0.2, 0.9)))] = 0
    image[rng.random(shape) < draw(st.sampled_from((0, 0, 0.05, 0.5, 1)))] = np.nan
    if draw(st.booleans()):
        image[: 1 + shape[0] // 2] = image.flat[0]
    for value in draw(st.lists(st.sampled_from((1e30, -1e30, np.inf, -np.inf, -0.0, 1e-40)), max_size=2)):
        image.flat[draw(st.integers(0, image.size - 1))] = value
    return image


@st.composite
def images(draw):
    """An image, the parameters to compress it by, and the quantize level."""
    grid = draw(tile_grids(max_axes=3, min_size=1, max_size=draw(st.sampled_from((5, 12, 40)))))
    algorithm = draw(st.sampled_from(("RICE_1", "PLIO_1", "HCOMPRESS_1", "GZIP_1", "GZIP_2", "NOCOMPRESS")))
    own = {}
    if algorithm == "RICE_1":
        own["blocksize"] = draw(st.one_of(st.sampled_from((32, 16)), st.integers(1, 70)))
    if algorithm == "HCOMPRESS_1":
        own = {"hcomp_scale": draw(st.sampled_from((0, 1, -1, -2, -7, -300, 0.5, 3))), "smooth": draw(st.booleans())}
    if algorithm not in ("PLIO_1", "NOCOMPRESS") and draw(st.booleans()):
        image = draw(float_images(grid.image_shape, draw(st.sampled_from(FLOATS))))
        method = draw(st.sampled_from(METHODS))
        own |= {"zquantiz": method, "zdither0": draw(st.integers(1, 10000)) if method != "NO_DITHER" else None}
        level = draw(st.sampled_from((4, 16, 0.5, 1000, -0.25, -1e-3)))
    else:
        dtype = draw(st.sampled_from(("u1", "i2", "u2", "i4") if algorithm == "PLIO_1" else INTEGERS))
        most = min(2**24 - 1, np.iinfo(dtype).max) if algorithm == "PLIO_1" else None
        image, level = draw(integer_images(grid.image_shape, dtype, most)), 4
        if algorithm == "RICE_1" and image.itemsize < 4:
            own["bytepix"] = draw(st.sampled_from((image.itemsize, 4)))
    return image, params_for(image, algorithm, grid.tile_shape, **own), level


def encoded(image, params, level, engine):
    """What an engine makes of an image: everything that reaches the file, or why it does not."""
    try:
        return [np.asarray(field).tolist() if not isinstance(field, list) else field
                for field in joined(encode(image, params, quantize_level=level, engine=engine, threads=1))]
    except (HeaderError, NotEncodableError) as error:
        return str(error)


@settings(max_examples=400)
@given(drawn=images(), data=st.data())
def test_streams_and_pixels_are_the_same(drawn, data):
    """Streams, columns, scales and zero points of the writer; whole images and sections of the reader, bit for bit."""
    image, params, level = drawn
    ours, theirs = (encoded(image, params, level, engine) for engine in ("kernel", "cfitsio"))
    assert ours == theirs
    if isinstance(ours, str):
        return
    content = compressed_file(image, params, quantize_level=level)
    table = table_of(content)
    source, header = BufferSource(content[table._data_offset:]), dict(table.header)
    index = data.draw(basic_indices(image.shape, allow_newaxis=False))
    whole = read.section(source, header, ..., engine="kernel")
    for got in (read.section(source, header, ..., engine="cfitsio"), read.section(source, header, ..., threads=2)):
        assert got.dtype == whole.dtype
        assert got.tobytes() == whole.tobytes()
    for engine in engines():
        assert np.asarray(read.section(source, header, index, engine=engine)).tobytes() == whole[index].tobytes()
    if image.dtype.kind in "iu" and (params.zcmptype != "HCOMPRESS_1" or params.hcomp_scale in (0, -1)):
        assert_array_equal(whole, image)
