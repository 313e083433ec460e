"""Every cell gets its bin by itself, and no cell stops the others."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from arrow_strategies import arrays
from cuts.data.codec import Codec, build_codec, encode
from cuts.data.schema import Category, Column, Integer, Real, Schema, Temporal
from cuts.data.table import Table
from cuts.privacy.coding import cell_texts, encode_cells
from strategies import schemas, tables

Row: TypeAlias = tuple[int, ...] | None

KINDS = (
    *(pa.null(), pa.bool_(), pa.int8(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64()),
    *(pa.decimal32(6, 2), pa.decimal64(6, 2), pa.decimal128(6, 2), pa.decimal256(60, 2)),
    *(pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
    *(pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("ns", "Europe/Berlin"), pa.timestamp("ms", "UTC")),
    *(pa.duration("s"), pa.duration("ns"), pa.string(), pa.large_string(), pa.string_view()),
    *(pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.uint32(), pa.int64())),
    pa.dictionary(pa.int16(), pa.float64()),
)
ODD = (
    pa.array([b"1", b"\xff", b"", None]),
    pa.array([b"ab", b"\xc3(", None], pa.binary(2)),
    pa.array([b"\x00", b"a"], pa.large_binary()),
    pa.array([b"a", None], pa.binary_view()),
    pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff", b"1"]).buffers()),  # texts that are none
    pa.array([[1], None, []]),
    pa.array([{"a": 1}, None]),
    pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
    pa.array([2**64 - 1, 2**53 + 1, None], pa.uint64()),
    pa.array([Decimal(10) ** 70, None], pa.decimal256(76, 0)),
    pa.array([-(2**63), 2**63 - 1, 5], pa.int64()).cast(pa.timestamp("s")),
    pa.array([-(2**63), 2**63 - 1, 5], pa.int64()).cast(pa.timestamp("ns", "UTC")),
    pa.array([5, 2**62], pa.int64()).cast(pa.timestamp("us", "Nowhere/Atall")),
    pa.array([-(2**63), 2**63 - 1, None], pa.int64()).cast(pa.duration("s")),
    pa.array([2**31 - 1, -(2**31)], pa.int32()).cast(pa.date32()),
    pa.array([5, -5, 2**62], pa.int64()).view(pa.date64()),  # parts of a day
    pa.array([2**31 - 1, -5], pa.int32()).view(pa.time32("s")),  # beyond a day
    pa.array([2**62, -5], pa.int64()).view(pa.time64("ns")),
    pa.array([(1, 15, -30)], pa.month_day_nano_interval()),
    pa.array([b"0123456789abcdef"], pa.uuid()),
    pa.RunEndEncodedArray.from_arrays([2, 3], ["1", "x"]),
    pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["1", None])),
    pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([[1]])),
)
ODD_TEXTS = st.text(max_size=6) | st.sampled_from(
    [
        *(
            "",
            " ",
            "\x00",
            "\u2028",
            "🙂",
            "nan",
            "NaN",
            "inf",
            "-inf",
            "Infinity",
            "1e400",
            "9" * 5000,
            "1_000",
            "1,5",
        ),
        *(" 3 ", "\t2.5", "0x10", "٣", "-0", "True", "FALSE", "1.0", "007", "other", "__OTHER__", "?"),
        *("2020-02-30", "2020-01-01", "2020-01-01T25:00", "2020-01-01 10:00:00", "9999-12-31T23:59:59-23:59"),
        *("01:02:03", "2 days", "2 days 01:00:00", "-1 days +23:00:00.5", "9" * 400 + " days"),
    ]
)


@st.composite
def codecs(draw: st.DrawFn) -> Codec:
    """Bins of columns of every kind, some with a category for all others."""
    schema = draw(schemas())
    extra: list[Column] = [
        Category("open", ("a", "1", draw(st.sampled_from(["Other", "__other__", "b"]))), missing=draw(st.booleans())),
        Temporal("day", "date", 0.0, 20_000.0, 4, draw(st.booleans())),
    ]
    return build_codec(Schema("t", (*schema.columns, *extra)), {})


@st.composite
def any_tables(draw: st.DrawFn, codec: Codec) -> Table:
    """Tables with the codec's columns, of any type whatever."""
    rows = draw(st.integers(0, 6))
    columns = []
    for _ in codec.columns:
        match draw(st.sampled_from(["typed", "odd", "texts"])):
            case "typed":
                columns.append(draw(st.sampled_from(KINDS).flatmap(lambda kind: arrays(kind, rows))))
            case "odd":
                some = draw(st.sampled_from(ODD))
                chosen = draw(st.lists(st.integers(0, len(some) - 1), min_size=rows, max_size=rows))
                columns.append(pa.chunked_array([some[place : place + 1] for place in chosen], some.type))
            case "texts":
                cells = draw(st.lists(st.none() | ODD_TEXTS, min_size=rows, max_size=rows))
                columns.append(pa.array(cells, pa.string()))
    return Table(pa.table(columns, names=[bins.column.name for bins in codec.columns]))


def rows_of(block: Table, codec: Codec) -> list[Row]:
    """The codes of every row, nothing where it is not kept."""
    codes, kept = encode_cells(block, codec)
    assert all(found.dtype == np.int64 and len(found) == block.rows for found in codes.values())
    assert all((found[~kept] == 0).all() for found in codes.values())
    for bins in codec.columns:
        found = codes[bins.column.name]
        assert ((found >= 0) & (found < bins.size)).all()
    cells = zip(*codes.values(), strict=True)
    return [tuple(int(code) for code in row) if stays else None for row, stays in zip(cells, kept, strict=True)]


def one(column: Column, values: Any, kind: pa.DataType | None = None) -> list[int | None]:
    """The bins of one column's cells, nothing where the row is not kept."""
    array = values if isinstance(values, pa.Array) else pa.array(values, kind)
    block = Table(pa.table({column.name: array}))
    return [None if row is None else row[0] for row in rows_of(block, build_codec(Schema("t", (column,)), {}))]


# --- laws


@given(st.data())
def test_a_row_is_encoded_the_same_alone_and_among_others(data: st.DataObject) -> None:
    codec = data.draw(codecs())
    block = data.draw(any_tables(codec))
    alone = [rows_of(Table(block.arrow.slice(place, 1)), codec) for place in range(block.rows)]
    assert rows_of(block, codec) == [row for rows in alone for row in rows]


@pytest.mark.parametrize("values", [pa.chunked_array([odd]) for odd in ODD], ids=lambda values: str(values.type))
@given(codec=codecs())
def test_columns_of_odd_types_are_encoded_cell_by_cell(values: pa.ChunkedArray, codec: Codec) -> None:
    names = [bins.column.name for bins in codec.columns]
    block = pa.table([values] * len(names), names=names)
    alone = [rows_of(Table(block.slice(place, 1)), codec) for place in range(block.num_rows)]
    assert rows_of(Table(block), codec) == [row for rows in alone for row in rows]


@given(st.data())
def test_moving_rows_moves_their_codes(data: st.DataObject) -> None:
    codec = data.draw(codecs())
    block = data.draw(any_tables(codec))
    order = data.draw(st.permutations(range(block.rows)))
    pieces = [block.arrow.slice(place, 1) for place in order]
    moved = Table(pa.concat_tables(pieces)) if pieces else block
    whole = rows_of(block, codec)
    assert rows_of(moved, codec) == [whole[place] for place in order]


@given(st.data())
def test_a_table_inside_its_schema_is_encoded_as_without_privacy(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    table, codec = data.draw(tables(schema)), build_codec(schema, {})
    codes, kept = encode_cells(table, codec)
    assert kept.all()
    for name, expected in encode(table, codec).items():
        assert_array_equal(codes[name], expected)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (Category("x", ("1", "2"), missing=True), pa.array([1, 2, None])),
        (Category("x", ("1", "2"), missing=True), pa.array([1.0, 2.0, float("nan"), None])),
        (Category("x", ("1", "2.5", "1e+20")), pa.array([1.0, 2.5, 1e20])),
        (Category("x", ("0.5", "1e-7")), pa.array([0.5, 1e-7])),
        (Category("x", ("0.5", "0.10000000149011612")), pa.array([0.5, 0.1], pa.float32())),
        (Category("x", ("0.5",)), pa.array([0.5], pa.float16())),
        (Category("x", ("false", "true")), pa.array([True, False])),
        (Category("x", ("1.50", "2.00")), pa.array([Decimal("2.00"), Decimal("1.50")])),
        (Category("x", ("2020-01-01", "1970-01-01")), pa.array([dt.date(2020, 1, 1)])),
        (Category("x", ("a", "b"), missing=True), pa.array(["b", None, "a"]).dictionary_encode()),
        (Integer("x", 0, 9, 10, missing=True), pa.array([3, None, 9]).dictionary_encode()),
        (Integer("x", 0, 9, 10), pa.array(["3", "9"])),
        (Real("x", 0.0, 9.0, 10, decimals=2), pa.array([Decimal("2.35"), Decimal("0.90")])),
        (Real("x", 0.0, 9.0, 10), pa.array([2.5], pa.float16())),
        (Temporal("x", "date", 0.0, 99.0, 10), pa.array([dt.datetime(1970, 1, 9), dt.datetime(1970, 3, 9)])),
        (Temporal("x", "date", 0.0, 99.0, 10), pa.array([dt.date(1970, 1, 9)], pa.date64())),
        (Temporal("x", "timestamp", 0.0, 99.0, 10), pa.array([12_345_678_901], pa.timestamp("ns"))),
        (Temporal("x", "time", 0.0, 99.0, 10), pa.array([12], pa.time32("s"))),
        (Temporal("x", "duration", 0.0, 99.0, 10), pa.array([12, 50], pa.duration("s"))),
    ],
)
def test_columns_of_other_types_are_encoded_as_without_privacy(column: Column, values: pa.Array) -> None:
    table, codec = Table(pa.table({"x": values})), build_codec(Schema("t", (column,)), {})
    codes, kept = encode_cells(table, codec)
    assert kept.all()
    assert_array_equal(codes["x"], encode(table, codec)["x"])


@given(st.data())
def test_a_typed_cell_means_what_its_text_means(data: st.DataObject) -> None:
    codec = data.draw(codecs())
    kind = data.draw(st.sampled_from([kind for kind in KINDS if not pa.types.is_timestamp(kind)]))
    typed = data.draw(arrays(kind, 4))
    texts = pa.array(cell_texts(pa.chunked_array([typed])), pa.string())
    names = [bins.column.name for bins in codec.columns]
    as_typed, as_texts = (Table(pa.table([each] * len(names), names=names)) for each in (typed, texts))
    for bins in codec.columns:
        alone = Codec(codec.schema, (bins,))
        if not pa.types.is_time(kind):  # below a microsecond, texts are cut off
            assert rows_of(as_typed, alone) == rows_of(as_texts, alone)


# --- categories


def test_unknown_texts_are_other_then_missing_then_leave_the_row_out() -> None:
    cells = ["a", "?", None, "", " "]
    assert one(Category("x", ("a", "Other"), missing=True), cells) == [0, 1, 2, 2, 2]
    assert one(Category("x", ("a", "__other__")), cells) == [0, 1, 1, 1, 1]
    assert one(Category("x", ("other", "a", "__other__")), cells) == [1, 2, 2, 2, 2]
    assert one(Category("x", ("a", "b"), missing=True), cells) == [0, 2, 2, 2, 2]
    assert one(Category("x", ("a", "b")), cells) == [0, None, None, None, None]


def test_a_text_is_looked_up_as_it_is_before_anything_else() -> None:
    assert one(Category("x", ("a", " a", "")), ["a", " a", "a ", "", None]) == [0, 1, 0, 2, None]
    assert one(Category("x", ("1", "1.0", "True", "true")), ["1.0", "1", "True", "TRUE"]) == [1, 0, 2, 3]


def test_numbers_and_truth_values_are_known_in_any_spelling_but_codes_are_not() -> None:
    column = Category("x", ("1", "1.5", "007", "true"), missing=True)
    assert one(column, ["1.0", "1.50", " 1e0", "7", "7.0", "01", "007", "TRUE"]) == [0, 1, 0, 4, 4, 4, 2, 3]


def test_what_else_a_float_column_holds_does_not_matter() -> None:
    column = Category("x", ("1", "2.5"), missing=True)
    assert one(column, [1.0]) == one(column, [1.0, 2.5])[:1] == one(column, [1.0, float("inf")])[:1] == [0]


def test_cells_that_are_no_utf8_are_texts_all_the_same() -> None:
    assert one(Category("x", ("�", "a"), missing=True), pa.array([b"\xff", b"a", b"\xfe\xfe"])) == [0, 1, 2]


# --- numbers


def test_numbers_outside_the_range_count_as_its_ends() -> None:
    column = Integer("x", 0, 9, 10)
    assert one(column, ["-5", "12", "inf", "-inf", "1e400", "9" * 5000, " 3 "]) == [0, 9, 9, 0, 9, 9, 3]
    assert one(column, [2**64 - 1, 2**53 + 1], pa.uint64()) == [9, 9]
    assert one(column, [float("inf"), -1e300]) == [9, 0]


def test_what_is_no_number_is_missing_or_leaves_the_row_out() -> None:
    cells = ["", "nan", "1,5", "x", None, "🙂"]
    assert one(Integer("x", 0, 9, 10, missing=True), cells) == [10] * 6
    assert one(Integer("x", 0, 9, 10), cells) == [None] * 6
    assert one(Integer("x", 0, 9, 10), [True, False]) == [None, None]
    assert one(Integer("x", 0, 9, 10), [dt.date(1970, 1, 2)]) == [None]
    assert one(Integer("x", 0, 9, 10), [[1], []]) == [None, None]


def test_a_timestamp_in_a_column_of_dates_is_its_day() -> None:
    column = Temporal("x", "date", 0.0, 9.0, 10)
    texts = ["1970-01-04", "1970-01-04T23:59:59.999", "1970-01-04 00:30+01:00", "1970-01-04x", "19700104"]
    assert one(column, texts) == [3, 3, 3, None, 3]
    assert one(column, [dt.datetime(1970, 1, 4, 23, 59)]) == [3]
    night = dt.datetime(1970, 1, 3, 23, 30, tzinfo=dt.UTC)  # half past midnight in Berlin
    assert one(column, [night], pa.timestamp("s", "Europe/Berlin")) == [3]
    assert one(column, [-1, 5 * 86_400_000 + 7], pa.int64()) == [None, None]
    assert one(column, pa.array([-1, 5 * 86_400_000 + 7]).view(pa.date64())) == [0, 5]


def test_moments_of_another_kind_are_missing() -> None:
    moment = [dt.datetime(1970, 1, 1, 0, 0, 3)]
    assert one(Temporal("x", "time", 0.0, 9.0, 10), moment) == [None]
    assert one(Temporal("x", "duration", 0.0, 9.0, 10), moment) == [None]
    assert one(Temporal("x", "timestamp", 0.0, 9.0, 10), [dt.date(1970, 1, 1)]) == [0]
    assert one(Real("x", 0.0, 9.0, 10), [dt.timedelta(seconds=3)]) == [None]


def test_durations_are_read_as_pandas_writes_them() -> None:
    column = Temporal("x", "duration", -4000.0, 99.0, (0.0, 10.0), missing=True)
    assert one(column, ["0 days 00:00:09", "0 days 00:00:11.5", "-1 days +23:59:59", "0 days 25:00:00"]) == [1, 2, 0, 3]


def test_a_dictionary_may_hold_missing_values_and_any_type() -> None:
    column = Category("x", ("1", "2"), missing=True)
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2], pa.int8()), pa.array([2.0, None, 7.0]))
    assert one(column, coded) == [1, 2, 2, 2]


def test_a_block_without_rows_has_codes_without_rows() -> None:
    assert one(Integer("x", 0, 9), [], pa.string()) == []
    assert one(Category("x", ("a",)), [], pa.null()) == []


def test_persons_are_told_apart_by_text_whatever_the_type() -> None:
    column = pa.chunked_array([pa.array([1.0, 2.5, None])])
    assert cell_texts(column) == ["1", "2.5", None]
    assert cell_texts(pa.chunked_array([pa.array([2**31 - 1], pa.int32()).cast(pa.date32())])) != [None]
    assert cell_texts(pa.chunked_array([pa.array([b"\xff", b"a"])])) == ["�", "a"]
    assert cell_texts(pa.chunked_array([pa.array([[1]])])) == [None]
