"""A table converted to the types of a schema, and where it does not fit."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cuts.data.columns import is_written_as_text
from cuts.data.computed import Formula, breaks
from cuts.data.exchange.recast import is_text
from cuts.data.number_texts import split_cells
from cuts.data.physical import as_numbers
from cuts.data.schema import Category, Column, Integer, Modelled, Numeric, Real, Schema, Temporal, Unmodelled
from cuts.data.table import NUMBER_OR_TEXT, Bools, Table
from cuts.data.temporal import show_moment
from cuts.text import names
from cuts.text.diagnostic import CutsError, Diagnostic, counted, did_you_mean, has_errors, listed


def conform(table: Table, schema: Schema, columns: Iterable[str] | None = None) -> Table:
    """The schema's columns (or only `columns`) of the table: categories as strings, numbers as float64, NaN as missing.

    A numeric column with `texts` or a `format` has cells of the type `NUMBER_OR_TEXT`. Values are not checked against
    the domain; `check_table` does that. Raises `CutsError` naming every column that is absent or of another type.
    """
    chosen = set(schema.names if columns is None else columns)
    wanted = [column for column in schema if column.name in chosen and not isinstance(column, Unmodelled)]
    typed: dict[str, pa.Array] = {}
    problems: list[Diagnostic] = []
    for column in wanted:
        if column.name not in table.names:
            problems.append(missing_column(column, table))
            continue
        values = typed_values(table.column(column.name).combine_chunks(), column)
        if values is None:
            problems.append(column_type(column, table))
        else:
            typed[column.name] = values
    if problems:
        raise CutsError(problems)
    return Table(pa.table(typed)) if typed else Table(table.arrow.select([]))


def typed_values(values: pa.Array, column: Modelled) -> pa.Array | None:
    """The values in the type that `conform` gives the column; None if they cannot be converted."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return _as_texts(values) if isinstance(column, Category) else _as_numbers(values, column)


def check_table(table: Table, schema: Schema) -> tuple[Diagnostic, ...]:
    """Every difference between a table and a schema."""
    problems: list[Diagnostic] = [
        extra_column(name, schema) for name in table.names if name not in schema and name not in schema.dropped
    ]
    for column in schema:
        if isinstance(column, Unmodelled):
            if column.name not in table.names:
                problems.append(missing_column(column, table))
            continue
        try:
            typed = conform(table, schema, [column.name])
        except CutsError as error:
            problems += error.diagnostics
            continue
        problems += column_problems(typed, column)
    if not has_errors(problems):
        for name, formula in schema.formulas:
            typed = conform(table, schema, [name, *formula.columns])
            problems += formula_problems(typed, schema.number(name), formula)
    return tuple(problems)


def outside_domain(typed: Table, column: Modelled) -> Bools:
    """Where a conformed column has a value that its schema does not allow; False for missing values."""
    present: Bools = ~typed.missing(column.name)
    if isinstance(column, Category):
        return present & ~_is_one_of(typed, column.name, column.categories)
    values = typed.numbers(column.name)
    is_number = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        outside = (values < column.low) | (values > column.high)
        if isinstance(column, Integer):
            outside |= values != np.floor(values)
    wrong: Bools = is_number & outside
    if is_written_as_text(column):
        wrong |= present & ~is_number & ~_is_one_of(typed, column.name, column.texts)
    return wrong


def _is_one_of(typed: Table, name: str, texts: tuple[str, ...]) -> Bools:
    member = pc.is_in(typed.texts(name), value_set=pa.array(texts, pa.string()))
    return np.asarray(member.to_numpy(zero_copy_only=False), dtype=np.bool_)


def column_problems(typed: Table, column: Modelled) -> list[Diagnostic]:
    """The diagnostics of a conformed column: missing values, values outside its domain."""
    problems = []
    missing = typed.missing(column.name)
    if missing.any() and not column.missing:
        problems.append(unexpected_missing(column, int(missing.sum()), int(missing.argmax())))
    outside = outside_domain(typed, column)
    if outside.any():
        row = int(outside.argmax())
        value = typed.first([row], [column.name])[0][column.name]
        problems.append(outside_schema(column, int(outside.sum()), row, value))
    return problems


def formula_problems(typed: Table, column: Numeric, formula: Formula) -> list[Diagnostic]:
    """The diagnostics of a conformed table about a computed column: rows whose value differs from its formula."""
    broken = breaks(formula, column, {name: typed.numbers(name) for name in (column.name, *formula.columns)})
    return [broken_formula(column, formula, int(broken.sum()), int(broken.argmax()))] if broken.any() else []


def _as_texts(values: pa.Array) -> pa.Array | None:
    try:
        if pa.types.is_floating(values.type):
            values = pc.if_else(pc.is_nan(values), None, values.cast(pa.float64()))
            whole = pc.all(pc.and_(pc.equal(values, pc.floor(values)), pc.less(pc.abs(values), 2.0**53))).as_py()
            values = values.cast(pa.int64()) if whole is not False else values
        if pa.types.is_nested(values.type) or pa.types.is_binary(values.type):
            return None
        return values.cast(pa.string())
    except pa.ArrowException:
        return None


def _as_numbers(values: pa.Array, column: Numeric) -> pa.Array | None:
    if is_written_as_text(column):
        return _as_numbers_or_texts(values, column)
    temporal = pa.types.is_temporal(values.type)
    if isinstance(column, Temporal) and column.kind == "date" and pa.types.is_timestamp(values.type):
        days = values.cast(pa.date32(), safe=False)  # pandas stores dates as timestamps
        if pc.all(pc.equal(days.cast(values.type), values)).as_py() is False:
            return None
        values = days
    return None if temporal != isinstance(column, Temporal) else as_numbers(values)


def _as_numbers_or_texts(values: pa.Array, column: Integer | Real) -> pa.Array | None:
    """The cells of a column with `texts` or a `format`, which need not be text; None if they cannot be converted."""
    if values.type == NUMBER_OR_TEXT:
        return values
    if is_text(values.type):
        try:
            numbers, texts = split_cells(values.cast(pa.string()), column)
        except ValueError:  # a number that is too large
            return None
    else:
        numbers = None if pa.types.is_temporal(values.type) else as_numbers(values)
        texts = pa.nulls(len(values), pa.string())
    if numbers is None:
        return None
    missing = pc.and_(pc.is_null(numbers), pc.is_null(texts))
    return pa.StructArray.from_arrays([numbers, texts], fields=list(NUMBER_OR_TEXT), mask=missing)


# --- what is wrong


def missing_column(column: Column, table: Table) -> Diagnostic:
    """A column of the schema the table does not have."""
    return names.missing_column(column.name, "the table", table.names)


def extra_column(name: str, schema: Schema) -> Diagnostic:
    """A column of the table the schema does not have."""
    return Diagnostic(
        "extra-column",
        f"the column `{name}` is not in the schema",
        help=did_you_mean(name, schema.names) or "it will be ignored; declare it in the schema to keep it",
        severity="warning",
    )


def column_type(column: Column, table: Table) -> Diagnostic:
    """A column that cannot be converted to the kind the schema declares."""
    wanted = "categories" if isinstance(column, Category) else "numbers"
    wanted = f"{column.kind}s" if isinstance(column, Temporal) else wanted
    arrow_type = table.column(column.name).type
    arrow_type = arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type
    return Diagnostic(
        "column-type",
        f"the column `{column.name}` cannot be read as {wanted}: it is of type {arrow_type}",
        help="convert the column, or change its kind in the schema",
    )


def unexpected_missing(column: Column, count: int, row: int) -> Diagnostic:
    """Missing values where the schema allows none."""
    return Diagnostic(
        "unexpected-missing",
        f"the column `{column.name}` has {counted(count, 'missing value')}, the first in row {row + 1}",
        help=f"add `missing = true` to `{column.name}` in the schema",
    )


def broken_formula(column: Numeric, formula: Formula, count: int, row: int) -> Diagnostic:
    """Rows in which the value of a computed column differs from its formula."""
    rows = f"{counted(count, 'row')}, first in row {row + 1}"
    return Diagnostic(
        "broken-formula",
        f"the column `{column.name}` does not equal `{formula.text}` in {rows}",
        help=f"correct the table, or remove the `formula` line of `{column.name}` from the schema",
    )


def outside_schema(column: Modelled, count: int, row: int, value: object) -> Diagnostic:
    """Values the schema does not allow."""
    allowed = "a category of the schema"
    shown = int(value) if isinstance(value, float) and value.is_integer() else value
    if not isinstance(column, Category):
        whole = "a whole number " if isinstance(column, Integer) else ""
        allowed = f"{whole}from {column.low} to {column.high}"
        allowed += f" or one of its texts: {listed(column.texts, limit=5)}" if column.texts else ""
    if isinstance(column, Temporal):
        allowed = f"from {show_moment(column.kind, column.low)} to {show_moment(column.kind, column.high)}"
        shown = show_moment(column.kind, float(str(value)))
    return Diagnostic(
        "outside-schema",
        f"the column `{column.name}` has {counted(count, 'value')} outside the schema, "
        f"the first in row {row + 1}: {shown!r} is not {allowed}",
        help="correct the table, or widen the column in the schema",
    )
