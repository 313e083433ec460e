"""The numbers of columns as float8 in SQL, the same bits as `data/physical.py` gives for their Arrow types.

None of these expressions can fail on a value: what is out of range becomes infinite, and what is no number NaN.
"""

from __future__ import annotations

from fractions import Fraction

from psycopg import sql

from cuts.sources.postgres.relation import PgColumn

# An interval has months, days and microseconds. `numeric` neither overflows nor rounds here.
HAS_MONTHS = "date_part('year', {0}) <> 0 OR date_part('month', {0}) <> 0"
MICROSECONDS = """(date_part('day', {0})::numeric * 86400000000 + date_part('hour', {0})::numeric * 3600000000
    + date_part('minute', {0})::numeric * 60000000 + date_part('microseconds', {0})::numeric)"""

_OVERFLOW = 2**1024 - 2**970  # from here on, the nearest float64 would be 2^1024
_UNDERFLOW = Fraction(1, 2**1075)  # up to here, the nearest float64 is zero
_DATE = """CASE {0} WHEN 'infinity' THEN 'Infinity'::float8 WHEN '-infinity' THEN '-Infinity'::float8
    ELSE ({0} - DATE '1970-01-01')::float8 END"""
_SAFE_FLOAT = """CASE WHEN {0} = 'NaN' THEN 'NaN'::float8
    WHEN {0} >= {1} THEN 'Infinity'::float8 WHEN {0} <= -{1} THEN '-Infinity'::float8
    WHEN abs({0}) <= {2} THEN 0::float8 ELSE {0}::float8 END"""


def number_of(column: PgColumn, *, months: float) -> sql.Composable | None:
    """The number of every cell, NULL where it is missing; `months` stands for an interval that has months.

    None if the column has no numbers.
    """
    value = column.value
    match column.kind:
        case "whole" | "real" | "decimal":  # at most 38 digits: no overflow
            return sql.SQL("{}::float8").format(value)
        case "numeric":
            return safe_float(value)
        case "date":
            return sql.SQL(_DATE).format(value)
        case "time" | "timestamp" | "instant":  # `extract` would be numeric and rounded otherwise
            return sql.SQL("date_part('epoch', {})").format(value)
        case "interval":
            seconds = f"CASE WHEN {HAS_MONTHS} THEN {{1}} ELSE {MICROSECONDS}::float8 / 1000000::float8 END"
            return sql.SQL(seconds).format(value, sql.Literal(months))
        case _:
            return None


def safe_float(numeric: sql.Composable) -> sql.Composable:
    """The nearest float8 of a `numeric`, where a cast would fail if there is none."""
    return sql.SQL(_SAFE_FLOAT).format(numeric, _exact(Fraction(_OVERFLOW)), _exact(_UNDERFLOW))


def _exact(number: Fraction) -> sql.Composable:
    """A whole number or a power of a half with all its digits."""
    digits = number.denominator.bit_length() - 1
    scaled = str(number.numerator * 5**digits).zfill(digits + 1)
    text = f"{scaled[: len(scaled) - digits]}.{scaled[len(scaled) - digits :]}" if digits else scaled
    return sql.SQL("{}::numeric").format(sql.Literal(text))
