"""Goals as demands: what the mean of a number, or the share of a condition, must lie between among some rows.

A demand is certain: a table that meets the goal meets it. Goals that are no such thing (alternatives, variances,
products of statistics, means over different rows compared) make no demand.
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
    Missing,
    Not,
    Pred,
    Quantity,
    Relation,
    Statistic,
    TableGoal,
    Truth,
)
from cuts.lang.syntax import CompareOp
from cuts.lang.tolerance import ONE, weighted_sum
from cuts.lang.walks import columns_of
from cuts.logic.core import comparisons
from cuts.vocab.interval import EVERYTHING, Interval

ROUNDING = 1e-9  # a target this near, in its own size, is not out of reach
Term: TypeAlias = Quantity | Pred  # a number of a row; a condition counts 1 where it holds, else 0


@dataclass(frozen=True, slots=True)
class MeanBound:
    """Among the rows where `among` holds, of which there are some, the mean of the weighted terms lies in `limits`."""

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


def find_demands(goals: Iterable[TableGoal], schema: Schema) -> tuple[MeanBound, ...]:
    """What the goals certainly demand; `command` is the place of the goal that does."""
    found = (demand for command, stated in enumerate(goals) for demand in _demands(command, stated.goal, schema))
    # Sums of columns in conditions are not decided on bins: fewer demands, still certain.
    return tuple(demand for demand in found if not any(map(has_sum, demand.conditions)))


def single_targets(goal: Goal) -> Iterator[tuple[Statistic, Interval]]:
    """Where a goal certainly wants single statistics, of whatever kind."""
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


# --- from goals to demands


def _demands(command: int, goal: Goal, schema: Schema) -> Iterator[MeanBound]:
    match goal:
        case AllOf(parts):
            for part in parts:
                yield from _demands(command, part, schema)
        case Relation(Statistic("MEDIAN" | "Q", (ColumnValue(name),)) as stat, op, Const(bound), tolerance):
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
            case Statistic("E", (Const() | ColumnValue() | Apply() as number,), given):
                inner = weighted_sum(number).items()
                among.add(_present(given, columns_of(number), schema))
            case Statistic("P", (held,), given) if not isinstance(held, Quantity):
                inner = [(held, 1.0)]
                among.add(given if given is not None else Truth(True))
            case _:
                return
        for term, amount in inner:
            terms[term] = terms.get(term, 0.0) + weight * amount
    if len(among) == 1:
        limits = _target(op, -terms.pop(ONE, 0.0), tolerance)
        yield MeanBound(command, among.pop(), tuple(terms.items()), limits)


def _quantile(command: int, stat: Statistic, name: str, limits: Interval, schema: Schema) -> Iterator[MeanBound]:
    """A quantile is at most `h` when enough values are, and at least `l` when not too many lie below."""
    (level,) = stat.levels or (0.5,)
    among = _present(stat.given, {name}, schema)
    if limits.high < inf:
        yield MeanBound(command, among, ((_lies(name, "<=", limits.high, schema), 1.0),), Interval(level, inf))
    if limits.low > -inf:
        yield MeanBound(command, among, ((_lies(name, "<", limits.low, schema), 1.0),), Interval(-inf, level))


def _lies(name: str, op: CompareOp, bound: float, schema: Schema) -> Pred:
    column = schema.learned(name)
    if not isinstance(column, Category):
        return LinearCompare(Linear(((name, 1.0),)), op, bound)
    counted = enumerate(column.categories)  # a category counts as its position
    return InSet(name, frozenset(c for place, c in counted if (place <= bound if op == "<=" else place < bound)))


def _present(given: Pred | None, columns: Iterable[str], schema: Schema) -> Pred:
    """The rows where `given` holds and the columns have a value."""
    can_miss = sorted(name for name in columns if schema.learned(name).missing)
    parts = (*(() if given is None else (given,)), *(Not(Missing(name)) for name in can_miss))
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
