"""The relaxed reading: quantities of anything with probabilities (a model, or weighted rows), with gradients.

A statistic is its formula on a distribution over cells; the caller decides what the cells are: joint bins of a model,
or the rows of a table with weights. A predicate is its truth between 0 and 1, from the truths of its leaves. Everything
is written in operations that numpy and torch share. Checking uses none of this: that is `exact`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import mul
from typing import Any, assert_never

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

Array = Any  # numpy or torch


def truth(pred: Pred, number: Callable[[float], Array], leaf: Callable[[Pred], Array]) -> Array:
    """The truth of a predicate in every row, from those of its leaves, by the product t-norm.

    As in CuTS (Vero et al., ICML 2024, sec. 4.2), `a AND b` is `ab` and `a OR b` is `a + b - ab`. So `NOT a` is `1 - a`
    and `a IMPLIES b` is `1 - a (1 - b)`. On certain rows it is 1 where the predicate holds and 0 elsewhere.

    >>> import numpy as np
    >>> married, wife = InSet("status", frozenset({"married"})), InSet("role", frozenset({"wife"}))
    >>> truths = {married: np.array([1.0, 0.5]), wife: np.array([0.0, 0.5])}
    >>> truth(Or((married, wife)), np.float64, truths.__getitem__).tolist()
    [1.0, 0.75]
    """
    match pred:
        case Truth(holds):
            return number(float(holds))
        case InSet() | LinearCompare() | Missing():
            return leaf(pred)
        case Not(inner):
            return 1.0 - truth(inner, number, leaf)
        case And(parts):
            return reduce(mul, (truth(part, number, leaf) for part in parts))
        case Or(parts):
            return 1.0 - reduce(mul, (1.0 - truth(part, number, leaf) for part in parts))
        case Implies(left, right):
            return 1.0 - truth(left, number, leaf) * (1.0 - truth(right, number, leaf))
        case _:
            assert_never(pred)


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
