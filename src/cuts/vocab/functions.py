"""Functions of numbers, inside statistics and between them: arithmetic, `min`, `max`, `abs`, `sqrt`, `log`, `exp`.

One entry holds every reading of a function, in operations that numpy and torch share. Where a function is undefined
(division by zero, logarithm of a negative number) its value is missing in every reading.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from math import exp, inf, log, sqrt
from typing import Literal

from cuts.vocab import arrays
from cuts.vocab.arrays import greater, lesser, ln, only_where, root
from cuts.vocab.interval import EVERYTHING, Interval
from cuts.vocab.registry import Array


@dataclass(frozen=True, slots=True)
class Function:
    """A function: how many arguments it takes, its value on arrays, its SQL text, and bounds on its value.

    Outside `domain`, which is that of every argument, the value is missing. Where `reach` is not finite it may be too.
    `unit` says what the value counts: the same as the arguments, their root, or numbers, of numbers only.
    """

    name: str
    min_args: int
    max_args: int | None  # None: any number
    apply: Callable[..., Array]
    sql: str
    reach: Callable[..., Interval]
    domain: Interval = EVERYTHING
    unit: Literal["same", "root", "number"] = "number"  # that of `+ - * /` depends on both sides (`data/units.py`)

    def text(self, args: list[str]) -> str:
        """The SQL of this function on arguments already in SQL."""
        present = " AND ".join(f"{arg} IS NOT NULL" for arg in args)
        return self.sql.format(*args, all=", ".join(args), present=present)


def _divide(a: Array, b: Array) -> Array:
    return a / only_where(b != 0, b)


def _log(a: Array) -> Array:
    return ln(only_where(a > 0, a))


def _sqrt(a: Array) -> Array:
    return root(only_where(a >= 0, a))


def _smallest(*args: Array) -> Array:
    return reduce(lesser, args)


def _largest(*args: Array) -> Array:
    return reduce(greater, args)


def _abs_reach(a: Interval) -> Interval:
    largest = max(abs(a.low), abs(a.high))
    return Interval(0.0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high)), largest)


def _log_reach(a: Interval) -> Interval:
    return Interval(log(a.low) if a.low > 0 else -inf, log(a.high) if 0 < a.high < inf else inf)


def _sqrt_reach(a: Interval) -> Interval:
    return Interval(sqrt(max(a.low, 0.0)), sqrt(a.high) if 0 <= a.high < inf else inf)


def _exp_reach(a: Interval) -> Interval:
    return Interval(exp(min(a.low, 700.0)), exp(a.high) if a.high < 700 else inf)


NOT_NEGATIVE = Interval(0.0, inf)
FUNCTIONS: Mapping[str, Function] = {
    f.name: f
    for f in (
        Function("+", 2, 2, operator.add, "({0} + {1})", Interval.__add__),
        Function("-", 2, 2, operator.sub, "({0} - {1})", Interval.__sub__),
        Function("*", 2, 2, operator.mul, "({0} * {1})", Interval.__mul__),
        Function("/", 2, 2, _divide, "({0} / NULLIF({1}, 0))", Interval.__truediv__),
        Function("negate", 1, 1, operator.neg, "(-{0})", Interval.__neg__),
        Function(
            "min",
            2,
            None,
            _smallest,
            "(CASE WHEN {present} THEN LEAST({all}) END)",
            lambda *a: Interval(min(i.low for i in a), min(i.high for i in a)),
            unit="same",
        ),
        Function(
            "max",
            2,
            None,
            _largest,
            "(CASE WHEN {present} THEN GREATEST({all}) END)",
            lambda *a: Interval(max(i.low for i in a), max(i.high for i in a)),
            unit="same",
        ),
        Function("abs", 1, 1, operator.abs, "ABS({0})", _abs_reach, unit="same"),
        Function("sqrt", 1, 1, _sqrt, "(CASE WHEN {0} >= 0 THEN SQRT({0}) END)", _sqrt_reach, NOT_NEGATIVE, "root"),
        Function("log", 1, 1, _log, "(CASE WHEN {0} > 0 THEN LN({0}) END)", _log_reach, NOT_NEGATIVE),
        Function("exp", 1, 1, arrays.exp, "EXP({0})", _exp_reach),
    )
}
NAMED_FUNCTIONS = tuple(name for name in FUNCTIONS if name.isalpha() and name != "negate")
