"""`data/codec.encode` in SQL: the bin number of every cell, bit for bit, or a negative number for a value outside.

Only what SQL reproduces exactly is here. Columns that are computed from others, numbers that are written as text, and
categories of other types than text, whole numbers and truth values are encoded in Python from streamed rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from psycopg import sql

from cuts.data.codec import CategoryBins, Codec, ColumnBins, NumericBins
from cuts.data.columns import Integer, Real, Temporal, is_written_as_text
from cuts.sources.postgres.location import Location
from cuts.sources.postgres.numbers import number_of
from cuts.sources.postgres.relation import PgColumn, PgKind, rows_of

OUTSIDE, MISSING = -1, -2  # a value that the schema does not have, and a missing one that it does not allow
MAX_EXACT_DIGITS = 15  # of a decimal: float64 tells all of them apart, however it is rounded
MOMENTS: dict[str, tuple[PgKind, ...]] = {
    "date": ("date",),
    "time": ("time",),
    "timestamp": ("timestamp", "instant"),
    "duration": ("interval",),
}
_NUMBER = """CASE WHEN {x} IS NULL OR {x} = 'NaN'::float8 THEN {missing} WHEN {outside} THEN {wrong}
    ELSE width_bucket({x}, {edges}) - 1 END"""


def encoded_rows(location: Location, columns: Sequence[PgColumn], codec: Codec) -> sql.Composable | None:
    """A query of one column `c0`, `c1` ... per column of the codec; None if SQL cannot encode all of them.

    >>> import pyarrow as pa
    >>> from cuts.data.codec import build_codec
    >>> from cuts.data.schema import Category, Schema
    >>> codec = build_codec(Schema("t", (Category("sex", ("f", "m")),)), {})
    >>> encoded_rows(Location("postgresql://", ("t",)), [PgColumn("sex", "point", None, pa.null())], codec) is None
    True
    """
    if codec.ties or codec.schema.formulas:
        return None
    by_name = {column.name: column for column in columns}
    values: list[sql.Composable] = []
    codes: list[sql.Composable] = []
    for bins in codec.columns:
        column = by_name.get(bins.column.name)
        value = None if column is None else _value_of(column, bins)
        if value is None:
            return None
        values.append(value)
        codes.append(_code_of(sql.Identifier(f"x{len(codes)}"), bins))
    return nested(values, codes, rows_of(location))


def nested(values: Sequence[sql.Composable], codes: Sequence[sql.Composable], rows: sql.Composable) -> sql.Composable:
    """A query of `codes`, called `c0` and so on, over `values` of the rows, called `x0` and so on."""
    inner = sql.SQL(", ").join(sql.SQL("{} AS {}").format(v, sql.Identifier(f"x{i}")) for i, v in enumerate(values))
    outer = sql.SQL(", ").join(sql.SQL("{} AS {}").format(c, sql.Identifier(f"c{i}")) for i, c in enumerate(codes))
    # OFFSET 0 keeps the planner from computing a value again wherever it is used.
    return sql.SQL("SELECT {} FROM (SELECT {} FROM {} OFFSET 0) AS v OFFSET 0").format(outer, inner, rows)


def looked_up(text: sql.Composable, codes: Mapping[str, int]) -> sql.Composable:
    """The code of a text, NULL for any other: a binary search in a JSON object, however many texts there are."""
    known = {text: code for text, code in codes.items() if _can_be_stored(text)}
    return sql.SQL("({}::jsonb ->> {})::int4").format(sql.Literal(json.dumps(known)), text)


def _can_be_stored(text: str) -> bool:
    """Whether PostgreSQL can have a text: one without NUL and halves of surrogate pairs."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def float_literal(number: float) -> sql.Composable:
    """A float8 with all its digits."""
    return sql.SQL("{}::float8").format(sql.Literal(repr(float(number))))


def float_array(numbers: Sequence[float]) -> sql.Composable:
    """An array of float8 with all their digits."""
    return sql.Literal([float(number) for number in numbers])


def _value_of(column: PgColumn, bins: ColumnBins) -> sql.Composable | None:
    """The text or the number that decides about the bin; None if SQL has not exactly the same."""
    if isinstance(bins, CategoryBins):
        as_text = column.kind in ("text", "whole", "truth")
        return sql.SQL("{}::text").format(column.value) if as_text else None
    schema = bins.column
    if is_written_as_text(schema):
        return None
    if isinstance(schema, Temporal):
        return number_of(column, months=float("inf")) if column.kind in MOMENTS[schema.kind] else None
    if column.kind == "decimal" and column.arrow.precision > MAX_EXACT_DIGITS:
        return None
    return number_of(column, months=0.0) if column.kind in ("whole", "real", "decimal", "numeric") else None


def _code_of(x: sql.Composable, bins: ColumnBins) -> sql.Composable:
    missing = sql.Literal(bins.size - 1 if bins.column.missing else MISSING)
    if isinstance(bins, CategoryBins):
        owner = {category: i for i, group in enumerate(bins.groups) for category in group}
        code = looked_up(x, {category: owner.get(category, 0) for category in bins.column.categories})
        return sql.SQL("CASE WHEN {} IS NULL THEN {} ELSE COALESCE({}, {}) END").format(
            x, missing, code, sql.Literal(OUTSIDE)
        )
    return sql.SQL(_NUMBER).format(
        x=x, missing=missing, outside=_is_outside(x, bins), wrong=sql.Literal(OUTSIDE), edges=float_array(bins.edges)
    )


def _is_outside(x: sql.Composable, bins: NumericBins) -> sql.Composable:
    low, high = float_literal(bins.column.low), float_literal(bins.column.high)
    outside = sql.SQL("{} < {} OR {} > {}").format(x, low, x, high)
    if isinstance(bins.column, Integer):
        return sql.SQL("{} OR {} <> floor({})").format(outside, x, x)
    assert isinstance(bins.column, Real | Temporal)
    return outside
