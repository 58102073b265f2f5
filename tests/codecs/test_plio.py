"""PLIO_1: worked examples, the two engines bit for bit, cfitsio's lost zeros, its worst case, byte order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from support.tiles import each_engine

import astropy_tilecomp as tc
from astropy_tilecomp.codecs import PLIO1, engines
from astropy_tilecomp.errors import CorruptTileError, TruncatedTileError

HEAD = [0, 7, -100]
EXAMPLES = [
    ([0, 0, 0, 5, 5, 0, 0, 7, 8, 0, 0, 20000, 0],
     [0x2004, 3, 0x4002, 0x2002, 0x5003, 0x6001, 0x1E20, 4, 0x5003, 1]),
    ([1, 1, 0, 1], [0x4002, 0x5002]),
    ([0, 0, 0, 0], [4]),
    ([3], [0x6002]),
    ([0] * 4095 + [5, 0, 0, 0], [0x2004, 0x0FFF, 0x4001, 3]),
]  # fmt: skip


def words(instructions):
    """A whole list, as bytes of the file."""
    return np.array([*HEAD, len(instructions) + 7, 0, 0, 0, *instructions], ">i2").tobytes()


@pytest.mark.parametrize(("pixels", "instructions"), EXAMPLES, ids=lambda value: str(value)[:20])
@each_engine
def test_worked_examples(pixels, instructions, engine):
    codec = PLIO1(tilesize=len(pixels), engine=engine)
    assert codec.encode(np.array(pixels)).hex() == words(instructions).hex()
    assert_array_equal(codec.decode(words(instructions)), pixels)


@each_engine
def test_old_head(engine):
    stream = np.array([0, 0, 5, 0x4002, 0x5002], ">i2").tobytes()
    assert_array_equal(PLIO1(tilesize=4, engine=engine).decode(stream), [1, 1, 0, 1])


@each_engine
def test_list_that_ends_early(engine):
    assert_array_equal(PLIO1(tilesize=6, engine=engine).decode(words([0x4002])), [1, 1, 0, 0, 0, 0])
    assert_array_equal(PLIO1(tilesize=3, engine=engine).decode(words([])), [0, 0, 0])


@st.composite
def masks(draw):
    """Runs of levels, some longer than an instruction holds."""
    length = st.one_of(st.integers(1, 9), st.sampled_from([4094, 4095, 4096, 8190]))
    level = st.one_of(st.just(0), st.integers(0, 5), st.integers(0, 2**24 - 1))
    runs = draw(st.lists(st.tuples(level, length), min_size=1, max_size=12))
    return np.concatenate([np.full(length, level, "i4") for level, length in runs])


@settings(max_examples=200)
@given(pixels=masks())
def test_engines_agree(pixels):
    both = [PLIO1(tilesize=pixels.size, engine=engine) for engine in engines()]
    streams = {codec.encode(pixels) for codec in both}
    assert len(streams) == 1
    for codec in both:
        assert_array_equal(codec.decode(*streams), pixels)


@settings(max_examples=300)
@given(list_=st.lists(st.integers(0, 0x7FFF), max_size=20), n=st.integers(1, 40), length=st.integers(0, 40))
def test_engines_agree_on_any_words(list_, n, length):
    stream = np.array([*HEAD, length, 0, 0, 0, *list_], ">i2").tobytes()
    results = []
    for engine in engines():
        try:
            pixels, used = PLIO1(tilesize=n, engine=engine).decode_prefix(stream)
            results.append((pixels.tobytes(), used))
        except CorruptTileError as error:
            results.append(str(error))
    assert len(set(results)) == 1


@each_engine
@pytest.mark.parametrize("n", [1, 2, 3, 1000])
def test_worst_case(n, engine):
    """Levels more than 4095 apart: 7 + 3 n words, more than libcfitsio's own writer gives itself."""
    pixels = np.where(np.arange(n) % 2, 9, 2**24 - 1).astype("i4")
    codec = PLIO1(tilesize=n, engine=engine)
    stream = codec.encode(pixels)
    assert len(stream) == 2 * (7 + 3 * n)
    assert_array_equal(codec.decode(stream), pixels)


@each_engine
@pytest.mark.parametrize("dtype", ["i2", ">i2"])
def test_unsigned_16_bits(dtype, engine):
    """Values of an image with BZERO 32768 are coded with it added."""
    stored = np.array([-32768, 0, 32767], dtype)
    codec = PLIO1(offset=32768, dtype=dtype, tilesize=3, engine=engine)
    assert_array_equal(codec.decode(codec.encode(stored)), stored)
    assert_array_equal(PLIO1(tilesize=3).decode(codec.encode(stored)), [0, 32768, 65535])
    with pytest.raises(ValueError, match="offset is 1"):
        PLIO1(offset=1)


@each_engine
def test_words_in_either_byte_order(engine):
    """S36: int16 arrays are taken by value; bytes are the file's."""
    pixels = np.array([0, 5, 5, 0])
    codec = PLIO1(tilesize=4, engine=engine)
    stream = codec.encode(pixels)
    for kind in ("<i2", ">i2"):
        array = np.frombuffer(stream, ">i2").astype(kind)
        assert_array_equal(codec.decode(array), pixels)
        assert_array_equal(codec.decode_prefix(array)[0], pixels)
        assert_array_equal(codec.decode_many(np.tile(array, 3), 3), [pixels] * 3)
    with pytest.raises(CorruptTileError):
        codec.decode(np.frombuffer(stream, ">i2").astype("<i2").tobytes())


@each_engine
def test_lists_that_lie(engine):
    codec = PLIO1(tilesize=4, engine=engine)
    for stream, error in (
        (b"", TruncatedTileError),
        (words([0x4004])[:-2], TruncatedTileError),
        (np.array([0, 7, -100, 32767, 32767, 0, 0], ">i2").tobytes(), TruncatedTileError),
        (np.array([0, -7, -100, 8, 0, 0, 0, 4], ">i2").tobytes(), CorruptTileError),
        (words([-5]), CorruptTileError),
        (words([0x1000]), CorruptTileError),
        (words([0x3005, 0x4004]), CorruptTileError),
    ):
        with pytest.raises(error, match="PLIO_1"):
            codec.decode(stream)


@pytest.mark.parametrize(("dtype", "n_rows", "tile_rows"), [("i4", 2100, 1), ("u2", 4200, 1), ("i4", 2100, 64), ("i4", 2100, 65)])
def test_a_large_output_that_was_written_to(tmp_path, dtype, n_rows, tile_rows):
    """Tiles of up to 1 MiB are then stored past the caches; the pixels are those of a new array, in any place and byte order."""
    rng = np.random.default_rng(4)
    mask = np.where(rng.random((n_rows, 4096)) < 0.02, rng.integers(0, 30000, (n_rows, 4096)), 0).astype(dtype)
    path = tmp_path / "mask.fits.fz"
    tc.write_image(path, mask, algorithm="PLIO_1", tile_shape=(tile_rows, 4096))
    with tc.open(path) as hdul:
        section = hdul[1].section
        assert_array_equal(section.read(), mask)
        memory = np.ones(mask.nbytes + 64 + mask.itemsize, np.uint8)
        for offset in (0, mask.itemsize, 64 - memory.ctypes.data % 64, 1):
            for order in "<>":
                out = np.ndarray(mask.shape, mask.dtype.newbyteorder(order), memory, offset)
                assert_array_equal(section.read(out=out), mask)
            assert (memory[:offset] == 1).all()
            assert (memory[offset + mask.nbytes:] == 1).all()
            memory.fill(1)
        wide = np.ones((n_rows, 4099), dtype)
        assert_array_equal(section.read(out=wide[:, 1:-2]), mask)
        assert (wide[:, [0, -2, -1]] == 1).all()
