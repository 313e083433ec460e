"""The relaxed reading: quantities of anything with probabilities (a model, or weighted rows), with gradients.

A statistic is its formula on a distribution over cells; the caller decides what the cells are: joint bins of a model,
or the rows of a table with weights. Everything is written in operations that numpy and torch share. Checking uses none
of this: that is `exact`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, assert_never

from cuts.lang.spec import Apply, ColumnValue, Const, Quantity, Statistic
from cuts.vocab.functions import FUNCTIONS
from cuts.vocab.names import statistics

Array = Any  # numpy or torch


def value(quantity: Quantity, number: Callable[[float], Array], statistic: Callable[[Statistic], Array]) -> Array:
    """A number of the table, from the values of its constants and statistics."""
    match quantity:
        case Const(amount):
            return number(amount)
        case Apply(function, args):
            return FUNCTIONS[function].apply(*(value(arg, number, statistic) for arg in args))
        case Statistic():
            return statistic(quantity)
        case ColumnValue():
            raise AssertionError("a column outside a statistic is refused by the binder")
        case _:
            assert_never(quantity)


def of_numbers(stat: Statistic, weight: Array, values: Sequence[Array], rows: float) -> Array:
    """A statistic of numbers or of conditions; `weight` is 0 in cells it is not about.

    Before that the weights of all cells sum to one; `rows` is the number of rows of the table.
    """
    entry = statistics()[stat.name]
    if entry.unit == "rows":
        return entry.formula(weight * rows, *values)
    return entry.formula(weight / weight.sum(), *values, *stat.levels)


def of_columns(stat: Statistic, joint: Array, alone: Sequence[Array]) -> Array:
    """A statistic of columns, from their joint and their one-way distributions, none of them normalised yet."""
    return statistics()[stat.name].formula(joint / joint.sum(), *(one_way / one_way.sum() for one_way in alone))
