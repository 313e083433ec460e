"""The goals of a program as targets: numbers of the table between bounds, and how they are joined.

A violation is counted in tolerances, so that years, shares and nats weigh alike. A quantile that should be near a
constant becomes shares of rows, which a model can be moved towards: at least `p` of the rows are not above the target,
and fewer than `p` lie below it.
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
    Quantity,
    Relation,
    Statistic,
    TableAim,
    TableGoal,
    has_number,
)
from cuts.lang.tolerance import SHARE_TOLERANCE, default_tolerance
from cuts.lang.walks import shares_of
from cuts.vocab.names import statistics

AIM_MARGIN = 0.1  # tolerances: how far inside its bound an inequality is aimed
SHARE_MARGIN = 0.002  # share of rows: the same for the shares that stand for a quantile
ROWS_SLACK = 0.5  # of a tolerance taken from the rows, within which a quantile is aimed


@dataclass(frozen=True, slots=True)
class Target:
    """A number of the table that should lie from `low` to `high`; a violation of 1 is `unit` outside of them.

    The unit is the default tolerance of an equality, or a narrower stated one: how near to its aim a number is brought
    does not depend on how wide a tolerance decides the verdict.
    """

    value: Quantity
    low: float
    high: float
    unit: float

    @property
    def room(self) -> float:
        """How far a number may be from its aim while it is moved, in units."""
        low, high = self.aim
        below = low - self.low if self.low > -inf else inf
        above = self.high - high if self.high < inf else inf
        return min(below / self.unit, above / self.unit, 1.0)

    @property
    def aim(self) -> tuple[float, float]:
        """The range to bring the number into: the middle of two bounds, or all that is a margin inside of one."""
        if self.low > -inf and self.high < inf:
            middle = (self.low + self.high) / 2
            return middle, middle
        return self.low + AIM_MARGIN * self.unit, self.high - AIM_MARGIN * self.unit

    def beyond(self, value: float) -> float:
        """How far a number is inside the only bound it has, in units beyond the aim; 0 if it has two or is outside."""
        low, high = self.aim
        return 0.0 if -inf < self.low and self.high < inf else max(min(value - low, high - value), 0.0) / self.unit

    def off(self, value: float) -> float:
        """The signed distance of a number from the aim, in tolerances."""
        low, high = self.aim
        return (value - min(max(value, low), high)) / self.unit


@dataclass(frozen=True, slots=True)
class AllTargets:
    """All parts have to be met."""

    parts: tuple[Targets, ...]


@dataclass(frozen=True, slots=True)
class AnyTarget:
    """One of the parts has to be met."""

    parts: tuple[Targets, ...]


Targets: TypeAlias = Target | AllTargets | AnyTarget


def targets_of(goal: Goal, schema: Schema) -> Targets:
    """The targets of a goal."""
    match goal:
        case Relation():
            return _relation(goal, schema)
        case Distribution():
            return AllTargets(tuple(_relation(share, schema) for _, share in shares_of(goal)))
        case AllOf(parts):
            return AllTargets(tuple(targets_of(part, schema) for part in parts))
        case AnyOf(parts):
            return AnyTarget(tuple(targets_of(part, schema) for part in parts))
        case _:
            assert_never(goal)


def nearest_targets(targets: Targets, violation: Callable[[Target], float]) -> Iterator[Target]:
    """The targets to meet, one number after the other; of alternatives, the one with the smallest violation."""
    match targets:
        case Target():
            yield targets
        case AllTargets(parts):
            for part in parts:
                yield from nearest_targets(part, violation)
        case AnyTarget(parts):
            alternatives = [list(nearest_targets(part, violation)) for part in parts]
            yield from min(alternatives, key=lambda part: sum(map(violation, part)))
        case _:
            assert_never(targets)


def all_targets(targets: Targets) -> Iterator[Target]:
    """All numbers a goal is about, alternatives included."""
    match targets:
        case Target():
            yield targets
        case AllTargets(parts) | AnyTarget(parts):
            for part in parts:
                yield from all_targets(part)
        case _:
            assert_never(targets)


def target_values(command: TableGoal | TableAim, schema: Schema) -> list[Quantity]:
    """All numbers of the table a command is about."""
    if isinstance(command, TableAim):
        return [command.value]
    return [target.value for target in all_targets(targets_of(command.goal, schema))]


def violation(target: Target, value: float) -> float:
    """The distance of a number from its bounds, in tolerances; infinite where the number is undefined."""
    if value != value:
        return inf
    return max(target.low - value, value - target.high, 0.0) / target.unit


def difference(left: Quantity, right: Quantity) -> Quantity:
    """`left - right`."""
    return left if right == Const(0.0) else Apply("-", (left, right))


# --- relations


def _relation(goal: Relation, schema: Schema) -> Targets:
    left, op, right, tolerance = goal.left, goal.op, goal.right, goal.tolerance
    if isinstance(left, Statistic) and isinstance(right, Const) and _level(left) is not None:
        column = left.args[0]
        if isinstance(column, ColumnValue) and not isinstance(schema[column.column], Category) and op != "!=":
            return _quantile(goal, left, schema)
    target = right.value if isinstance(right, Const) else 0.0
    unit = _unit(goal, schema)
    if not 0 < unit < inf:  # the number has no range, or an unbounded one
        unit = SHARE_TOLERANCE * max(abs(target), 1.0)
    value = left if isinstance(right, Const) else difference(left, right)
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


def _unit(goal: Relation, schema: Schema) -> float:
    default = default_tolerance(goal.left, "==", goal.right, schema).value
    return min(goal.tolerance, default) if goal.tolerance and default else goal.tolerance or default


def _level(stat: Statistic) -> float | None:
    """The share `p` of a quantile; nothing for other statistics."""
    if not stat.args or not isinstance(stat.args[0], ColumnValue):
        return None
    level = statistics()[stat.name].quantile_level
    return None if level is None else level(stat.levels)


def _quantile(goal: Relation, stat: Statistic, schema: Schema) -> AllTargets:
    (column,) = stat.args
    level = _level(stat)
    assert isinstance(column, ColumnValue)
    assert isinstance(goal.right, Const)
    assert level is not None
    target, slack = goal.right.value, goal.tolerance * (ROWS_SLACK if goal.basis == "rows" else 1.0)
    present = has_number(schema.learned(column.column))  # a quantile leaves other rows out
    given = present if stat.given is None else And((stat.given, present))
    targets = []
    if goal.op in ("==", "<=", "<"):  # enough rows lie at or below the target
        under = LinearCompare(Linear(((column.column, 1.0),)), "<=" if goal.op != "<" else "<", target + slack)
        targets.append(Target(Statistic("P", (under,), given), level + SHARE_MARGIN, inf, SHARE_TOLERANCE))
    if goal.op in ("==", ">=", ">"):  # too few rows lie below it
        under = LinearCompare(Linear(((column.column, 1.0),)), "<" if goal.op != ">" else "<=", target - slack)
        targets.append(Target(Statistic("P", (under,), given), -inf, level - SHARE_MARGIN, SHARE_TOLERANCE))
    return AllTargets(tuple(targets))
