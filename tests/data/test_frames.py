"""Whatever frame people bring comes back with the same names, order, dtypes and look."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arrow_strategies import MICROS, NAMES, TEXTS, arrow_tables, canonical, values
from cuts.data.exchange.frames import from_native, to_native
from cuts.data.table import Table
from cuts.text.diagnostic import CutsError

UNITS = ("s", "ms", "us", "ns")
ARROW_KINDS = [
    *(pa.bool_(), pa.null(), pa.date32(), pa.date64(), pa.string(), pa.large_string(), pa.string_view()),
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.float16(), pa.float32(), pa.float64(), pa.decimal128(9, 2), pa.decimal256(40, 3)),
    *(pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
    *(pa.timestamp(unit, zone) for unit in UNITS for zone in (None, "UTC", "Europe/Berlin")),
    *(pa.duration(unit) for unit in UNITS),
    *(pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.uint32(), pa.large_string(), ordered=True)),
    *(pa.dictionary(pa.int16(), pa.int64()), pa.dictionary(pa.int8(), pa.bool_())),
]
POLARS_DTYPES = [
    *(pl.Boolean, pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
    *(pl.Float32, pl.Float64, pl.String, pl.Categorical, pl.Enum(["", "NA", "1", "b", "true"]), pl.Date, pl.Time),
    *(pl.Datetime("ms"), pl.Datetime("us", "Europe/Berlin"), pl.Datetime("ns"), pl.Duration("ms"), pl.Duration("ns")),
    *(pl.Decimal(10, 2), pl.Null),
]


# --- laws


@settings(max_examples=60, deadline=None)
@given(arrow_tables(ARROW_KINDS))
def test_an_arrow_table_comes_back_as_it_was(frame: pa.Table) -> None:
    table, form = from_native(frame)
    assert_same_arrow(to_native(table, form), frame)
    assert_same_arrow(to_native(Table(canonical(frame)), form), frame)


def assert_same_arrow(got: pa.Table, wanted: pa.Table) -> None:
    assert got.schema.equals(wanted.schema, check_metadata=True)
    for name in wanted.column_names:
        assert repr(got.column(name).to_pylist()) == repr(wanted.column(name).to_pylist())
    got.validate(full=True)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_pandas_frame_comes_back_as_it_was(data: st.DataObject) -> None:
    frame = data.draw(pandas_frames())
    table, form = from_native(frame)
    assert_same_pandas(to_native(table, form), frame)
    assert_same_pandas(to_native(Table(canonical(table.arrow)), form), frame)


@settings(max_examples=50, deadline=None)
@given(st.data(), st.booleans())
def test_a_polars_frame_comes_back_as_it_was(data: st.DataObject, is_lazy: bool) -> None:
    frame = data.draw(polars_frames())
    table, form = from_native(frame.lazy() if is_lazy else frame)
    for same in (table, Table(canonical(table.arrow))):
        got = to_native(same, form)
        assert isinstance(got, pl.LazyFrame if is_lazy else pl.DataFrame)
        pl.testing.assert_frame_equal(got.lazy().collect(), frame, check_exact=True)


@settings(max_examples=50, deadline=None)
@given(arrow_tables(ARROW_KINDS, most=3))
def test_a_pandas_frame_backed_by_arrow_comes_back_as_it_was(arrow: pa.Table) -> None:
    frame = arrow.to_pandas(types_mapper=pd.ArrowDtype)
    table, form = from_native(frame)
    got = to_native(table, form)
    assert list(got.dtypes) == list(frame.dtypes)
    assert_same_arrow(pa.table([column.array._pa_array for _, column in got.items()], arrow.column_names), arrow)


def pandas_columns(rows: int) -> st.SearchStrategy[pd.Series]:
    def column(cells: st.SearchStrategy[Any], dtype: Any) -> st.SearchStrategy[pd.Series]:
        return st.lists(cells, min_size=rows, max_size=rows).map(lambda found: pd.Series(found, dtype=dtype))

    def with_missing(cells: st.SearchStrategy[Any], *dtypes: Any) -> list[st.SearchStrategy[pd.Series]]:
        return [column(each, dtype) for dtype in dtypes for each in (cells, st.none() | cells)]

    small, text = st.integers(0, 100), TEXTS
    moments = MICROS.map(lambda m: pd.Timestamp(m, unit="us"))
    spans = MICROS.map(lambda m: pd.Timedelta(m, unit="us"))
    categories = pd.CategoricalDtype(["b", "a", "c"], ordered=True)
    return st.one_of(
        column(small, "int8") | column(st.integers(-(2**63), 2**63 - 1), "int64") | column(small, "uint16"),
        column(st.floats(width=32), "float32")
        | column(st.floats() | st.none(), "float64")
        | column(st.booleans(), "bool"),
        *with_missing(small, "Int8", "UInt64", "Int64"),
        *with_missing(st.booleans(), "boolean", object),
        *with_missing(st.floats(allow_nan=False), "Float64"),
        *with_missing(text, "str", "string", "string[python]", object, "category"),
        *with_missing(moments, "datetime64[us]", "datetime64[us, Europe/Berlin]"),
        *with_missing(spans, "timedelta64[us]"),
        *with_missing(st.sampled_from(["a", "b"]), categories),
        *with_missing(small, "category"),
        *with_missing(st.dates(dt.date(1, 1, 1)), object),
        *with_missing(st.integers(0, 999).map(lambda n: Decimal(n).scaleb(-2)), object),
        column(text | st.just(float("nan")), object) | column(text | st.just(pd.NA), object),
    )


@st.composite
def pandas_frames(draw: st.DrawFn) -> pd.DataFrame:
    rows = draw(st.integers(1, 6))
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    frame = pd.DataFrame(dict(enumerate(draw(pandas_columns(rows)) for _ in names)))
    frame.columns = pd.Index(names, name=draw(st.sampled_from([None, "kinds"])))
    frame.index.name = draw(st.sampled_from([None, "row"]))
    return frame


@st.composite
def polars_frames(draw: st.DrawFn) -> pl.DataFrame:
    rows = draw(st.integers(1, 6))
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    return pl.DataFrame([draw(polars_series(name, rows)) for name in names])


@st.composite
def polars_series(draw: st.DrawFn, name: str, rows: int) -> pl.Series:
    dtype = draw(st.sampled_from(POLARS_DTYPES))
    if isinstance(dtype, pl.Enum):
        cells: st.SearchStrategy[Any] = st.sampled_from(dtype.categories.to_list())
    else:
        kind = pl.Series([], dtype=dtype).to_arrow().type
        cells = values(kind)
    found = draw(st.lists(st.none() | cells, min_size=rows, max_size=rows))
    return pl.Series(name, found, dtype=dtype)


def assert_same_pandas(got: pd.DataFrame, wanted: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(got, wanted, check_exact=True, check_index_type=True, check_column_type=True)
    assert isinstance(got.index, pd.RangeIndex)
    assert got.columns.equals(wanted.columns)
    for name in (name for name in wanted if wanted[name].dtype == object):
        assert repr(got[name].tolist()) == repr(wanted[name].tolist())  # None, nan and NA are told apart


# --- examples


def test_numbers_of_numpy_stay_what_they_are() -> None:
    frame = pd.DataFrame({"whole": [1, 2, 3], "gaps": [1.0, None, 3.0]})
    table, form = from_native(frame)
    got = to_native(Table(table.arrow.set_column(0, "whole", pa.array([5.0, 6.0, 7.0]))), form)
    assert got["whole"].tolist() == [5, 6, 7]
    assert list(got.dtypes) == ["int64", "float64"]
    got.loc[0, "whole"] = 4  # the memory is the frame's own


def test_categories_keep_their_list_and_order_whatever_rows_come_back() -> None:
    frame = pd.DataFrame(
        {"size": pd.Categorical(["S", "L"], ["S", "M", "L"], ordered=True), "class": pd.cut([1, 9], 3)}
    )
    table, form = from_native(frame)
    texts = table.column("class").cast(pa.string()).to_pylist()
    got = to_native(Table(pa.table({"size": ["L", None, "S"], "class": [texts[1], None, texts[0]]})), form)
    assert got.dtypes.equals(frame.dtypes)
    assert got["size"].cat.codes.tolist() == [2, -1, 0]
    assert got["class"].cat.codes.tolist() == [2, -1, 0]


def test_a_column_without_values_keeps_its_dtype() -> None:
    frame = pl.DataFrame({"a": [None, None], "b": [1, 2]}, schema={"a": pl.Categorical, "b": pl.UInt8})
    _, form = from_native(frame)
    got = to_native(Table(pa.table({"a": pa.nulls(3), "b": [1, 2, 3]})), form)
    assert got.schema == frame.schema


def test_an_index_is_no_data_but_its_name_stays() -> None:
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index(["x", "y"], name="patient"))
    table, form = from_native(frame)
    assert table.names == ("a",)
    assert to_native(table, form).index.equals(pd.RangeIndex(2))
    assert to_native(table, form).index.name == "patient"


def test_columns_come_back_in_their_order() -> None:
    frame = pl.DataFrame({"a": [1], "b": ["x"]})
    _, form = from_native(frame)
    assert to_native(Table(pa.table({"b": ["y"], "a": [2]})), form).columns == ["a", "b"]


def test_everything_arrow_has_is_a_frame(tmp_path: Path) -> None:
    arrow = pa.table({"a": pa.array([1, 2], pa.int8())})
    pyarrow.parquet.write_table(arrow, tmp_path / "a.parquet")
    relation = duckdb.from_arrow(arrow)
    frames = [
        arrow,
        arrow.to_batches()[0],
        arrow.to_reader(),
        pyarrow.dataset.dataset(tmp_path / "a.parquet"),
        relation,
    ]
    for frame in [*frames, Table(arrow)]:
        table, form = from_native(frame)
        assert to_native(table, form) == arrow
        assert form.library == "arrow"


BAD: list[tuple[Any, str]] = [
    (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns named `a`"),
    (pa.table([[1], [2]], names=["a", "a"]), "two columns named `a`"),
    (pd.DataFrame({0: [1]}), "named 0"),
    (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), "not a string"),
    (pd.DataFrame({"": [1]}), "column 1 has no name"),
    (pd.DataFrame({"a": [[1], [2]]}), "`a` holds Python objects (list)"),
    (pd.DataFrame({"a": [{"x": 1}]}), "`a` holds Python objects (dict)"),
    (pd.DataFrame({"a": [1, "secret"]}, dtype=object), "`a` mixes types of values (int, str)"),
    (pd.DataFrame({"a": [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)]}, dtype=object), "`a` mixes"),
    (pd.DataFrame({"a": [2**70]}, dtype=object), "`a` of dtype object"),
    (pd.DataFrame({"a": ["\ud800"]}, dtype=object), "`a` of dtype object"),
    (pd.DataFrame({"a": [1j]}), "`a` of dtype complex128"),
    (pd.DataFrame({"a": pd.period_range("2020", periods=2, freq="M")}), "`a` is of type"),
    (pl.DataFrame({"a": [[1]]}), "`a` is of dtype List"),
    (pl.DataFrame({"a": [{"x": 1}]}), "`a` is of dtype Struct"),
    (pl.DataFrame({"a": pl.Series([object()], dtype=pl.Object)}), "`a` is of dtype Object"),
    (pl.DataFrame({"a": pl.Series([1], dtype=pl.Int128)}), "`a` is of dtype Int128"),
    (pa.table({"a": [[1]]}), "`a` is of type list"),
    (pd.DataFrame({"a": []}), "no rows"),
    (pd.DataFrame(), "no columns"),
    (pl.DataFrame(), "no columns"),
    (pl.LazyFrame({"a": []}), "no rows"),
    (pa.table({}), "no columns"),
]


@pytest.mark.parametrize(("frame", "title"), BAD, ids=range(len(BAD)))
def test_a_frame_that_cannot_be_read_is_one_clear_error(frame: Any, title: str) -> None:
    with pytest.raises(CutsError) as caught:
        from_native(frame)
    (problem,) = caught.value.diagnostics
    assert problem.code == "unreadable-table"
    assert title in problem.title
    assert problem.help is not None
    assert "secret" not in problem.title + problem.help


@pytest.mark.parametrize("thing", [3, "table.csv", [1, 2], {"a": [1]}, pd.Series([1]), pl.Series([1]), None])
def test_what_is_no_frame_is_a_type_error(thing: object) -> None:
    with pytest.raises(TypeError, match="is not a data frame"):
        from_native(thing)


WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, *rest):
        if name.partition(".")[0] in ("pandas", "polars"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import pyarrow as pa
import cuts.data.exchange.files
from cuts.data.exchange.frames import from_native, to_native

assert to_native(*from_native(pa.table({"a": [1]}))).num_rows == 1
"""


def test_neither_pandas_nor_polars_is_needed() -> None:
    assert subprocess.run([sys.executable, "-c", WITHOUT], check=False).returncode == 0
