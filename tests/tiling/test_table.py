"""TableLayout and TileTable: every descriptor is held against the heap and the file before anyone follows it."""

import dataclasses
import itertools
import warnings

import numpy as np
import pytest
from astropy.io import fits
from conftest import read_manifest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from support import needs

from astropy_tilecomp.errors import HeaderError, TruncatedTileError, UnsupportedError
from astropy_tilecomp.tiling.columns import COLUMN_NAMES, describe_column
from astropy_tilecomp.tiling.descriptors import Fault
from astropy_tilecomp.tiling.layout import TableLayout
from astropy_tilecomp.tiling.table import TileTable


def header_of(*columns, n_rows=4, pcount=1000, **more):
    """Header of a table with these (name, form) columns, as wide as they are."""
    header = {"NAXIS2": n_rows, "PCOUNT": pcount, "TFIELDS": len(columns)}
    for number, (name, form) in enumerate(columns, 1):
        header |= {f"TTYPE{number}": name, f"TFORM{number}": form}
    width = sum(describe_column("", form, 1, 0).nbytes for _, form in columns)
    return header | {"NAXIS1": width} | more


def layout_of(*columns, **more):
    return TableLayout.from_header(header_of(*columns, **more))


DATA = ("COMPRESSED_DATA", "1PB(20)")


def test_layout_of_all_kinds_of_columns():
    layout = layout_of(
        ("NOTE", "7A"), ("FLAGS", "11X"), ("compressed_data", "PI(13)"), ("GZIP_COMPRESSED_DATA", "1QB"),
        ("UNCOMPRESSED_DATA", "0PE"), ("ZSCALE", "1E"), ("ZZERO", "D"), ("ZBLANK", "1J"), ("POSITION", "2M"),
    )
    assert [(column.offset, column.nbytes) for column in layout.columns] == [
        (0, 7), (7, 2), (9, 8), (17, 16), (33, 0), (33, 4), (37, 8), (45, 4), (49, 32)
    ]
    assert list(layout.fields) == ["COMPRESSED_DATA", "GZIP_COMPRESSED_DATA", "ZSCALE", "ZZERO", "ZBLANK"]
    assert (layout.naxis1, layout.table_nbytes, layout.theap, layout.heap_nbytes) == (81, 324, 324, 1000)
    assert layout.dtype.itemsize == 81
    assert layout.fields["COMPRESSED_DATA"].width == 2


def test_heap_behind_a_gap():
    layout = layout_of(DATA, THEAP=232)
    assert (layout.table_nbytes, layout.theap, layout.heap_nbytes, layout.data_nbytes) == (32, 232, 800, 1032)


def test_columns_under_the_name_of_nom_tam_fits():
    layout = layout_of(DATA, ("NULL_PIXEL_MASK_COLUMN", "1PB"))
    table = TileTable.from_bytes(layout, np.array([[9, 0, 3, 40]] * 4, ">i4").tobytes())
    assert table.mask_nbytes.tolist() == [3] * 4
    assert table.mask_offset.tolist() == [layout.theap + 40] * 4


@pytest.mark.parametrize(("changes", "keyword"), [
    ({"NAXIS1": None}, "NAXIS1"), ({"NAXIS1": 7}, "NAXIS1"), ({"NAXIS1": -8}, "NAXIS1"), ({"NAXIS2": None}, "NAXIS2"),
    ({"NAXIS2": -1}, "NAXIS2"), ({"NAXIS2": "4"}, "NAXIS2"), ({"PCOUNT": -1}, "PCOUNT"), ({"THEAP": 31}, "THEAP"),
    ({"THEAP": 1033}, "THEAP"), ({"TFIELDS": 0}, "TFIELDS"), ({"TFIELDS": 1000}, "TFIELDS"), ({"TFIELDS": 2}, "TFORM2"),
    ({"TFORM1": "1Z"}, "TFORM1"), ({"TFORM1": ""}, "TFORM1"), ({"TFORM1": 5}, "TFORM1"), ({"TFORM1": "2PB"}, "TFORM1"),
    ({"TFORM1": "8B"}, "TFORM1"), ({"TFORM1": "1PX"}, "TFORM1"), ({"TTYPE1": "ZSCALE", "TFORM1": "1PB"}, "TFORM1"),
    ({"TTYPE1": "ZZERO", "TFORM1": "2D"}, "TFORM1"), ({"TTYPE1": "ZBLANK", "TFORM1": "1D"}, "TFORM1"),
    ({"TTYPE1": 5}, "TTYPE1"),
], ids=str)
def test_faults_name_the_keyword(changes, keyword):
    with pytest.raises(HeaderError) as caught:
        TableLayout.from_header(header_of(DATA) | changes)
    assert caught.value.keyword == keyword
    assert caught.value.expected


@pytest.mark.parametrize(("columns", "says"), [
    ([DATA, DATA], "2 columns are called COMPRESSED_DATA"),
    ([("OTHER", "1J")], "no column holds the tiles"),
    ([("COMPRESSED_DATA", "0PB")], "no column holds the tiles"),
])
def test_needed_columns(columns, says):
    with pytest.raises(HeaderError, match=says):
        layout_of(*columns)


def test_enormous_rows_are_unsupported():
    with pytest.raises(UnsupportedError, match="rows of 2 GiB"):
        TableLayout.from_header(header_of(DATA) | {"NAXIS1": 2**31})


@pytest.mark.parametrize("changes", [{"NAXIS2": 2**60}, {"PCOUNT": 2**63}, {"PCOUNT": 10**60}], ids=str)
def test_an_impossible_data_unit_is_unsupported(changes):
    with pytest.raises(UnsupportedError, match=r"a data unit of 2\*\*63 bytes"):
        TableLayout.from_header(header_of(DATA) | changes)


def test_the_largest_heap():
    layout = layout_of(("COMPRESSED_DATA", "1QB"), n_rows=2, pcount=2**63 - 1 - 32)
    rows = np.array([(5, 2**63 - 1 - 32 - 5), (6, 2**63 - 1 - 32 - 5)], ">i8")
    table = TileTable.from_bytes(layout, rows.tobytes())
    assert table.fault.tolist() == [Fault.NONE, Fault.OUTSIDE_HEAP]
    assert table.offset[0] + table.nbytes[0] == 2**63 - 1


def test_columns_are_looked_up_in_order():
    fallbacks = ("UNCOMPRESSED_DATA", "1PE"), ("GZIP_COMPRESSED_DATA", "1PB")
    layout = layout_of(fallbacks[0], DATA, fallbacks[1], ("ZSCALE", "1E"), ("ZZERO", "1J"))
    dtype = [("u", ">i4", 2), ("c", ">i4", 2), ("g", ">i4", 2), ("s", ">f4"), ("z", ">i4")]
    rows = np.array([
        ((0, 0), (5, 10), (0, 0), 0.5, -3), ((3, 100), (0, 0), (0, 0), 0, 0), ((0, 0), (0, 7), (8, 20), 0, 0),
        ((0, 0), (0, 0), (0, 0), 0, 0),
    ], dtype)
    table = TileTable.from_bytes(layout, rows.tobytes())
    assert [COLUMN_NAMES[n] for n in table.column] == ["COMPRESSED_DATA", "UNCOMPRESSED_DATA", "GZIP_COMPRESSED_DATA", None]
    assert table.nbytes.tolist() == [5, 12, 8, 0]
    assert table.offset.tolist() == [layout.theap + 10, layout.theap + 100, layout.theap + 20, 0]
    assert table.fault.tolist() == [Fault.NONE, Fault.NONE, Fault.NONE, Fault.MISSING]
    assert (table.zscale.tolist(), table.zzero.tolist()) == ([0.5, 0, 0, 0], [-3, 0, 0, 0])
    assert (table.zscale.dtype, table.zblank, table.mask_nbytes) == (np.float64, None, None)
    assert [table.reason(n) for n in range(4)] == ["", "", "", "no column holds data for the tile"]
    assert len(table) == 4


@pytest.mark.parametrize(("form", "code", "low", "high"), [
    ("1B", "u1", 0, 255), ("1I", ">i2", -32768, 7), ("1J", ">i4", -2**31, 7), ("1K", ">i8", -2**63, 2**63 - 1),
])
def test_zblank_of_any_integer_type(form, code, low, high):
    layout = layout_of(DATA, ("ZBLANK", form), n_rows=2)
    rows = np.array([((1, 0), low), ((1, 0), high)], [("c", ">i4", 2), ("b", code)])
    assert TileTable.from_bytes(layout, rows.tobytes()).zblank.tolist() == [low, high]


@pytest.mark.parametrize(("form", "kind", "count", "offset"), [
    ("1PB", ">i4", 10, -50), ("1PB", ">i4", 10, -2**31 + 5), ("1PB", ">i4", 10, 10**8), ("1PB", ">i4", 10**9, 0),
    ("1PB", ">i4", -5, 0), ("1PB", ">i4", 1001, 0), ("1PB", ">i4", 10, 991), ("1PB", ">i4", 1, 1000),
    ("1QB", ">i8", 10, -2**40), ("1QB", ">i8", 2**40, 0), ("1QB", ">i8", 2**63 - 1, 2**63 - 1), ("1QB", ">i8", -1, 1),
    ("1QB", ">i8", -2**63, 0), ("1QD", ">i8", 2**61, 0), ("1PI", ">i4", 501, 0), ("1PI", ">i4", 500, 1),
])
def test_bad_descriptors_mark_their_tile_only(form, kind, count, offset):
    layout = layout_of(("COMPRESSED_DATA", form), n_rows=2)
    rows = np.array([(count, offset), (10, 980)], kind)
    table = TileTable.from_bytes(layout, rows.tobytes())
    assert table.fault[0] == Fault.OUTSIDE_HEAP
    assert (table.column[0], table.offset[0], table.nbytes[0]) == (0, 0, 0)
    assert table.reason(0).endswith("does not lie in the heap of 1000 bytes")
    good = 10 * layout.fields["COMPRESSED_DATA"].width <= 20
    assert (table.fault[1] == Fault.NONE) == good


def test_p_words_are_unsigned():
    layout = layout_of(DATA, n_rows=1, pcount=2**32 + 100)
    rows = np.array([[2**31 + 7, 2**31 + 8]], ">u4")
    table = TileTable.from_bytes(layout, rows.tobytes())
    assert (table.nbytes[0], table.offset[0] - layout.theap) == (2**31 + 7, 2**31 + 8)


def test_tiles_beyond_the_end_of_the_file():
    layout = layout_of(DATA, n_rows=3)
    rows = np.array([(10, 0), (10, 90), (10, 91)], ">i4")
    table = TileTable.from_bytes(layout, rows.tobytes(), available=layout.theap + 100)
    assert table.fault.tolist() == [Fault.NONE, Fault.NONE, Fault.OUTSIDE_FILE]
    assert table.reason(2) == "descriptor (count 10, offset 91) lies beyond the end of the file"


def test_a_bad_mask_marks_the_tile():
    layout = layout_of(DATA, ("NULL_PIXEL_MASK", "1PB"), n_rows=3)
    rows = np.array([(10, 0, 0, 0), (10, 0, 5, 20), (10, 0, 5, 5000)], ">i4")
    table = TileTable.from_bytes(layout, rows.tobytes())
    assert table.mask_nbytes.tolist() == [0, 5, 0]
    assert table.mask_offset.tolist() == [0, layout.theap + 20, 0]
    assert table.fault.tolist() == [Fault.NONE, Fault.NONE, Fault.OUTSIDE_HEAP]
    assert "count 5, offset 5000" in table.reason(2)


def test_a_table_that_is_cut():
    layout = layout_of(DATA)
    for size in range(32):
        with pytest.raises(TruncatedTileError, match=f"the table ends after {size} bytes, 4 rows of 8 bytes"):
            TileTable.from_bytes(layout, bytes(size))
    with pytest.raises(TruncatedTileError, match="the table ends 7 bytes after byte 8"):
        TileTable.from_buffers(layout, [(8, 16)], [bytes(7)], [1])


def test_rows_that_do_not_exist():
    layout = layout_of(DATA)
    for rows in ([4], [-1], [0, 4]):
        with pytest.raises(IndexError, match="are not all in the table of 4 rows"):
            layout.row_ranges(rows)
        with pytest.raises(IndexError, match="are not all in the table of 4 rows"):
            TileTable.from_bytes(layout, bytes(32), rows)


def test_a_table_without_rows():
    layout = layout_of(DATA, n_rows=0)
    assert len(TileTable.from_bytes(layout, b"")) == 0
    assert layout.row_ranges(np.zeros(0, int)) == []
    assert len(TileTable.from_buffers(layout, [], [], np.zeros(0, int))) == 0


@given(rows=st.sets(st.integers(0, 49)), gap=st.integers(0, 100))
def test_only_the_rows_asked_for_are_read(rows, gap):
    rows = np.array(sorted(rows), np.int64)
    layout = layout_of(DATA, ("ZSCALE", "1D"), ("ZZERO", "1D"), n_rows=50)
    record = np.zeros(50, layout.dtype)
    record["COMPRESSED_DATA"] = np.arange(100).reshape(50, 2) + 1
    record["ZSCALE"] = np.arange(50)
    data = record.tobytes()
    ranges = layout.row_ranges(rows, gap)
    covered = sorted(row for start, stop in ranges for row in range(start // layout.naxis1, stop // layout.naxis1))
    assert set(rows) <= set(covered)
    assert len(covered) == len(set(covered))
    if gap < layout.naxis1:
        assert covered == rows.tolist()
    assert all(later[0] - earlier[1] > gap for earlier, later in itertools.pairwise(ranges))
    table = TileTable.from_buffers(layout, ranges, [data[start:stop] for start, stop in ranges], rows)
    whole = TileTable.from_bytes(layout, data)
    for name in ("row", "column", "offset", "nbytes", "zscale", "fault", "count", "heap_offset"):
        assert_array_equal(getattr(table, name), getattr(whole, name)[rows], name)
    exact = TileTable.from_bytes(layout, b"".join(data[row * 24:row * 24 + 24] for row in rows), rows)
    assert_array_equal(exact.offset, table.offset)


@given(data=st.binary(min_size=96, max_size=96), available=st.integers(0, 1200))
def test_any_bytes_give_places_inside_heap_and_file(data, available):
    columns = (("COMPRESSED_DATA", "1PI"), ("GZIP_COMPRESSED_DATA", "1QB"))
    layout = layout_of(*columns, n_rows=4, THEAP=120, pcount=1000)
    table = TileTable.from_bytes(layout, data, available=available)
    good = table.fault == Fault.NONE
    assert (table.offset[good] >= layout.theap).all()
    assert (table.offset + table.nbytes <= min(layout.data_nbytes, available))[good].all()
    assert (table.nbytes[good] > 0).all()
    assert (table.column[~good] == 0).all()
    assert all(bool(table.reason(n)) != bool(good[n]) for n in range(4))


def test_written_rows_equal_those_read():
    columns = (("NOTE", "3A"), DATA, ("ZSCALE", "1D"), ("ZZERO", "1E"), ("UNCOMPRESSED_DATA", "1QE"), ("ZBLANK", "1I"),
               ("NULL_PIXEL_MASK", "1PB"))
    layout = layout_of(*columns, n_rows=2)
    record = np.zeros(2, layout.dtype)
    record["COMPRESSED_DATA"][0], record["UNCOMPRESSED_DATA"][1] = (7, 3), (2, 40)
    record["ZSCALE"], record["ZZERO"], record["ZBLANK"] = (0.5, 0), (1.5, 0), (-5, 9)
    record["NULL_PIXEL_MASK"][1] = (4, 400)
    data = bytearray(record.tobytes())
    data[:3] = b"abc"
    table = TileTable.from_bytes(layout, data)
    assert table.to_bytes(base=data) == bytes(data)
    assert table.to_bytes() == record.tobytes()


def test_what_descriptors_cannot_hold_is_not_written():
    layout = layout_of(DATA, n_rows=1, pcount=2**40)
    table = TileTable.from_bytes(layout, np.array([[1, 1]], ">u4").tobytes())
    for change in ({"offset": [2**32 + 8]}, {"offset": [7]}, {"nbytes": [2**32]}, {"column": [3]}, {"fault": [1]}):
        arrays = {name: np.array(value) for name, value in change.items()}
        with pytest.raises(ValueError, match=r"column|descriptor|row 0"):
            dataclasses.replace(table, **arrays).to_bytes()


def check_real_files(folder):
    """Descriptors, bytes and scales of every compressed HDU against what astropy finds in the table."""
    n_tiles = 0
    for entry in read_manifest(folder):
        if entry["name"] in ("fitsiopure_comp.fits", "lsst_obs_CC_S_20240404_000780_R22_S01.fits"):
            continue                                        # a damaged file; one that is gzipped as a whole
        path = folder / entry["name"]
        content = path.read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with fits.open(path, disable_image_compression=True) as hdul:
                for known in entry["compressed_hdus"]:
                    n_tiles += check_real_hdu(hdul[known["index"]], content)
    return n_tiles


def check_real_hdu(hdu, content):
    layout = TableLayout.from_header(hdu.header)
    start = hdu.fileinfo()["datLoc"]
    unit = memoryview(content)[start:start + layout.data_nbytes]
    table = TileTable.from_bytes(layout, unit[:layout.table_nbytes], available=len(content) - start)
    assert not table.fault.any()
    for name, values in (("ZSCALE", table.zscale), ("ZZERO", table.zzero), ("ZBLANK", table.zblank)):
        if name in layout.fields:
            assert_array_equal(values, hdu.data[name])
    for entry in {0, len(table) // 2, len(table) - 1}:
        name = COLUMN_NAMES[table.column[entry]]
        stored = np.asarray(hdu.data[name][entry])
        stored = stored.astype(stored.dtype.newbyteorder(">")).tobytes()
        assert unit[table.offset[entry]:table.offset[entry] + table.nbytes[entry]] == stored
    assert table.to_bytes(base=unit[:layout.table_nbytes]) == unit[:layout.table_nbytes]
    return len(table)


def test_shipped_real_files(shipped):
    assert check_real_files(shipped) > 10000


def test_all_real_files():
    assert check_real_files(needs.shared("data/real")) > 50000
