"""The relaxed reading: quantities of anything that has probabilities, a model or weighed rows, with gradients.

A statistic is its formula on a distribution over cells; what the cells are is the caller's matter: joint bins of a
model, or the rows of a table with weights. Everything is written in operations numpy and torch share. Checking uses
none of this: that is `exact`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, assert_never

from cuts.lang.spec import Apply, ColumnValue, Const, Quantity, Statistic
from cuts.vocab.functions import FUNCTIONS
from cuts.vocab.names import statistics

Array = Any  # numpy or torch


def value(quantity: Quantity, number: Callable[[float], Array], statistic: Callable[[Statistic], Array]) -> Array:
    """A number of the table, from what its constants and statistics are."""
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
    """A statistic of numbers or of conditions: `weight` is of the cells it is about, nought in all others.

    The weights of all cells, those left out included, sum to one; `rows` is how many rows there are.
    """
    entry = statistics()[stat.name]
    if entry.unit == "rows":
        return entry.formula(weight * rows, *values)
    return entry.formula(weight / weight.sum(), *values, *stat.levels)


def of_columns(stat: Statistic, joint: Array, alone: Sequence[Array]) -> Array:
    """A statistic of columns, from their joint distribution and that of each alone, none summing to one yet."""
    return statistics()[stat.name].formula(joint / joint.sum(), *(each / each.sum() for each in alone))
