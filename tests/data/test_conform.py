"""Columns of a table brought to the kinds of a schema."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from cuts.data.conform import check_table
from cuts.data.infer import infer_schema
from cuts.data.table import Table

DAYS = [dt.date(2020, 1, 1), dt.date(2021, 5, 3), None]


def test_midnight_timestamps_are_dates() -> None:
    schema = infer_schema(Table(pa.table({"day": pa.array(DAYS, pa.date32())})), "t")
    stamps = pa.array(DAYS, pa.date32()).cast(pa.timestamp("ns"))
    assert check_table(Table(pa.table({"day": stamps})), schema) == ()


def test_a_time_of_day_is_no_date() -> None:
    schema = infer_schema(Table(pa.table({"day": pa.array(DAYS, pa.date32())})), "t")
    stamps = pa.array([dt.datetime(2020, 1, 1, 8, 30)], pa.timestamp("ns"))
    assert [found.code for found in check_table(Table(pa.table({"day": stamps})), schema)] == ["column-type"]


def test_a_missing_text_is_not_the_empty_text() -> None:
    texts = pa.array(["a", None, "b", ""] * 5, pa.string_view())
    column = infer_schema(Table(pa.table({"x": texts})), "t")["x"]
    assert column.missing
    assert column.categories == ("", "a", "b")  # type: ignore[union-attr]
