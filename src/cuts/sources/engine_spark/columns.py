"""The columns of a Spark DataFrame: checked, renamed by position, and their types in Arrow.

Spark compares names without regard to case and reads dots and backticks in them as syntax. On the way to the workers
columns are therefore called c0, c1 and so on; workers get the names and types as an Arrow schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from cuts.data.exchange.readable import check_names, not_plain
from cuts.sources.engine_spark.session import reported

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Spark's names of types that hold one plain value per row.
_PLAIN = (
    *("boolean", "byte", "short", "integer", "long", "float", "double", "decimal"),
    *("string", "char", "varchar", "binary", "date", "time", "timestamp", "timestampntz", "daytimeinterval", "null"),
)


def is_plain(kind: object) -> bool:
    """Whether a column of this Spark type holds numbers, text, moments, truth values or bytes."""
    return type(kind).__name__.removesuffix("Type").lower() in _PLAIN


def by_position(frame: DataFrame) -> DataFrame:
    """The frame with its columns called c0, c1 and so on."""
    return frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))


def chosen(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """These columns of a frame, called c and their position in the frame."""
    places = [frame.columns.index(name) for name in names]
    return by_position(frame).select(*(f"c{place}" for place in places))


def arrow_schema(frame: DataFrame, where: str) -> pa.Schema:
    """The names of the columns and their Arrow types; `CutsError` for a column that a table cannot have."""
    check_names(frame.columns, where)
    for field in frame.schema.fields:
        if not is_plain(field.dataType):
            raise not_plain(field.name, f"is of the Spark type {field.dataType.simpleString()}", where)
    return pa.schema(list(zip(frame.columns, arrow_types(frame, where), strict=True)))


def arrow_types(frame: DataFrame, where: str) -> list[pa.DataType]:
    """The types in which workers get the columns; no row is read."""
    with reported("reading the columns of", where):
        return list(by_position(frame).limit(0).toArrow().schema.types)
