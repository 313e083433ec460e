"""The bins of private cells in SQL, as `privacy/coding.py` finds them from a cell's Arrow type.

No expression can fail on a cell: casts are guarded by CASE, which PostgreSQL evaluates in order. A column whose type is
not the one of the schema is refused by its type, which is public; only texts may spell numbers.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import pyarrow as pa
from psycopg import sql

from cuts.data.codec import CategoryBins, ColumnBins, NumericBins
from cuts.data.columns import Temporal
from cuts.privacy.coding import TRUTHS, cell_bins, missing_bin, named_bins, number_bins, unknown_bin
from cuts.sources.postgres.bins import MAX_EXACT_DIGITS, MOMENTS, float_array, float_literal, looked_up
from cuts.sources.postgres.location import Location
from cuts.sources.postgres.numbers import number_of, safe_float
from cuts.sources.postgres.relation import PgColumn, PgKind, way_out
from cuts.sources.postgres.text_numbers import PLAIN_NUMBER, any_number, bare, plain_number
from cuts.text.diagnostic import CutsError, Diagnostic

_NUMBERS: tuple[PgKind, ...] = ("whole", "real", "decimal", "numeric")


def value_of(column: PgColumn, bins: ColumnBins, location: Location) -> sql.Composable:
    """The text or number that decides about the bin of a cell; a `CutsError` if its type has none."""
    if isinstance(bins, CategoryBins):
        if column.kind == "interval" or (column.kind == "decimal" and column.arrow.precision > MAX_EXACT_DIGITS):
            raise other_type(column, "categories", "text", location)
        return safe_float(column.value) if column.kind == "numeric" else column.value
    schema = bins.column
    kinds = MOMENTS[schema.kind] if isinstance(schema, Temporal) else _NUMBERS
    if column.kind == "text" and not isinstance(schema, Temporal):
        return any_number(bare(column.value))
    value = number_of(column, months=math.nan)
    if column.kind not in kinds or value is None:
        wanted = f"{schema.kind}s" if isinstance(schema, Temporal) else "numbers"
        cast = kinds[0] if isinstance(schema, Temporal) else "float8"
        raise other_type(column, wanted, cast, location)
    return value


def bin_of(x: sql.Composable, column: PgColumn, bins: ColumnBins) -> sql.Composable:
    """The bin of a value of `value_of`, `NO_BIN` if its row is removed."""
    if isinstance(bins, NumericBins):
        return _number_bin(x, bins)
    known = sql.SQL("{} IS NOT NULL").format(x)
    match column.kind:
        case "text":
            code = _text_bin(x, bins)
        case "whole":
            number = sql.SQL("{}::float8").format(x)
            text = sql.SQL("{}::text").format(x)
            code = sql.SQL("COALESCE({}, {})").format(looked_up(text, named_bins(bins)), _equal_number(number, bins))
        case "truth":
            code = _one_of(x, [False, True], column, bins)
        case "real" | "numeric":
            known = sql.SQL("{} <> 'NaN'::float8").format(x)
            wide = sql.SQL("{}::float8").format(x)
            numbers = pa.array([*number_bins(bins), math.inf, -math.inf], pa.float64())
            code = _case(
                wide, zip(map(float_literal, numbers.to_pylist()), cell_bins(numbers, bins), strict=True), bins
            )
        case "decimal":
            known = sql.SQL("{} <> 'NaN'::numeric").format(x)
            code = _one_of(x, _decimals(column, bins), column, bins)
        case _:
            code = _one_of(x, _moments(column, bins), column, bins)
    return sql.SQL("CASE WHEN {} THEN {} ELSE {} END").format(known, code, sql.Literal(missing_bin(bins)))


def _number_bin(x: sql.Composable, bins: NumericBins) -> sql.Composable:
    """The bin of a number, which counts at the nearest end if it is outside of the range."""
    low, high = float_literal(bins.column.low), float_literal(bins.column.high)
    return sql.SQL(
        "CASE WHEN {} <> 'NaN'::float8 THEN width_bucket(LEAST(GREATEST({}, {}), {}), {}) - 1 ELSE {} END"
    ).format(x, x, low, high, float_array(bins.edges), sql.Literal(missing_bin(bins)))


def _text_bin(x: sql.Composable, bins: CategoryBins) -> sql.Composable:
    """The bin of a text: as written, without surrounding blanks, or as the truth value or number it spells."""
    named = named_bins(bins)
    truths = {written: named[truth] for written, truth in TRUTHS.items() if truth in named}
    b = bare(x)
    other: sql.Composable = sql.Literal(unknown_bin(bins))
    if number_bins(bins):
        other = sql.SQL("CASE WHEN {} ~ {} THEN {} ELSE {} END").format(
            b, sql.Literal(PLAIN_NUMBER), _equal_number(plain_number(b), bins), other
        )
    return sql.SQL("COALESCE({}, {}, CASE WHEN {} = '' THEN {} ELSE {} END)").format(
        looked_up(x, named), looked_up(b, {**truths, **named}), b, sql.Literal(missing_bin(bins)), other
    )


def _equal_number(number: sql.Composable, bins: CategoryBins) -> sql.Composable:
    """The bin of the category that spells a number."""
    return _case(number, ((float_literal(value), code) for value, code in number_bins(bins).items()), bins)


def _one_of(x: sql.Composable, values: list[Any], column: PgColumn, bins: CategoryBins) -> sql.Composable:
    """The bin of a value, by what Python says of the few values whose text can be a category."""
    codes = cell_bins(pa.array(values, column.arrow), bins)
    return _case(x, zip(map(sql.Literal, values), codes, strict=True), bins)


def _case(x: sql.Composable, cases: Iterable[tuple[sql.Composable, Any]], bins: CategoryBins) -> sql.Composable:
    unknown = sql.Literal(unknown_bin(bins))
    whens = [sql.SQL("WHEN {} THEN {}").format(value, sql.Literal(int(code))) for value, code in cases]
    return sql.SQL("CASE {} {} ELSE {} END").format(x, sql.SQL(" ").join(whens), unknown) if whens else unknown


def _decimals(column: PgColumn, bins: CategoryBins) -> list[Decimal]:
    """The decimals of a column's type that are equal to a category as float64; each is equal to one at most."""
    precision, scale = column.arrow.precision, column.arrow.scale
    largest = Decimal(10**precision - 1).scaleb(-scale)
    near = [Decimal(repr(number)) for number in number_bins(bins) if math.isfinite(number)]
    fitting = [number for number in near if abs(number) <= largest]
    rounded = [(number.quantize(Decimal(1).scaleb(-scale)), number) for number in fitting]
    return list(dict.fromkeys(decimal for decimal, number in rounded if float(decimal) == float(number)))


_PARSERS: dict[PgKind | None, Callable[[str], Any]] = {
    "date": dt.date.fromisoformat,
    "time": dt.time.fromisoformat,
    "timestamp": dt.datetime.fromisoformat,
    "instant": dt.datetime.fromisoformat,
}


def _moments(column: PgColumn, bins: CategoryBins) -> list[Any]:
    """The moments that a category spells; Python says which of them are written in that way."""
    found: list[Any] = []
    for category in bins.column.categories:
        try:
            moment = _PARSERS[column.kind](category)
        except ValueError:
            continue
        has_zone = getattr(moment, "tzinfo", None) is not None
        if has_zone == (column.kind == "instant") and moment not in found:
            found.append(moment)
    return found


def other_type(column: PgColumn, wanted: str, cast: str, location: Location) -> CutsError:
    """A column whose cells the server cannot encode, by its type."""
    return CutsError(
        [
            Diagnostic(
                "column-type",
                f"the server cannot count the private column `{column.name}` of type {column.written} as {wanted}",
                help=f"convert it, `{way_out(column, location, cast)}`, or change its kind in the schema",
            )
        ]
    )
