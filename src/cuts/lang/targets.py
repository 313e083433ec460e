"""What the goals of a program want of the table: numbers between bounds, and how they are joined.

A violation is counted in tolerances, so that years, shares and nats weigh alike. A quantile that should be near a
constant is wanted as shares of rows, which a model can be moved towards: at least `p` of the rows are not above the
target, and fewer lie below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import TypeAlias, assert_never

from cuts.data.schema import Category, Schema
from cuts.lang.spec import (
    AllOf,
    And,
    AnyOf,
    Apply,
    ColumnValue,
    Const,
    Distribution,
    Goal,
    Linear,
    LinearCompare,
    Missing,
    Not,
    Quantity,
    Relation,
    Statistic,
    TableAim,
    TableGoal,
    shares_of,
)
from cuts.lang.tolerance import SHARE_TOLERANCE, default_tolerance
from cuts.vocab.names import statistics

INSIDE = 0.1  # of a tolerance: how far inside its bounds an inequality is aimed
SHARE_INSIDE = 0.002  # the same of the shares that stand for a quantile


@dataclass(frozen=True, slots=True)
class Target:
    """A number of the table that should lie from `low` to `high`; `unit` is what one violation is."""

    value: Quantity
    low: float
    high: float
    unit: float

    @property
    def aim(self) -> tuple[float, float]:
        """Where to bring the number to: the middle of two bounds, or a little inside of one."""
        if self.low > -inf and self.high < inf:
            middle = (self.low + self.high) / 2
            return middle, middle
        return self.low + INSIDE * self.unit, self.high - INSIDE * self.unit

    def off(self, value: float) -> float:
        """How far a number is from where it is brought to, in tolerances and with its sign."""
        low, high = self.aim
        return (value - min(max(value, low), high)) / self.unit


@dataclass(frozen=True, slots=True)
class AllTargets:
    """All parts are wanted."""

    parts: tuple[Targets, ...]


@dataclass(frozen=True, slots=True)
class AnyTarget:
    """One of the parts is wanted."""

    parts: tuple[Targets, ...]


Targets: TypeAlias = Target | AllTargets | AnyTarget


def wanted(goal: Goal, schema: Schema) -> Targets:
    """What a goal wants."""
    match goal:
        case Relation():
            return _relation(goal, schema)
        case Distribution():
            return AllTargets(tuple(_relation(share, schema) for _, share in shares_of(goal)))
        case AllOf(parts):
            return AllTargets(tuple(wanted(part, schema) for part in parts))
        case AnyOf(parts):
            return AnyTarget(tuple(wanted(part, schema) for part in parts))
        case _:
            assert_never(goal)


def single(want: Targets, violation: Callable[[Target], float]) -> Iterator[Target]:
    """What is wanted, one number after the other; of alternatives the one that is nearest."""
    match want:
        case Target():
            yield want
        case AllTargets(parts):
            for part in parts:
                yield from single(part, violation)
        case AnyTarget(parts):
            chosen = [list(single(part, violation)) for part in parts]
            yield from min(chosen, key=lambda some: sum(violation(each) for each in some))
        case _:
            assert_never(want)


def leaves(want: Targets) -> Iterator[Target]:
    """All numbers a goal is about, alternatives included."""
    match want:
        case Target():
            yield want
        case AllTargets(parts) | AnyTarget(parts):
            for part in parts:
                yield from leaves(part)
        case _:
            assert_never(want)


def target_values(command: TableGoal | TableAim, schema: Schema) -> list[Quantity]:
    """All numbers of the table a command is about."""
    if isinstance(command, TableAim):
        return [command.value]
    return [want.value for want in leaves(wanted(command.goal, schema))]


def violation(want: Target, value: float) -> float:
    """How far a number is out of its bounds, in tolerances; what is undefined is far."""
    if value != value:
        return inf
    return max(want.low - value, value - want.high, 0.0) / want.unit


def apart(left: Quantity, right: Quantity) -> Quantity:
    """`left - right`."""
    return left if right == Const(0.0) else Apply("-", (left, right))


# --- relations


def _relation(goal: Relation, schema: Schema) -> Targets:
    left, op, right, tolerance = goal.left, goal.op, goal.right, goal.tolerance
    if isinstance(left, Statistic) and isinstance(right, Const) and _level(left) is not None:
        column = left.args[0]
        if isinstance(column, ColumnValue) and not isinstance(schema[column.column], Category) and op != "!=":
            return _quantile(goal, left)
    target = right.value if isinstance(right, Const) else 0.0
    unit = tolerance or default_tolerance(left, "==", right, schema)
    if not 0 < unit < inf:  # what it measures has no range, or no end to it
        unit = SHARE_TOLERANCE * max(abs(target), 1.0)
    value = left if isinstance(right, Const) else apart(left, right)
    match op:
        case "==":
            return Target(value, target - tolerance, target + tolerance, unit)
        case "<=" | "<":
            return Target(value, -inf, target + tolerance, unit)
        case ">=" | ">":
            return Target(value, target - tolerance, inf, unit)
        case "!=":
            below = Target(value, -inf, target - 2 * tolerance, unit)
            return AnyTarget((replace(below, low=target + 2 * tolerance, high=inf), below))


def _level(stat: Statistic) -> float | None:
    """The share a quantile is about."""
    if not stat.args or not isinstance(stat.args[0], ColumnValue):
        return None
    level = statistics()[stat.name].quantile_level
    return None if level is None else level(stat.levels)


def _quantile(goal: Relation, stat: Statistic) -> AllTargets:
    (column,) = stat.args
    level = _level(stat)
    assert isinstance(column, ColumnValue)
    assert isinstance(goal.right, Const)
    assert level is not None
    target, slack = goal.right.value, goal.tolerance
    present = Not(Missing(column.column))  # a missing value is about no quantile, but it is a row
    given = present if stat.given is None else And((stat.given, present))
    found = []
    if goal.op in ("==", "<=", "<"):  # enough rows lie at or below the target
        under = LinearCompare(Linear(((column.column, 1.0),)), "<=" if goal.op != "<" else "<", target + slack)
        found.append(Target(Statistic("P", (under,), given), level + SHARE_INSIDE, inf, SHARE_TOLERANCE))
    if goal.op in ("==", ">=", ">"):  # too few rows lie below it
        under = LinearCompare(Linear(((column.column, 1.0),)), "<" if goal.op != ">" else "<=", target - slack)
        found.append(Target(Statistic("P", (under,), given), -inf, level - SHARE_INSIDE, SHARE_TOLERANCE))
    return AllTargets(tuple(found))
