"""Bounds on means that goals imply: the mean of a number, or the share of a condition, lies in an interval.

A bound is certain: every table that meets the goal satisfies it. Goals of another form (alternatives, variances,
products of statistics, comparisons of means over different rows) imply none here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import TypeAlias

from cuts.data.schema import Category, Schema
from cuts.lang.spec import (
    AllOf,
    And,
    Apply,
    ColumnValue,
    Const,
    Distribution,
    Goal,
    InSet,
    Linear,
    LinearCompare,
    Pred,
    Quantity,
    Relation,
    Statistic,
    TableGoal,
    Truth,
    has_number,
)
from cuts.lang.syntax import CompareOp
from cuts.lang.tolerance import ONE, weighted_sum
from cuts.lang.walks import columns_of
from cuts.logic.core import comparisons
from cuts.vocab.interval import EVERYTHING, Interval
from cuts.vocab.names import statistics

ROUNDING = 1e-9  # relative error: a target this near to what is possible counts as reachable
Term: TypeAlias = Quantity | Pred  # a number of a row; a condition counts 1 where it holds, else 0


@dataclass(frozen=True, slots=True)
class MeanBound:
    """Among the rows where `among` holds (there is at least one), the mean of the weighted terms lies in `limits`."""

    command: int
    among: Pred
    terms: tuple[tuple[Term, float], ...]
    limits: Interval

    @property
    def columns(self) -> frozenset[str]:
        """The columns it is about."""
        return columns_of(self.among).union(*(columns_of(term) for term, _ in self.terms))

    @property
    def conditions(self) -> tuple[Pred, ...]:
        """The conditions on rows in it."""
        return (self.among, *(term for term, _ in self.terms if not isinstance(term, Quantity)))

    @property
    def numbers(self) -> tuple[Quantity, ...]:
        """The numbers of a row in it."""
        return tuple(term for term, _ in self.terms if isinstance(term, Quantity))


def find_mean_bounds(goals: Iterable[TableGoal], schema: Schema) -> tuple[MeanBound, ...]:
    """The bounds that the goals imply; `command` is the index of the goal that implies a bound."""
    bounds = (bound for index, command in enumerate(goals) for bound in _bounds(index, command.goal, schema))
    # Bins do not decide conditions on sums of columns: their bounds are left out, the others stay certain.
    return tuple(bound for bound in bounds if not any(map(has_sum, bound.conditions)))


def single_targets(goal: Goal) -> Iterator[tuple[Statistic, Interval]]:
    """The statistics, of any kind, that a goal bounds one by one, and the interval of each."""
    match goal:
        case AllOf(parts):
            for part in parts:
                yield from single_targets(part)
        case Relation(Statistic() as stat, op, Const(bound), tolerance):
            yield stat, _target(op, bound, tolerance)
        case _:
            return


def has_sum(pred: Pred) -> bool:
    """Whether a predicate compares a sum of several columns."""
    return any(len(leaf.form.terms) > 1 for leaf in comparisons(pred))


def can_hold(a: Interval, op: CompareOp, b: Interval, tolerance: float) -> bool:
    """Whether a number of `a` can compare with one of `b`, up to the tolerance and rounding."""
    strict = tolerance
    tolerance += ROUNDING * max(1.0, *(abs(end) for end in (a.low, a.high, b.low, b.high) if isfinite(end)))
    match op:
        case "==":
            return a.low <= b.high + tolerance and b.low <= a.high + tolerance
        case "<=":
            return a.low <= b.high + tolerance
        case "<":
            return a.low < b.high + strict
        case ">=":
            return a.high >= b.low - tolerance
        case ">":
            return a.high > b.low - strict
        case "!=":
            return not (a.width == b.width == 0.0 and abs(a.low - b.low) <= tolerance)


# --- from goals to bounds


def _bounds(command: int, goal: Goal, schema: Schema) -> Iterator[MeanBound]:
    match goal:
        case AllOf(parts):
            for part in parts:
                yield from _bounds(command, part, schema)
        case Relation(Statistic(args=(ColumnValue(name),)) as stat, op, Const(bound), tolerance) if _level(stat):
            limits = _target(op, bound, tolerance + ROUNDING * max(1.0, abs(bound)))
            yield from _quantile(command, stat, name, limits, schema)
        case Relation(left, op, right, tolerance) if op != "!=":
            yield from _means(command, weighted_sum(Apply("-", (left, right))), op, tolerance, schema)
        case Distribution(column, shares, rest, given, tolerance):
            among = _present(given, {column}, schema)
            for value, share in shares:
                limits = Interval(share - tolerance, share + tolerance)
                yield MeanBound(command, among, ((InSet(column, frozenset({value})), 1.0),), limits)
            if rest:
                others = InSet(column, frozenset(value for value, _ in shares), negated=True)
                left_over = 1.0 - sum(share for _, share in shares)
                limits = Interval(left_over - tolerance, left_over + tolerance)
                yield MeanBound(command, among, ((others, 1.0),), limits)
        case _:
            return


def _means(
    command: int, weights: Mapping[Quantity, float], op: CompareOp, tolerance: float, schema: Schema
) -> Iterator[MeanBound]:
    """A weighted sum of means and shares among the same rows, compared with 0."""
    among: set[Pred] = set()
    terms: dict[Term, float] = {}
    for quantity, weight in weights.items():
        match quantity:
            case Const():
                inner: Iterable[tuple[Term, float]] = [(ONE, 1.0)]
            case Statistic(name, (argument,), given) if statistics()[name].is_mean:
                if isinstance(argument, Quantity):
                    inner = weighted_sum(argument).items()
                    among.add(_present(given, columns_of(argument), schema))
                else:
                    inner = [(argument, 1.0)]
                    among.add(given if given is not None else Truth(True))
            case _:
                return
        for term, amount in inner:
            terms[term] = terms.get(term, 0.0) + weight * amount
    if len(among) == 1:
        limits = _target(op, -terms.pop(ONE, 0.0), tolerance)
        yield MeanBound(command, among.pop(), tuple(terms.items()), limits)


def _quantile(command: int, stat: Statistic, name: str, limits: Interval, schema: Schema) -> Iterator[MeanBound]:
    """A quantile is at most `high` if enough values are, and at least `low` if not too many lie below it."""
    level = _level(stat)
    assert level is not None
    among = _present(stat.given, {name}, schema)
    if limits.high < inf:
        yield MeanBound(command, among, ((_lies(name, "<=", limits.high, schema), 1.0),), Interval(level, inf))
    if limits.low > -inf:
        yield MeanBound(command, among, ((_lies(name, "<", limits.low, schema), 1.0),), Interval(-inf, level))


def _level(stat: Statistic) -> float | None:
    """The level of a quantile, strictly between 0 and 1; None for other statistics."""
    level = statistics()[stat.name].quantile_level
    return None if level is None else level(stat.levels)


def _lies(name: str, op: CompareOp, bound: float, schema: Schema) -> Pred:
    column = schema.learned(name)
    if not isinstance(column, Category):
        return LinearCompare(Linear(((name, 1.0),)), op, bound)
    positions = enumerate(column.categories)  # a category counts as its position
    return InSet(name, frozenset(c for i, c in positions if (i <= bound if op == "<=" else i < bound)))


def _present(given: Pred | None, columns: Iterable[str], schema: Schema) -> Pred:
    """The rows where `given` holds and the columns have a number."""
    kinds = [schema.learned(name) for name in sorted(columns)]
    can_lack = [c for c in kinds if c.missing or (not isinstance(c, Category) and c.texts)]
    parts = (*(() if given is None else (given,)), *map(has_number, can_lack))
    return parts[0] if len(parts) == 1 else And(parts) if parts else Truth(True)


def _target(op: CompareOp, bound: float, tolerance: float) -> Interval:
    match op:
        case "==":
            return Interval(bound - tolerance, bound + tolerance)
        case "<" | "<=":
            return Interval(-inf, bound + tolerance)
        case ">" | ">=":
            return Interval(bound - tolerance, inf)
        case "!=":
            return EVERYTHING
