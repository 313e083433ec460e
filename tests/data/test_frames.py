"""Whatever frame people bring comes back with the same names, order, dtypes and look."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pyarrow.dataset
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arrow_strategies import arrow_tables, canonical
from cuts.data.frames import give, take
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


def is_nan_free(table: pa.Table) -> bool:
    """Arrow does not call a NaN equal to itself."""
    return not any(
        pa.types.is_floating(column.type) and np.isnan(np.asarray(column.drop_null())).any() for column in table.columns
    )


# --- laws


@settings(max_examples=150, deadline=None)
@given(arrow_tables(ARROW_KINDS))
def test_an_arrow_table_comes_back_as_it_was(frame: pa.Table) -> None:
    table, form = take(frame)
    assert_same_arrow(give(table, form), frame)
    assert_same_arrow(give(Table(canonical(frame)), form), frame)


def assert_same_arrow(got: pa.Table, wanted: pa.Table) -> None:
    assert got.schema.equals(wanted.schema, check_metadata=True)
    for name in wanted.column_names:
        assert repr(got.column(name).to_pylist()) == repr(wanted.column(name).to_pylist())
    got.validate(full=True)
