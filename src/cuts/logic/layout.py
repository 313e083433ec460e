"""The cells a statistic is about, on the bins of a codec: one axis a column, and which cells count.

The columns of a statistic and of its condition are taken together, so nothing is multiplied that depends on each
other. A column that only the condition mentions is looked at as far as the condition tells its bins apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import eq, ge, gt, le, lt, ne
from typing import Any, assert_never

import numpy as np

from cuts.data.codec import Codec
from cuts.data.slots import Slots, number_slots, value_slots
from cuts.data.table import Bools, Floats, IntArray
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
from cuts.lang.syntax import CompareOp
from cuts.lang.walks import columns_of
from cuts.logic.core import Grid, comparisons, find_cuts, grid_on, tests
from cuts.logic.formula import TRUE, Leaf, lower
from cuts.vocab.functions import FUNCTIONS
from cuts.vocab.names import statistics

MAX_CELLS = 4_000_000  # of one statistic
_COMPARES: dict[CompareOp, Callable[[Any, float], Any]] = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """One column of a statistic: its slots, how bins fall on them, and whether a condition alone is about it."""

    column: str
    slots: Slots
    spread: Floats  # (bins, slots)
    classes: bool

    def told_apart(self) -> IntArray:
        """The class of every bin: those alike to the statistic are together."""
        found: IntArray = np.unique(self.spread, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The cells of a statistic, one axis a column: which count, and the numbers its formula takes."""

    stat: Statistic
    axes: tuple[Axis, ...]
    held: Bools  # (slots, slots, ...), where the condition holds and nothing is missing
    values: tuple[Floats, ...]  # each (slots, slots, ...)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, in the order of the axes."""
        return tuple(axis.column for axis in self.axes)

    def free(self, label: str | None) -> int:
        """The axis that components are not split by: the label's, else the one with the most to tell apart."""
        if label in self.columns:
            return self.columns.index(label)
        return max(range(len(self.axes)), key=lambda place: self.axes[place].told_apart().max())


def lay_out(stat: Statistic, codec: Codec) -> Layout:
    """The cells of a statistic on a codec that has the cuts of its conditions; `ValueError` when there are too many."""
    names = [bins.column.name for bins in codec.columns if bins.column.name in columns_of(stat)]
    preds = conditions(stat)
    grid = grid_on(codec, find_cuts(preds, codec.schema))
    axes = tuple(_axis(name, stat, preds, grid) for name in names)
    if np.prod([float(len(axis.slots.owner)) for axis in axes]) > MAX_CELLS:
        raise ValueError(f"{stat.name} is about too many cells")
    shape = tuple(len(axis.slots.owner) for axis in axes)
    held = np.broadcast_to(_mask(stat.given or Truth(True), axes, grid), shape)
    if statistics()[stat.name].argument == "column":
        for place, axis in enumerate(axes):
            if not axis.classes:
                held = held & _along(~np.isnan(axis.slots.value), place, len(axes))
        return Layout(stat, axes, held, ())
    values = [np.broadcast_to(_argument(arg, axes, grid), shape) for arg in stat.args]
    held = reduce(np.logical_and, (~np.isnan(each) for each in values), held)
    return Layout(stat, axes, held, tuple(np.nan_to_num(each) for each in values))


def conditions(stat: Statistic) -> list[Pred]:
    """The predicates in a statistic: its condition, and those it takes as arguments."""
    args = [arg for arg in stat.args if not isinstance(arg, Const | ColumnValue | Apply | Statistic)]
    return args if stat.given is None else [stat.given, *args]


# --- axes


def _axis(name: str, stat: Statistic, preds: Sequence[Pred], grid: Grid) -> Axis:
    bins = grid.codec[name]
    entry = statistics()[stat.name]
    in_numbers = any(name in columns_of(arg) for arg in stat.args if isinstance(arg, Const | ColumnValue | Apply))
    in_sums = any(name in leaf.form.columns for pred in preds for leaf in comparisons(pred) if len(leaf.form.terms) > 1)
    if not in_numbers and not in_sums:
        return _classes(name, preds, grid)
    if entry.argument == "column" and not in_sums:
        slots = value_slots(bins)
    else:
        slots = number_slots(bins, ordered=in_sums or entry.needs_order)
    return Axis(name, slots, slots.spread(bins.size), not in_numbers)


def _classes(name: str, preds: Sequence[Pred], grid: Grid) -> Axis:
    """Bins that no condition tells apart, together; a slot's owner is the first of them."""
    marks = np.stack([_bins(leaf, grid) for pred in preds for leaf in tests(pred) if name in columns_of(leaf)])
    _, first, member = np.unique(marks, axis=1, return_index=True, return_inverse=True)
    slots = Slots(first, np.ones(len(first)), np.zeros(len(first)))
    return Axis(name, slots, np.eye(len(first))[member.ravel()], True)


def _bins(leaf: Pred, grid: Grid) -> Bools:
    """The bins of the leaf's only column in which it holds."""
    (name,) = columns_of(leaf)
    formula = lower(leaf, grid)
    size = grid.size(name)
    if not isinstance(formula, Leaf):
        return np.full(size, formula == TRUE)
    return np.array([bool(formula.bins >> place & 1) for place in range(size)])


def _along(row: np.ndarray[Any, Any], place: int, count: int) -> np.ndarray[Any, Any]:
    shape = [1] * count
    shape[place] = len(row)
    return row.reshape(shape)


# --- readings on cells


def _mask(pred: Pred, axes: Sequence[Axis], grid: Grid) -> Bools:
    """Where a predicate holds, one axis a column."""
    match pred:
        case Truth(value):
            return np.full([1] * len(axes), value)
        case LinearCompare(form, op, bound) if len(form.terms) > 1:
            total = reduce(np.add, (factor * _number(name, axes) for name, factor in form.terms))
            return np.asarray(_COMPARES[op](total, bound)) & ~np.isnan(total)
        case InSet() | LinearCompare() | Missing():
            (name,) = columns_of(pred)
            place = [axis.column for axis in axes].index(name)
            return _along(_bins(pred, grid)[axes[place].slots.owner], place, len(axes))
        case Not(inner):
            return ~_mask(inner, axes, grid)
        case And(parts):
            return reduce(np.logical_and, (_mask(part, axes, grid) for part in parts))
        case Or(parts):
            return reduce(np.logical_or, (_mask(part, axes, grid) for part in parts))
        case Implies(left, right):
            return ~_mask(left, axes, grid) | _mask(right, axes, grid)
        case _:
            assert_never(pred)


def _argument(arg: Quantity | Pred, axes: Sequence[Axis], grid: Grid) -> Floats:
    """A number for every cell, not a number where it is missing."""
    match arg:
        case Const(number):
            return np.full([1] * len(axes), number)
        case ColumnValue(column):
            return _number(column, axes)
        case Apply(function, args):
            with np.errstate(all="ignore"):
                return np.asarray(FUNCTIONS[function].apply(*(_argument(each, axes, grid) for each in args)))
        case Statistic():
            raise AssertionError("a statistic of a statistic is refused by the binder")
        case _:
            return _mask(arg, axes, grid).astype(np.float64)


def _number(name: str, axes: Sequence[Axis]) -> Floats:
    place = [axis.column for axis in axes].index(name)
    return _along(axes[place].slots.value, place, len(axes))
