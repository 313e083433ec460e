"""The SQL reading: predicates as conditions and quantities as scalar queries, in SQL DuckDB and PostgreSQL share.

Logic is two-valued: every comparison first tests that its columns are not NULL. A floating-point NaN counts as a number
in a database, so store missing values as NULL. A numeric column with `texts` or a `format` is a column of strings.
"""

from __future__ import annotations

from typing import assert_never

from cuts.data.columns import is_written_as_text
from cuts.data.number_texts import format_of
from cuts.data.schema import Category, Schema, Temporal
from cuts.lang.spec import (
    And,
    Apply,
    ColumnValue,
    Const,
    Implies,
    InSet,
    LinearCompare,
    Missing,
    Not,
    Or,
    Pred,
    Quantity,
    Statistic,
    Truth,
)
from cuts.vocab.functions import FUNCTIONS
from cuts.vocab.names import statistics


def predicate(pred: Pred, schema: Schema) -> str:
    """The condition of a WHERE clause that holds where `pred` does, never NULL.

    >>> schema = Schema("people", (Category("sex", ("Female", "Male")),))
    >>> predicate(InSet("sex", frozenset({"Male"})), schema)
    '("sex" IS NOT NULL AND CAST("sex" AS VARCHAR) IN (\\'Male\\'))'
    """
    match pred:
        case Truth(value):
            return "TRUE" if value else "FALSE"
        case InSet(column, values, negated):
            inside = ", ".join(text(value) for value in sorted(values))
            if not values:
                return f"({name(column)} IS NOT NULL)" if negated else "FALSE"
            word = "NOT IN" if negated else "IN"
            return f"({name(column)} IS NOT NULL AND CAST({name(column)} AS VARCHAR) {word} ({inside}))"
        case LinearCompare(form, op, bound):
            present = " AND ".join(f"{_number_cell(column, schema)} IS NOT NULL" for column in form.columns)
            total = " + ".join(f"{number(value)} * {_double(column, schema)}" for column, value in form.terms)
            sign = {"==": "=", "!=": "<>"}.get(op, op)
            return f"({present} AND {total} {sign} {number(bound)})"
        case Missing(column):
            return f"({name(column)} IS NULL)"
        case Not(inner):
            return f"(NOT {predicate(inner, schema)})"
        case And(parts):
            return f"({' AND '.join(predicate(part, schema) for part in parts)})"
        case Or(parts):
            return f"({' OR '.join(predicate(part, schema) for part in parts)})"
        case Implies(left, right):
            return f"(NOT {predicate(left, schema)} OR {predicate(right, schema)})"
        case _:
            assert_never(pred)


def quantity(value: Quantity, schema: Schema, relation: str) -> str:
    """A scalar expression for a number of the table `relation`."""
    match value:
        case Const(amount):
            return number(amount)
        case Apply(function, args):
            return FUNCTIONS[function].text([quantity(arg, schema, relation) for arg in args])
        case Statistic(stat, args, given, levels):
            where = "TRUE" if given is None else predicate(given, schema)
            entry = statistics()[stat]
            if entry.argument == "column":
                names = [_number_cell(arg.column, schema) for arg in args if isinstance(arg, ColumnValue)]
                present = " AND ".join(f"{column} IS NOT NULL" for column in names)
                return entry.sql(names, relation, f"{where} AND {present}", levels)
            texts = [
                _row(arg, schema)
                if isinstance(arg, Const | ColumnValue | Apply | Statistic)
                else predicate(arg, schema)
                for arg in args
            ]
            return entry.sql(texts, relation, where, levels)
        case ColumnValue():
            raise AssertionError("a column outside a statistic is refused by the binder")
        case _:
            assert_never(value)


def _row(value: Quantity, schema: Schema) -> str:
    """A number of each row."""
    match value:
        case Const(amount):
            return number(amount)
        case ColumnValue(column):
            kind = schema[column]
            if not isinstance(kind, Category):
                return _double(column, schema)
            cases = " ".join(f"WHEN {text(c)} THEN {i}.0" for i, c in enumerate(kind.categories))
            return f"(CASE CAST({name(column)} AS VARCHAR) {cases} END)"
        case Apply(function, args):
            return FUNCTIONS[function].text([_row(arg, schema) for arg in args])
        case Statistic():
            raise AssertionError("a statistic of a statistic is refused by the binder")
        case _:
            assert_never(value)


def name(column: str) -> str:
    """A quoted identifier."""
    return '"' + column.replace('"', '""') + '"'


def text(value: str) -> str:
    """A quoted string."""
    return "'" + value.replace("'", "''") + "'"


def number(value: float) -> str:
    """A float64 constant, digit for digit."""
    return f"CAST({value!r} AS DOUBLE PRECISION)" if value != int(value) or abs(value) > 1e15 else f"{value:.1f}"


def _double(column: str, schema: Schema) -> str:
    """A numeric column as float64: dates in days, times, timestamps and durations in seconds."""
    kind = schema[column]
    if is_written_as_text(kind):
        return _number_cell(column, schema)
    if not isinstance(kind, Temporal):
        return f"CAST({name(column)} AS DOUBLE PRECISION)"
    if kind.kind == "date":
        return f"CAST(({name(column)} - DATE '1970-01-01') AS DOUBLE PRECISION)"
    return f"CAST(EXTRACT(EPOCH FROM {name(column)}) AS DOUBLE PRECISION)"


def _number_cell(column: str, schema: Schema) -> str:
    """A column as it is; numbers in strings as float64, NULL for the texts beside them."""
    kind, cell = schema[column], name(column)
    if not is_written_as_text(kind):
        return cell
    format, number = format_of(kind), f"TRIM(CAST({cell} AS VARCHAR))"
    if format.grouping:
        number = f"REPLACE({number}, {text(format.grouping)}, '')"
    if format.style == ",":
        number = f"REPLACE({number}, ',', '.')"
    number = f"CAST({number} AS DOUBLE PRECISION)"
    texts = ", ".join(text(value) for value in kind.texts)
    return f"(CASE WHEN CAST({cell} AS VARCHAR) IN ({texts}) THEN NULL ELSE {number} END)" if texts else number
