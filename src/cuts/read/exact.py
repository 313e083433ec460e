"""The exact reading: predicates as masks and quantities as numbers, decided on a table's values as written.

Tables are conformed to the schema first (`data/conform.py`). This reading checks what the others do and shares no code
with them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne, or_
from typing import Any, TypeAlias, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cuts.data.schema import Category, Schema
from cuts.data.table import Bools, Floats, IntArray, Table
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

Number: TypeAlias = float | Floats
_COMPARES: dict[CompareOp, Callable[[Floats, float], Any]] = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


def mask(pred: Pred, table: Table) -> Bools:
    """Rows on which `pred` holds; a comparison with a missing value, or of numbers with a text, is false."""
    match pred:
        case Truth(value):
            return np.full(table.rows, value)
        case InSet(column, values, negated):
            member: Bools = _isin(table, column, values) != negated
            return member & ~table.missing(column)
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
    return float(combine(quantity, lambda stat: statistic(stat, table, schema)))


def combine(quantity: Quantity, of: Callable[[Statistic], Number]) -> Number:
    """A quantity from the values of its statistics: single numbers, or arrays with one number per table."""
    match quantity:
        case Const(number):
            return number
        case Apply(function, args):
            with np.errstate(all="ignore"):
                result: Number = FUNCTIONS[function].apply(*(combine(arg, of) for arg in args))
            return result
        case Statistic():
            return of(quantity)
        case ColumnValue():
            raise AssertionError("a column outside a statistic is refused by the binder")
        case _:
            assert_never(quantity)


def statistic(stat: Statistic, table: Table, schema: Schema) -> float:
    """A statistic over the rows where its condition holds and its columns are present."""
    return weighted(prepare(stat, table, schema), np.ones(table.rows))


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A statistic and the numbers it needs from a table's rows.

    The rows it is about fall into cells: `values` has one array per argument with its number in every cell, or for a
    statistic of columns the code of its value there.
    """

    stat: Statistic
    rows: Bools | None  # None: it is about all rows
    cells: IntArray | None  # the cell of each of its rows; None: one cell per row
    values: tuple[Floats | IntArray, ...]


def prepare(stat: Statistic, table: Table, schema: Schema) -> Prepared:
    """A statistic ready for any weights of the table's rows."""
    present = np.ones(table.rows, dtype=np.bool_) if stat.given is None else mask(stat.given, table)
    values = [_argument(arg, stat, table, schema) for arg in stat.args]
    for column in values:
        present = present & ~np.isnan(column)
    rows = None if present.all() else present
    chosen = tuple(column if rows is None else column[rows] for column in values)
    if statistics()[stat.name].argument != "column":
        return Prepared(stat, rows, None, chosen)
    codes = tuple(np.unique(column, return_inverse=True)[1].astype(np.int64) for column in chosen)
    return merged(Prepared(stat, rows, None, codes))


def merged(prepared: Prepared) -> Prepared:
    """The same with equal rows in one cell, in the order of their values: quicker to evaluate many times."""
    if prepared.cells is not None or not prepared.values:
        return prepared
    cells = np.zeros(len(prepared.values[0]), dtype=np.int64)
    for column in prepared.values:
        distinct, codes = np.unique(column, return_inverse=True)
        cells = np.unique(cells * len(distinct) + codes, return_inverse=True)[1].astype(np.int64)
    _, first = np.unique(cells, return_index=True)
    return Prepared(prepared.stat, prepared.rows, cells, tuple(column[first] for column in prepared.values))


def weighted(prepared: Prepared, weights: Floats) -> float:
    """The statistic's value when the table's rows have these weights: a row of weight 2 counts as two rows."""
    entry = statistics()[prepared.stat.name]
    values: tuple[Floats | IntArray, ...] = prepared.values
    mass: Floats = weights if prepared.rows is None else weights[prepared.rows]
    if prepared.cells is not None:
        mass = np.bincount(prepared.cells, mass, minlength=len(values[0])).astype(np.float64, copy=False)
    if entry.unit == "rows":
        return float(entry.formula(mass, *values))
    kept = mass > 0
    if not kept.all():  # rows without weight do not count
        mass, values = mass[kept], tuple(column[kept] for column in values)
    total = mass.sum()
    if total == 0:
        return float("nan")
    if entry.argument == "column":
        alone = [np.bincount(codes, mass) for codes in values]
        return float(entry.formula(mass / total, *(shares[shares > 0] / total for shares in alone)))
    with np.errstate(all="ignore"):
        return float(entry.formula(mass / total, *values, *prepared.stat.levels))


def _argument(arg: Quantity | Pred, stat: Statistic, table: Table, schema: Schema) -> Floats:
    """A number for every row; for a statistic of columns, one that is equal exactly where the values are."""
    match arg:
        case ColumnValue(column) if statistics()[stat.name].argument == "column":
            return _hashable(table, column)
        case Const() | ColumnValue() | Apply() | Statistic():
            return numbers(arg, table, schema)
        case _:
            return mask(arg, table).astype(np.float64)


def numbers(quantity: Quantity, table: Table, schema: Schema) -> Floats:
    """A number for every row, NaN where a column is missing or a text; a category counts as its position."""
    match quantity:
        case Const(number):
            return np.full(table.rows, number)
        case ColumnValue(column):
            kind = schema[column]
            return _positions(table, kind) if isinstance(kind, Category) else table.numbers(column)
        case Apply(function, args):
            with np.errstate(all="ignore"):
                return np.asarray(FUNCTIONS[function].apply(*(numbers(arg, table, schema) for arg in args)))
        case Statistic():
            raise AssertionError("a statistic of a statistic is refused by the binder")
        case _:
            assert_never(quantity)


def _hashable(table: Table, name: str) -> Floats:
    """Numbers that are equal exactly where the values are, NaN where they are missing."""
    column = table.column(name)
    if not pa.types.is_string(column.type):
        return table.numbers(name)
    return np.asarray(column.combine_chunks().dictionary_encode().indices.cast(pa.float64()).to_numpy(False))


def _total(form: Linear, table: Table) -> Floats:
    return reduce(lambda total, term: total + term[1] * table.numbers(term[0]), form.terms, np.zeros(table.rows))


def _isin(table: Table, column: str, values: frozenset[str]) -> Bools:
    member = pc.is_in(table.texts(column), value_set=pa.array(sorted(values), pa.string()))
    return np.asarray(member.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _positions(table: Table, column: Category) -> Floats:
    positions = pc.index_in(table.column(column.name), value_set=pa.array(column.categories, pa.string()))
    return np.asarray(positions.combine_chunks().cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
