"""The columns of DuckDB as columns that everything else reads.

Most types arrive from DuckDB as their Arrow counterparts: HUGEINT and DECIMAL as decimals, ENUM as a dictionary, UUID
as text, TIMESTAMP of any precision as it is. Intervals become durations, and moments with a time zone are in UTC. What
has no counterpart is refused by name with the SQL that converts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cuts.text.diagnostic import CutsError, Diagnostic

_NUMBERS = ("tinyint", "smallint", "integer", "bigint", "hugeint", "float", "double", "decimal")
_UNSIGNED = ("utinyint", "usmallint", "uinteger", "ubigint")
_TEXTS = ("varchar", "enum", "uuid", "boolean", "null", "sqlnull")
_TIMESTAMPS = ("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamp with time zone")
_READABLE = frozenset((*_NUMBERS, *_UNSIGNED, *_TEXTS, *_TIMESTAMPS, "date", "time", "time_ns", "interval"))
_CAST_TO = {"time with time zone": "TIME", "uhugeint": "DOUBLE", "bignum": "DOUBLE", "varint": "DOUBLE"}
_NESTED = ("list", "array", "struct", "map", "union", "variant")
_INTERVAL = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanos", "<i8")])
_DAY_MICROS = 86_400_000_000


def check_types(names: Sequence[str], types: Sequence[Any], where: str) -> None:
    """Raise unless every column is of a type that can be read; `types` are DuckDB's."""
    problems = [
        unreadable_type(name, kind, where) for name, kind in zip(names, types, strict=True) if kind.id not in _READABLE
    ]
    if problems:
        raise CutsError(problems)


def converted(table: pa.Table, where: str | None) -> pa.Table:
    """The rows with intervals as durations, and moments with a time zone in UTC.

    An interval with months, which have no fixed length, raises `CutsError` with its column; it is missing if `where`
    is None.
    """
    for index, field in enumerate(table.schema):
        column = table.column(index)
        if pa.types.is_interval(field.type):
            spans = [_durations(chunk, field.name, where) for chunk in column.chunks]
            table = table.set_column(index, field.name, pa.chunked_array(spans, pa.duration("us")))
        elif pa.types.is_timestamp(field.type) and field.type.tz not in (None, "UTC"):
            table = table.set_column(index, field.name, column.cast(pa.timestamp(field.type.unit, "UTC")))
    return table


def _durations(spans: pa.Array, name: str, where: str | None) -> pa.Array:
    valid = np.asarray(spans.is_valid())
    parts = np.frombuffer(spans.buffers()[1], _INTERVAL, len(spans), spans.offset * _INTERVAL.itemsize)
    has_months = valid & (parts["months"] != 0)
    if where is not None and has_months.any():
        raise CutsError([has_months_in(name, where)])
    micros = parts["days"].astype(np.int64) * _DAY_MICROS + parts["nanos"] // 1_000
    return pa.array(micros, pa.int64(), mask=~valid | has_months).cast(pa.duration("us"))


def unreadable_type(name: str, kind: Any, where: str) -> Diagnostic:
    """A column of a type that has no counterpart."""
    column = '"' + name.replace('"', '""') + '"'
    way_out = f"`?query=SELECT * EXCLUDE ({column}) FROM ...`"
    if kind.id not in _NESTED:
        cast = f"CAST({column} AS {_CAST_TO.get(kind.id, 'VARCHAR')})"
        way_out = f"`?query=SELECT * REPLACE ({cast} AS {column}) FROM ...`"
    shown = str(kind) if len(str(kind)) <= 40 else f"{str(kind)[:37]}..."
    title = f"the column `{name}` of {where} is of type {shown}"
    return Diagnostic("unsupported-column", title, help=f"convert it in a query: {way_out}")


def has_months_in(name: str, where: str) -> Diagnostic:
    """An interval with months."""
    column = '"' + name.replace('"', '""') + '"'
    return Diagnostic(
        "unsupported-column",
        f"the column `{name}` of {where} has intervals with months or years, which have no fixed length",
        help=f"convert it in a query to seconds: `?query=SELECT * REPLACE (epoch({column}) AS {column}) FROM ...`",
    )
