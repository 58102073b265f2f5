"""lay_out(): table rows for encoded tiles, equal to those of fpack and astropy for the same tiles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from astropy_tilecomp.tiling.heap import descriptor_for, lay_out, table_layout
from astropy_tilecomp.tiling.params import CompressionParams
from astropy_tilecomp.tiling.table import TileTable

INTEGER = CompressionParams("RICE_1", 16, (4, 10), (1, 10))
QUANTIZED = CompressionParams("RICE_1", -32, (4, 10), (1, 10), quantized=True, zquantiz="NO_DITHER")


def names_of(layout):
    return [(column.name, column.form) for column in layout.columns]


def test_worked_example():
    """The 3 x 3 image of four tiles: descriptors as fpack writes them."""
    params = CompressionParams("RICE_1", 16, (3, 3), (2, 2))
    table = lay_out(params, [1, 1, 1, 1], [4, 3, 3, 3])
    assert table.to_bytes().hex(" ", 4) == "00000004 00000000 00000003 00000004 00000003 00000007 00000003 0000000a"
    assert (table.layout.naxis1, table.layout.naxis2, table.layout.pcount) == (8, 4, 13)
    assert names_of(table.layout) == [("COMPRESSED_DATA", "1PB(4)")]


@pytest.mark.parametrize(("style", "column", "names"), [
    ("cfitsio", [1, 1, 1, 1], ["COMPRESSED_DATA", "ZSCALE", "ZZERO"]),
    ("cfitsio", [1, 2, 1, 1], ["COMPRESSED_DATA", "ZSCALE", "ZZERO", "GZIP_COMPRESSED_DATA"]),
    ("astropy", [1, 1, 1, 1], ["COMPRESSED_DATA", "GZIP_COMPRESSED_DATA", "ZSCALE", "ZZERO"]),
    ("astropy", [1, 3, 1, 1], ["COMPRESSED_DATA", "GZIP_COMPRESSED_DATA", "UNCOMPRESSED_DATA", "ZSCALE", "ZZERO"]),
])
def test_columns_of_quantized_floats(style, column, names):
    layout = table_layout(QUANTIZED, column, [1, 2, 3, 4], style=style)
    assert [column.name for column in layout.columns] == names


def test_fallback_tiles_have_no_scale_and_no_other_descriptor():
    table = lay_out(QUANTIZED, [1, 2, 3, 1], [5, 6, 40, 7], zscale=np.full(4, 0.5), zzero=np.full(4, 2.0))
    assert names_of(table.layout) == [
        ("COMPRESSED_DATA", "1PB(7)"), ("ZSCALE", "1D"), ("ZZERO", "1D"), ("GZIP_COMPRESSED_DATA", "1PB(6)"),
        ("UNCOMPRESSED_DATA", "1PE(10)"),
    ]
    record = np.frombuffer(table.to_bytes(), table.layout.dtype)
    assert record["COMPRESSED_DATA"].tolist() == [[5, 0], [0, 0], [0, 0], [7, 51]]
    assert record["GZIP_COMPRESSED_DATA"].tolist() == [[0, 0], [6, 5], [0, 0], [0, 0]]
    assert record["UNCOMPRESSED_DATA"].tolist() == [[0, 0], [0, 0], [10, 11], [0, 0]]
    assert record["ZSCALE"].tolist() == [0.5, 0, 0, 0.5]
    assert record["ZZERO"].tolist() == [2, 0, 0, 2]


def test_plio_counts_words():
    params = CompressionParams("PLIO_1", 16, (4, 10), (1, 10))
    table = lay_out(params, np.ones(4), [16, 18, 20, 22])
    assert names_of(table.layout) == [("COMPRESSED_DATA", "1PI(11)")]
    assert np.frombuffer(table.to_bytes(), table.layout.dtype)["COMPRESSED_DATA"][:, 0].tolist() == [8, 9, 10, 11]


@pytest.mark.parametrize(("zbitpix", "code"), [(8, "B"), (16, "I"), (32, "J"), (64, "K"), (-32, "E"), (-64, "D")])
def test_raw_tiles_have_the_type_of_the_image(zbitpix, code):
    params = CompressionParams("NOCOMPRESS", zbitpix, (1, 10), (1, 10))
    layout = table_layout(params, [3], [abs(zbitpix) // 8 * 10])
    assert names_of(layout) == [("COMPRESSED_DATA", "1PB(0)"), ("UNCOMPRESSED_DATA", f"1P{code}(10)")]


def test_wide_descriptors_for_large_heaps():
    assert (descriptor_for(2**31 - 1), descriptor_for(2**31)) == ("P", "Q")
    large = lay_out(INTEGER, np.ones(4), [2**30] * 4)
    assert names_of(large.layout) == [("COMPRESSED_DATA", "1QB(1073741824)")]
    assert names_of(lay_out(INTEGER, np.ones(4), [1] * 4, descriptor="Q").layout) == [("COMPRESSED_DATA", "1QB(1)")]
    again = TileTable.from_bytes(large.layout, large.to_bytes())
    assert_array_equal(again.offset, large.offset)


def test_blank_value_of_each_tile():
    table = lay_out(QUANTIZED, np.ones(4), [1] * 4, zscale=np.ones(4), zzero=np.ones(4), zblank=[-1, -2, -3, -4])
    assert names_of(table.layout)[-1] == ("ZBLANK", "1J")
    assert TileTable.from_bytes(table.layout, table.to_bytes()).zblank.tolist() == [-1, -2, -3, -4]


@given(
    pieces=st.lists(st.tuples(st.integers(1, 3), st.integers(1, 100)), min_size=4, max_size=4),
    style=st.sampled_from(("cfitsio", "astropy")), descriptor=st.sampled_from("PQ"),
)
def test_what_is_written_is_read(pieces, style, descriptor):
    column, size = np.array(pieces).T
    nbytes = np.where(column == 3, size * 4, size)
    scale = np.linspace(0.5, 2, 4)
    table = lay_out(QUANTIZED, column, nbytes, zscale=scale, zzero=-scale, style=style, descriptor=descriptor)
    again = TileTable.from_bytes(table.layout, table.to_bytes())
    for name in ("row", "column", "offset", "nbytes", "zscale", "zzero", "fault", "count", "heap_offset"):
        assert_array_equal(getattr(again, name), getattr(table, name), name)


@pytest.mark.parametrize(("arguments", "says"), [
    ({"column": [1, 1, 1], "nbytes": [1, 1, 1, 1]}, "column has shape \\(3,\\), expected \\(4,\\)"),
    ({"column": [1] * 4, "nbytes": [1] * 5}, "nbytes has shape"),
    ({"column": [1] * 4, "nbytes": [1] * 4}, "needs zscale and zzero"),
    ({"column": [1] * 4, "nbytes": [1] * 4, "zscale": [1], "zzero": [1] * 4}, "zscale has shape"),
    ({"column": [1] * 4, "nbytes": [1] * 4, "zscale": [1] * 4, "zzero": [1] * 4, "style": "other"}, "style is 'other'"),
])
def test_wrong_arguments(arguments, says):
    with pytest.raises(ValueError, match=says):
        lay_out(QUANTIZED, **arguments)
