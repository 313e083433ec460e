"""Random Arrow tables of every type a table may have."""

from __future__ import annotations

import datetime as dt
import string
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st

TEXT_SIGNS = st.characters(codec="utf-8", exclude_characters="\x00")
TEXTS = st.text(TEXT_SIGNS, max_size=4) | st.sampled_from(
    ["", "NA", "null", "007", "1", "true", "2020-01-01", 'a"b', "a,b\n"]
)
NAMES = st.text(TEXT_SIGNS, min_size=1, max_size=3) | st.text(string.ascii_letters, min_size=1, max_size=3)
MICROS = st.integers(-(10**15), 10**15)  # within 32 years of 1970, so that nanoseconds hold them


def integers(kind: pa.DataType) -> st.SearchStrategy[int]:
    """Every number of an integer type; of uint64 those int64 has too."""
    if pa.types.is_unsigned_integer(kind):
        return st.integers(0, min(2**kind.bit_width, 2**63) - 1)
    return st.integers(-(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1)


def values(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Values of an Arrow type."""
    if pa.types.is_dictionary(kind):
        return values(kind.value_type)
    if pa.types.is_null(kind):
        return st.none()
    if pa.types.is_boolean(kind):
        return st.booleans()
    if pa.types.is_integer(kind):
        return integers(kind)
    if pa.types.is_floating(kind):
        return st.floats(width=kind.bit_width)
    if pa.types.is_decimal(kind):
        return st.integers(-9999, 9999).map(lambda n: Decimal(n).scaleb(-kind.scale))
    if pa.types.is_date(kind):
        return st.dates(dt.date(1, 1, 1))
    if pa.types.is_time(kind):
        return st.integers(0, 86_399).map(lambda s: (dt.datetime(1970, 1, 1) + dt.timedelta(seconds=s)).time())
    if pa.types.is_timestamp(kind):
        seconds = MICROS.map(lambda m: dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=m // 10**6))
        return seconds if kind.tz else seconds.map(lambda moment: moment.replace(tzinfo=None))
    if pa.types.is_duration(kind):
        return MICROS.map(lambda m: dt.timedelta(seconds=m // 10**6))
    return TEXTS


def arrays(kind: pa.DataType, rows: int) -> st.SearchStrategy[pa.Array]:
    """A column of an Arrow type, with or without missing values."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    cells = st.lists(values(kind), min_size=rows, max_size=rows) | st.lists(
        st.none() | values(kind), min_size=rows, max_size=rows
    )
    columns = cells.map(lambda found: pa.array(found, plain))
    return columns.map(lambda array: coded(array, kind)) if pa.types.is_dictionary(kind) else columns


def coded(array: pa.Array, kind: pa.DictionaryType) -> pa.Array:
    """The array with its values backwards as dictionary."""
    known = pc.unique(array.drop_null())[::-1]
    codes = pc.index_in(array, value_set=known).cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(codes, known, ordered=kind.ordered)


@st.composite
def arrow_tables(draw: st.DrawFn, kinds: Sequence[pa.DataType], most: int = 5) -> pa.Table:
    """A table of columns of these types."""
    rows = draw(st.integers(1, 6))
    names = draw(st.lists(NAMES, min_size=1, max_size=most, unique=True))
    columns = [draw(st.sampled_from(kinds).flatmap(lambda kind: arrays(kind, rows))) for _ in names]
    return pa.table(columns, names=names)


def canonical(table: pa.Table) -> pa.Table:
    """The table as a model gives it: categories as texts, numbers as int64 and float64, moments by microseconds."""
    columns = []
    for column in table.columns:
        plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        empty = plain.null_count == len(plain)
        columns.append(
            pa.chunked_array([pa.nulls(len(plain))]) if empty else plain.cast(_canonical_type(plain.type), safe=False)
        )
    return pa.table(columns, names=table.column_names)


def _canonical_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_integer(kind):
        return pa.int64()
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return pa.float64()
    if pa.types.is_date(kind):
        return pa.date32()
    if pa.types.is_time(kind):
        return pa.time64("us")
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return pa.duration("us") if pa.types.is_duration(kind) else pa.string()
