"""The rows that the row rules allow, and outer bounds on statistics of them.

The bounds hold for every table whose rows satisfy the rules; some values inside them may still be impossible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from cuts.data.lattice import before
from cuts.data.schema import Category, Schema
from cuts.lang.spec import (
    AllOf,
    AnyOf,
    Apply,
    ColumnValue,
    Const,
    Distribution,
    Goal,
    Pred,
    Quantity,
    Relation,
    Statistic,
)
from cuts.lang.walks import statistics_of
from cuts.logic.core import Grid, build_grid
from cuts.logic.diagram import NO, Store
from cuts.logic.formula import lower
from cuts.logic.mean_bounds import has_sum
from cuts.logic.solve import alive
from cuts.vocab.functions import FUNCTIONS
from cuts.vocab.interval import Interval
from cuts.vocab.names import statistics
from cuts.vocab.registry import Reach


class EmptyRoom(Exception):
    """No row can satisfy a condition under the rules."""


class Space:
    """The rows the rules allow, ready to be narrowed by the conditions of statistics."""

    def __init__(self, rules: Sequence[Pred], goals: Sequence[Goal], schema: Schema) -> None:
        # Predicates on sums of columns are left out: the bounds get wider and stay certain.
        self.rules = [rule for rule in rules if not has_sum(rule)]
        conditions = [condition for goal in goals for condition in conditions_of(goal) if not has_sum(condition)]
        self.schema = schema
        self.grid: Grid = build_grid([*self.rules, *conditions], schema, coarse=True)
        formulas = [lower(pred, self.grid) for pred in (*self.rules, *conditions)]
        self.store = Store(formulas, self.grid)
        self._nodes = dict(zip((*self.rules, *conditions), self.store.roots, strict=True))
        self._allowed = self.store.conjunction([self._nodes[rule] for rule in self.rules])

    def where(self, *conditions: Pred | None) -> Room:
        """The rows on which conditions hold as well."""
        nodes = [self._nodes[c] for c in conditions if c is not None and c in self._nodes]
        return Room(self, self.store.conjunction([self._allowed, *nodes]))

    def where_not(self, given: Pred | None, condition: Pred) -> Room:
        """The rows on which `given` holds and `condition` does not."""
        room = self.where(given)
        if condition not in self._nodes:
            return room
        return Room(self, self.store.join(room.root, self.store.opposite(self._nodes[condition])))


class Room:
    """The rows below one node of a space: the values columns can still take there."""

    def __init__(self, space: Space, root: int) -> None:
        self.space, self.root = space, root
        self.possible = root != NO
        self._alive = dict(zip(space.store.variables, alive(space.store, root), strict=True))

    def range(self, value: Quantity) -> Interval:
        """Bounds on a number of one row."""
        match value:
            case Const(amount):
                return Interval(amount, amount)
            case ColumnValue(column):
                return self._column(column)
            case Apply(function, args):
                return FUNCTIONS[function].reach(*(self.range(arg) for arg in args))
            case Statistic():
                raise AssertionError("a statistic of a statistic is refused by the binder")

    def size(self, name: str) -> float:
        """How many values a column can still take."""
        column = self.space.grid.codec[name].column
        if isinstance(column, Category):
            return float(len(self.bins(name)))
        limits = self._column(name)
        if column.per_unit is not None:
            return round(limits.width * column.per_unit) + 1.0
        return inf if limits.width > 0 else 1.0

    def bins(self, name: str) -> list[int]:
        """The bins with a value in them that some row can still have."""
        store = self.space.store
        bins = list(range(self.space.grid.codec[name].numbers))
        if name in self._alive:
            classes = store.classes[store.variables.index(name)]
            bins = [b for b in bins if int(classes[b]) in self._alive[name]]
        if not bins or not self.possible:
            raise EmptyRoom
        return bins

    def _column(self, name: str) -> Interval:
        column, bins = self.space.grid.codec[name].column, self.bins(name)
        if isinstance(column, Category):
            return Interval(float(bins[0]), float(bins[-1]))
        starts = self.space.grid.starts(name)
        if bins[-1] + 1 == len(starts):
            return Interval(starts[bins[0]], float(column.high))
        end = starts[bins[-1] + 1]
        return Interval(starts[bins[0]], end if column.per_unit is None else before(end, column.per_unit))


def attainable(value: Quantity, space: Space) -> Interval:
    """Bounds on a number of the table when every row satisfies the rules."""
    match value:
        case Const(amount):
            return Interval(amount, amount)
        case Apply(function, args):
            return FUNCTIONS[function].reach(*(attainable(arg, space) for arg in args))
        case Statistic():
            return _statistic(value, space)
        case ColumnValue():
            raise AssertionError("a column outside a statistic is refused by the binder")


def _statistic(stat: Statistic, space: Space) -> Interval:
    entry = statistics()[stat.name]
    room = space.where(stat.given)
    if not room.possible:
        if entry.unit == "rows":
            return Interval(0.0, 0.0)
        raise EmptyRoom
    if entry.argument == "condition":
        conditions = [arg for arg in stat.args if not isinstance(arg, Const | ColumnValue | Apply | Statistic)]
        return entry.reach(Reach(tuple(_truth(condition, stat.given, space) for condition in conditions), ()))
    ranges = tuple(room.range(arg) for arg in stat.args if isinstance(arg, Const | ColumnValue | Apply))
    sizes = tuple(room.size(arg.column) for arg in stat.args if isinstance(arg, ColumnValue))
    return entry.reach(Reach(ranges, sizes))


def _truth(condition: Pred, given: Pred | None, space: Space) -> Interval:
    """Bounds on a condition among the rows where `given` holds: 1 where it holds, else 0."""
    high = 1.0 if space.where(given, condition).possible else 0.0
    low = 0.0 if space.where_not(given, condition).possible else high
    return Interval(low, high)


def conditions_of(goal: Goal) -> Iterator[Pred]:
    """The predicates in a goal's statistics."""
    match goal:
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from conditions_of(part)
        case Distribution(given=given):
            if given is not None:
                yield given
        case Relation():
            for stat in statistics_of(goal):
                if stat.given is not None:
                    yield stat.given
                for arg in stat.args:
                    if not isinstance(arg, Const | ColumnValue | Apply | Statistic):
                        yield arg
