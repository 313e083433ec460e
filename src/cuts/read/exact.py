"""The exact reading: predicates as masks and quantities as numbers, decided on a table's values as written.

Tables are conformed to the schema first (`data/conform.py`). This reading checks what the others do and shares no code
with them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne, or_
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cuts.data.schema import Category, Schema
from cuts.data.table import Bools, Floats, Table
from cuts.lang.spec import (
    And,
    Apply,
    ColumnValue,
    Const,
    Implies,
    InSet,
    Linear,
    LinearCompare,
    Missing,
    Not,
    Or,
    Pred,
    Quantity,
    Statistic,
    Truth,
)
from cuts.lang.syntax import CompareOp
from cuts.vocab.functions import FUNCTIONS
from cuts.vocab.names import statistics

_COMPARES: dict[CompareOp, Callable[[Floats, float], Any]] = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


def mask(pred: Pred, table: Table) -> Bools:
    """Rows on which `pred` holds; a comparison with a missing value is false."""
    match pred:
        case Truth(value):
            return np.full(table.rows, value)
        case InSet(column, values, negated):
            held: Bools = _isin(table, column, values) != negated
            return held & ~table.missing(column)
        case LinearCompare(form, op, bound):
            total = _total(form, table)
            return compare(total, op, bound) & ~np.isnan(total)
        case Missing(column):
            return table.missing(column)
        case Not(inner):
            return ~mask(inner, table)
        case And(parts):
            return reduce(and_, [mask(part, table) for part in parts])
        case Or(parts):
            return reduce(or_, [mask(part, table) for part in parts])
        case Implies(left, right):
            return ~mask(left, table) | mask(right, table)
        case _:
            assert_never(pred)


def compare(left: Floats, op: CompareOp, right: float) -> Bools:
    """`left op right`, number by number."""
    return np.asarray(_COMPARES[op](left, right))


def value(quantity: Quantity, table: Table, schema: Schema) -> float:
    """A number of the table; not a number where it is undefined, e.g. a mean over no rows."""
    match quantity:
        case Const(number):
            return number
        case Apply(function, args):
            with np.errstate(all="ignore"):
                found = FUNCTIONS[function].apply(*(value(arg, table, schema) for arg in args))
            return float(found)
        case Statistic():
            return statistic(quantity, table, schema)
        case ColumnValue():
            raise AssertionError("a column outside a statistic is refused by the binder")
        case _:
            assert_never(quantity)


def statistic(stat: Statistic, table: Table, schema: Schema) -> float:
    """A statistic over the rows where its condition holds and its columns are present."""
    entry = statistics()[stat.name]
    rows = np.ones(table.rows, dtype=np.bool_) if stat.given is None else mask(stat.given, table)
    if entry.argument == "column":
        return _of_columns(stat, rows, table)
    values = [
        numbers(arg, table, schema)
        if isinstance(arg, Const | ColumnValue | Apply | Statistic)
        else mask(arg, table) * 1.0
        for arg in stat.args
    ]
    for column in values:
        rows = rows & ~np.isnan(column)
    chosen = [column[rows] for column in values]
    count = int(rows.sum())
    if entry.unit == "rows":
        return float(entry.formula(np.ones(count), *chosen))
    if count == 0:
        return float("nan")
    with np.errstate(all="ignore"):
        return float(entry.formula(np.full(count, 1.0 / count), *chosen, *stat.levels))


def numbers(quantity: Quantity, table: Table, schema: Schema) -> Floats:
    """A number for every row, NaN where a column is missing; a category counts as its position."""
    match quantity:
        case Const(number):
            return np.full(table.rows, number)
        case ColumnValue(column):
            known = schema[column]
            return _positions(table, known) if isinstance(known, Category) else table.numbers(column)
        case Apply(function, args):
            with np.errstate(all="ignore"):
                return np.asarray(FUNCTIONS[function].apply(*(numbers(arg, table, schema) for arg in args)))
        case Statistic():
            raise AssertionError("a statistic of a statistic is refused by the binder")
        case _:
            assert_never(quantity)


def share(column: str, category: str, rows: Bools, table: Table) -> float:
    """Share of a category among the rows of `rows` in which the column is present."""
    present = rows & ~table.missing(column)
    count = int(present.sum())
    return float((_isin(table, column, frozenset({category})) & present).sum() / count) if count else float("nan")


def _of_columns(stat: Statistic, rows: Bools, table: Table) -> float:
    """A statistic of the joint distribution of columns, from the cells that occur."""
    names = [arg.column for arg in stat.args if isinstance(arg, ColumnValue)]
    present = reduce(and_, [~table.missing(name) for name in names], rows)
    count = int(present.sum())
    if count == 0:
        return float("nan")
    codes = [np.unique(_hashable(table, name)[present], return_inverse=True)[1] for name in names]
    _, cells = np.unique(np.stack(codes), axis=1, return_counts=True)
    alone = [np.bincount(code) / count for code in codes]
    return float(statistics()[stat.name].formula(cells / count, *alone))


def _hashable(table: Table, name: str) -> Floats:
    """Numbers that are equal exactly where the values are."""
    column = table.column(name)
    if not pa.types.is_string(column.type):
        return table.numbers(name)
    return np.asarray(column.combine_chunks().dictionary_encode().indices.cast(pa.float64()).to_numpy(False))


def _total(form: Linear, table: Table) -> Floats:
    return reduce(lambda total, term: total + term[1] * table.numbers(term[0]), form.terms, np.zeros(table.rows))


def _isin(table: Table, column: str, values: frozenset[str]) -> Bools:
    found = pc.is_in(table.column(column), value_set=pa.array(sorted(values), pa.string()))
    return np.asarray(found.combine_chunks().to_numpy(zero_copy_only=False), dtype=np.bool_)


def _positions(table: Table, column: Category) -> Floats:
    places = pc.index_in(table.column(column.name), value_set=pa.array(column.categories, pa.string()))
    return np.asarray(places.combine_chunks().cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
