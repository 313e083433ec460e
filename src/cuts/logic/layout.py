"""The cells of a statistic on the bins of a codec: one axis per column, and the cells its condition selects.

The columns of a statistic and of its condition share one grid of cells, so columns that depend on each other are never
treated as independent. A column that only the condition mentions has one slot per class of bins it distinguishes.
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
from cuts.logic.ties import substitute_statistic
from cuts.vocab.functions import FUNCTIONS
from cuts.vocab.names import statistics

MAX_CELLS = 4_000_000  # of one statistic
_COMPARES: dict[CompareOp, Callable[[Any, float], Any]] = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """One column of a statistic: its slots, how bins fall on them, and whether only a condition mentions it."""

    column: str
    slots: Slots
    spread: Floats  # (bins, slots)
    classes: bool

    def bin_classes(self) -> IntArray:
        """The class of every bin: bins that the statistic does not distinguish share one."""
        classes: IntArray = np.unique(self.spread, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
        return classes


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The cells of a statistic, one axis per column: which of them count, and the numbers its formula takes."""

    stat: Statistic
    axes: tuple[Axis, ...]
    mask: Bools  # (slots, slots, ...): the condition holds and no argument is missing
    values: tuple[Floats, ...]  # one array (slots, slots, ...) per argument

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, in the order of the axes."""
        return tuple(axis.column for axis in self.axes)

    def free_axis(self, label: str | None) -> int:
        """The axis that components are not split by: the label's, or else the one with the most classes of bins."""
        if label in self.columns:
            return self.columns.index(label)
        return max(range(len(self.axes)), key=lambda index: self.axes[index].bin_classes().max())


def lay_out(stat: Statistic, codec: Codec) -> Layout:
    """The cells of a statistic on a codec that has the cuts of its conditions; `ValueError` if there are too many."""
    stat = substitute_statistic(stat, codec.schema, codec.ties)
    names = [bins.column.name for bins in codec.columns if bins.column.name in columns_of(stat)]
    preds = conditions(stat)
    grid = grid_on(codec, find_cuts(preds, codec.inner))
    axes = tuple(_axis(name, stat, preds, grid) for name in names)
    if np.prod([float(len(axis.slots.owner)) for axis in axes]) > MAX_CELLS:
        raise ValueError(f"{stat.name} is about too many cells")
    shape = tuple(len(axis.slots.owner) for axis in axes)
    mask = np.broadcast_to(_mask(stat.given or Truth(True), axes, grid), shape)
    if statistics()[stat.name].argument == "column":
        for index, axis in enumerate(axes):
            if not axis.classes:
                mask = mask & _along(~np.isnan(axis.slots.value), index, len(axes))
        return Layout(stat, axes, mask, ())
    values = [np.broadcast_to(_argument(arg, axes, grid), shape) for arg in stat.args]
    mask = reduce(np.logical_and, (~np.isnan(value) for value in values), mask)
    return Layout(stat, axes, mask, tuple(np.nan_to_num(value) for value in values))


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
    """One slot per class of bins that no condition distinguishes; its owner is the first of them."""
    marks = np.stack([bins_of(leaf, grid) for pred in preds for leaf in tests(pred) if name in columns_of(leaf)])
    _, first, member = np.unique(marks, axis=1, return_index=True, return_inverse=True)
    slots = Slots(first, np.ones(len(first)), np.zeros(len(first)))
    return Axis(name, slots, np.eye(len(first))[member.ravel()], True)


def bins_of(leaf: Pred, grid: Grid) -> Bools:
    """The bins of the leaf's only column in which it holds."""
    (name,) = columns_of(leaf)
    formula = lower(leaf, grid)
    size = grid.size(name)
    if not isinstance(formula, Leaf):
        return np.full(size, formula == TRUE)
    return np.array([bool(formula.bins >> b & 1) for b in range(size)])


def _along(row: np.ndarray[Any, Any], index: int, count: int) -> np.ndarray[Any, Any]:
    shape = [1] * count
    shape[index] = len(row)
    return row.reshape(shape)


# --- readings on cells


def _mask(pred: Pred, axes: Sequence[Axis], grid: Grid) -> Bools:
    """Where a predicate holds, one axis per column."""
    match pred:
        case Truth(value):
            return np.full([1] * len(axes), value)
        case LinearCompare(form, op, bound) if len(form.terms) > 1:
            total = reduce(np.add, (factor * _number(name, axes) for name, factor in form.terms))
            return np.asarray(_COMPARES[op](total, bound)) & ~np.isnan(total)
        case InSet() | LinearCompare() | Missing():
            (name,) = columns_of(pred)
            index = [axis.column for axis in axes].index(name)
            return _along(bins_of(pred, grid)[axes[index].slots.owner], index, len(axes))
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
                return np.asarray(FUNCTIONS[function].apply(*(_argument(inner, axes, grid) for inner in args)))
        case Statistic():
            raise AssertionError("a statistic of a statistic is refused by the binder")
        case _:
            return _mask(arg, axes, grid).astype(np.float64)


def _number(name: str, axes: Sequence[Axis]) -> Floats:
    index = [axis.column for axis in axes].index(name)
    return _along(axes[index].slots.value, index, len(axes))
